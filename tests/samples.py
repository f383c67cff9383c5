"""Things to test with: random networks and learners, small worlds."""

from dataclasses import replace
from importlib.resources import files
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from mace_marl.agent import networks
from mace_marl.agent.encoding import Encoding
from mace_marl.agent.learner import Agent, Learner
from mace_marl.agent.networks import Network
from mace_marl.envs.api import Feature, Step, World
from mace_marl.envs.gridworld import GridWorld, parse_map
from mace_marl.settings import Settings

Tree = TypeVar("Tree")


class Sheet(World):
    """Declares observations (x, y, lamp) and is never played: for rollouts written by hand."""

    num_agents = 3
    num_actions = 3
    observation_size = 3
    horizon = 100
    features = (Feature(3, 0.5), Feature(2, 0.25), Feature(2, 1.0))
    place = (0, 1)

    def reset(self, key: Array) -> tuple[Any, Step]:
        raise NotImplementedError

    def step(self, key: Array, state: Any, actions: Array) -> tuple[Any, Step]:
        raise NotImplementedError

    def random_obs(self, rng: np.random.Generator, *shape: int) -> np.ndarray:
        """Observations that fit the declaration  # (*shape, observation_size) float32."""
        columns = [rng.integers(f.levels, size=shape) * f.step for f in self.features]
        return np.stack(columns, axis=-1).astype(np.float32)


def minipass(horizon: int) -> GridWorld:
    text = (files("mace_marl.envs.gridworld") / "maps" / "minipass.toml").read_text()
    return GridWorld(replace(parse_map(text, "minipass.toml"), horizon=horizon))


def random_network(
    observation_size: int, outputs: int, settings: Settings, rng: np.random.Generator
) -> Network:
    """A network whose weights *and biases* are random, so that none of them can go untested."""
    encoding = Encoding((None,) * observation_size)
    shapes = eqx.filter_eval_shape(
        Network, encoding, outputs, 1.0, settings, jax.eval_shape(lambda: jax.random.key(0))
    )
    return randomised(shapes, rng)


def randomised(tree: Tree, rng: np.random.Generator) -> Tree:
    """The same tree with other numbers."""
    return jax.tree.map(lambda x: jnp.asarray(rng.normal(0, 0.5, x.shape), jnp.float32), tree)


def random_learners(agent: Agent, settings: Settings, seed: int = 0) -> Learner:
    """Learners of all agents, stacked, with random networks.

    Orthogonal matrices take seconds to compile and are tested elsewhere.
    """
    rng = np.random.default_rng(seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(networks, "orthogonal", lambda key, rows, columns: jnp.zeros((rows, columns)))
        learner = agent.init(settings, jax.random.key(seed))
    keys = jax.random.split(jax.random.key(seed), agent.num_agents)
    stacked = jax.tree.map(
        lambda x: jnp.broadcast_to(x, (agent.num_agents, *x.shape)), learner._replace(key=keys[0])
    )
    return stacked._replace(
        actor=stacked.actor._replace(network=randomised(stacked.actor.network, rng)),
        critic=stacked.critic._replace(network=randomised(stacked.critic.network, rng)),
        key=keys,
    )
