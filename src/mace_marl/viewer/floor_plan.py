"""A task as a figure: a GridWorld's floor plan, as in the paper, or a world's own picture."""

from collections import defaultdict
from pathlib import Path

import jax
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Circle, Patch, Rectangle

from mace_marl.envs.api import World
from mace_marl.envs.gridworld.mapfile import Map
from mace_marl.errors import UserError
from mace_marl.viewer import agent_colour
from mace_marl.viewer.ground import DOOR_COLOUR, WALL_COLOUR
from mace_marl.viewer.style import DPI, INK, LEGEND_STYLE, SOFT_INK, blank_figure, save_figure

FLOOR_COLOUR, TARGET_COLOUR, REACH_COLOUR = "#fafaf7", "#cfe8c9", "#dfe2ea"
CELL_LINE = "#ececea"
PLAN_INCHES, CELL_INCHES = 5.0, 0.36  # at most: the plan's longer side, the side of a cell
KEY_INCHES = 4.4  # what the key below needs
LEAST_POINTS = 4.0  # letters smaller than this are left out


def floor_plan(map: Map, title: str, path: Path) -> None:
    """Draw walls, doors, switches with their reach, the agents' starts and the target."""
    height, width = map.walls.shape
    cell = min(PLAN_INCHES / max(height, width), CELL_INCHES)
    opens = [f"{letter} opens {_doors(map.opens[letter])}" for letter in sorted(map.switches)]
    inches = max(cell * width, KEY_INCHES) + 0.4, cell * height + 1.1 + 0.08 * len(opens)
    figure = blank_figure(*inches, title)
    panel = figure.subplots()
    _draw_cells(panel, map)
    points = 72 * cell * 0.62  # of letters that fit into a cell
    _draw_doors(panel, map, points)
    for letter, (row, column) in map.switches.items():
        panel.add_patch(Circle((column, row), 0.72, facecolor="white", edgecolor=INK, zorder=4))
        _write(panel, row, column, letter, INK, points)
    _draw_starts(panel, map, points)
    panel.legend(
        handles=_key(map),
        loc="upper center",
        bbox_to_anchor=(0.5, -0.01),
        ncols=5,
        **LEGEND_STYLE | {"columnspacing": 1.2},
    )
    figure.supxlabel("\n".join(_in_pairs(opens)), fontsize=9, color=SOFT_INK)
    save_figure(figure, path)


def own_picture(world: World, path: Path) -> None:
    """Write how a world shows the beginning of an episode."""
    state, _ = world.reset(jax.random.key(0))
    try:
        pixels = world.picture(state)  # (height, width, 3) uint8
    except NotImplementedError:
        raise UserError(
            "this world has no map and cannot show itself: give it a method `picture`"
            " (docs/worlds.md)."
        ) from None
    height, width, _ = pixels.shape
    figure = Figure((width / DPI, height / DPI))
    figure.figimage(pixels)
    save_figure(figure, path)


def _draw_cells(panel: Axes, map: Map) -> None:
    height, width = map.walls.shape
    kinds = np.select([map.walls, map.opened_from.any(axis=-1), map.target], [3, 2, 1], 0)
    colours = ListedColormap([FLOOR_COLOUR, TARGET_COLOUR, REACH_COLOUR, WALL_COLOUR])
    panel.imshow(kinds, cmap=colours, vmin=0, vmax=3)
    panel.set(xticks=[], yticks=[])
    panel.spines[:].set(color=WALL_COLOUR, linewidth=2)
    panel.set_xticks(np.arange(width - 1) + 0.5, minor=True)
    panel.set_yticks(np.arange(height - 1) + 0.5, minor=True)
    panel.grid(which="minor", color=CELL_LINE, linewidth=0.5)
    panel.tick_params(which="minor", length=0)
    walls = np.ma.array(kinds, mask=~map.walls)
    panel.imshow(walls, cmap=colours, vmin=0, vmax=3, zorder=3)  # over the lines between cells


def _draw_doors(panel: Axes, map: Map, points: float) -> None:
    for door in range(1, map.num_doors + 1):
        places = np.argwhere(map.doors == door)
        for row, column in places:
            corner = (column - 0.5, row - 0.5)
            panel.add_patch(Rectangle(corner, 1, 1, color=DOOR_COLOUR, linewidth=0, zorder=4))
        row, column = places[np.abs(places - places.mean(axis=0)).sum(axis=1).argmin()]
        _write(panel, row, column, str(door), "white", points)


def _draw_starts(panel: Axes, map: Map, points: float) -> None:
    """Discs with the agents' numbers, side by side where several start on one cell."""
    cells = defaultdict(list)
    for agent, start in enumerate(map.starts):
        cells[start].append(agent)
    for (row, column), agents in cells.items():
        for place, agent in enumerate(agents):
            x = column + (2 * place + 1 - len(agents)) / (2 * len(agents))
            size = 1 / len(agents)
            panel.add_patch(Circle((x, row), 0.48 * size, color=agent_colour(agent), zorder=5))
            _write(panel, row, x, str(agent), "white", points * size)


def _write(panel: Axes, row: float, column: float, text: str, colour: str, points: float) -> None:
    if points >= LEAST_POINTS:
        style = {"ha": "center", "va": "center_baseline", "zorder": 6}
        panel.text(column, row, text, color=colour, fontsize=points, fontweight="bold", **style)


def _key(map: Map) -> list[Patch | Line2D]:
    key: list[Patch | Line2D] = [
        Line2D([], [], color=agent_colour(0), marker="o", ls="", label="start"),
        Patch(color=TARGET_COLOUR, label="target"),
    ]
    if map.walls.any():
        key.append(Patch(color=WALL_COLOUR, label="wall"))
    if map.num_doors:
        key.append(Patch(color=DOOR_COLOUR, label="door"))
    if map.switches:
        disc = Line2D([], [], color=INK, marker="o", ls="", label="switch", markerfacecolor="white")
        key.append(disc)
    return key


def _doors(doors: tuple[int, ...]) -> str:
    names = [str(door) for door in doors]
    if len(names) < 2:
        return f"door {''.join(names)}"
    return f"doors {', '.join(names[:-1])} and {names[-1]}"


def _in_pairs(sentences: list[str]) -> list[str]:
    return ["   ·   ".join(sentences[at : at + 2]) for at in range(0, len(sentences), 2)]
