"""Learning curves of a study: a panel for each task, a line for each method."""

import textwrap
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from mace_marl.experiments.outcome import Outcome
from mace_marl.experiments.results import Finished
from mace_marl.experiments.statistics import (
    at_steps,
    confidence_interval,
    interquartile_mean,
    mean_and_error,
    recent,
)
from mace_marl.viewer import AGENT_COLOURS, agent_colour
from mace_marl.viewer.style import (
    INK,
    LEGEND_STYLE,
    SOFT_INK,
    blank_figure,
    save_figure,
    style_axes,
)

POINTS = 100  # at which curves are computed
MOST_COLUMNS = 4
LETTERS_PER_INCH = 14
KEY_LETTERS = 7  # as wide as a label's line and the room around both
DASHES = ("-", (0, (2.5, 1)), (0, (1, 1)))  # of the first labels, and when colours come again


class Band(NamedTuple):
    """A curve and its limits; NaN where some run has no episodes yet."""

    middle: np.ndarray  # (POINTS,)
    low: np.ndarray  # (POINTS,)
    high: np.ndarray  # (POINTS,)


class Panel(NamedTuple):
    heading: str
    across: str
    """What the horizontal axis says."""
    x: np.ndarray  # (POINTS,)
    bands: Mapping[str, Band]


def draw_curves(outcome: Outcome, folder: Path) -> list[Path]:
    """Draw mean returns, as in the paper, and interquartile means of success, as is custom now."""
    paths = [folder / "return_mean.png", folder / "success_iqm.png"]
    remark = "means of the last 1,000 episodes"
    if outcome.until_success is not None:
        enough = f"{100 * outcome.until_success:g} % success"
        remark += f"; a run that ended early, at {enough}, keeps its last value"
    _draw(
        outcome,
        [
            _task_panel(task, curves, mean_band)
            for task, curves in _curves(outcome.finished, "returns")
        ],
        "Episode return",
        f"mean ± standard error over runs, of {remark}",
        paths[0],
    )
    success = _curves(outcome.finished, "success")
    panels = [_task_panel(task, curves, interquartile_band) for task, curves in success]
    if len(success) > 1:
        panels.append(_all_tasks_panel(outcome, dict(success)))
    _draw(
        outcome,
        panels,
        "Success rate",
        f"interquartile mean over runs, 95 % stratified bootstrap interval, of {remark}",
        paths[1],
    )
    return paths


def mean_band(stratum: np.ndarray) -> Band:
    """Mean and standard error of curves  # (POINTS, runs)."""
    mean, error = mean_and_error(stratum)
    return Band(mean, mean - error, mean + error)


def interquartile_band(*strata: np.ndarray) -> Band:
    """Interquartile mean of curves, each stratum (POINTS, runs), and its 95 % limits."""
    known = np.isfinite(np.concatenate(strata, axis=1)).all(axis=1)  # (POINTS,)
    chosen = [stratum[known] for stratum in strata]
    band = Band(*np.full((3, POINTS), np.nan))
    if known.any():
        band.middle[known] = interquartile_mean(*chosen)
        band.low[known], band.high[known] = confidence_interval(interquartile_mean, *chosen)
    return band


class _TaskCurves(NamedTuple):
    env_steps: np.ndarray  # (POINTS,)
    strata: dict[str, np.ndarray]  # by label, each (POINTS, runs)


def _curves(finished: Sequence[Finished], what: str) -> list[tuple[str, _TaskCurves]]:
    """Recent `success` or `returns` of all runs of each task, at common steps."""
    curves = []
    for task in dict.fromkeys(run.planned.task for run in finished):
        runs = [run for run in finished if run.planned.task == task]
        grid = np.linspace(0, max(run.env_steps for run in runs), POINTS + 1)[1:]
        strata: dict[str, list[np.ndarray]] = {}
        for run in runs:
            known = recent(run.rows)
            values = at_steps(known.env_steps, getattr(known, what), grid)
            strata.setdefault(run.planned.label, []).append(values)
        by_label = {label: np.stack(values, axis=1) for label, values in strata.items()}
        curves.append((task, _TaskCurves(grid, by_label)))
    return curves


