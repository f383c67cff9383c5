"""What a skirmish looks like, as an image and as text."""

from dataclasses import dataclass
from string import ascii_lowercase

import numpy as np
from PIL import Image, ImageColor

from mace_marl.envs.pen import Pen
from mace_marl.envs.skirmish.scenariofile import OPEN, Scenario
from mace_marl.envs.skirmish.side import unit_types
from mace_marl.envs.skirmish.state import State, Units
from mace_marl.envs.skirmish.units import UnitType
from mace_marl.viewer import agent_colour

OPEN_COLOUR, CLOSED_COLOUR = "#f3f1e7", "#5b6270"
RANGE_COLOUR = "#dcd8c6"
ENEMY_COLOUR, ENEMY_RIM = "#2b303b", "#e3001b"
DEAD_COLOUR = "#c9c6ba"
HEALTH_COLOUR, SHIELD_COLOUR, LOST_COLOUR = "#3fae49", "#3d7de0", "#6b1f1f"

PICTURE_PIXELS = 640  # the longer side, unless its cells got too small or too large
SMALLEST_CELL, LARGEST_CELL = 10, 32
SMALLEST_RADIUS = 0.45  # of a disc: enough for a letter
BAR, WIDTH = 0.16, 1.0  # cells: height and width of a bar

LEGEND = "0, 1, … agents  a, b, … enemies  x dead  . open ground  # closed"


def letter(enemy: int) -> str:
    """How an enemy is called: a to z, then numbers."""
    return ascii_lowercase[enemy] if enemy < len(ascii_lowercase) else str(enemy)


