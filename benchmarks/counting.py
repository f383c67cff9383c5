"""How much faster first visits and the posterior are counted than in the plain way.

    python benchmarks/counting.py overcooked/base

Both ways in one run, taking turns, on random play of one update of preset `tuned`, all agents; that
they give the same numbers is checked first.
"""

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from mace_marl.agent import intrinsic
from mace_marl.agent.encoding import encode_for_networks
from mace_marl.agent.novelty import NOVELTIES
from mace_marl.agent.posterior.table import TablePosterior, Window
from mace_marl.bench import best_seconds
from mace_marl.envs.api import World
from mace_marl.machine import start_jax
from mace_marl.settings import Settings
from mace_marl.tasks import get_task, task_settings
from mace_marl.worlds import make_world


def plain_first_visits(code: Array, first: Array) -> Array:
    """All pairs of steps in one expression."""
    episode = jnp.cumsum(first, axis=0)
    earlier = np.tril(np.ones((len(code), len(code)), bool), k=-1)[..., None]
    same = (code[:, None] == code) & (episode[:, None] == episode)
    return ~(same & earlier).any(axis=1)


def plain_count(
    table: TablePosterior, window: Window, entry: Array, width: int
) -> tuple[Array, Array]:
    """From a table of all (a, o, z), as in the paper."""
    entries = window.entries.reshape(-1)
    size = table.index.size * table.bins * table.num_actions
    where = jnp.where(entries < 0, size, entries)
    joint = jnp.zeros(size, jnp.int32).at[where].add(1, mode="drop")
    taken = joint.reshape(-1, width // table.num_actions, table.num_actions).sum(axis=1)
    here = taken[entry // width]
    own = jnp.take_along_axis(here, (entry % table.num_actions)[..., None], axis=-1)[..., 0]
    return own, here.sum(axis=-1)


def play(world: World, settings: Settings, key: Array) -> tuple[Array, Array]:
    """Observations and actions of random play  # (agents, steps, envs, …), each."""

    def in_env(key: Array) -> tuple[Array, Array]:
        def step(state: Any, key: Array) -> tuple[Any, tuple[Array, Array]]:
            actions = jax.random.randint(key, (world.num_agents,), 0, world.num_actions)
            state, now = world.step(key, state, actions)
            return state, (now.obs, actions)

        state, _ = world.reset(key)
        return lax.scan(step, state, jax.random.split(key, settings.rollout_length))[1]

    obs, actions = jax.vmap(in_env, out_axes=1)(jax.random.split(key, settings.num_envs))
    return jnp.moveaxis(obs, 2, 0), jnp.moveaxis(actions, 2, 0)


def compare(what: str, plain: Callable[[], Any], ours: Callable[[], Any]) -> None:
    assert jax.tree.all(jax.tree.map(lambda a, b: bool((a == b).all()), plain(), ours())), what
    seconds = best_seconds({"plain": plain, "ours": ours}, rounds=8)
    print(
        f"{what:<14} plain {seconds['plain'] * 1e3:7.2f} ms   ours {seconds['ours'] * 1e3:7.2f} ms"
        f"   ratio {seconds['plain'] / seconds['ours']:.1f}"
    )


def main(name: str) -> None:
    start_jax(1)
    task = get_task(name)
    settings, world = task_settings(task, "tuned"), make_world(name, task.map)
    encoding = encode_for_networks(world, settings.one_hot)
    novelty = NOVELTIES[settings.novelty].of(world, encoding, settings)
    table = TablePosterior.of(world, encoding, settings, together=False)
    obs, actions = jax.jit(lambda key: play(world, settings, key))(jax.random.key(0))
    first = jnp.zeros(obs.shape[1:3], bool).at[0].set(True)
    z_bins = jax.random.randint(jax.random.key(1), actions.shape, 0, table.bins)
    entry = (jax.vmap(table.index)(obs) * table.bins + z_bins) * table.num_actions + actions
    entries = jnp.tile(entry.reshape(world.num_agents, 1, -1), (1, settings.window, 1))
    window = Window(entries, jnp.zeros(world.num_agents, jnp.int32))

    def visits(first_visits: Callable[[Array, Array], Array]) -> Callable[[], Any]:
        program = jax.jit(jax.vmap(lambda obs: first_visits(novelty.code(None, obs), first)))
        return lambda: program(obs)

    def counts(count: Callable[[Window, Array, int], Any]) -> Callable[[], Any]:
        widths = (table.num_actions, table.num_actions * table.bins)
        program = jax.jit(jax.vmap(lambda w, e: [count(w, e, width) for width in widths]))
        return lambda: program(window, entry)

    print(f"{name}, preset tuned: {settings.steps_per_update} steps of {world.num_agents} agents")
    compare("first visits", visits(plain_first_visits), visits(intrinsic.first_visits))
    compare("posterior", counts(partial(plain_count, table)), counts(table.count))


if __name__ == "__main__":
    main(*sys.argv[1:2] or ["overcooked/base"])
