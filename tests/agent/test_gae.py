"""Advantages against plain double loops, at every kind of end."""

from functools import partial

import jax
import numpy as np
import plain
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from mace_marl.agent import gae

STEPS, ENVS = 8, 3
NO_END, TERMINATED, TRUNCATED = range(3)

advantages = jax.jit(gae.advantages, static_argnames="discard_truncated")


def three_steps(
    terminated: list[bool], truncated: list[bool], discard_truncated: bool = False
) -> np.ndarray:
    """Rewards 1, 2, 4; values 10, 20, 30; next values 20, 30, 40; γ = 0.5, λ = 0.5.

    Without an end, δ = (1 + 10 − 10, 2 + 15 − 20, 4 + 20 − 30) = (1, −3, −6).
    """
    columns = [[1.0, 2.0, 4.0], [10.0, 20.0, 30.0], [20.0, 30.0, 40.0], terminated, truncated]
    arrays = (np.array(column)[:, None] for column in columns)
    return np.asarray(advantages(*arrays, 0.5, 0.5, discard_truncated=discard_truncated))[:, 0]


no = [False, False, False]
at_second = [False, True, False]


def test_without_an_end_the_critic_speaks_for_what_follows_the_rollout() -> None:
    assert_allclose(three_steps(no, no), [1 - 3 / 4 - 6 / 16, -3 - 6 / 4, -6])


def test_after_a_termination_nothing_follows() -> None:
    """δ of the second step is 2 − 20 = −18."""
    assert_allclose(three_steps(at_second, no), [1 - 18 / 4, -18, -6])


def test_at_a_truncation_the_critic_speaks_for_what_would_have_followed() -> None:
    assert_allclose(three_steps(no, at_second), [1 - 3 / 4, -3, -6])


def test_a_discarded_truncation_has_no_advantage_and_passes_none_back() -> None:
    assert_allclose(three_steps(no, at_second, discard_truncated=True), [1, 0, -6])


def test_discarding_leaves_terminations_alone() -> None:
    discarding = three_steps(at_second, no, discard_truncated=True)
    assert_allclose(discarding, three_steps(at_second, no))


ends = st.lists(st.integers(0, 2), min_size=STEPS * ENVS, max_size=STEPS * ENVS)


@pytest.mark.parametrize("discard_truncated", [False, True])
@pytest.mark.parametrize(("gamma", "gae_lambda"), [(0.99, 0.95), (0.9, 0.0), (1.0, 1.0)])
def test_equals_plain_loops(gamma: float, gae_lambda: float, discard_truncated: bool) -> None:
    @given(pattern=ends, seed=st.integers(0, 1000))
    @example(pattern=[NO_END] * STEPS * ENVS, seed=0)
    @example(pattern=[TERMINATED] * STEPS * ENVS, seed=0)
    @example(pattern=[TRUNCATED] * STEPS * ENVS, seed=0)
    def check(pattern: list[int], seed: int) -> None:
        end = np.array(pattern).reshape(STEPS, ENVS)
        reward, value, next_value = np.random.default_rng(seed).normal(0, 3, (3, STEPS, ENVS))
        arguments = reward, value, next_value, end == TERMINATED, end == TRUNCATED
        rest = {"gamma": gamma, "gae_lambda": gae_lambda, "discard_truncated": discard_truncated}
        ours = partial(advantages, **rest)(*arguments)
        assert_allclose(ours, plain.advantages(*arguments, **rest), rtol=1e-4, atol=1e-4)

    check()
