"""Novelty by counting visits: scale / √n, where n is how often this agent has been at a place."""

from dataclasses import dataclass

import jax.numpy as jnp
from jax import Array

from mace_marl.agent.encoding import Encoding, Index, index_columns
from mace_marl.agent.novelty.api import Novelty
from mace_marl.envs.api import World
from mace_marl.settings import Settings


@dataclass(frozen=True)
class CountNovelty(Novelty):
    index: Index

    @classmethod
    def of(cls, world: World, encoding: Encoding, settings: Settings) -> "CountNovelty":
        return cls(index_columns(world, world.place, "counting visits", "--novelty rnd"))

    def init(self, settings: Settings, key: Array) -> Array:
        """Visits of every place  # (places,) int32, over all envs."""
        return jnp.zeros(self.index.size, jnp.int32)

    def visit(self, kept: Array, obs: Array, seen: Array) -> Array:
        return kept.at[self.index(obs)].add(seen.astype(jnp.int32))

    def novelty(self, kept: Array, obs: Array, settings: Settings) -> Array:
        return settings.novelty_scale * rarity(kept[self.index(obs)])


def rarity(visits: Array) -> Array:
    """1/√n. What was never counted is as new as at n = 1."""
    return 1 / jnp.sqrt(jnp.maximum(visits, 1).astype(jnp.float32))
