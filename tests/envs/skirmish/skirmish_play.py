"""Skirmishes for tests: the shipped ones, states made by hand, and scripted play."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

import mace_marl.envs.skirmish
from mace_marl.envs import Step
from mace_marl.envs.skirmish import Skirmish, read_scenario
from mace_marl.envs.skirmish.state import State, Units

SCENARIOS = Path(mace_marl.envs.skirmish.__file__).parent / "scenarios"
NOTHING, STOP, NORTH, SOUTH, EAST, WEST, ATTACK = range(7)
MOVES = np.array([(0, 1), (0, -1), (1, 0), (-1, 0)], float)

Script = Callable[[State, Step, Array], Array]  # state, what is seen, key → actions (agents,)


@cache
def skirmish(name: str, chance: bool = True) -> Skirmish:
    return Skirmish(read_scenario(SCENARIOS / f"{name}.toml"), chance)


@cache
def start(name: str) -> State:
    """The beginning of a battle without chance, as NumPy arrays."""
    world = skirmish(name, chance=False)
    return jax.tree.map(np.asarray, jax.jit(world.reset)(jax.random.key(0))[0])


def place(world: Skirmish, units: Units, points: list[tuple[float, float]], **more: Any) -> Units:
    """Units at these points of the map; `more` replaces other fields."""
    position = np.array(points, np.float32) - world.ground.middle
    arrays = {name: np.asarray(value) for name, value in more.items()}
    return units._replace(position=position, **arrays)


class Outcome(NamedTuple):
    won: np.ndarray  # (scripts, episodes) bool
    length: np.ndarray  # (scripts, episodes)
    returns: np.ndarray  # (scripts, episodes)


def play(world: Skirmish, scripts: dict[str, Script], episodes: int) -> dict[str, Outcome]:
    """Episodes of every script, all in one program."""

    def act(which: Array, state: State, step: Step, key: Array) -> Array:
        choices = [script(state, step, key) for script in scripts.values()]
        return jnp.stack(choices)[which]

    def episode(which: Array, key: Array) -> tuple[Array, Array, Array]:
        state, first = world.reset(key)

        def goes_on(carry: tuple) -> Array:
            return ~(carry[1].terminated | carry[1].truncated)

        def advance(carry: tuple) -> tuple:
            state, step, returns = carry
            now = jax.random.fold_in(key, state.time)
            actions = act(which, state, step, now)
            state, step = world.step(now, state, actions)
            return state, step, returns + step.reward[0]

        state, last, returns = lax.while_loop(goes_on, advance, (state, first, jnp.float32(0)))
        return world.success(last), state.time, returns

    keys = jax.random.split(jax.random.key(0), episodes)
    of_all = jax.jit(jax.vmap(jax.vmap(episode, in_axes=(None, 0)), in_axes=(0, None)))
    found = [np.asarray(x) for x in of_all(jnp.arange(len(scripts)), keys)]
    return {name: Outcome(*(x[i] for x in found)) for i, name in enumerate(scripts)}


# Scripts: what a team could do that knows everything


def at_random(state: State, step: Step, key: Array) -> Array:
    return jax.random.categorical(key, jnp.where(step.available, 0.0, -1e9))


def stand_and_shoot(state: State, step: Step, key: Array) -> Array:
    """Everyone shoots at the nearest within reach."""
    return shoot(step, -distances(state))


def alternate(state: State, step: Step, key: Array) -> Array:
    """Only whoever is farthest from the only enemy shoots, and it turns round."""
    away = jnp.where(step.alive, distances(state)[:, 0], -1.0)
    shoots = (jnp.arange(len(away)) == jnp.argmax(away)) & step.available[:, ATTACK]
    return jnp.where(shoots, ATTACK, idle(step))


def focused(state: State, step: Step, key: Array) -> Array:
    """All who can shoot at whom most can, the weakest first; the others come closer."""
    common = step.available[:, ATTACK:].sum(axis=0) * 10.0 - state.enemies.health / 100
    return close_in(state, step, shoot(step, jnp.broadcast_to(common, distances(state).shape)))


def scattered(state: State, step: Step, key: Array) -> Array:
    """The same, but everyone prefers an enemy of its own."""
    enemies = step.available.shape[1] - ATTACK
    own = -((jnp.arange(enemies) - jnp.arange(len(step.alive))[:, None]) % enemies)
    return close_in(state, step, shoot(step, own))


def kite(state: State, step: Step, key: Array) -> Array:
    """Shoot at the nearest when the weapon is ready, else run from it."""
    away = distances(state).min(axis=1)
    ready = state.allies.cooldown <= 4
    runs = step.alive & ((away < 3.0) | (~ready & (away < 6.0)))
    return jnp.where(runs, walk(state, step, 1.0), stand_and_shoot(state, step, key))


def distances(state: State) -> Array:
    """From agents to living enemies; the dead are far away  # (agents, enemies)."""
    apart = state.allies.position[:, None] - state.enemies.position
    return jnp.where(state.enemies.alive, jnp.sqrt((apart**2).sum(axis=-1)), 1e3)


def idle(step: Step) -> Array:
    return jnp.argmax(step.available, axis=1)  # nothing for the dead, else stop


def shoot(step: Step, preference: Array) -> Array:
    """At whom an agent prefers most of those it may; else idle."""
    may = step.available[:, ATTACK:]
    best = jnp.argmax(jnp.where(may, preference, -jnp.inf), axis=1)
    return jnp.where(may.any(axis=1), ATTACK + best, idle(step))


def close_in(state: State, step: Step, actions: Array) -> Array:
    """Once the battle is on, whoever cannot shoot goes to the nearest enemy."""
    begun = step.available[:, ATTACK:].any()
    return jnp.where((actions == STOP) & begun, walk(state, step, -1.0), actions)


def walk(state: State, step: Step, sign: float) -> Array:
    """Away from the nearest enemy, and a little to the middle; or with −1 towards it."""
    nearest = jnp.argmin(distances(state), axis=1)
    away = sign * (state.allies.position - state.enemies.position[nearest])
    score = (away - 0.1 * state.allies.position) @ MOVES.T
    best = jnp.argmax(jnp.where(step.available[:, NORTH:ATTACK], score, -jnp.inf), axis=1)
    return jnp.where(step.alive, NORTH + best, NOTHING)
