"""A world outside JAX as trainers and viewers know it: its sizes, and how to have many of it."""

import contextlib
import sys
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from jax import Array

from mace_marl.envs.api import Step, World
from mace_marl.errors import UserError
from mace_marl.host.api import HostWorld, Moment
from mace_marl.host.board import Sizes
from mace_marl.host.pool import Pool
from mace_marl.host.share import failure
from mace_marl.host.worlds import make_host
from mace_marl.machine import cores

WORTH_A_WORKER = 300e-6  # seconds of a step of all copies


class Recorded(NamedTuple):
    """Episodes as they can be played again."""

    seed: np.ndarray  # (episodes,) int64
    actions: np.ndarray  # (episodes, horizon, num_agents) int32; meaningless after the end


class Live(NamedTuple):
    """A world at some moment of an episode that is being played again."""

    world: HostWorld
    actions: np.ndarray | None  # (num_agents,): what led here
    moment: Moment


class Hosted(World):
    """A world that runs in processes of its own. What it shows is continuous: no `features`.

    To learning it is a world like any other, but it cannot be traced: see `collect` and `play`.
    """

    def __init__(self, name: str) -> None:
        world = make_host(name)
        self.name = name
        self.sizes = Sizes.of(world)
        self.num_agents, self.num_actions = world.num_agents, world.num_actions
        self.observation_size, self.horizon = world.observation_size, world.horizon
        self.__doc__ = type(world).__doc__
        world.close()

    def reset(self, key: Array) -> tuple[Any, Step]:
        raise UserError(f"{self.name} runs outside JAX; step it as a mace_marl.host.HostWorld.")

    def step(self, key: Array, state: Any, actions: Array) -> tuple[Any, Step]:
        return self.reset(key)

    def pool(self, copies: int) -> Pool:
        """Many of it. As many workers as cores, or one fewer if a step takes so little that they
        would be in the trainer's way for longer than they help."""
        quick = copies * self.step_seconds() < WORTH_A_WORKER
        return Pool(self.name, self.sizes, copies, max(1, cores() - 1) if quick else cores())

    def step_seconds(self) -> float:
        """About what a step takes; for ever, if that cannot be tried out here."""
        world = make_host(self.name)
        try:
            if not world.repeatable:  # a game would have to be started
                return float("inf")
            with contextlib.redirect_stdout(sys.stderr):
                return min(self._time_step(world, seed) for seed in range(3))
        except Exception:  # the pool will say what is wrong
            return float("inf")
        finally:
            world.close()

    def _time_step(self, world: HostWorld, seed: int) -> float:
        moment = world.reset(seed)
        actions = np.zeros(self.num_agents, np.int32)
        if moment.available is not None:
            actions = np.argmax(moment.available, axis=1).astype(np.int32)
        began = time.perf_counter()
        world.step(actions)
        return time.perf_counter() - began

    def beginning(self) -> Live:
        world = make_host(self.name, drawn=True)
        return Live(world, None, world.reset(0))

    def moments(self, states: Recorded, episode: int, length: int) -> Iterator[Live]:
        """An episode played again in this process, for `picture` and `text`."""
        world = make_host(self.name, drawn=True)
        try:
            yield Live(world, None, world.reset(int(states.seed[episode])))
            for actions in states.actions[episode, :length]:
                yield Live(world, actions, world.step(actions))
        except UserError:
            raise
        except Exception as error:
            raise UserError(f"{self.name} cannot be shown: {failure(error)}.") from None
        finally:
            world.close()

    def picture(self, state: Live) -> np.ndarray:
        return state.world.picture()

    def text(self, state: Live) -> str:
        """The world's own text, or what each agent did, got and sees."""
        try:
            return state.world.text()
        except NotImplementedError:
            return "\n".join(self._line(state, agent) for agent in range(self.num_agents))

    def _line(self, live: Live, agent: int) -> str:
        action = "–" if live.actions is None else str(live.actions[agent])
        reward = np.broadcast_to(live.moment.reward, self.num_agents)[agent]
        sees = " ".join(f"{number:.2f}" for number in live.moment.obs[agent])
        return f"agent {agent}   action {action}   reward {reward:.2f}   sees {sees}"
