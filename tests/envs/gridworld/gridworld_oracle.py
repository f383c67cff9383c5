"""A second GridWorld, in plain Python, to hold the fast one against.

It is written from the written rules alone: it reads no map file and shares no code with the
package. Loops and sets instead of arrays, so that every rule can be read off one line.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

Cell = tuple[int, int]  # (row, column), origin top left

UP, DOWN, LEFT, RIGHT = range(4)
MOVES = {UP: (-1, 0), DOWN: (1, 0), LEFT: (0, -1), RIGHT: (0, 1)}


class Switch(NamedTuple):
    cell: Cell
    opens: tuple[int, ...]  # numbers of doors, from 1


@dataclass(frozen=True)
class Layout:
    """A map as plain data. Doorways are gaps in the walls: no cell is both."""

    height: int
    width: int
    horizon: int
    reward: float
    starts: tuple[Cell, ...]
    walls: frozenset[Cell]
    doorways: dict[Cell, int]  # the door (from 1) that each doorway cell belongs to
    switches: tuple[Switch, ...]
    target: frozenset[Cell]

    @property
    def num_doors(self) -> int:
        return max(self.doorways.values(), default=0)

    def cells(self) -> Iterator[Cell]:
        """Every cell of the grid, row by row."""
        for row in range(self.height):
            for column in range(self.width):
                yield row, column

    def open_ground(self) -> list[Cell]:
        """Every cell an agent can ever stand on: floor and doorways."""
        return [cell for cell in self.cells() if cell not in self.walls]


class Game(NamedTuple):
    """One moment of an episode."""

    positions: tuple[Cell, ...]
    doors: tuple[bool, ...]  # open, for doors 1..n
    time: int


class Outcome(NamedTuple):
    """What the agents are told after a step."""

    obs: list[list[float]]
    reward: list[float]
    terminated: bool
    truncated: bool


def reset(layout: Layout) -> Game:
    """All agents on their starts, all doors closed."""
    return Game(layout.starts, (False,) * layout.num_doors, 0)


def step(layout: Layout, game: Game, actions: Sequence[int]) -> tuple[Game, Outcome]:
    """Everybody moves, then switches are looked at, then doors, then the end of the episode."""
    positions = tuple(
        move(layout, position, game.doors, action)
        for position, action in zip(game.positions, actions, strict=True)
    )
    doors = doors_held_open(layout, positions)
    time = game.time + 1
    success = all(position in layout.target for position in positions)
    reward = [layout.reward if success else 0.0 for _ in positions]
    now = Game(positions, doors, time)
    return now, Outcome(
        obs=observe(layout, now),
        reward=reward,
        terminated=success,
        truncated=not success and time >= layout.horizon,
    )


def move(layout: Layout, position: Cell, doors: Sequence[bool], action: int) -> Cell:
    """Where an agent gets to; a wall, a closed door or the border leaves it where it is."""
    row, column = position
    down, right = MOVES[action]
    wished = (row + down, column + right)
    if not 0 <= wished[0] < layout.height or not 0 <= wished[1] < layout.width:
        return position
    if wished in layout.walls:
        return position
    if wished in layout.doorways and not doors[layout.doorways[wished] - 1]:
        return position
    return wished


def doors_held_open(layout: Layout, positions: Sequence[Cell]) -> tuple[bool, ...]:
    """A door is open while a switch that opens it is occupied."""
    doors = [False] * layout.num_doors
    for switch in layout.switches:
        if any(within_reach(position, switch.cell) for position in positions):
            for door in switch.opens:
                doors[door - 1] = True
    return tuple(doors)


def within_reach(position: Cell, switch: Cell) -> bool:
    """Euclidean distance of at most 1: the switch's cell and its four neighbours."""
    return (position[0] - switch[0]) ** 2 + (position[1] - switch[1]) ** 2 <= 1


def observe(layout: Layout, game: Game) -> list[list[float]]:
    """(row / height, column / width, door bits) of every agent."""
    bits = [1.0 if door else 0.0 for door in game.doors]
    return [[row / layout.height, column / layout.width, *bits] for row, column in game.positions]


def _thirty_by_thirty(
    starts: tuple[Cell, ...],
    walls: set[Cell],
    doors: dict[int, list[Cell]],
    switches: tuple[Switch, ...],
    in_target: Callable[[int, int], bool],
) -> Layout:
    """A map of the paper: 30×30 cells, 300 steps, +100. Doors are cut out of the walls."""
    doorways = {cell: door for door, cells in doors.items() for cell in cells}
    solid = walls - doorways.keys()
    grid = [(row, column) for row in range(30) for column in range(30)]
    return Layout(
        height=30,
        width=30,
        horizon=300,
        reward=100.0,
        starts=starts,
        walls=frozenset(solid),
        doorways=doorways,
        switches=switches,
        target=frozenset(
            cell for cell in grid if in_target(*cell) and cell not in solid and cell not in doorways
        ),
    )


_COLUMN_15 = {(row, 15) for row in range(30)}
_ROWS_10_AND_20 = {(row, column) for row in (10, 20) for column in range(15, 30)}
_DOORS_OF_COLUMN_15 = {
    1: [(4, 15), (5, 15), (6, 15)],
    2: [(14, 15), (15, 15), (16, 15)],
    3: [(24, 15), (25, 15), (26, 15)],
}

PASS = _thirty_by_thirty(
    starts=((4, 4), (3, 3)),
    walls=_COLUMN_15,
    doors={1: [(row, 15) for row in range(12, 19)]},
    switches=(Switch((24, 3), (1,)), Switch((3, 24), (1,))),
    in_target=lambda row, column: column > 15,
)

SECRETROOM = _thirty_by_thirty(
    starts=((4, 4), (3, 3)),
    walls=_COLUMN_15 | _ROWS_10_AND_20,
    doors=_DOORS_OF_COLUMN_15,
    switches=(
        Switch((24, 6), (1, 2, 3)),
        Switch((5, 24), (1,)),
        Switch((15, 24), (2,)),
        Switch((25, 24), (3,)),
    ),
    in_target=lambda row, column: row < 10 and column > 15,
)

MULTIROOM = _thirty_by_thirty(
    starts=((3, 3), (5, 3), (3, 5)),
    walls=_COLUMN_15 | _ROWS_10_AND_20,
    doors=_DOORS_OF_COLUMN_15
    | {4: [(10, 21), (10, 22), (10, 23)], 5: [(20, 21), (20, 22), (20, 23)]},
    switches=(
        Switch((24, 6), (1,)),
        Switch((5, 24), (3,)),
        Switch((15, 24), (4, 5)),
        Switch((25, 24), (2,)),
    ),
    in_target=lambda row, column: 10 < row < 20 and column > 15,
)

LAYOUTS = {"pass": PASS, "secretroom": SECRETROOM, "multiroom": MULTIROOM}
