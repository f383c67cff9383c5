"""Kitchen files: a kitchen drawn in characters, read and checked. docs/overcooked.md says how."""

import textwrap
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from mace_marl.envs.drawing import Reader, parse_toml, read_text
from mace_marl.envs.overcooked.items import (
    COUNTER,
    DISHES,
    DISPENSED,
    FLOOR,
    ONIONS,
    POT,
    POT_SIZE,
    SERVING,
    TOMATOES,
)
from mace_marl.envs.overcooked.workable import missing

STARTS = ("1", "2")
KEYS = (
    *("name", "description", "horizon", "reward", "tomatoes", "onions", "cooking_time"),
    *("repeated", "kitchen", "sight"),
)
LARGEST_SIDE = 50  # cells; in `features` a distance, an order and a place fit into 32 bits
LONGEST_COOKING = 1_000_000
NEEDED = {
    POT: "pot",
    SERVING: "serving area",
    DISHES: "dish dispenser",
    TOMATOES: "tomato dispenser",
    ONIONS: "onion dispenser",
}


@dataclass(frozen=True)
class Sight:
    """The columns x and rows y that an agent sees things in, first and last included."""

    x: tuple[int, int]
    y: tuple[int, int]

    @property
    def size(self) -> tuple[int, int]:
        """What distances along x and y are divided by."""
        return self.x[1] - self.x[0], self.y[1] - self.y[0]

    def covers(self, row: int, column: int) -> bool:
        return self.x[0] <= column <= self.x[1] and self.y[0] <= row <= self.y[1]


@dataclass(frozen=True)
class Kitchen:
    """A kitchen, ready to be cooked in."""

    name: str
    description: str
    horizon: int
    reward: float
    tomatoes: int  # in a soup that is rewarded, exactly
    onions: int
    cooking_time: int  # steps; 0: ready at once
    repeated: bool  # serving goes on until the horizon; else the first rewarded soup is the end
    cells: np.ndarray  # (height, width) of characters; where agents start is floor
    starts: tuple[tuple[int, int], ...]  # (row, column) of both agents
    sight: tuple[Sight, ...]  # of both agents
    source: str  # the file's text, so that a run can carry its own kitchen

    @property
    def floor(self) -> np.ndarray:  # (height, width) bool
        return self.cells == FLOOR

    @cached_property
    def stations(self) -> list[tuple[int, int]]:
        """(row, column) of what bears items: dispensers row by row, then counters row by row."""
        return self.places(*DISPENSED) + self.places(COUNTER)

    def places(self, *characters: str) -> list[tuple[int, int]]:
        """(row, column) of all cells drawn as one of these, row by row."""
        return [(int(r), int(c)) for r, c in np.argwhere(np.isin(self.cells, characters))]


def read_kitchen(path: Path) -> Kitchen:
    """The kitchen in the file at `path`, or one sentence about what is wrong with it."""
    return parse_kitchen(read_text(path), str(path))


def parse_kitchen(text: str, file: str) -> Kitchen:
    """The kitchen written in `text`; `file` names it in error messages."""
    return _Reader(file, parse_toml(text, file)).kitchen(text)


