"""Things to test with: random networks and learners, small worlds."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from mace_marl import shards
from mace_marl.agent import ppo
from mace_marl.agent.encoding import Encoding
from mace_marl.agent.learner import Agent, Learner
from mace_marl.agent.networks import Network, make_network
from mace_marl.agent.optimiser import init_optimised
from mace_marl.envs.api import Feature, Step, World
from mace_marl.envs.gridworld import GridWorld, parse_map
from mace_marl.settings import Settings


class Sheet(World):
    """Declares observations (x, y, lamp) and is never played: for rollouts written by hand."""

    num_agents = 3
    num_actions = 3
    observation_size = 3
    horizon = 100
    levels, steps = (3, 2, 2), (0.5, 0.25, 1.0)
    num_observations = 3 * 2 * 2
    features = tuple(map(Feature, levels, steps))
    place = (0, 1)

    def reset(self, key: Array) -> tuple[Any, Step]:
        raise NotImplementedError

    def step(self, key: Array, state: Any, actions: Array) -> tuple[Any, Step]:
        raise NotImplementedError

    def random_obs(self, rng: np.random.Generator, *shape: int) -> np.ndarray:
        """Observations that fit the declaration  # (*shape, observation_size) float32."""
        levels = rng.integers(self.levels, size=(*shape, self.observation_size))
        return (levels * self.steps).astype(np.float32)


class Warehouse(Sheet):
    """Discrete features of more values than can be counted apart, and a continuous one."""

    observation_size = 12
    levels, steps = (50,) * 11, (0.02,) * 11
    features = (*map(Feature, levels, steps), None)

    def random_obs(self, rng: np.random.Generator, *shape: int) -> np.ndarray:
        levels = rng.integers(self.levels, size=(*shape, 11)) * self.steps
        return np.concatenate([levels, rng.random((*shape, 1))], axis=-1).astype(np.float32)


def minipass(horizon: int) -> GridWorld:
    text = (files("mace_marl.envs.gridworld") / "maps" / "minipass.toml").read_text()
    return GridWorld(replace(parse_map(text, "minipass.toml"), horizon=horizon))


def random_network(
    encoding: Encoding | int,
    outputs: int,
    settings: Settings,
    rng: np.random.Generator,
    stack: tuple[int, ...] = (),
) -> Network:
    """A network whose weights *and biases* are random, so that none of them can go untested.

    Instead of an encoding, say how many numbers it sees as they are.
    """
    if isinstance(encoding, int):
        encoding = Encoding((None,) * encoding)
    shapes = _network_shapes(encoding, outputs, settings)
    return jax.tree.map(
        lambda x: jnp.asarray(rng.normal(0, 0.5, stack + x.shape), jnp.float32), shapes
    )


@cache
def _network_shapes(encoding: Encoding, outputs: int, settings: Settings) -> Network:
    return eqx.filter_eval_shape(
        make_network, encoding, outputs, 1.0, settings, jax.eval_shape(lambda: jax.random.key(0))
    )


def blank_learners(agent: Agent, settings: Settings, seed: int = 0) -> Learner:
    """Learners of all agents, stacked, without networks: those take seconds to initialise."""
    keys = jax.random.split(jax.random.key(seed), agent.num_agents)
    return jax.jit(
        jax.vmap(lambda key: agent.init(settings, key)._replace(actor=None, critic=None))
    )(keys)


def random_learners(agent: Agent, settings: Settings, seed: int = 0) -> Learner:
    """Learners of all agents, stacked, with random networks."""
    rng = np.random.default_rng(seed)
    init = jax.jit(jax.vmap(lambda network: init_optimised(network, settings)))

    def optimised(encoding: Encoding, outputs: int) -> ppo.Optimised:
        return init(random_network(encoding, outputs, settings, rng, (agent.num_agents,)))

    return blank_learners(agent, settings, seed)._replace(
        actor=optimised(agent.encoding, agent.num_actions),
        critic=optimised(agent.critic_encoding, 1),
    )


def on_shards(program: Callable[[], Any], num_shards: int) -> Any:
    """What a program of one agent, its work shared by so many shards, says on the last of them."""
    every = jax.vmap(lambda _: program(), axis_name=shards.AXIS)(jnp.arange(num_shards))
    return jax.tree.map(lambda x: x[-1], every)
