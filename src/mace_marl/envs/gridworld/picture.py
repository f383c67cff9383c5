"""What a GridWorld looks like, as an image and as text."""

import math
from collections import defaultdict

import numpy as np
from PIL import Image, ImageColor

from mace_marl.envs.gridworld.mapfile import SWITCH_REACH, Map
from mace_marl.envs.pen import Pen
from mace_marl.viewer import agent_colour

WALL_COLOUR = "#2b303b"
FLOOR_COLOUR = "#fafaf7"
TARGET_COLOUR = "#dcefd8"
REACH_COLOUR = "#e4e6ec"  # the cells from which a free switch could be occupied
HELD_COLOUR = "#ffdf85"  # the same cells and the switch itself while it is occupied
SHUT_COLOUR = "#a3243b"
OPEN_COLOUR = "#f9dcd0"
INK = "#1d2129"

PICTURE_PIXELS = 480  # the longer side of the grid, unless its cells got too small or too large
SMALLEST_CELL, LARGEST_CELL = 8, 48

# The map file's characters, but a lighter one for the target: agents and switches must stand out.
CHARACTERS = {
    "floor": ". ",
    "target": ": ",
    "wall": "##",
    "upright": "||",
    "level": "==",
    "open": "' ",
}
CROWD = "++"  # more agents on one cell than fit into two characters
LEGEND = "# wall  . floor  : target  | = shut door  ' open door  a switch  A occupied"
ANSI = {
    "floor": "\x1b[90m",
    "target": "\x1b[32m",
    "wall": "\x1b[37m",
    "upright": "\x1b[1;31m",
    "level": "\x1b[1;31m",
    "open": "\x1b[33m",
    "switch": "\x1b[1;36m",
    "agent": "\x1b[1;7m",
}
ANSI_RESET = "\x1b[0m"


