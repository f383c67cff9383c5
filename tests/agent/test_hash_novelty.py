"""Novelty by counting hashes, against a dictionary of the sides on which observations lie."""

import math
from collections import Counter

import jax
import jax.numpy as jnp
import numpy as np
from numpy.testing import assert_allclose

from mace_marl.agent.encoding import Encoding
from mace_marl.agent.novelty import HashNovelty
from mace_marl.settings import Settings

INPUTS = 4
SETTINGS = Settings(hash_bits=5, novelty_scale=2.0)
MEASURE = HashNovelty(Encoding((None,) * INPUTS))


def test_novelties_equal_a_dictionary_over_several_rollouts() -> None:
    rng = np.random.default_rng(0)
    kept = MEASURE.init(SETTINGS, jax.random.key(0))
    planes, visits = np.asarray(kept.planes, np.float64), Counter[tuple[bool, ...]]()

    def sides(obs: np.ndarray) -> tuple[bool, ...]:
        return tuple(sum(obs[i] * planes[i, k] for i in range(INPUTS)) > 0 for k in range(5))

    for _ in range(3):
        obs = rng.normal(size=(6, 3, INPUTS)).astype(np.float32)
        seen = rng.random((6, 3)) < 0.7
        kept = MEASURE.visit(kept, jnp.asarray(obs), jnp.asarray(seen))
        for at in np.ndindex(6, 3):
            visits[sides(obs[at])] += int(seen[at])
        novelty = MEASURE.novelty(kept, jnp.asarray(obs), SETTINGS)
        for at in np.ndindex(6, 3):
            assert_allclose(novelty[at], 2 / math.sqrt(max(visits[sides(obs[at])], 1)), rtol=1e-6)
    counts = np.asarray(kept.counts)
    assert len(counts) == 2**5
    assert sorted(counts[counts > 0]) == sorted(n for n in visits.values() if n)


def test_agents_hash_differently() -> None:
    one, other = (MEASURE.init(SETTINGS, jax.random.key(seed)).planes for seed in range(2))
    assert not np.allclose(one, other)