def _task_panel(task: str, curves: _TaskCurves, band: Callable[[np.ndarray], Band]) -> Panel:
    scale, unit = _step_unit(curves.env_steps[-1])
    bands = {label: band(stratum) for label, stratum in curves.strata.items()}
    return Panel(task, f"Environment steps{unit}", curves.env_steps / scale, bands)


def _all_tasks_panel(outcome: Outcome, curves: Mapping[str, _TaskCurves]) -> Panel:
    """All tasks together, for what has finished runs on all of them."""
    bands = {
        label: interquartile_band(*(task.strata[label] for task in curves.values()))
        for label in outcome.labels
        if all(label in task.strata for task in curves.values())
    }
    share = np.linspace(0, 1, POINTS + 1)[1:]
    return Panel("all tasks", "Share of the longest run's steps", share, bands)


def _step_unit(last: float) -> tuple[float, str]:
    """What to divide steps by, and how to say so on the axis."""
    if last >= 1e6:
        return 1e6, " (millions)"
    return (1e3, " (thousands)") if last >= 1e4 else (1.0, "")


def _draw(outcome: Outcome, panels: Sequence[Panel], up: str, explained: str, path: Path) -> None:
    columns = min(len(panels), MOST_COLUMNS)
    rows = -(-len(panels) // columns)
    # Else none of its runs is finished.
    shown = [label for label in outcome.labels if any(label in panel.bands for panel in panels)]
    width = max(6.5, 3.6 * columns)
    key_columns = min(len(shown), _key_columns(shown, width))
    key_rows = -(-len(shown) // key_columns)
    figure = blank_figure(width, 1.1 + 0.2 * key_rows + 2.8 * rows, outcome.title)
    axes = list(figure.subplots(rows, columns, squeeze=False).flat)
    for spare in axes[len(panels) :]:
        spare.remove()
    for axis, panel in zip(axes, panels, strict=False):
        for place, label in enumerate(outcome.labels):
            if label in panel.bands:
                _draw_band(axis, panel.x, panel.bands[label], line_style(place))
        axis.set_title(panel.heading, fontsize=10.5, color=INK)
        axis.set(xlabel=panel.across, ylabel=up, xlim=(0, 1.01 * panel.x[-1]))
        if up == "Success rate":
            axis.set_ylim(-0.03, 1.03)
            axis.yaxis.set_major_formatter(PercentFormatter(1.0))
        style_axes(axis)
    handles = [
        axes[0].plot([], [], label=label, **line_style(place))[0]
        for place, label in enumerate(outcome.labels)
        if label in shown
    ]
    key = figure.legend(
        handles=handles,
        loc="outside lower center",
        ncols=key_columns,
        title=textwrap.fill(explained, round(LETTERS_PER_INCH * width)),
        title_fontsize=9,
        alignment="center",
        **LEGEND_STYLE,
    )
    key.get_title().set(color=SOFT_INK, ha="center", multialignment="center")
    save_figure(figure, path)


def _key_columns(labels: Sequence[str], width: float) -> int:
    """So many columns of labels fit a key as wide as the figure, in inches."""
    widest = max(map(len, labels)) + KEY_LETTERS
    return max(1, min(MOST_COLUMNS, round(LETTERS_PER_INCH * width) // widest))


def line_style(place: int) -> dict[str, Any]:
    """Of the label in this place: once the colours come again, lines are broken in another way."""
    dashes = DASHES[place // len(AGENT_COLOURS) % len(DASHES)]
    return {"color": agent_colour(place), "linewidth": 2, "linestyle": dashes}


def _draw_band(axis: Axes, x: np.ndarray, band: Band, style: Mapping[str, Any]) -> None:
    axis.plot(x, band.middle, **style)
    axis.fill_between(x, band.low, band.high, color=style["color"], alpha=0.18, linewidth=0)
