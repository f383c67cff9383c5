"""The paper's equations one by one, against plain loops and numbers worked by hand."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import plain
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from mace_marl.agent import intrinsic
from mace_marl.settings import Settings

FIFTHS = jnp.array([1.0, 2.0, 3.0, 4.0])  # edges of five bins


def column(*numbers: float) -> jax.Array:
    """One environment's steps  # (steps, 1)."""
    return jnp.array(numbers, jnp.float32)[:, None]


# Accumulated novelty z


def test_z_by_hand() -> None:
    """γ = 0.5, an end after the second step; nothing is known beyond the fourth."""
    z = intrinsic.accumulate(column(8, 4, 2, 6), column(0, 1, 0, 0) > 0, 0.5)
    assert_allclose(z[:, 0], [8 + 4 / 2, 4, 2 + 6 / 2, 6])


def test_z_equals_plain_loops() -> None:
    accumulate = jax.jit(intrinsic.accumulate)

    @given(ends=st.lists(st.booleans(), min_size=24, max_size=24), seed=st.integers(0, 1000))
    def check(ends: list[bool], seed: int) -> None:
        ended = np.array(ends).reshape(8, 3)
        u = np.random.default_rng(seed).uniform(0, 10, (8, 3))
        z = accumulate(jnp.asarray(u), jnp.asarray(ended), 0.99)
        assert_allclose(z, plain.accumulate(u, ended, 0.99), rtol=1e-5)

    check()


# Discretisation


@pytest.mark.parametrize("size", [1, 2, 6, 7, 100, 101])
@pytest.mark.parametrize("bins", [1, 2, 5])
def test_edges_are_percentiles(size: int, bins: int) -> None:
    novelty = np.random.default_rng(size).uniform(0, 10, size)
    edges = intrinsic.percentile_edges(jnp.asarray(novelty), bins, interpolate=True)
    percents = [100 * k / bins for k in range(1, bins)]
    assert_allclose(edges, np.percentile(novelty, percents), rtol=1e-5)


@pytest.mark.parametrize("size", [1, 2, 6, 7, 100, 101])
def test_edges_without_interpolation_are_samples(size: int) -> None:
    novelty = np.random.default_rng(size).uniform(0, 10, size).astype(np.float32)
    edges = intrinsic.percentile_edges(jnp.asarray(novelty), 5, interpolate=False)
    ordered = sorted(novelty)
    assert_array_equal(edges, [ordered[math.floor(k * (size - 1) / 5)] for k in range(1, 5)])


def test_edges_are_of_all_steps_and_environments_together() -> None:
    novelty = np.arange(1.0, 12.0).reshape(11, 1)[::-1]
    for shape in ((11, 1), (1, 11)):
        edges = intrinsic.percentile_edges(jnp.asarray(novelty.reshape(shape)), 5, True)
        assert_allclose(edges, [3, 5, 7, 9])


@pytest.mark.parametrize("interpolate", [False, True])
def test_edges_leave_out_the_dead(interpolate: bool) -> None:
    """They tell a novelty of 0, which nothing that lives ever does."""
    rng = np.random.default_rng(0)
    novelty = rng.uniform(1, 10, (20, 4))
    dead = rng.random((20, 4)) < 0.4
    edges = intrinsic.percentile_edges(jnp.asarray(np.where(dead, 0, novelty)), 5, interpolate)
    of_living = intrinsic.percentile_edges(jnp.asarray(novelty[~dead]), 5, interpolate)
    assert_allclose(edges, of_living, rtol=1e-6)
    nobody = intrinsic.percentile_edges(jnp.zeros((20, 4)), 5, interpolate)
    assert_array_equal(nobody, 0)
    assert_array_equal(intrinsic.relabel(jnp.zeros(3), edges), 0)


def test_labels_are_the_middles_of_the_bins() -> None:
    labels = intrinsic.relabel(jnp.array([0.5, 1.5, 2.5, 3.5, 4.5]), FIFTHS)
    assert_allclose(labels, [0.1, 0.3, 0.5, 0.7, 0.9], rtol=1e-6)


