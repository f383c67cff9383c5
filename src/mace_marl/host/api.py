"""The contract of a world that steps in Python. Nothing here, or in a worker, imports JAX."""

import abc
from typing import NamedTuple

import numpy as np

from mace_marl.errors import UserError


class Moment(NamedTuple):
    """What every agent gets from one step, or from a reset (then no reward and neither end)."""

    obs: np.ndarray  # (num_agents, observation_size), of the state reached
    reward: np.ndarray | float = 0.0  # (num_agents,), or one number for all
    terminated: bool = False  # the world has ended
    truncated: bool = False  # it was cut off; at the horizon this is done without its help
    available: np.ndarray | None = None  # (num_agents, num_actions) bool; None: all actions are
    alive: np.ndarray | None = None  # (num_agents,) bool; None: all agents are
    success: bool | None = None  # of an episode that ends; None: terminated with a reward above 0


class HostWorld(abc.ABC):
    """Base class of worlds outside JAX. Set the four sizes, write `reset` and `step`."""

    num_agents: int
    num_actions: int
    observation_size: int
    horizon: int
    """Steps after which an episode is cut off, if it has not ended by itself."""

    repeatable: bool = True
    """The same seed and actions give the same episode. Then a run is resumed where it stopped, by
    playing the running episodes again; else they are dropped and new ones begin."""

    @abc.abstractmethod
    def reset(self, seed: int) -> Moment:
        """Begin an episode that depends on `seed` alone, and tell what the agents see of it."""

    @abc.abstractmethod
    def step(self, actions: np.ndarray) -> Moment:
        """What follows the joint action `actions`  # (num_agents,) int32."""

    def close(self) -> None:  # noqa: B027 (most have nothing to give back)
        """Give back what the world holds: windows, files, games."""

    def picture(self) -> np.ndarray:
        """What it looks like now, as an RGB image  # (height, width, 3) uint8, for `mace watch`."""
        raise NotImplementedError

    def text(self) -> str:
        """What it looks like now as text, for `mace watch --terminal`."""
        raise NotImplementedError


class WorldError(UserError):
    """What a world outside JAX did wrong, in one sentence."""


def check_sizes(world: HostWorld) -> None:
    for size in ("num_agents", "num_actions", "observation_size", "horizon"):
        value = getattr(world, size, None)
        if type(value) is not int or value < 1:
            raise WorldError(f"{size} must be a whole number above 0, not {value!r}.")
