"""Novelty by counting visits: scale / √n, where n is how often this agent has been at a place."""

from dataclasses import dataclass

import jax.numpy as jnp
from jax import Array

from mace_marl.agent.encoding import Index, index_columns
from mace_marl.envs.api import World


@dataclass(frozen=True)
class CountNovelty:
    index: Index

    @classmethod
    def of(cls, world: World) -> "CountNovelty":
        return cls(index_columns(world, world.place, "counting visits"))

    def init(self) -> Array:
        """What the agent keeps: visits of every place  # (places,) int32, over all envs."""
        return jnp.zeros(self.index.size, jnp.int32)

    def visit(self, counts: Array, obs: Array, seen: Array) -> Array:
        """Count the observations  # obs (…, observation_size) where seen  # (…) bool."""
        return counts.at[self.index(obs)].add(seen.astype(jnp.int32))

    def novelty(self, counts: Array, obs: Array, scale: Array | float) -> Array:
        """u of each observation  # (…) float32. A place never counted is as new as at n = 1."""
        return scale / jnp.sqrt(jnp.maximum(counts[self.index(obs)], 1).astype(jnp.float32))
