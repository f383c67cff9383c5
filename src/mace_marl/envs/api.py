"""The contract of a world, and auto-reset around it.

A world knows nothing of learning: it is pure functions of (key, state, joint action) that can be
jitted and vmapped. `check` (in `checker.py`) runs the whole contract on any world.
"""

import abc
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array


class Step(NamedTuple):
    """What every agent gets from one step, or from a reset (then reward 0 and neither end)."""

    obs: Array  # (num_agents, observation_size) float32, of the state reached: never of a reset
    reward: Array  # (num_agents,) float32
    terminated: Array  # () bool: the world has ended
    truncated: Array  # () bool: the horizon was reached; never together with terminated
    available: Array  # (num_agents, num_actions) bool
    alive: Array  # (num_agents,) bool


@dataclass(frozen=True)
class Feature:
    """A number of the observation that takes only so many values (`levels`), `step` apart: 0, step,
    2·step, …, or from `least`·step on."""

    levels: int
    step: float
    least: int = 0
    exact: bool = True
    """Else it lies anywhere between or beyond these values. Networks can still be shown the nearest
    of them, one-hot; nothing is counted by it."""


class World(abc.ABC):
    """Base class of worlds. Set the four sizes, write `reset` and `step`; the rest is optional."""

    num_agents: int
    num_actions: int
    observation_size: int
    horizon: int

    features: tuple[Feature | None, ...] = ()
    """For each number of the observation, its discrete values, or None where it is continuous.
    Empty means: all continuous. Counting methods need discrete features that are exact."""

    place: tuple[int, ...] = ()
    """Which (discrete) features say where the agent is: what novelty counts and heat maps show."""

    @abc.abstractmethod
    def reset(self, key: Array) -> tuple[Any, Step]:
        """The first state of an episode, and what the agents see of it."""

    @abc.abstractmethod
    def step(self, key: Array, state: Any, actions: Array) -> tuple[Any, Step]:
        """The next state after the joint action `actions`  # (num_agents,) int."""

    def success(self, step: Step) -> Array:
        """Whether the episode that ends with `step` was a success."""
        return step.terminated & (step.reward.sum() > 0)

    def picture(self, state: Any) -> np.ndarray:
        """The state as an RGB image  # (height, width, 3) uint8, for `mace watch`."""
        raise NotImplementedError

    def text(self, state: Any) -> str:
        """The state as text, for `mace watch --terminal`."""
        raise NotImplementedError

    def beginning(self) -> Any:
        """The beginning of an episode, for `picture` and `text`."""
        return self.reset(jax.random.key(0))[0]

    def moments(self, states: Any, episode: int, length: int) -> Iterator[Any]:
        """The states of one of many episodes, in turn  # states (horizon + 1, episodes, …)."""
        for time in range(length + 1):
            yield jax.tree.map(lambda x, time=time: x[time, episode], states)


def auto_reset(world: World, key: Array, state: Any, actions: Array) -> tuple[Any, Step, Step]:
    """Step; where the episode ends, start the next one.

    Returns the state to go on from, the step as it happened (its `obs` is the final observation
    where the episode ended), and the step the agents act upon next (the first of the new episode
    where it ended, else the same).
    """
    step_key, reset_key = jax.random.split(key)
    state, step = world.step(step_key, state, actions)
    fresh = world.reset(reset_key)
    ended = step.terminated | step.truncated
    state, ahead = jax.tree.map(lambda new, old: jnp.where(ended, new, old), fresh, (state, step))
    return state, step, ahead
