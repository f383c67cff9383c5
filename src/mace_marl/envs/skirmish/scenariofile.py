"""Scenario files: ground, groups and orders, read and checked. docs/skirmish.md says how."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from mace_marl.envs.drawing import LARGEST_REWARD, SMALLEST_REWARD, parse_toml, read_text
from mace_marl.envs.skirmish.tables import Lines, Section
from mace_marl.envs.skirmish.units import UnitType, find_type, read_type, shipped_types
from mace_marl.errors import UserError

OPEN, CLOSED = ".", "#"
ORDERS = ("authors", "stock")
KEYS = (
    *("name", "description", "horizon", "observation", "ground"),
    *("reward", "allies", "enemies", "units"),
)
LARGEST_SIDE = 64  # cells
MOST_UNITS = 32  # on either side
DEFAULT_SPREAD = 0.25


@dataclass(frozen=True)
class Group:
    """Units of one type that begin around a point."""

    unit: UnitType
    count: int
    at: tuple[float, float]  # x, y in cells; x grows to the east, y to the north
    spread: float  # each begins up to so much off its place, along x and y
    attack: tuple[tuple[float, float], tuple[float, float]] | None = None
    """Enemies attack-move to a random point between these two."""

    @cached_property
    def places(self) -> np.ndarray:  # (count, 2)
        """Where the units begin but for chance, which cannot make them overlap."""
        apart = 2 * self.unit.radius + 2 * 2**0.5 * self.spread
        return np.asarray(self.at) + apart * hexagons(self.count)


@dataclass(frozen=True)
class Prize:
    """What is rewarded, for all agents alike."""

    win: float
    kill: float  # for each enemy that dies
    damage: float  # for each point of an enemy's health or shield
    scaled_to: float | None  # the most that all this can add up to, unless shields grow again


@dataclass(frozen=True)
class Scenario:
    """A scenario, ready to be fought."""

    name: str
    description: str
    horizon: int  # steps
    observation: str  # in whose order an agent sees: the authors' or stock SMAC's
    ground: np.ndarray  # (width, height) bool: where units can walk, by x and y
    prize: Prize
    allies: tuple[Group, ...]
    enemies: tuple[Group, ...]
    source: str  # the file's text with all unit types it uses, so that a run needs no file


def read_scenario(path: Path) -> Scenario:
    """The scenario in the file at `path`, or one sentence about what is wrong with it."""
    return parse_scenario(read_text(path), str(path))


def parse_scenario(text: str, file: str) -> Scenario:
    """The scenario written in `text`; `file` names it in error messages.

    Types of units are found in the text, in files beside `file`, or in the package.
    """
    return _Reader(file, parse_toml(text, file), Lines(text)).scenario(text)


def hexagons(count: int) -> np.ndarray:
    """The `count` points nearest to the first on a lattice of triangles of side 1  # (count, 2)."""
    reach = range(-count, count + 1)
    lattice = [(row * 3**0.5 / 2, column + row / 2) for row in reach for column in reach]
    return np.array(sorted(lattice, key=lambda p: (round(p[0] ** 2 + p[1] ** 2, 6), p))[:count])


