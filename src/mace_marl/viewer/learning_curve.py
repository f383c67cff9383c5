"""How a run learnt, over environment steps."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from mace_marl.viewer import agent_colour
from mace_marl.viewer.style import (
    INK,
    LEGEND_STYLE,
    REMARK_STYLE,
    blank_figure,
    save_figure,
    style_axes,
)

SMOOTHED_SHARE = 25  # bold lines are means over one in 25 of all updates
SERIES = {
    "novelty_reward": "Novelty-based\nreward",
    "hindsight_reward": "Hindsight-based\nreward",
    "entropy": "Policy\nentropy",
}


def learning_curve(rows: Sequence[Mapping[str, Any]], title: str, path: Path) -> None:
    """Draw success over environment steps, below it intrinsic rewards and entropy if there are any.

    `rows` are the objects of metrics.jsonl. Thin lines are single updates, bold ones the mean of
    the updates before; that of success is weighted by how many episodes ended in each update.
    """
    steps = _column(rows, "env_steps")  # (updates,)
    window = max(1, len(rows) // SMOOTHED_SHARE)
    panels = {key: _per_agent(rows, key) for key in SERIES}
    panels = {key: values for key, values in panels.items() if np.isfinite(values).any()}
    figure = blank_figure(8, 3.4 + 1.6 * len(panels), title)
    top, *below = figure.subplots(
        1 + len(panels), squeeze=False, sharex=True, height_ratios=[1.8] + [1.0] * len(panels)
    )[:, 0]
    scale, unit = _step_unit(steps)
    _draw_outcome(top, rows, steps / scale, window)
    for panel, (key, values) in zip(below, panels.items(), strict=True):
        panel.set_ylabel(SERIES[key])
        for agent, series in enumerate(values.T):
            name = f"agent {agent}"
            mean = running_mean(series, np.ones(len(series)), window)
            _draw_line(panel, steps / scale, series, mean, agent_colour(agent), name)
    if below:
        # Above the panel: inside, it would sooner or later hide a curve.
        below[0].legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=8, **LEGEND_STYLE)
    for panel in (top, *below):
        style_axes(panel)
    top.set_xlim(0, 1.01 * steps.max(initial=0) / scale or 1)
    (below or [top])[-1].set_xlabel(f"Environment steps{unit}")
    figure.align_ylabels()
    save_figure(figure, path)


def running_mean(values: np.ndarray, weights: np.ndarray, window: int) -> np.ndarray:
    """Mean of the last `window` values by weight; NaN values count for nothing  # (updates,).

    It is NaN where the window holds no weight at all.
    """
    weights = np.where(np.isfinite(values), weights, 0.0)
    sums = np.cumsum([np.where(weights > 0, values, 0.0) * weights, weights], axis=1)
    sums[:, window:] -= sums[:, :-window].copy()
    return np.where(sums[1] > 0, sums[0] / np.where(sums[1] > 0, sums[1], 1.0), np.nan)


def _column(rows: Sequence[Mapping[str, Any]], key: str) -> np.ndarray:
    """One number of every row, NaN where there is none  # (updates,) float64."""
    numbers = [np.nan if row.get(key) is None else row[key] for row in rows]
    return np.array(numbers, np.float64)


def _per_agent(rows: Sequence[Mapping[str, Any]], key: str) -> np.ndarray:
    """One list of every row, NaN where there is none  # (updates, num_agents) float64."""
    lists = [row.get(key) or [] for row in rows]
    values = np.full((len(rows), max((len(numbers) for numbers in lists), default=0)), np.nan)
    for update, numbers in enumerate(lists):
        values[update, : len(numbers)] = [np.nan if x is None else x for x in numbers]
    return values


def _step_unit(steps: np.ndarray) -> tuple[float, str]:
    """What to divide steps by, and how to say so on the axis."""
    last = steps.max(initial=0)
    if last >= 1e6:
        return 1e6, " (millions)"
    return (1e3, " (thousands)") if last >= 1e4 else (1.0, "")


def _draw_outcome(
    panel: Axes, rows: Sequence[Mapping[str, Any]], steps: np.ndarray, window: int
) -> None:
    """Success rates; returns where a world knows no success; a remark where there is neither."""
    success = _column(rows, "success_rate")
    values = success if np.isfinite(success).any() else _column(rows, "episode_return")
    if not np.isfinite(values).any():
        remark = "no episode has ended yet" if rows else "no updates yet"
        panel.text(0.5, 0.5, remark, transform=panel.transAxes, **REMARK_STYLE)
        panel.set_yticks([])
        return
    mean = running_mean(values, np.nan_to_num(_column(rows, "episodes")), window)
    name = f"mean of {window} updates" if window > 1 else "every update"
    _draw_line(panel, steps, values, mean, INK, name)
    panel.legend(loc="lower right", bbox_to_anchor=(1, 1), **LEGEND_STYLE)
    if values is success:
        panel.set_ylabel("Success rate")
        panel.set_ylim(-0.03, 1.03)
        panel.yaxis.set_major_formatter(PercentFormatter(1.0))
    else:
        panel.set_ylabel("Episode return")


def _draw_line(
    panel: Axes, steps: np.ndarray, values: np.ndarray, mean: np.ndarray, colour: str, name: str
) -> None:
    """Values thin and light, their running mean bold over them."""
    for y, width, strength, label in ((values, 0.8, 0.3, None), (mean, 2.0, 1.0, name)):
        # Without its gaps: a lone point between two of them would be invisible.
        known = np.isfinite(y)
        marker = "o" if known.sum() == 1 else "None"
        style = {"linewidth": width, "alpha": strength, "marker": marker}
        panel.plot(steps[known], y[known], color=colour, label=label, **style)
