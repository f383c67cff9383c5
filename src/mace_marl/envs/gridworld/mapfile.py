"""Map files: a GridWorld drawn in characters, read and checked. docs/maps.md is the manual."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mace_marl.envs.drawing import Reader, parse_toml, read_text
from mace_marl.envs.gridworld.reachability import target_is_reachable

WALL, FLOOR, TARGET = "#", ".", "*"
KEYS = ("name", "description", "horizon", "reward", "starts", "grid", "switches")
SWITCH_REACH = 1.0  # Euclidean distance from which a switch is occupied


@dataclass(frozen=True)
class Map:
    """A map, ready to be played."""

    name: str
    description: str
    horizon: int
    reward: float
    starts: tuple[tuple[int, int], ...]  # (row, column) of every agent
    walls: np.ndarray  # (height, width) bool
    doors: np.ndarray  # (height, width) int32: the door whose doorway this cell is, from 1; or 0
    target: np.ndarray  # (height, width) bool
    switches: dict[str, tuple[int, int]]  # (row, column) of every switch
    opens: dict[str, tuple[int, ...]]  # the doors that each switch opens
    source: str  # the file's text, so that a run can carry its own map

    @property
    def num_doors(self) -> int:
        return int(self.doors.max())

    @property
    def opened_from(self) -> np.ndarray:  # (height, width, num_doors) bool
        """Which doors an agent holds open by standing on a cell."""
        rows, columns = np.indices(self.walls.shape)
        opened = np.zeros((*self.walls.shape, self.num_doors), bool)
        for letter, (row, column) in self.switches.items():
            near = np.hypot(rows - row, columns - column) <= SWITCH_REACH
            for door in self.opens[letter]:
                opened[..., door - 1] |= near
        return opened


def read_map(path: Path) -> Map:
    """The map in the file at `path`, or one sentence about what is wrong with it."""
    return parse_map(read_text(path), str(path))


def parse_map(text: str, file: str) -> Map:
    """The map written in `text`; `file` names it in error messages."""
    return _Reader(file, parse_toml(text, file)).map(text)


class _Reader(Reader):
    def map(self, source: str) -> Map:
        self.check_keys(KEYS)
        opens = self.opens()
        cells = self.cells()
        switches = self.switches(cells, opens)
        plain = np.vectorize(str.islower)(cells) | np.isin(cells, [FLOOR])
        target = np.vectorize(str.isupper)(cells) | np.isin(cells, [TARGET])
        doors = np.where(np.vectorize(str.isdigit)(cells), cells, "0").astype(np.int32)
        self.check_doors(doors, opens)
        if not target.any():
            raise self.error("key 'grid'", f"no target: draw the target room's floor as '{TARGET}'")
        map = Map(
            name=self.name(),
            description=self.text("description", ""),
            horizon=self.horizon(),
            reward=self.reward(),
            starts=self.starts(plain | target),
            walls=cells == WALL,
            doors=doors,
            target=target,
            switches=switches,
            opens=opens,
            source=source,
        )
        if not target_is_reachable(map.starts, map.walls, doors, target, map.opened_from):
            raise self.error(
                "key 'switches'",
                "no sequence of switches lets all agents into the target;"
                " move a switch, a start or a door",
            )
        return map

    def opens(self) -> dict[str, tuple[int, ...]]:
        table = self.table.get("switches", {})
        if not isinstance(table, dict):
            raise self.error("key 'switches'", "must be a table such as a = [1]")
        for letter, doors in table.items():
            where = f"key {f'switches.{letter}'!r}"
            if not (len(letter) == 1 and letter.isascii() and letter.islower()):
                raise self.error(where, "a switch is named by one letter from a to z")
            if not isinstance(doors, list) or any(type(door) is not int for door in doors):
                raise self.error(where, "must list the doors it opens, such as [1, 2]")
            if not doors:
                raise self.error(where, "this switch opens no door; list at least one")
        return {letter: tuple(doors) for letter, doors in table.items()}

    def cells(self) -> np.ndarray:
        """The drawing as one character per cell  # (height, width)."""
        grid = self.table.get("grid")
        if not isinstance(grid, str) or not grid.strip():
            raise self.error("key 'grid'", 'missing; draw the map as grid = """ … """')
        rows = [row.strip() for row in grid.strip().splitlines()]
        known = {WALL, FLOOR, TARGET, *"123456789"}
        for letter in self.table.get("switches", {}):
            known |= {letter, letter.upper()}
        for number, row in enumerate(rows):
            for column, character in enumerate(row):
                if character not in known:
                    hint = " (it has no entry under [switches])" if character.isalpha() else ""
                    raise self.error(
                        f"grid row {number}",
                        f"unknown character {character!r} in column {column}{hint}",
                    )
            if len(row) != len(rows[0]):
                raise self.error(
                    f"grid row {number}", f"has {len(row)} cells, but row 0 has {len(rows[0])}"
                )
        return np.array([list(row) for row in rows])

    def switches(
        self, cells: np.ndarray, opens: dict[str, tuple[int, ...]]
    ) -> dict[str, tuple[int, int]]:
        places = {}
        for letter in opens:
            found = np.argwhere((cells == letter) | (cells == letter.upper()))
            if len(found) == 0:
                raise self.error(f"key 'switches.{letter}'", "this switch is not drawn in the grid")
            if len(found) > 1:
                row = int(found[1][0])
                raise self.error(f"grid row {row}", f"switch '{letter}' is drawn a second time")
            places[letter] = (int(found[0][0]), int(found[0][1]))
        return places

    def check_doors(self, doors: np.ndarray, opens: dict[str, tuple[int, ...]]) -> None:
        drawn = set(np.unique(doors[doors > 0]).tolist())
        for door in range(1, max(drawn, default=0)):
            if door not in drawn:
                raise self.error(
                    "key 'grid'",
                    f"doors are numbered from 1 without gaps, but door {door} is missing",
                )
        for letter, opened in opens.items():
            for door in opened:
                if door not in drawn:
                    raise self.error(
                        f"key 'switches.{letter}'",
                        f"opens door {door}, but the grid has no door {door}",
                    )

    def starts(self, floor: np.ndarray) -> tuple[tuple[int, int], ...]:
        value = self.table.get("starts")
        pairs = (
            isinstance(value, list)
            and value
            and all(
                isinstance(start, list) and len(start) == 2 and all(type(x) is int for x in start)
                for start in value
            )
        )
        if not pairs:
            raise self.error("key 'starts'", "must list a [row, column] for every agent")
        height, width = floor.shape
        for agent, (row, column) in enumerate(self.table["starts"]):
            where = f"key 'starts', agent {agent}"
            if not (0 <= row < height and 0 <= column < width):
                raise self.error(
                    where, f"[{row}, {column}] is outside the grid of {height} by {width} cells"
                )
            if not floor[row, column]:
                raise self.error(
                    where, f"[{row}, {column}] is inside a wall or a doorway (grid row {row})"
                )
        return tuple((row, column) for row, column in self.table["starts"])