def cell_pixels(map: Map) -> int:
    """The side of one cell in `image`, in pixels."""
    return int(np.clip(PICTURE_PIXELS // max(map.walls.shape), SMALLEST_CELL, LARGEST_CELL))


def held_switches(map: Map, position: np.ndarray) -> set[str]:
    """The switches on which or beside which an agent stands."""
    return {
        letter
        for letter, place in map.switches.items()
        if (np.hypot(*(position - np.array(place)).T) <= SWITCH_REACH).any()
    }


def image(map: Map, position: np.ndarray, doors: np.ndarray) -> np.ndarray:
    """The state as an RGB image  # (height, width, 3) uint8.

    `position`  # (num_agents, 2) int: row, column
    `doors`  # (num_doors,) bool: open
    """
    held = held_switches(map, position)
    cell = cell_pixels(map)
    # Nobody can leave the map, so a wall half a cell wide is drawn around it.
    frame = cell // 2
    height, width = (cell * cells + 2 * frame for cells in map.walls.shape)
    canvas = Image.new("RGB", (width, height), WALL_COLOUR)
    canvas.paste(Image.fromarray(_ground(map, held, cell)), (frame, frame))
    pen = Pen(canvas, cell, frame)
    for door, is_open in enumerate(doors, start=1):
        _draw_door(pen, map.doors == door, str(door), bool(is_open))
    crowds = _together(position)
    for letter, place in map.switches.items():
        pen.disc(place, 0.8, INK)
        pen.disc(place, 0.68, HELD_COLOUR if letter in held else FLOOR_COLOUR)
        if place not in crowds:  # a letter peeping out behind agents would only confuse
            pen.write(place, letter, 1.0, INK)
    _draw_agents(pen, crowds)
    return np.array(canvas)


def _ground(map: Map, held: set[str], cell: int) -> np.ndarray:
    """Floor, target, walls and the switches' surroundings  # (rows, columns, 3) uint8 of pixels."""
    cells = np.empty((*map.walls.shape, 3), np.uint8)
    cells[:] = ImageColor.getrgb(FLOOR_COLOUR)
    cells[map.target] = ImageColor.getrgb(TARGET_COLOUR)
    rows, columns = np.indices(map.walls.shape)
    # The occupied switches last: where two surroundings meet, the highlight wins.
    for letter in sorted(map.switches, key=lambda letter: letter in held):
        row, column = map.switches[letter]
        near = np.hypot(rows - row, columns - column) <= SWITCH_REACH
        cells[near] = ImageColor.getrgb(HELD_COLOUR if letter in held else REACH_COLOUR)
    cells[map.walls] = ImageColor.getrgb(WALL_COLOUR)
    pixels = cells.repeat(cell, axis=0).repeat(cell, axis=1)
    # A faint line between cells of floor, so that steps can be counted.
    lined = np.where(map.walls[..., None], cells, (cells * 0.94).astype(np.uint8))
    pixels[::cell] = lined.repeat(cell, axis=1)
    pixels[:, ::cell] = lined.repeat(cell, axis=0)
    return pixels


def _draw_door(pen: Pen, doorway: np.ndarray, name: str, is_open: bool) -> None:
    """All cells of one door (`doorway`  # (height, width) bool), its number in the middle one."""
    places = np.argwhere(doorway)
    for row, column in places:
        pen.square((row, column), OPEN_COLOUR if is_open else SHUT_COLOUR)
    row, column = places[np.abs(places - places.mean(axis=0)).sum(axis=1).argmin()]
    pen.write((row, column), name, 0.75, SHUT_COLOUR if is_open else FLOOR_COLOUR)


def _draw_agents(pen: Pen, crowds: dict[tuple[int, int], list[int]]) -> None:
    """Discs with the agents' numbers, side by side where several share a cell."""
    for (row, column), agents in crowds.items():
        for agent, (down, right, radius) in zip(agents, _offsets(len(agents)), strict=True):
            place = (row + down, column + right)
            colour = agent_colour(agent)
            pen.disc(place, radius, FLOOR_COLOUR)
            pen.disc(place, radius - 0.07, colour)
            name = str(agent)
            red, green, blue = ImageColor.getrgb(colour)[:3]
            is_light = 0.299 * red + 0.587 * green + 0.114 * blue > 140
            size = radius * (1.7 if len(name) == 1 else 1.35)
            pen.write(place, name, size, INK if is_light else FLOOR_COLOUR)


def _together(position: np.ndarray) -> dict[tuple[int, int], list[int]]:
    """The agents on every cell that has any."""
    cells = defaultdict(list)
    for agent, (row, column) in enumerate(position):
        cells[int(row), int(column)].append(agent)
    return cells


def _offsets(count: int) -> list[tuple[float, float, float]]:
    """Row, column and radius, in cells, of discs that touch in a ring around a cell's middle."""
    if count == 1:
        return [(0.0, 0.0, 0.58)]
    reach = 0.95  # of the ring: over the cell's edge, or the numbers could not be read
    half = math.sin(math.pi / count)
    radius = reach * half / (1 + half)
    angles = [2 * math.pi * (agent / count + 0.125) for agent in range(count)]
    ring = reach - radius
    return [(-ring * math.cos(angle), -ring * math.sin(angle), radius) for angle in angles]


def text(map: Map, position: np.ndarray, doors: np.ndarray, colour: bool = False) -> str:
    """The state for a terminal: two characters per cell, and below what they cannot say.

    A switch is a small letter, and a capital while it is occupied. `colour` adds ANSI colours to
    the same characters.
    """
    held = held_switches(map, position)
    kinds = _kinds(map, doors)
    cells = np.vectorize(CHARACTERS.get, otypes=["<U2"])(kinds)  # (height, width)
    for letter, place in map.switches.items():
        kinds[place] = "switch"
        cells[place] = f"{letter.upper() if letter in held else letter} "
    crowds = []
    for place, agents in _together(position).items():
        numbers = "".join(str(agent) for agent in agents)
        # From the eleventh agent on two digits may be one number, so that pairs are unclear, too.
        if len(agents) > 2 or (len(agents) == 2 and len(position) > 10):
            names = ", ".join(str(agent) for agent in agents)
            crowds.append(f"{CROWD} in row {place[0]}, column {place[1]}: agents {names}")
            numbers = CROWD
        below = cells[place][0] if kinds[place] == "switch" else " "
        kinds[place] = "agent"
        cells[place] = (numbers + below)[:2]
    lines = ["".join(row).rstrip() for row in cells]
    if colour:
        painted = [f"{ANSI[k]}{c}{ANSI_RESET}" for k, c in zip(kinds.flat, cells.flat, strict=True)]
        lines = ["".join(row) for row in np.reshape(painted, cells.shape)]
    opened = ", ".join(str(door) for door in np.flatnonzero(doors) + 1) or "none"
    occupied = ", ".join(sorted(held)) or "none"
    state = f"doors open: {opened}   switches occupied: {occupied}"
    return "\n".join([*lines, LEGEND, state, *crowds])


def _kinds(map: Map, doors: np.ndarray) -> np.ndarray:
    """What every cell is without switches and agents, as keys of CHARACTERS  # (height, width)."""
    solid = np.pad(map.walls | (map.doors > 0), 1)
    upright = solid[:-2, 1:-1] | solid[2:, 1:-1]  # the wall goes on above or below
    is_open = np.concatenate([[False], doors])[map.doors]
    return np.select(
        [map.walls, is_open, (map.doors > 0) & upright, map.doors > 0, map.target],
        ["wall", "open", "upright", "level", "target"],
        "floor",
    )