class _Reader(Section):
    def scenario(self, source: str) -> Scenario:
        self.check_keys(KEYS)
        ground = self.ground()
        allies, enemies = self.groups("allies", ground), self.groups("enemies", ground)
        return Scenario(
            name=self.name(),
            description=self.text("description", ""),
            horizon=self.horizon(),
            observation=self.choice("observation", ORDERS),
            ground=ground,
            prize=self.prize(),
            allies=allies,
            enemies=enemies,
            source=self.complete(source, [group.unit for group in allies + enemies]),
        )

    def section(self, table: Any, title: str) -> Section:
        return Section(self.file, table, self.lines, title)

    def ground(self) -> np.ndarray:
        drawing = self.table.get("ground")
        if not isinstance(drawing, str) or not drawing.strip():
            raise self.error("key 'ground'", 'missing; draw the ground as ground = """ … """')
        rows = drawing.splitlines()
        blank = next(number for number, row in enumerate(rows) if row.strip())
        rows = [row.strip() for row in drawing.strip().splitlines()]
        first = self.lines.numbers.get(("", "ground"))
        for number, row in enumerate(rows):
            where = f"ground row {number}"
            if first:
                where = f"line {first + 1 + blank + number}, {where}"
            for column, character in enumerate(row):
                if character not in (OPEN, CLOSED):
                    raise self.error(
                        where,
                        f"unknown character {character!r} in column {column};"
                        f" draw ground as '{OPEN}' where units can walk, else as '{CLOSED}'",
                    )
            if len(row) != len(rows[0]):
                raise self.error(where, f"has {len(row)} cells, but row 0 has {len(rows[0])}")
        if max(len(rows), len(rows[0])) > LARGEST_SIDE:
            raise self.error("key 'ground'", f"is wider or higher than {LARGEST_SIDE} cells")
        drawn = np.array([list(row) for row in rows]) == OPEN
        return drawn[::-1].T  # the last row drawn is y = 0

    def prize(self) -> Prize:
        section = self.section(self.table.get("reward", {}), "reward")
        section.check_keys(("win", "kill", "damage", "scaled_to"))
        scaled_to = None
        if "scaled_to" in section.table:
            scaled_to = section.number("scaled_to", None, SMALLEST_REWARD, LARGEST_REWARD)
        return Prize(
            win=section.number("win", 200, 0, LARGEST_REWARD, above=True),
            kill=section.number("kill", 0, 0, LARGEST_REWARD),
            damage=section.number("damage", 0, 0, LARGEST_REWARD),
            scaled_to=scaled_to,
        )

    def groups(self, side: str, ground: np.ndarray) -> tuple[Group, ...]:
        tables = self.table.get(side)
        if not isinstance(tables, list) or not tables:
            raise self.error(f"key '{side}'", f"missing; give at least one table [[{side}]]")
        groups = []
        for number, table in enumerate(tables):
            section = self.section(table, f"{side} {number}")
            groups.append(self.group(section, side == "enemies", ground))
        if sum(group.count for group in groups) > MOST_UNITS:
            raise self.error(f"key '{side}'", f"are more than {MOST_UNITS} units")
        return tuple(groups)

    def group(self, section: Section, are_enemies: bool, ground: np.ndarray) -> Group:
        section.check_keys(("unit", "count", "at", "spread", *(("attack",) if are_enemies else ())))
        at: Any = section.table.get("at")
        if not _is_point(at):
            raise section.error("key 'at'", "must be a point [x, y] in cells")
        group = Group(
            unit=self.unit(section),
            count=section.whole("count", 1, 1, MOST_UNITS),
            at=_point(at),
            spread=section.number("spread", DEFAULT_SPREAD, 0, LARGEST_SIDE),
            attack=self.attack(section, ground) if are_enemies else None,
        )
        for x, y in group.places:
            for dx in (-group.spread, group.spread):
                for dy in (-group.spread, group.spread):
                    if not _walkable(ground, x + dx, y + dy):
                        raise section.error(
                            "key 'at'",
                            f"a unit would begin at [{x + dx:.4g}, {y + dy:.4g}], where nobody can"
                            " walk; move the group, or give it less spread",
                        )
        return group

    def unit(self, section: Section) -> UnitType:
        name = section.text("unit", "")
        own = self.table.get("units", {})
        if not isinstance(own, dict):
            raise self.error("key 'units'", "must be tables [units.name]")
        if name in own:
            return read_type(self.section(own[name], f"units.{name}"), name)
        found = find_type(name, Path(self.file).parent) if name else None
        if found is None:
            raise section.error(
                "key 'unit'",
                f"there is no type of unit {name!r}; there are"
                f" {', '.join(sorted({*shipped_types(), *own}))}, or describe it as"
                f" [units.{name or 'name'}] or in a file {name or 'name'}.toml beside this one",
            )
        return found

    def attack(
        self, section: Section, ground: np.ndarray
    ) -> tuple[tuple[float, float], tuple[float, float]] | None:
        value = section.table.get("attack")
        if value is None:
            return None
        points = [value, value] if _is_point(value) else value
        if (
            not isinstance(points, list)
            or len(points) != 2
            or not all(_is_point(point) and _walkable(ground, *point) for point in points)
        ):
            raise section.error(
                "key 'attack'",
                "must be a point [x, y] where units can walk, or two such points for a random one"
                " between them",
            )
        return _point(points[0]), _point(points[1])

    def complete(self, source: str, used: list[UnitType]) -> str:
        """The text with the types that it uses but does not describe."""
        own = self.table.get("units", {})
        missing = {unit.name: unit for unit in used if unit.name not in own}
        added = [unit.as_toml() for unit in missing.values()]
        complete = "\n".join([source.rstrip("\n"), "", *added]) if added else source
        try:
            parse_toml(complete, self.file)
        except UserError:
            raise self.error("key 'units'", "describe each type in a table [units.name]") from None
        return complete


def _is_point(value: Any) -> bool:
    return (
        isinstance(value, list)
        and len(value) == 2
        and all(type(number) in (int, float) and abs(number) < 1e6 for number in value)
    )


def _point(value: list[float]) -> tuple[float, float]:
    return float(value[0]), float(value[1])


def _walkable(ground: np.ndarray, x: float, y: float) -> bool:
    width, height = ground.shape
    return 0 <= x < width and 0 <= y < height and bool(ground[int(x), int(y)])
