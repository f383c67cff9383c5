"""A task as a figure: a GridWorld's floor plan, as in the paper, or a world's own picture."""

from pathlib import Path

import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Circle, Patch, Rectangle

from mace_marl.envs.api import World
from mace_marl.envs.gridworld.mapfile import Map
from mace_marl.errors import UserError
from mace_marl.viewer import agent_colour
from mace_marl.viewer.ground import DOOR_COLOUR, WALL_COLOUR
from mace_marl.viewer.plan import Plan, draw_cells, key_disc
from mace_marl.viewer.style import DPI, INK, save_figure

FLOOR_COLOUR, TARGET_COLOUR, REACH_COLOUR = "#fafaf7", "#cfe8c9", "#dfe2ea"
COLOURS = (FLOOR_COLOUR, TARGET_COLOUR, REACH_COLOUR, WALL_COLOUR)


def floor_plan(map: Map, title: str, path: Path) -> None:
    """Draw walls, doors, switches with their reach, the agents' starts and the target."""
    kinds = np.select([map.walls, map.opened_from.any(axis=-1), map.target], [3, 2, 1], 0)
    opens = [f"{letter} opens {_doors(map.opens[letter])}" for letter in sorted(map.switches)]
    plan = draw_cells(kinds, COLOURS, title, below=0.5 + 0.08 * len(opens))
    walls = np.ma.array(kinds, mask=~map.walls)  # over the lines between cells
    plan.panel.imshow(walls, cmap=ListedColormap(COLOURS), vmin=0, vmax=3, zorder=3)
    _draw_doors(plan, map)
    for letter, (row, column) in map.switches.items():
        disc = Circle((column, row), 0.72, facecolor="white", edgecolor=INK, zorder=4)
        plan.panel.add_patch(disc)
        plan.write(row, column, letter, INK)
    plan.draw_starts(map.starts)
    plan.save(_key(map), opens, path)


def own_picture(world: World, path: Path) -> None:
    """Write how a world shows the beginning of an episode."""
    state = world.beginning()
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


def _draw_doors(plan: Plan, map: Map) -> None:
    for door in range(1, map.num_doors + 1):
        places = np.argwhere(map.doors == door)
        for row, column in places:
            corner = (column - 0.5, row - 0.5)
            plan.panel.add_patch(Rectangle(corner, 1, 1, color=DOOR_COLOUR, linewidth=0, zorder=4))
        row, column = places[np.abs(places - places.mean(axis=0)).sum(axis=1).argmin()]
        plan.write(row, column, str(door), "white")


def _key(map: Map) -> list[Patch | Line2D]:
    key: list[Patch | Line2D] = [
        key_disc("start", agent_colour(0)),
        Patch(color=TARGET_COLOUR, label="target"),
    ]
    if map.walls.any():
        key.append(Patch(color=WALL_COLOUR, label="wall"))
    if map.num_doors:
        key.append(Patch(color=DOOR_COLOUR, label="door"))
    if map.switches:
        key.append(key_disc("switch", "white", edge=INK))
    return key


def _doors(doors: tuple[int, ...]) -> str:
    names = [str(door) for door in doors]
    if len(names) < 2:
        return f"door {''.join(names)}"
    return f"doors {', '.join(names[:-1])} and {names[-1]}"
