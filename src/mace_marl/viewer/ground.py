"""The map under and over a heat map: grey ground below its colours, walls and doors above them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import ListedColormap
from matplotlib.patheffects import withStroke

from mace_marl.envs.api import World
from mace_marl.envs.gridworld import GridWorld
from mace_marl.envs.overcooked import Overcooked
from mace_marl.envs.overcooked.items import DISPENSED, POT, SERVING
from mace_marl.errors import UserError

WALL_COLOUR, UNVISITED_COLOUR = "#2b303b", "#e4e5e9"
DOOR_COLOUR, SWITCH_COLOUR = "#a3243b", "#e3001b"
STATIONS = (*DISPENSED, POT, SERVING)
LETTER_STYLE = {"ha": "center", "va": "center_baseline", "color": "white", "fontsize": 7}


@dataclass(frozen=True)
class Ground:
    """A map as far as heat maps show it; a bare rectangle if only its shape is given."""

    shape: tuple[int, int]  # (height, width)
    walls: np.ndarray | None = None  # (height, width) bool
    doors: np.ndarray | None = None  # (height, width) int: the number of the cell's door, or 0
    switches: Mapping[str, tuple[int, int]] = field(default_factory=dict)  # (row, column) by name
    wall_name: str = "wall"
    letters: Sequence[tuple[str, tuple[int, int]]] = ()  # written on walls, each with its place

    @property
    def key(self) -> list[str]:
        """What its marks mean."""
        key = ["light grey: no visits"]
        key += [f"dark: {self.wall_name}"] if self.walls is not None and self.walls.any() else []
        key += ["outlined: door"] if self.doors is not None and self.doors.any() else []
        key += ["cross: switch"] if self.switches else []
        return key


def ground_of(world: World) -> Ground:
    """The world's map; of a world without one, the rectangle that its two `place` features span."""
    if isinstance(world, GridWorld):
        map = world.map
        height, width = map.walls.shape
        return Ground((height, width), map.walls, map.doors, map.switches)
    if isinstance(world, Overcooked):
        kitchen = world.kitchen
        height, width = kitchen.cells.shape
        letters = [(cell, place) for cell in STATIONS for place in kitchen.places(cell)]
        return Ground((height, width), ~kitchen.floor, wall_name="counter", letters=letters)
    levels = [
        feature.levels for column in world.place if (feature := world.features[column]) is not None
    ]
    if len(levels) != 2:
        raise UserError(
            "a heat map needs a world whose `place` is two discrete features, row and column"
            f" (docs/worlds.md); this world's has {len(levels)}."
        )
    return Ground((levels[0], levels[1]))


def draw_ground(panel: Axes, ground: Ground) -> None:
    height, width = ground.shape
    panel.set(xlim=(-0.5, width - 0.5), ylim=(height - 0.5, -0.5), aspect="equal")
    panel.set(xticks=[], yticks=[], facecolor=UNVISITED_COLOUR)
    panel.spines[:].set(color=WALL_COLOUR, linewidth=1.2)
    if ground.walls is not None:
        solid = np.ma.array(np.ones(ground.shape), mask=~ground.walls.astype(bool))
        panel.imshow(solid, cmap=ListedColormap([WALL_COLOUR]), zorder=2)
    if ground.doors is not None:
        panel.add_collection(
            LineCollection(outlines(ground.doors), colors=DOOR_COLOUR, linewidths=1.4, zorder=3)
        )
    halo = [withStroke(linewidth=4, foreground="white")]
    for row, column in ground.switches.values():
        panel.plot(column, row, "x", color=SWITCH_COLOUR, ms=7, mew=2, path_effects=halo, zorder=4)
    for letter, (row, column) in ground.letters:
        panel.text(column, row, letter, **LETTER_STYLE)


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
