"""Playing in GridWorld and in the oracle, side by side."""

from collections.abc import Callable, Sequence
from functools import cache

import gridworld_oracle as oracle
import jax
import jax.numpy as jnp
import numpy as np
from gridworld_drawings import MAPS
from gridworld_oracle import Cell, Game, Layout

from mace_marl.envs.api import Step
from mace_marl.envs.gridworld import GridWorld, read_map
from mace_marl.envs.gridworld.rules import State

NAMES = tuple(oracle.LAYOUTS)
ONE_ULP = 2e-7  # relative; XLA divides by a constant by multiplying with its reciprocal

Play = Callable[[State, jax.Array], tuple[State, Step]]


def player(world: GridWorld) -> Play:
    """A compiled function from first states and actions to all later states and steps.

    Works on a batch of episodes at once: actions are (episodes, time, num_agents).
    """

    def episode(state: State, actions: jax.Array) -> tuple[State, Step]:
        def advance(state: State, joint: jax.Array) -> tuple[State, tuple[State, Step]]:
            state, step = world.step(jax.random.key(0), state, joint)
            return state, (state, step)

        return jax.lax.scan(advance, state, actions)[1]

    return jax.jit(jax.vmap(episode))


@cache
def shipped(name: str) -> tuple[GridWorld, Play]:
    world = GridWorld(read_map(MAPS / f"{name}.toml"))
    return world, player(world)


def as_states(games: Sequence[Game]) -> State:
    """Moments of the oracle as a batch of states of the world."""
    return State(
        position=jnp.asarray([game.positions for game in games], jnp.int32),
        doors=jnp.asarray([game.doors for game in games], bool),
        time=jnp.asarray([game.time for game in games], jnp.int32),
    )


def assert_same(layout: Layout, play: Play, games: Sequence[Game], actions: np.ndarray) -> int:
    """Play `actions`  # (episodes, time, num_agents) in both worlds, until each episode's end.

    Returns how many of the episodes ended in success.
    """
    states, steps = jax.tree.map(np.asarray, play(as_states(games), jnp.asarray(actions)))
    successes = 0
    for episode, game in enumerate(games):
        for time, joint in enumerate(actions[episode]):
            game, wanted = oracle.step(layout, game, joint.tolist())
            at = (episode, time)
            where = f"episode {episode}, step {time}, {game}"
            assert states.position[at].tolist() == [list(cell) for cell in game.positions], where
            assert states.doors[at].tolist() == list(game.doors), where
            assert states.time[at] == game.time, where
            np.testing.assert_allclose(steps.obs[at], wanted.obs, rtol=ONE_ULP, err_msg=where)
            assert steps.reward[at].tolist() == wanted.reward, where
            assert bool(steps.terminated[at]) == wanted.terminated, where
            assert bool(steps.truncated[at]) == wanted.truncated, where
            assert steps.available[at].all() and steps.alive[at].all(), where
            successes += wanted.terminated
            if wanted.terminated or wanted.truncated:
                break
    return successes


def random_actions(rng: np.random.Generator, episodes: int, layout: Layout) -> np.ndarray:
    """Actions for whole episodes; agents keep a direction for a while, so as to get around."""
    shape = (episodes, layout.horizon, len(layout.starts))
    actions = rng.integers(4, size=shape)
    keep = rng.random(shape) < 0.7
    for time in range(1, layout.horizon):
        actions[:, time] = np.where(keep[:, time], actions[:, time - 1], actions[:, time])
    return actions


def first(layout: Layout, *, positions: Sequence[Cell], time: int = 0, doors: int = 0) -> Game:
    """A moment with agents at `positions` and the doors in the bit mask `doors` open."""
    bits = tuple(bool(doors >> door & 1) for door in range(layout.num_doors))
    return Game(tuple(positions), bits, time)


@cache
def compiled_step(world: GridWorld) -> Callable[[jax.Array, State, jax.Array], tuple[State, Step]]:
    return jax.jit(world.step)


def one_step(
    world: GridWorld, game: Game, actions: Sequence[int]
) -> tuple[list[Cell], list[bool], Step]:
    """One step of the world from any moment: positions, doors and what the agents are told."""
    state = State(
        position=jnp.asarray(game.positions, jnp.int32),
        doors=jnp.asarray(game.doors, bool),
        time=jnp.int32(game.time),
    )
    state, step = compiled_step(world)(jax.random.key(0), state, jnp.asarray(actions))
    positions: list[Cell] = [(int(row), int(column)) for row, column in state.position]
    return positions, np.asarray(state.doors).tolist(), step
