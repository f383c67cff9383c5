"""Statistics of runs against plain computations on small samples."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from made_up import make_rows, rising
from scipy import stats

from mace_marl.experiments.statistics import (
    at_steps,
    confidence_interval,
    interquartile_mean,
    mean_and_error,
    probability_of_improvement,
    recent,
    typical_steps,
)
from mace_marl.statistics import reached, success_rate


def random_rows(seed: int, updates: int = 60) -> list[dict[str, Any]]:
    """Updates with very different numbers of episodes, many of them without any."""
    rng = np.random.default_rng(seed)
    episodes = rng.choice([0, 0, 3, 90, 400, 1000, 2500], size=updates)
    rows = []
    for number, count in enumerate(episodes, start=1):
        row = make_rows([int(rng.binomial(count, number / updates))], int(count))[0]
        rows.append(row | {"update": number, "env_steps": 500 * number})
    return rows


@pytest.mark.parametrize("seed", range(5))
def test_recent_is_what_training_itself_looks_at(seed: int) -> None:
    """After every update: the success rate shown, and the decision to end a run."""
    rows = random_rows(seed)
    known = recent(rows)
    for update in range(len(rows)):
        so_far = rows[: update + 1]
        rate = success_rate(so_far)
        assert known.success[update] == pytest.approx(
            math.nan if rate is None else rate, nan_ok=True
        )
    assert np.allclose(known.returns, 100 * known.success, equal_nan=True)
    for share in (0.3, 0.5, 0.9, 1.0):
        first = [r["env_steps"] for i, r in enumerate(rows) if reached(rows[: i + 1], share)]
        assert known.steps_until(share) == (first[0] if first else math.inf)


def test_steps_until_success_needs_a_thousand_episodes() -> None:
    """Solved from the fifth update on, 250 episodes each: half of a thousand after the sixth."""
    known = recent(rising(updates=20, solved_from=4))
    assert known.steps_until(0.5) == 6_000
    assert known.steps_until(0.9) == 8_000
    assert recent(make_rows([250, 250, 250])).steps_until(0.5) == math.inf
    assert recent(make_rows([250, 250, 250, 250])).steps_until(0.5) == 4_000


def test_curves_at_common_steps() -> None:
    """Nothing before the first update, the last value after an early end."""
    values = at_steps(
        np.array([10.0, 20.0, 30.0]), np.array([1.0, 2.0, 3.0]), np.arange(0, 50, 5.0)
    )
    expected = [math.nan, math.nan, 1, 1, 2, 2, 3, 3, 3, 3]
    np.testing.assert_array_equal(values, expected)


def test_mean_and_standard_error() -> None:
    mean, error = mean_and_error(np.array([1.0, 2.0, 4.0, 9.0]))
    assert mean == 4.0
    # Squares of the deviations: 9 + 4 + 0 + 25 = 38, of three degrees of freedom, four runs.
    assert error == pytest.approx(math.sqrt(38 / 3 / 4))
    assert np.isnan(mean_and_error(np.array([5.0]))[1])


def test_interquartile_mean_of_a_known_sample() -> None:
    """Eight runs on two tasks: the two best and the two worst of all do not count."""
    one, other = np.array([0.0, 0.1, 0.5, 0.6]), np.array([0.7, 0.8, 1.0, 1.0])
    assert interquartile_mean(one, other) == pytest.approx((0.5 + 0.6 + 0.7 + 0.8) / 4)


def test_probability_of_improvement_is_mann_whitney() -> None:
    rng = np.random.default_rng(0)
    ours, theirs = rng.integers(0, 5, 7).astype(float), rng.integers(0, 5, 4).astype(float)
    u = stats.mannwhitneyu(ours, theirs).statistic
    assert probability_of_improvement(ours, theirs) == pytest.approx(u / 28)
    # By hand: 3 beats 1 and 2, ties with 3; 2 beats 1, ties with 2, loses to 3.
    hand = probability_of_improvement(np.array([3.0, 2.0]), np.array([1.0, 2.0, 3.0]))
    assert hand == pytest.approx((2.5 + 1.5) / 6)
    both = probability_of_improvement(ours, np.array([3.0, 2.0]), theirs, np.array([1.0, 2.0, 3.0]))
    assert both == pytest.approx((u / 28 + 4 / 6) / 2)
    never = np.array([-np.inf, -np.inf])
    assert probability_of_improvement(never, never) == 0.5


def test_bootstrap_draws_within_each_stratum() -> None:
    """The limits of all the draws there can be: 2 runs on one task, 3 on the other."""
    one, other = np.array([0.0, 1.0]), np.array([10.0, 20.0, 60.0])
    low, high = confidence_interval(interquartile_mean, one, other)
    draws = [
        float(stats.trim_mean([*a, *b], 0.25))
        for a in itertools.product(one, repeat=2)
        for b in itertools.product(other, repeat=3)
    ]
    assert low == pytest.approx(np.percentile(draws, 2.5), abs=0.5)
    assert high == pytest.approx(np.percentile(draws, 97.5), abs=0.5)
    # Drawn from all five together, five zeros and ones would sometimes come up: a mean below 1.
    assert min(draws) > 3


def test_bootstrap_of_curves_is_that_of_each_point() -> None:
    rng = np.random.default_rng(1)
    curves = rng.random((4, 6))  # (points, runs)
    low, high = confidence_interval(interquartile_mean, curves)
    for point in range(4):
        single = confidence_interval(interquartile_mean, curves[point])
        assert (low[point], high[point]) == pytest.approx(single)
    again = confidence_interval(interquartile_mean, curves)
    np.testing.assert_array_equal(again, (low, high))


def test_single_runs_have_no_limits() -> None:
    limits = confidence_interval(interquartile_mean, np.array([1.0, 2.0]), np.array([3.0]))
    assert np.isnan(limits).all()


@pytest.mark.parametrize(
    ("steps", "median"),
    [
        ([5, 3, 4], 4),
        ([5, 3, 4, math.inf], 4),
        ([3, math.inf, 5, math.inf], 5),
        ([3, math.inf, math.inf], math.inf),
        ([math.inf], math.inf),
    ],
)
def test_median_with_runs_that_never_got_there(steps: list[float], median: float) -> None:
    assert typical_steps(np.array(steps)) == median