@dataclass(frozen=True)
class Frame:
    """The part of the map that is shown: all open ground, and a closed cell around it."""

    left: int  # x of its first column
    top: int  # y of its first row; rows go down
    width: int
    height: int
    cell: int  # pixels

    @classmethod
    def of(cls, scenario: Scenario) -> "Frame":
        xs, ys = np.nonzero(scenario.ground)
        sides = np.ptp(xs) + 3, np.ptp(ys) + 3
        cell = int(np.clip(PICTURE_PIXELS // max(sides), SMALLEST_CELL, LARGEST_CELL))
        return cls(int(xs.min()) - 1, int(ys.max()) + 1, int(sides[0]), int(sides[1]), cell)

    def place(self, x: float, y: float) -> tuple[float, float]:
        """The pen's row and column of a point of the map."""
        return self.top + 0.5 - y, x - self.left - 0.5


def image(scenario: Scenario, state: State) -> np.ndarray:
    """The state as an RGB image  # (height, width, 3) uint8."""
    frame = Frame.of(scenario)
    size = (frame.width * frame.cell, frame.height * frame.cell)
    pen = Pen(Image.new("RGB", size, CLOSED_COLOUR), frame.cell, frame=0)
    for x, y in np.argwhere(scenario.ground):
        pen.square(frame.place(x + 0.5, y + 0.5), OPEN_COLOUR)
    sides = tuple(
        (unit_types(groups), units, _places(scenario, frame, units))
        for groups, units in ((scenario.allies, state.allies), (scenario.enemies, state.enemies))
    )
    for types, units, at in sides:
        for one in np.flatnonzero(units.alive):
            pen.ring(at[one], types[one].range + types[one].radius, RANGE_COLOUR)
        for one in np.flatnonzero(~np.asarray(units.alive)):
            pen.disc(at[one], SMALLEST_RADIUS * 0.6, DEAD_COLOUR)
    (_, allies, allies_at), (_, enemies, enemies_at) = sides
    for one, other in np.argwhere(_aims(allies, enemies)):
        pen.line(allies_at[one], enemies_at[other], agent_colour(one), width=3)
    for one, other in np.argwhere(_aims(enemies, allies)):
        pen.line(enemies_at[one], allies_at[other], ENEMY_RIM, width=1)
    for side, (types, units, at) in enumerate(sides):
        for one in np.flatnonzero(units.alive):
            _draw_unit(pen, at[one], types[one], int(one), is_enemy=side == 1)
            _draw_bars(pen, at[one], types[one], units, int(one))
    return np.array(pen.canvas)


def _places(scenario: Scenario, frame: Frame, units: Units) -> list[tuple[float, float]]:
    """The pen's row and column of each unit."""
    middle = np.array(scenario.ground.shape) / 2
    return [frame.place(float(x), float(y)) for x, y in np.asarray(units.position) + middle]


def _aims(units: Units, foes: Units) -> np.ndarray:
    """Whom the living are after, among the living  # (units, foes) bool."""
    return np.asarray(units.target) & np.asarray(units.alive)[:, None] & np.asarray(foes.alive)


def _draw_unit(
    pen: Pen, place: tuple[float, float], kind: UnitType, number: int, is_enemy: bool
) -> None:
    radius = max(kind.radius, SMALLEST_RADIUS)
    if is_enemy:
        pen.disc(place, radius, ENEMY_RIM)
        pen.disc(place, radius - 0.1, ENEMY_COLOUR)
        pen.write(place, letter(number), 0.65, "white")
    else:
        pen.disc(place, radius, agent_colour(number))
        bright = ImageColor.getrgb(agent_colour(number))[1] > 200
        pen.write(place, str(number), 0.65, ENEMY_COLOUR if bright else "white")


def _draw_bars(
    pen: Pen, place: tuple[float, float], kind: UnitType, units: Units, one: int
) -> None:
    """Health, and above it the shield, of those who have one."""
    bars = [(units.health, kind.health, HEALTH_COLOUR)]
    bars += [(units.shield, kind.shield, SHIELD_COLOUR)] if kind.shield else []
    row, column = place
    row -= max(kind.radius, SMALLEST_RADIUS) + BAR
    for left, full, colour in bars:
        share = min(max(float(left[one]) / full, 0.0), 1.0)
        start = column - WIDTH / 2
        pen.box((row, start), (row + BAR, start + WIDTH), LOST_COLOUR)
        if share > 0:
            pen.box((row, start), (row + BAR, start + WIDTH * share), colour)
        row -= 1.2 * BAR


def text(scenario: Scenario, state: State) -> str:
    """The state for a terminal: two characters per cell, and below what they cannot say."""
    width, height = scenario.ground.shape
    cells = np.where(scenario.ground, f"{OPEN} ", "##").T[::-1].astype("U2")  # (height, width)
    sides = (
        ("agent", str, unit_types(scenario.allies), state.allies, letter, state.enemies),
        ("enemy", letter, unit_types(scenario.enemies), state.enemies, str, state.allies),
    )
    marks, notes = [], []
    for side, name, types, units, foe_name, foes in sides:
        aims = _aims(units, foes)
        cell = np.floor(np.asarray(units.position) + np.array([width, height]) / 2).astype(int)
        for one, kind in enumerate(types):
            lives = bool(units.alive[one])
            marks.append((lives, cell[one], name(one).ljust(2) if lives else "x "))
            notes.append(f"{side} {name(one)} ({kind.name}): {_condition(kind, units, one)}")
            if aims[one].any():
                notes[-1] += f", after {foe_name(int(np.argmax(aims[one])))}"
    for _, (x, y), mark in sorted(marks, key=lambda mark: mark[0]):  # the living on top
        cells[height - 1 - y, x] = mark
    used = np.flatnonzero(scenario.ground.any(axis=0))  # rows by y
    rows = cells[height - 1 - used.max() : height - used.min()]
    return "\n".join(["".join(row).rstrip() for row in rows] + [LEGEND, *notes])


def _condition(kind: UnitType, units: Units, one: int) -> str:
    health, shield = float(units.health[one]), float(units.shield[one])
    if health <= 0:
        return "dead"
    of_shield = f", shield {shield:g} of {kind.shield:g}" if kind.shield else ""
    return f"health {health:g} of {kind.health:g}{of_shield}"
