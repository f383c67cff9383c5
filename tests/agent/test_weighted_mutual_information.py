"""Weighted mutual information (2), the paper's Table 1, and the Monte-Carlo identity (9)."""

import math

import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from plain import REWARDS, STATE_1, STATE_2, information, joint_of

from mace_marl.agent import intrinsic

GRID = np.linspace(0.001, 0.999, 999)  # of p(a1)


def rewards_of_pairs(joint: np.ndarray, zs: tuple[float, ...]) -> np.ndarray:
    """The package's r_hin of every pair, with the exact posterior and policy  # (…, a, z)."""
    log_posterior = np.log(joint / joint.sum(axis=-2, keepdims=True))
    log_policy = np.broadcast_to(np.log(joint.sum(axis=-1, keepdims=True)), joint.shape)
    z = np.broadcast_to(np.array(zs), joint.shape)
    log_ratio = intrinsic.log_ratio(jnp.asarray(log_posterior)[None], jnp.asarray(log_policy))
    return np.asarray(intrinsic.hindsight_reward(jnp.asarray(z)[None], log_ratio))


def expected_reward(joint: np.ndarray, zs: tuple[float, ...]) -> np.ndarray:
    """E[r_hin] under the joint distribution  # (…)."""
    return (joint * rewards_of_pairs(joint, zs)).sum(axis=(-2, -1))


def test_table_1_by_hand() -> None:
    """p(a1) = 1/2. In state 1, p(r) = (0.45, 0.45, 0.1), and both actions have

        0.1 ln(0.1/0.45) + 0.8 ln(0.8/0.45) + 0.1 ln(0.1/0.1)
            = 0.1 · (−1.504077) + 0.8 · 0.575364 = 0.309884 nats

    of information. Weighted, a1 has −0.150408 · 1 + 0.460291 · 5 = 2.151049 and a2 has
    0.460291 · 1 − 0.150408 · 5 = −0.291747, on average 0.929651. In state 2 the two rewards
    concerned are 5 and 9 instead of 1 and 5: −0.150408 · 9 + 0.460291 · 5 = 0.947787 and
    −0.150408 · 5 + 0.460291 · 9 = 3.390583, on average 2.169185.
    """
    for state in (STATE_1, STATE_2):
        assert information(joint_of(state, 0.5), (1, 1, 1)) == pytest.approx(0.309884, abs=2e-6)
    assert information(joint_of(STATE_1, 0.5), REWARDS) == pytest.approx(0.929651, abs=2e-6)
    assert information(joint_of(STATE_2, 0.5), REWARDS) == pytest.approx(2.169185, abs=2e-6)
    for state, wanted in ((STATE_1, 0.929651), (STATE_2, 2.169185)):
        mean = expected_reward(np.array(joint_of(state, 0.5)), REWARDS)
        assert mean == pytest.approx(wanted, abs=1e-5)


def test_both_states_of_table_1_have_the_same_mutual_information() -> None:
    for p in GRID:
        one, two = (information(joint_of(state, p), (1, 1, 1)) for state in (STATE_1, STATE_2))
        assert one == pytest.approx(two, rel=1e-9)


def test_state_2_of_table_1_has_the_higher_weighted_mutual_information() -> None:
    """Also as the package estimates it: the expectation of its hindsight reward."""
    one, two = (
        np.array([information(joint_of(state, p), REWARDS) for p in GRID])
        for state in (STATE_1, STATE_2)
    )
    assert (two > one).all()
    ours_one, ours_two = (
        expected_reward(np.array([joint_of(state, p) for p in GRID]), REWARDS)
        for state in (STATE_1, STATE_2)
    )
    assert (ours_two > ours_one).all()
    assert_allclose(ours_one, one, atol=1e-5)
    assert_allclose(ours_two, two, atol=1e-5)


@pytest.mark.parametrize("seed", range(5))
def test_expected_hindsight_reward_is_the_weighted_mutual_information(seed: int) -> None:
    """Equation (9), on a random joint distribution of four actions and five values of z."""
    rng = np.random.default_rng(seed)
    joint = rng.dirichlet(np.full(20, 0.7)).reshape(4, 5)
    zs = tuple(rng.uniform(0, 90, 5))
    wanted = information(joint.tolist(), zs)
    rewards = rewards_of_pairs(joint, zs)

    mean = 0.0
    for a in range(4):
        for z in range(5):
            mean += joint[a, z] * rewards[a, z]
    assert mean == pytest.approx(wanted, rel=1e-4)

    of_actions = [
        sum(joint[a, z] / joint[a].sum() * rewards[a, z] for z in range(5)) for a in range(4)
    ]  # equation (5)
    mean = sum(joint[a].sum() * of_actions[a] for a in range(4))
    assert mean == pytest.approx(wanted, rel=1e-4)


def test_sampled_hindsight_rewards_converge_to_the_weighted_mutual_information() -> None:
    """Their mean over n samples misses by no more than a few standard errors, for growing n."""
    rng = np.random.default_rng(0)
    joint = rng.dirichlet(np.ones(12)).reshape(3, 4)
    zs = (0.5, 2.0, 7.0, 20.0)
    wanted = information(joint.tolist(), zs)
    rewards = rewards_of_pairs(joint, zs).reshape(-1)
    deviation = math.sqrt((joint.reshape(-1) * (rewards - wanted) ** 2).sum())
    for n in (1_000, 100_000, 1_000_000):
        mean = rewards[rng.choice(12, size=n, p=joint.reshape(-1))].mean()
        assert abs(mean - wanted) < 3 * deviation / math.sqrt(n)
    assert 3 * deviation / math.sqrt(1_000_000) < 0.02 * wanted
