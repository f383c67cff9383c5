"""Things to test with: random networks and learners, small worlds."""

from dataclasses import replace
from importlib.resources import files
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from mace_marl.agent import ppo
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


def minipass(horizon: int) -> GridWorld:
    text = (files("mace_marl.envs.gridworld") / "maps" / "minipass.toml").read_text()
    return GridWorld(replace(parse_map(text, "minipass.toml"), horizon=horizon))


def random_network(
    encoding: Encoding | int, outputs: int, settings: Settings, rng: np.random.Generator
) -> Network:
    """A network whose weights *and biases* are random, so that none of them can go untested.

    Instead of an encoding, say how many numbers it sees as they are.
    """
    if isinstance(encoding, int):
        encoding = Encoding((None,) * encoding)
    shapes = eqx.filter_eval_shape(
        Network, encoding, outputs, 1.0, settings, jax.eval_shape(lambda: jax.random.key(0))
    )
    return randomised(shapes, rng)


def randomised(tree: Tree, rng: np.random.Generator) -> Tree:
    """The same tree with other numbers."""
    return jax.tree.map(lambda x: jnp.asarray(rng.normal(0, 0.5, x.shape), jnp.float32), tree)


def random_learners(agent: Agent, settings: Settings, seed: int = 0) -> Learner:
    """Learners of all agents, stacked, with random networks."""

    def init(key: Array) -> Learner:
        return jax.vmap(lambda key: agent.init(settings, key))(
            jax.random.split(key, agent.num_agents)
        )

    key, rng = jax.random.key(seed), np.random.default_rng(seed)
    shapes = jax.eval_shape(init, key)

    def optimised(network: Network) -> ppo.Optimised:
        return jax.vmap(lambda network: ppo.init_optimised(network, settings))(
            randomised(network, rng)
        )

    # Orthogonal networks take seconds to compile and are tested elsewhere: here they are dropped.
    rest = jax.jit(lambda key: init(key)._replace(actor=None, critic=None))(key)
    return rest._replace(
        actor=optimised(shapes.actor.network), critic=optimised(shapes.critic.network)
    )
