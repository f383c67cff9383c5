"""Heat maps of a run: where its agents were, and where they were rewarded for exploring."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colorbar import Colorbar
from matplotlib.colors import LogNorm, Normalize
from matplotlib.ticker import MaxNLocator, ScalarFormatter

from mace_marl.viewer import agent_colour
from mace_marl.viewer.ground import UNVISITED_COLOUR, Ground, draw_ground
from mace_marl.viewer.style import INK, REMARK_STYLE, SOFT_INK, blank_figure, save_figure

ROBUST_PERCENT = 98.0  # of the places are inside the colours' limits
REWARDS = (  # their columns in `reward_maps`: heading, colours, whether these are centred on zero
    ("Novelty-based reward", "YlGnBu", False),
    ("Hindsight-based reward", "PuOr_r", True),
)
VISITS_COLOURS = "YlGnBu"
LOWEST_SHARE = 1e-5  # of the most visited place's visits: what is below has the palest colour


class Snapshot(NamedTuple):
    """Where agents were during a stretch of training."""

    visits: np.ndarray  # (num_agents, height · width)
    first: int  # updates done when it began
    last: int  # and when it ended


def reward_maps(sums: np.ndarray, ground: Ground, title: str, path: Path) -> None:
    """Draw the mean reward per visit of every place: a row of two panels for every agent.

    `sums`  # (num_agents, 3, height · width): sum of novelty-based reward, sum of hindsight-based
    reward, visits.
    """
    sums = np.asarray(sums, np.float64)
    num_agents = len(sums)
    _check_places(sums, ground)
    figure = blank_figure(9, 1.1 + 3.6 * _steepness(ground) * num_agents, title)
    panels = figure.subplots(num_agents, len(REWARDS), squeeze=False)
    for agent in range(num_agents):
        visits = sums[agent, 2].reshape(ground.shape)
        for column, (name, colours, centred) in enumerate(REWARDS):
            panel = panels[agent, column]
            panel.set_title(name if agent == 0 else "", fontsize=10.5, color=INK)
            draw_ground(panel, ground)
            _draw_means(panel, sums[agent, column].reshape(ground.shape), visits, colours, centred)
        _name_agent(panels[agent, 0], agent)
    key = ["mean per visit", *ground.key]
    figure.supxlabel("   ·   ".join(key), fontsize=9, color=SOFT_INK)
    save_figure(figure, path)


def visit_maps(snapshots: Sequence[Snapshot], ground: Ground, title: str, path: Path) -> None:
    """Draw visits per update, one column for every snapshot and one row for every agent.

    All panels have one scale, which is logarithmic: at first agents are nearly everywhere, at the
    end nearly always on one path.
    """
    counts = np.stack([shot.visits / (shot.last - shot.first) for shot in snapshots])
    _check_places(counts, ground)
    num_agents = counts.shape[1]
    panel_height = 2.1 * _steepness(ground)
    figure = blank_figure(1.3 + 2.1 * len(counts), 1.2 + panel_height * num_agents, title)
    panels = figure.subplots(num_agents, len(counts), squeeze=False)
    most = counts.max(initial=0.0) or 1.0
    least = counts[counts > 0].min(initial=most / 10)
    norm = LogNorm(max(least, LOWEST_SHARE * most), most)
    colours = colormaps[VISITS_COLOURS].with_extremes(bad=UNVISITED_COLOUR)
    for (agent, column), panel in np.ndenumerate(panels):
        draw_ground(panel, ground)
        visits = counts[column, agent].reshape(ground.shape)
        panel.imshow(np.ma.array(visits, mask=visits == 0), cmap=colours, norm=norm)
        if agent == 0:
            shot = snapshots[column]
            panel.set_title(f"updates {shot.first} to {shot.last}", fontsize=9, color=INK)
        if column == 0:
            _name_agent(panel, agent)
    bar = figure.colorbar(
        ScalarMappable(norm, colours), ax=panels, aspect=28 * num_agents / 2, pad=0.02
    )
    bar.set_label("visits per update", color=SOFT_INK, fontsize=9)
    _style_bar(bar)
    figure.supxlabel("   ·   ".join(ground.key), fontsize=9, color=SOFT_INK)
    save_figure(figure, path)


def _check_places(array: np.ndarray, ground: Ground) -> None:
    height, width = ground.shape
    if array.ndim != 3 or array.shape[-1] != height * width:
        raise ValueError(f"places of shape {array.shape} do not fit a map of {height} by {width}")


def _steepness(ground: Ground) -> float:
    """How high a panel is for its width; narrow maps do not get endless ones."""
    height, width = ground.shape
    return min(max(height / width, 0.4), 1.6)


def _name_agent(panel: Axes, agent: int) -> None:
    panel.set_ylabel(f"agent {agent}", color=agent_colour(agent), fontsize=11, fontweight="bold")


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
    _style_bar(bar)


def _style_bar(bar: Colorbar) -> None:
    bar.outline.set_visible(False)
    bar.ax.tick_params(which="both", colors=SOFT_INK, labelsize=8, length=2)
    bar.ax.yaxis.get_offset_text().set(color=SOFT_INK, fontsize=8)
