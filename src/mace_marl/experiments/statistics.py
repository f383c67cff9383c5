"""Statistics of one run and of many, with SciPy.

A *stratum* is what the runs of one method on one task came to: (…, runs), any axes before the last
being treated each by itself. Functions take several strata where a study has several tasks.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from mace_marl.statistics import RECENT_EPISODES

RESAMPLES = 2000
CONFIDENCE = 0.95


class Recent(NamedTuple):
    """Means over about the last thousand training episodes, as they were after every update."""

    env_steps: np.ndarray  # (updates,)
    episodes: np.ndarray  # (updates,): so many of them there were
    success: np.ndarray  # (updates,): success rate; NaN before an episode has ended
    returns: np.ndarray  # (updates,): episode return; likewise

    def steps_until(self, share: float) -> float:
        """Environment steps until a thousand episodes succeeded this often; inf if they never did.

        Runs of one study and task end at the same step at the latest, so that 'never' always
        means 'not within the budget'.
        """
        enough = (self.episodes >= RECENT_EPISODES) & (self.success >= share)
        return float(self.env_steps[enough.argmax()]) if enough.any() else math.inf


def recent(rows: Sequence[Mapping[str, Any]]) -> Recent:
    """From a run's metrics."""
    episodes = np.array([row["episodes"] for row in rows], np.float64)
    sums = {
        "success": np.array([row["successes"] for row in rows], np.float64),
        "returns": episodes * [row["episode_return"] or 0.0 for row in rows],
    }
    ended = _from_zero(episodes)  # (updates + 1,)
    # The last update after which a thousand more episodes have ended by now, or none at all.
    first = np.maximum(np.searchsorted(ended, ended[1:] - RECENT_EPISODES, side="right") - 1, 0)
    count = ended[1:] - ended[first]
    known = np.where(count > 0, count, np.nan)
    means = {
        key: (_from_zero(sum)[1:] - _from_zero(sum)[first]) / known for key, sum in sums.items()
    }
    return Recent(np.array([row["env_steps"] for row in rows], np.float64), count, **means)


def _from_zero(values: np.ndarray) -> np.ndarray:
    return np.concatenate([[0.0], np.cumsum(values)])


def at_steps(env_steps: np.ndarray, values: np.ndarray, grid: np.ndarray) -> np.ndarray:
    """The values as they stood at the steps of `grid`: NaN before the first, the last ever after.

    A run that ended early, for it succeeded often enough, is so taken to go on like that.
    """
    place = np.searchsorted(env_steps, grid, side="right")
    return np.concatenate([[np.nan], values])[place]


def mean_and_error(stratum: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean over runs and its standard error, which is NaN for a single run  # (…,), (…,)."""
    alone = stratum.shape[-1] < 2
    error = np.full(stratum.shape[:-1], np.nan) if alone else stats.sem(stratum, axis=-1)
    return stratum.mean(axis=-1), np.asarray(error)


def interquartile_mean(*strata: np.ndarray, axis: int = -1) -> np.ndarray:
    """Mean of the middle half of the runs of all strata together  # (…,)."""
    return np.asarray(stats.trim_mean(np.concatenate(strata, axis=axis), 0.25, axis=axis))


def probability_of_improvement(*strata: np.ndarray, axis: int = -1) -> np.ndarray:
    """That a run of ours is above one of theirs, a tie counting half; mean over tasks  # (…,).

    The first half of the strata is ours, task by task, the other half theirs. For each task this
    is the statistic U of Mann and Whitney, divided by the number of pairs.
    """
    half = len(strata) // 2
    chances = []
    for ours, theirs in zip(strata[:half], strata[half:], strict=True):
        x, y = ours[..., :, None], theirs[..., None, :]
        chances.append(((x > y) + 0.5 * (x == y)).mean(axis=(-2, -1)))
    return np.mean(chances, axis=0)


def confidence_interval(
    statistic: Callable[..., np.ndarray], *strata: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """95 % limits by the stratified bootstrap: runs are drawn anew within each stratum.

    They are NaN if a stratum is a single run, of which nothing can be drawn.  # (…,), (…,)
    """
    if min(stratum.shape[-1] for stratum in strata) < 2:
        nothing = np.full(strata[0].shape[:-1], np.nan)
        return nothing, nothing
    interval = stats.bootstrap(
        strata,
        statistic,
        n_resamples=RESAMPLES,
        confidence_level=CONFIDENCE,
        method="percentile",
        vectorized=True,
        axis=-1,
        rng=np.random.default_rng(0),  # the same results, the same limits
    ).confidence_interval
    return interval.low, interval.high


def typical_steps(steps: np.ndarray) -> float:
    """By when half of the runs had got there: the lower median; inf if fewer ever did.

    Half way between two values, as medians often are, does not exist if one of them is censored.
    """
    return float(np.sort(steps)[(len(steps) - 1) // 2])
