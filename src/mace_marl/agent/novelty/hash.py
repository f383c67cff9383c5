"""Novelty by counting hashes: scale / √n, where n is how often an observation like this was met.

Alike are observations on the same side of k random planes (SimHash). So observations may be
continuous, or too many for a table of all; those that lie close together share their count.
"""

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from mace_marl.agent.encoding import Encoding
from mace_marl.agent.novelty.api import Novelty
from mace_marl.agent.novelty.count import rarity
from mace_marl.envs.api import World
from mace_marl.settings import Settings


class Hashed(NamedTuple):
    planes: Array  # (encoded size, k): fixed
    counts: Array  # (2^k,) int32


@dataclass(frozen=True)
class HashNovelty(Novelty):
    encoding: Encoding

    @classmethod
    def of(cls, world: World, encoding: Encoding, settings: Settings) -> "HashNovelty":
        return cls(encoding)

    def init(self, settings: Settings, key: Array) -> Hashed:
        planes = jax.random.normal(key, (self.encoding.size, settings.hash_bits))
        return Hashed(planes, jnp.zeros(2**settings.hash_bits, jnp.int32))

    def code(self, kept: Hashed, obs: Array) -> Array:
        """The number whose bits say on which sides an observation lies  # (…) int32."""
        bits = self.encoding(obs) @ kept.planes > 0
        return (bits * 2 ** np.arange(bits.shape[-1])).sum(axis=-1).astype(jnp.int32)

    def visit(self, kept: Hashed, obs: Array, seen: Array) -> Hashed:
        counts = kept.counts.at[self.code(kept, obs)].add(seen.astype(jnp.int32))
        return kept._replace(counts=counts)

    def novelty(self, kept: Hashed, obs: Array, settings: Settings) -> Array:
        return settings.novelty_scale * rarity(kept.counts[self.code(kept, obs)], settings)