class _Reader(Reader):
    def kitchen(self, source: str) -> Kitchen:
        self.check_keys(KEYS)
        drawn = self.cells()
        starts = self.starts(drawn)
        tomatoes, onions = self.recipe()
        cells = np.where(np.isin(drawn, STARTS), FLOOR, drawn)
        self.check_equipment(cells, starts, TOMATOES * tomatoes + ONIONS * onions)
        return Kitchen(
            name=self.name(),
            description=self.text("description", ""),
            horizon=self.horizon(),
            reward=self.reward(),
            tomatoes=tomatoes,
            onions=onions,
            cooking_time=self.whole("cooking_time", 0, 0, LONGEST_COOKING),
            repeated=self.repeated(),
            cells=cells,
            starts=starts,
            sight=self.sight(*cells.shape),
            source=source,
        )

    def whole(self, key: str, default: int, least: int, most: int) -> int:
        value = self.table.get(key, default)
        if type(value) is not int or not least <= value <= most:
            raise self.error(f"key '{key}'", f"must be a whole number from {least} to {most}")
        return value

    def repeated(self) -> bool:
        value = self.table.get("repeated", False)
        if type(value) is not bool:
            raise self.error("key 'repeated'", f"must be true or false, not {value!r}")
        return value

    def recipe(self) -> tuple[int, int]:
        """Tomatoes and onions wanted in a soup."""
        onions = self.whole("onions", 0, 0, POT_SIZE)
        tomatoes = self.whole("tomatoes", 0 if onions else 1, 0, POT_SIZE)
        if not 1 <= tomatoes + onions <= POT_SIZE:
            raise self.error(
                "key 'tomatoes'",
                f"a soup of {tomatoes} tomatoes and {onions} onions cannot be made; a pot holds"
                f" 1 to {POT_SIZE} together",
            )
        return tomatoes, onions

    def cells(self) -> np.ndarray:
        """The drawing as one character per cell, starts included  # (height, width)."""
        rows = self.rows()
        known = {FLOOR, COUNTER, POT, SERVING, *DISPENSED, *STARTS}
        for number, row in enumerate(rows):
            for column, character in enumerate(row):
                if character not in known:
                    raise self.error(
                        f"kitchen row {number}",
                        f"unknown character {character!r} in column {column}",
                    )
            if len(row) != len(rows[0]):
                raise self.error(
                    f"kitchen row {number}", f"has {len(row)} cells, but row 0 has {len(rows[0])}"
                )
        cells = np.array([list(row) for row in rows])
        if max(cells.shape) > LARGEST_SIDE:
            raise self.error("key 'kitchen'", f"is wider or higher than {LARGEST_SIDE} cells")
        inner = np.zeros(cells.shape, bool)
        inner[1:-1, 1:-1] = True
        for row, column in np.argwhere(np.isin(cells, [FLOOR, *STARTS]) & ~inner):
            raise self.error(
                f"kitchen row {row}",
                f"the border is open in column {column}; close it with a counter '{COUNTER}'",
            )
        return cells

    def rows(self) -> list[str]:
        """The lines of the drawing without indentation and without blanks beyond its right end."""
        drawing = self.table.get("kitchen")
        if not isinstance(drawing, str) or not drawing.strip():
            raise self.error("key 'kitchen'", 'missing; draw the kitchen as kitchen = """ … """')
        lines = drawing.splitlines()
        while not lines[0].strip():
            del lines[0]
        while not lines[-1].strip():
            del lines[-1]
        lines = textwrap.dedent("\n".join(lines)).split("\n")
        width = max(len(line.rstrip()) for line in lines)
        return [line[:width] for line in lines]

    def starts(self, drawn: np.ndarray) -> tuple[tuple[int, int], ...]:
        starts = []
        for player in STARTS:
            found = np.argwhere(drawn == player)
            if len(found) == 0:
                raise self.error(
                    "key 'kitchen'", f"no start of player {player}: draw it as '{player}'"
                )
            if len(found) > 1:
                raise self.error(
                    f"kitchen row {found[1][0]}", f"player {player} starts here a second time"
                )
            starts.append((int(found[0][0]), int(found[0][1])))
        return tuple(starts)

    def check_equipment(
        self, cells: np.ndarray, starts: tuple[tuple[int, int], ...], ingredients: str
    ) -> None:
        """All that a soup needs must be there, and within reach of those who need it."""
        for character in (POT, SERVING, DISHES, *dict.fromkeys(ingredients)):
            if not (cells == character).any():
                raise self.error(
                    "key 'kitchen'", f"no {NEEDED[character]}: draw it as '{character}'"
                )
        problem = missing(cells, starts, ingredients)
        if problem:
            raise self.error("key 'kitchen'", problem)

    def sight(self, height: int, width: int) -> tuple[Sight, ...]:
        tables = self.table.get("sight", [{}] * len(STARTS))
        if (
            not isinstance(tables, list)
            or len(tables) != len(STARTS)
            or not all(isinstance(table, dict) for table in tables)
        ):
            raise self.error("key 'sight'", "must be two tables [[sight]], one for each agent")
        for agent, table in enumerate(tables):
            for key in table:
                if key not in ("x", "y"):
                    raise self.error(f"key 'sight', agent {agent}", f"unknown key {key!r}")
        return tuple(
            Sight(
                x=self.range(table.get("x", [0, width]), f"agent {agent}, x", width),
                y=self.range(table.get("y", [0, height]), f"agent {agent}, y", height),
            )
            for agent, table in enumerate(tables)
        )

    def range(self, value: Any, where: str, limit: int) -> tuple[int, int]:
        if (
            not isinstance(value, list)
            or len(value) != 2
            or any(type(number) is not int for number in value)
            or not 0 <= value[0] < value[1] <= limit
        ):
            raise self.error(
                f"key 'sight', {where}",
                f"must be [first, last], whole numbers from 0 to {limit}, the first the smaller",
            )
        return value[0], value[1]