def test_a_novelty_on_an_edge_falls_into_the_lower_bin() -> None:
    assert_allclose(intrinsic.relabel(FIFTHS, FIFTHS), [0.1, 0.3, 0.5, 0.7], rtol=1e-6)
    just_above = jnp.nextafter(FIFTHS, jnp.inf)
    assert_allclose(intrinsic.relabel(just_above, FIFTHS), [0.3, 0.5, 0.7, 0.9], rtol=1e-6)


def test_equal_edges_leave_the_bins_between_them_empty() -> None:
    """Most of a rollout in one place: its novelty is several percentiles at once."""
    labels = intrinsic.relabel(jnp.array([1.0, 2.0, 3.0]), jnp.array([2.0, 2.0, 2.0, 2.0]))
    assert_allclose(labels, [0.1, 0.1, 0.9], rtol=1e-6)


def test_relabelled_novelties_equal_plain_counting() -> None:
    rng = np.random.default_rng(0)
    novelty = rng.integers(1, 30, (20, 4)).astype(np.float32)  # many lie on edges
    edges = np.sort(rng.choice(novelty.reshape(-1), 4))
    labels = intrinsic.relabel(jnp.asarray(novelty), jnp.asarray(edges))
    for t in range(20):
        for e in range(4):
            edges_below = sum(edge < novelty[t, e] for edge in edges)
            assert labels[t, e] == pytest.approx(0.1 + 0.2 * edges_below)


def test_z_bins_share_the_range_equally_and_the_last_is_open() -> None:
    """γ = 0.99 and labels up to 0.9: K = 30 bins of [0, 90], each 3 wide."""
    z = jnp.array([0.0, 2.99, 3.01, 44.9, 45.1, 86.9, 87.1, 90.0, 90.1, 1e6])
    bins = intrinsic.z_bin(z, Settings())
    assert_array_equal(bins, [0, 0, 1, 14, 15, 28, 29, 29, 29, 29])
    assert bins.dtype == jnp.int32


def test_z_bins_follow_discount_and_labels() -> None:
    """γ = 0.9 and ten labels up to 0.95: four bins of [0, 9.5], each 2.375 wide."""
    settings = Settings(novelty_gamma=0.9, percentile_bins=10, bins=4)
    z = jnp.array([0.0, 2.37, 2.38, 4.74, 4.76, 7.12, 7.13, 9.5, 20.0])
    assert_array_equal(intrinsic.z_bin(z, settings), [0, 0, 1, 1, 2, 2, 3, 3, 3])


def test_z_bins_of_a_sum_over_agents_are_as_many_times_wider() -> None:
    """Of two agents: K = 30 bins of [0, 180], each 6 wide."""
    z = jnp.array([0.0, 5.99, 6.01, 90.1, 173.9, 174.1, 1e6])
    assert_array_equal(intrinsic.z_bin(z, Settings(), summed=2), [0, 0, 1, 15, 28, 29, 29])


# Rewards


def test_novelty_reward_is_the_sum_over_all_agents() -> None:
    """Equation (1), for three agents."""
    own, inbox = column(1, 2), jnp.stack([column(10, 20), column(100, 200)])
    assert_allclose(intrinsic.novelty_reward(own, inbox)[:, 0], [111, 222])


def test_novelty_reward_may_be_the_largest_of_all_agents() -> None:
    own, inbox = column(15, 2), jnp.stack([column(10, 20), column(3, 200)])
    assert_allclose(intrinsic.novelty_reward(own, inbox, "max")[:, 0], [15, 200])
    lonely = intrinsic.novelty_reward(own, jnp.zeros((0, 2, 1)), "max")
    assert_allclose(lonely[:, 0], [15, 2])


def test_hindsight_reward_by_hand() -> None:
    """Equation (7): z = 3, p = 1/2, π = 1/4 give 3 log 2; z = 5, p = 1/4, π = 1/2 give −5 log 2;
    p = π gives nothing, whatever z."""
    log_ratio = intrinsic.log_ratio(
        jnp.log(column(1 / 2, 1 / 4, 1 / 3))[None], jnp.log(column(1 / 4, 1 / 2, 1 / 3))
    )
    reward = intrinsic.hindsight_reward(column(3, 5, 1000)[None], log_ratio)
    assert_allclose(reward[:, 0], [3 * math.log(2), -5 * math.log(2), 0], atol=1e-4)


