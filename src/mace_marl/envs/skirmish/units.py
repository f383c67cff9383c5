"""Types of units: their numbers, read from tables of a TOML file."""

from dataclasses import dataclass, field, fields
from importlib import resources
from pathlib import Path
from typing import Any

from mace_marl.envs.drawing import parse_toml, read_text
from mace_marl.envs.skirmish.tables import Lines, Section

LOOPS_PER_SECOND = 16
SHORTEST_PERIOD = 2.0  # loops between attacks, and one of them is chance's


@dataclass(frozen=True)
class UnitType:
    """The numbers of a type; times in seconds, lengths in cells."""

    name: str
    health: float
    shield: float  # takes damage first, and grows again
    armour: float  # less damage of each hit to health
    damage: float  # of each hit
    hits: int  # of one attack
    hit_delay: float  # between them
    period: float  # between attacks
    range: float  # between edges
    speed: float
    radius: float
    attributes: tuple[str, ...] = ()
    bonus: dict[str, float] = field(default_factory=dict)  # more damage to what has the attribute

    def damage_to(self, other: "UnitType") -> float:
        """The damage of a hit, before armour."""
        return self.damage + sum(
            extra for name, extra in self.bonus.items() if name in other.attributes
        )

    def as_toml(self) -> str:
        """The table that `read_type` reads."""
        shown = {
            entry.name: getattr(self, entry.name) for entry in fields(self) if entry.name != "name"
        }
        shown["attributes"] = [*self.attributes]
        bonus = ", ".join(f"{_quoted(name)} = {extra}" for name, extra in self.bonus.items())
        lines = [f"{key} = {value}" for key, value in shown.items() if key != "bonus"]
        return "\n".join([f"[units.{_quoted(self.name)}]", *lines, f"bonus = {{ {bonus} }}", ""])


KEYS = tuple(entry.name for entry in fields(UnitType) if entry.name != "name")


def read_type(section: Section, name: str) -> UnitType:
    """The type in a table, or one sentence about what is wrong with it."""
    section.check_keys(KEYS)
    hits = section.whole("hits", 1, 1, 10)
    kind = UnitType(
        name=name,
        health=section.number("health", None, 0, 1e6, above=True),
        shield=section.number("shield", 0, 0, 1e6),
        armour=section.number("armour", 0, 0, 1e6),
        damage=section.number("damage", None, 0, 1e6),
        hits=hits,
        hit_delay=section.number("hit_delay", 0 if hits == 1 else None, 0, 60),
        period=section.number("period", None, SHORTEST_PERIOD / LOOPS_PER_SECOND, 600),
        range=section.number("range", None, 0, 100),
        speed=section.number("speed", None, 0, LOOPS_PER_SECOND / 2),
        radius=section.number("radius", None, 0.05, 5),
        attributes=_attributes(section),
        bonus=_bonus(section),
    )
    # One loop is lost to rounding up, one to chance.
    if (hits - 1) * (kind.hit_delay + 1 / LOOPS_PER_SECOND) + 1 / LOOPS_PER_SECOND > kind.period:
        raise section.error(
            "key 'hit_delay'",
            f"{hits} hits with {kind.hit_delay:g} s between them do not fit into a period of"
            f" {kind.period:g} s",
        )
    return kind


def find_type(name: str, folder: Path) -> UnitType | None:
    """The type in the file `name.toml` of this folder, or else of the package."""
    own = folder / f"{name}.toml"
    if own.is_file():
        file, text = str(own), read_text(own)
    elif name in shipped_types():
        file = f"{name}.toml"
        text = (resources.files("mace_marl.envs.skirmish") / "units" / file).read_text("utf-8")
    else:
        return None
    return read_type(Section(file, parse_toml(text, file), Lines(text)), name)


def shipped_types() -> list[str]:
    folder = resources.files("mace_marl.envs.skirmish") / "units"
    return sorted(file.name.removesuffix(".toml") for file in folder.iterdir())


def _attributes(section: Section) -> tuple[str, ...]:
    value = section.table.get("attributes", [])
    if not isinstance(value, list) or not all(_is_word(name) for name in value):
        raise section.error("key 'attributes'", 'must be a list of words such as ["armoured"]')
    return tuple(value)


def _bonus(section: Section) -> dict[str, float]:
    value = section.table.get("bonus", {})
    if (
        not isinstance(value, dict)
        or not all(_is_word(name) for name in value)
        or not all(type(extra) in (int, float) and 0 <= extra <= 1e6 for extra in value.values())
    ):
        raise section.error(
            "key 'bonus'", "must be a table of an attribute and a number, such as { armoured = 4 }"
        )
    return {name: float(extra) for name, extra in value.items()}


def _is_word(value: Any) -> bool:
    return isinstance(value, str) and value.replace("_", "").replace("-", "").isalnum()


def _quoted(name: str) -> str:
    return f'"{name}"'
