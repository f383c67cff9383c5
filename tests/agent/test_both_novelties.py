"""RND and counts together: the sum of what either says alone, and both get used to what is met."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from samples import Sheet, on_shards

from mace_marl.agent.encoding import encode_for_networks
from mace_marl.agent.novelty import BothNovelties, CountNovelty, RandomNetworkDistillation
from mace_marl.agent.novelty.both import Kept
from mace_marl.envs.api import Feature
from mace_marl.errors import UserError
from mace_marl.settings import Settings

SETTINGS = Settings(
    novelty="both",
    novelty_scale=2.0,
    count_weight=0.5,
    count_power=1.0,
    counted="observation",
    hidden_size=6,
    epochs=2,
    rnd_magnified=3.0,
)
WORLD = Sheet()
ENCODING = encode_for_networks(WORLD, one_hot=True)
BOTH = BothNovelties.of(WORLD, ENCODING, SETTINGS)
RND = RandomNetworkDistillation.of(WORLD, ENCODING, SETTINGS)
COUNT = CountNovelty.of(WORLD, ENCODING, SETTINGS)


def learn(kept: Kept, obs: jax.Array, seen: jax.Array, settings: Settings) -> Kept:
    def program() -> tuple[Kept, dict[str, jax.Array]]:
        return BOTH.learn(kept, obs, seen, settings, jax.random.key(1), micro_batch=7)

    return on_shards(program, 1)[0]


def test_the_sum_over_several_rollouts() -> None:
    rng, key = np.random.default_rng(0), jax.random.key(3)
    kept = BOTH.init(SETTINGS, key)
    rnd, counts = RND.init(SETTINGS, key), COUNT.init(SETTINGS, key)
    for _ in range(3):
        obs, seen = jnp.asarray(WORLD.random_obs(rng, 6, 3)), jnp.asarray(rng.random((6, 3)) < 0.7)
        kept = BOTH.visit(kept, obs, seen)
        rnd, counts = RND.visit(rnd, obs, seen), COUNT.visit(counts, obs, seen)
        apart = RND.novelty(rnd, obs, SETTINGS) + 0.5 * COUNT.novelty(counts, obs, SETTINGS)
        assert_allclose(BOTH.novelty(kept, obs, SETTINGS), apart, rtol=1e-6)
        assert_array_equal(BOTH.code(kept, obs), RND.code(rnd, obs))
        kept = learn(kept, obs, seen, SETTINGS)
        assert_array_equal(kept.counts, counts)  # RND alone has learned
        assert not np.array_equal(
            kept.distilled.predictor.network.layers[0].weight,
            rnd.predictor.network.layers[0].weight,
        )
        rnd = kept.distilled


def test_a_new_combination_stands_out() -> None:
    """Though each of its parts has been met often."""
    met = jnp.array([[0.5, 0.0, 0.0], [0.0, 0.25, 0.0], [0.0, 0.0, 1.0]] * 20)
    seen = jnp.ones(len(met), bool)
    settings = SETTINGS.override({"epochs": 300, "rnd_learning_rate": 3e-3})
    kept = BOTH.visit(BOTH.init(SETTINGS, jax.random.key(0)), met, seen)
    kept = learn(kept, met, seen, settings)
    familiar = BOTH.novelty(kept, met[:3], SETTINGS)
    combined = BOTH.novelty(kept, jnp.array([[0.5, 0.25, 1.0]]), SETTINGS)
    assert combined.min() > 1.0 > 5 * familiar.max()


def test_what_cannot_be_counted_is_refused() -> None:
    class Continuous(Sheet):
        features = (None, Feature(2, 0.25, exact=False), None)

    with pytest.raises(UserError, match="--novelty rnd"):
        BothNovelties.of(Continuous(), ENCODING, SETTINGS)