@pytest.mark.parametrize("epsilon", [0.0, 1e-6, 0.1])
def test_hindsight_reward_is_the_sum_over_other_agents(epsilon: float) -> None:
    """Equations (7) and (8), and the authors' −log(π/p + ε)."""
    rng = np.random.default_rng(0)
    z = rng.uniform(0, 90, (2, 5, 3))
    posterior, policy = rng.uniform(0.01, 1, (2, 5, 3)), rng.uniform(0.01, 1, (5, 3))
    wanted = np.zeros((5, 3))
    for other in range(2):
        for t in range(5):
            for e in range(3):
                ratio = policy[t, e] / posterior[other, t, e]
                wanted[t, e] -= z[other, t, e] * math.log(ratio + epsilon)
    log_ratio = intrinsic.log_ratio(
        jnp.log(jnp.asarray(posterior)), jnp.log(jnp.asarray(policy)), epsilon
    )
    reward = intrinsic.hindsight_reward(jnp.asarray(z), log_ratio)
    assert_allclose(reward, wanted, rtol=1e-4, atol=1e-3)


def test_epsilon_bounds_the_reward_of_an_action_that_was_never_meant() -> None:
    """π → 0 and p = 1: −log(0 + ε) = 13.8 for ε = 1e-6."""
    impossible = jnp.full((1, 1), -1e9)
    log_ratio = intrinsic.log_ratio(column(0)[None], impossible, 1e-6)
    reward = intrinsic.hindsight_reward(column(2)[None], log_ratio)
    assert_allclose(reward, [[2 * 13.815511]], rtol=1e-5)


def test_shaped_reward() -> None:
    """Equation (10) with λ = 0.01: 100 + 7 + 0.01 · 50; equation (13) with β = 0.1 too."""
    parts = column(100), column(7), column(50)
    assert_allclose(intrinsic.shaped_reward(*parts, Settings()), [[107.5]])
    scaled = Settings(intrinsic_weight=0.1)
    assert_allclose(intrinsic.shaped_reward(*parts, scaled), [[100.75]])
    heavier = Settings(intrinsic_weight=0.1, hindsight_weight=2.0)
    assert_allclose(intrinsic.shaped_reward(*parts, heavier), [[100 + 0.1 * (7 + 2 * 50)]])


def test_intrinsic_rewards_fade_as_the_world_rewards() -> None:
    """β (1 − s)^2 with β = 0.5 and s = 0.6: 0.08 is left of 7 + 0.01 · 50."""
    fading = Settings(intrinsic_weight=0.5, intrinsic_fading=2.0)
    parts = column(100), column(7), column(50)
    assert_allclose(intrinsic.shaped_reward(*parts, fading, 0.6), [[100 + 0.08 * 7.5]], rtol=1e-6)
    steady = Settings(intrinsic_fading=0.0)
    assert_allclose(intrinsic.shaped_reward(*parts, steady, 1.0), [[107.5]])


def test_share_of_rewarded_episodes() -> None:
    """One environment: rewarded, then ended; not rewarded; rewarded twice, ended later; unended."""
    reward = column(1, 0, 0, 2, 3, 0, 5)
    ended = column(1, 0, 1, 0, 0, 1, 0) > 0
    before = jnp.float32(0.1)
    assert_allclose(intrinsic.rewarded_share(reward, ended, before, 0.0), 2 / 3)
    assert_allclose(intrinsic.rewarded_share(reward, ended, before, 0.7), 0.07 + 0.2, rtol=1e-6)
    never = jnp.zeros_like(ended)
    assert_allclose(intrinsic.rewarded_share(reward, never, before, 0.7), 0.1)


def test_first_visits_by_hand() -> None:
    """A, B, A, then a new episode: A again is new there, B too, the second A is not."""
    code = jnp.array([[7, 1], [8, 1], [7, 2], [7, 2], [8, 3], [7, 1]])
    first = jnp.array([[0, 1], [0, 0], [0, 0], [1, 0], [0, 0], [0, 0]], bool)
    wanted = [[1, 1], [1, 0], [0, 1], [1, 0], [1, 1], [0, 0]]
    assert_allclose(intrinsic.first_visits(code, first), np.array(wanted, bool))
