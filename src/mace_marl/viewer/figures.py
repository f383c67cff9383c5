"""Figures of a run: how it learnt, and where its agents were rewarded for exploring.

They are drawn with matplotlib's objects, never with pyplot: no display, no global state.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import ListedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.patheffects import withStroke
from matplotlib.ticker import MaxNLocator, PercentFormatter, ScalarFormatter

from mace_marl.viewer import agent_colour, replacing

DPI = 120
INK, SOFT_INK, RULE = "#1d2129", "#5b6270", "#e6e8ec"
WALL_COLOUR, UNVISITED_COLOUR = "#2b303b", "#e4e5e9"
DOOR_COLOUR, SWITCH_COLOUR = "#a3243b", "#e3001b"
ROBUST_PERCENT = 98.0  # of the places are inside the colours' limits
SMOOTHED_SHARE = 25  # bold lines are means over one in 25 of all updates
LEGEND_STYLE = {"frameon": False, "fontsize": 9, "labelcolor": SOFT_INK, "handlelength": 1.4}
REMARK_STYLE = {"ha": "center", "va": "center", "color": SOFT_INK, "fontsize": 10, "zorder": 5}
REMARK_STYLE |= {"bbox": {"facecolor": "white", "edgecolor": "none"}}
REWARDS = (  # their columns in `reward_maps`: heading, colours, whether these are centred on zero
    ("Novelty-based reward", "YlGnBu", False),
    ("Hindsight-based reward", "PuOr_r", True),
)

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
    figure = _figure(8, 3.4 + 1.6 * len(panels))
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
        _style(panel)
    top.set_xlim(0, 1.01 * steps.max(initial=0) / scale or 1)
    (below or [top])[-1].set_xlabel(f"Environment steps{unit}")
    figure.suptitle(title, fontsize=12, fontweight="bold", color=INK)
    figure.align_ylabels()
    _save(figure, path)


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


def _style(panel: Axes) -> None:
    panel.spines[["top", "right"]].set_visible(False)
    panel.spines[["left", "bottom"]].set_color(SOFT_INK)
    panel.tick_params(colors=SOFT_INK, labelsize=9, length=3)
    panel.grid(color=RULE, linewidth=0.8)
    panel.set_axisbelow(True)
    for label in (panel.xaxis.label, panel.yaxis.label):
        label.set(color=INK, fontsize=10)


def reward_maps(
    sums: np.ndarray,
    shape: tuple[int, int],
    title: str,
    path: Path,
    walls: np.ndarray | None = None,
    doors: np.ndarray | None = None,
    switches: Mapping[str, tuple[int, int]] | None = None,
) -> None:
    """Draw the mean reward per visit of every place: a row of two panels for every agent.

    `sums`  # (num_agents, 3, height · width): sum of novelty-based reward, sum of hindsight-based
    reward, visits. `shape` is (height, width); `walls` and `doors` are of that shape, doors with
    0 where there is none. `switches` are (row, column) by name.
    """
    sums = np.asarray(sums, np.float64)
    num_agents, _, places = sums.shape
    height, width = shape
    if sums.shape[1] != 3 or places != height * width:
        raise ValueError(f"sums of shape {sums.shape} do not fit a map of {height} by {width}")
    panel_height = 3.6 * min(max(height / width, 0.4), 1.6)
    figure = _figure(9, 1.1 + panel_height * num_agents)
    figure.suptitle(title, fontsize=12, fontweight="bold", color=INK)
    panels = figure.subplots(num_agents, 2, squeeze=False)
    for agent in range(num_agents):
        visits = sums[agent, 2].reshape(shape)
        for column, (name, colours, centred) in enumerate(REWARDS):
            panel = panels[agent, column]
            panel.set_title(name if agent == 0 else "", fontsize=10.5, color=INK)
            _draw_map(panel, shape, walls, doors, switches or {})
            _draw_means(panel, sums[agent, column].reshape(shape), visits, colours, centred)
        panels[agent, 0].set_ylabel(
            f"agent {agent}", color=agent_colour(agent), fontsize=11, fontweight="bold"
        )
    key = ["mean per visit", "light grey: never visited"]
    key += ["dark: wall"] if walls is not None and walls.any() else []
    key += ["outlined: door"] if doors is not None and doors.any() else []
    key += ["cross: switch"] if switches else []
    figure.supxlabel("   ·   ".join(key), fontsize=9, color=SOFT_INK)
    _save(figure, path)


def _limits(means: np.ndarray, centred: bool) -> tuple[float, float]:
    """What the ends of the colours mean, by percentiles: one rare place must not pale the rest."""
    if centred:
        high = float(np.percentile(np.abs(means), ROBUST_PERCENT) or np.abs(means).max())
        return -high, high
    low, high = (float(np.percentile(means, q)) for q in (100 - ROBUST_PERCENT, ROBUST_PERCENT))
    if low == high:  # one value nearly everywhere
        low, high = float(means.min()), float(means.max())
    return (low, high) if low < high else (low - abs(low) / 10, high + abs(high) / 10)


def _draw_means(
    panel: Axes, sums: np.ndarray, visits: np.ndarray, colours: str, centred: bool
) -> None:
    """Colours and their bar, or a remark where there is nothing to show.

    `sums`, `visits`  # (height, width)
    """
    known = (visits > 0) & np.isfinite(sums)
    if not known.any() or not sums[known].any():
        remark = "not used by this method" if known.any() else "no visits yet"
        panel.text(0.5, 0.5, remark, transform=panel.transAxes, **REMARK_STYLE)
        panel.set_facecolor("white")
        return
    means = np.divide(sums, visits, out=np.zeros(sums.shape), where=known)
    low, high = _limits(means[known], centred)
    drawn = panel.imshow(
        np.ma.array(means, mask=~known),
        cmap=colormaps[colours].with_extremes(bad=UNVISITED_COLOUR),
        norm=Normalize(low, high),
    )
    beyond = (means[known].min() < low, means[known].max() > high)
    extend = {(False, False): "neither", (True, False): "min", (False, True): "max"}
    formatter = ScalarFormatter()
    formatter.set_powerlimits((-3, 4))
    bar = panel.figure.colorbar(
        drawn,
        ax=panel,
        extend=extend.get(beyond, "both"),
        format=formatter,
        ticks=MaxNLocator(5),
        aspect=28,
        pad=0.02,
    )
    bar.outline.set_visible(False)
    bar.ax.tick_params(colors=SOFT_INK, labelsize=8, length=2)
    bar.ax.yaxis.get_offset_text().set(color=SOFT_INK, fontsize=8)


def _draw_map(
    panel: Axes,
    shape: tuple[int, int],
    walls: np.ndarray | None,
    doors: np.ndarray | None,
    switches: Mapping[str, tuple[int, int]],
) -> None:
    """What lies under the rewards (grey ground) and over them (walls, doors, switches)."""
    height, width = shape
    panel.set(xlim=(-0.5, width - 0.5), ylim=(height - 0.5, -0.5), aspect="equal")
    panel.set(xticks=[], yticks=[], facecolor=UNVISITED_COLOUR)
    panel.spines[:].set(color=WALL_COLOUR, linewidth=1.2)
    if walls is not None:
        solid = np.ma.array(np.ones(shape), mask=~walls.astype(bool))
        panel.imshow(solid, cmap=ListedColormap([WALL_COLOUR]), zorder=2)
    if doors is not None:
        panel.add_collection(
            LineCollection(outlines(doors), colors=DOOR_COLOUR, linewidths=1.4, zorder=3)
        )
    halo = [withStroke(linewidth=4, foreground="white")]
    for row, column in switches.values():
        panel.plot(column, row, "x", color=SWITCH_COLOUR, ms=7, mew=2, path_effects=halo, zorder=4)


def outlines(doors: np.ndarray) -> list[list[tuple[float, float]]]:
    """The edges, as pairs of (x, y), between cells of which one is of a door and the other not.

    `doors`  # (height, width): the number of the cell's door, or 0
    """
    padded = np.pad(doors, 1)
    across = np.argwhere(padded[:-1, 1:-1] != padded[1:, 1:-1])  # (edges, 2): row below it, column
    along = np.argwhere(padded[1:-1, :-1] != padded[1:-1, 1:])  # (edges, 2): row, column after it
    level = [[(x - 0.5, y - 0.5), (x + 0.5, y - 0.5)] for y, x in across]
    upright = [[(x - 0.5, y - 0.5), (x - 0.5, y + 0.5)] for y, x in along]
    return level + upright


def _figure(width: float, height: float) -> Figure:
    """An empty figure, in inches, that makes room for whatever will be around its panels."""
    return Figure((width, height), layout=ConstrainedLayoutEngine(w_pad=0.1, h_pad=0.1))


def _save(figure: Figure, path: Path) -> None:
    with replacing(path) as temporary:
        figure.savefig(temporary, format="png", dpi=DPI, facecolor="white")
