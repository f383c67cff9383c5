"""Novelty by counting visits: scale / √n, where n is how often this agent has been at a place.

Or how often it has made the very same observation, if that is what is `counted`: the same in all
that is discrete of it.
"""

from dataclasses import dataclass

import jax.numpy as jnp
from jax import Array

from mace_marl.agent.encoding import Encoding, Index, index_columns, index_discrete
from mace_marl.agent.novelty.api import Novelty
from mace_marl.envs.api import World
from mace_marl.settings import Settings

MOST_COUNTS = 2**20  # beyond that, observations share counts by chance


@dataclass(frozen=True)
class CountNovelty(Novelty):
    index: Index

    @classmethod
    def of(cls, world: World, encoding: Encoding, settings: Settings) -> "CountNovelty":
        purpose, instead = "counting visits", "--novelty rnd"
        if settings.counted == "place":
            return cls(index_columns(world, world.place, purpose, instead))
        return cls(index_discrete(world, purpose, instead, MOST_COUNTS))

    def init(self, settings: Settings, key: Array) -> Array:
        """Visits of every place  # (places,) int32, over all environments."""
        return jnp.zeros(self.index.size, jnp.int32)

    def code(self, kept: Array, obs: Array) -> Array:
        return self.index(obs)

    def visit(self, kept: Array, obs: Array, seen: Array) -> Array:
        return kept.at[self.index(obs)].add(seen.astype(jnp.int32))

    def novelty(self, kept: Array, obs: Array, settings: Settings) -> Array:
        return settings.novelty_scale * rarity(kept[self.index(obs)], settings)


def rarity(visits: Array, settings: Settings) -> Array:
    """1/√n, or another power of n. What was never counted is as new as at n = 1."""
    return jnp.maximum(visits, 1).astype(jnp.float32) ** -settings.count_power
