"""What the plans of all worlds share: coloured cells, letters, starts, and a key below."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Circle

from mace_marl.viewer import agent_colour
from mace_marl.viewer.ground import WALL_COLOUR
from mace_marl.viewer.style import LEGEND_STYLE, SOFT_INK, blank_figure, save_figure

CELL_LINE = "#ececea"
PLAN_INCHES, CELL_INCHES = 5.0, 0.36  # at most: the plan's longer side, the side of a cell
KEY_INCHES = 4.4  # what the key below needs
LEAST_POINTS = 4.0  # letters smaller than this are left out


@dataclass(frozen=True)
class Plan:
    """A sheet with cells drawn on it: x is the column and y the row, both of a cell's middle."""

    figure: Figure
    panel: Axes
    points: float  # of letters that fit into a cell

    def write(self, row: float, column: float, text: str, colour: str, size: float = 1.0) -> None:
        """Letters `size` times as high as fit into a cell, unless nobody could read them."""
        points = size * self.points
        if points >= LEAST_POINTS:
            style = {"ha": "center", "va": "center_baseline", "zorder": 6, "fontweight": "bold"}
            self.panel.text(column, row, text, color=colour, fontsize=points, **style)

    def draw_starts(self, starts: Sequence[tuple[int, int]]) -> None:
        """Discs with the agents' numbers, side by side where several start on one cell."""
        cells = defaultdict(list)
        for agent, start in enumerate(starts):
            cells[start].append(agent)
        for (row, column), agents in cells.items():
            for place, agent in enumerate(agents):
                x = column + (2 * place + 1 - len(agents)) / (2 * len(agents))
                size = 1 / len(agents)
                disc = Circle((x, row), 0.48 * size, color=agent_colour(agent), zorder=5)
                self.panel.add_patch(disc)
                self.write(row, x, str(agent), "white", size)

    def save(
        self,
        key: Sequence[Artist],
        notes: Sequence[str],
        path: Path,
        columns: int = 5,
        gap: float = 0.5,
    ) -> None:
        """Write the plan, with its key and, in pairs, the notes below.

        The key has so many columns; the gap above it is measured in its letters' size.
        """
        self.panel.legend(
            handles=key,
            loc="upper center",
            bbox_to_anchor=(0.5, -0.01),
            ncols=columns,
            **LEGEND_STYLE | {"columnspacing": 1.2, "borderaxespad": gap},
        )
        pairs = ["   ·   ".join(notes[at : at + 2]) for at in range(0, len(notes), 2)]
        self.figure.supxlabel("\n".join(pairs), fontsize=9, color=SOFT_INK)
        save_figure(self.figure, path)


def draw_cells(kinds: np.ndarray, colours: Sequence[str], title: str, below: float) -> Plan:
    """A plan whose cells have the colours of their kinds; `below` it, inches for key and notes.

    `kinds`  # (height, width) int: which of the colours
    """
    height, width = kinds.shape
    cell = min(PLAN_INCHES / max(height, width), CELL_INCHES)
    figure = blank_figure(max(cell * width, KEY_INCHES) + 0.4, cell * height + 0.6 + below, title)
    panel = figure.subplots()
    panel.imshow(kinds, cmap=ListedColormap(colours), vmin=0, vmax=len(colours) - 1)
    panel.set(xticks=[], yticks=[])
    panel.spines[:].set(color=WALL_COLOUR, linewidth=2)
    panel.set_xticks(np.arange(width - 1) + 0.5, minor=True)
    panel.set_yticks(np.arange(height - 1) + 0.5, minor=True)
    panel.grid(which="minor", color=CELL_LINE, linewidth=0.5)
    panel.tick_params(which="minor", length=0)
    return Plan(figure, panel, 72 * cell * 0.62)


def key_disc(label: str, colour: str, edge: str | None = None) -> Line2D:
    """The entry of a disc in a key."""
    return Line2D(
        [], [], color=edge or colour, marker="o", ls="", label=label, markerfacecolor=colour
    )
