"""What a kitchen looks like, as an image and as text."""

import numpy as np
from PIL import Image

from mace_marl.envs.overcooked.items import (
    COUNTER,
    DISH,
    DISPENSED,
    FLOOR,
    NOTHING,
    ONION,
    POT,
    SERVING,
    SOUP,
    TOMATO,
    onions,
    tomatoes,
)
from mace_marl.envs.overcooked.kitchenfile import Kitchen
from mace_marl.envs.overcooked.state import State
from mace_marl.envs.pen import Pen
from mace_marl.viewer import agent_colour

FLOOR_COLOUR = "#fafaf7"
COUNTER_COLOUR = "#c8b08c"
DISPENSER_COLOUR = "#8d6b48"
SERVING_COLOUR = "#7fb685"
POT_COLOUR, IRON = "#9aa0aa", "#2b303b"
COOKING_COLOUR, READY_COLOUR = "#e07b1a", "#4caf50"  # the pot's rim
ITEM_COLOURS = {ONION: "#e8c04a", TOMATO: "#d8322a", DISH: "#ffffff"}
SOUP_COLOUR = "#f29a76"
INK = "#1d2129"

PICTURE_PIXELS = 480  # the longer side, unless its cells got too small or too large
SMALLEST_CELL, LARGEST_CELL = 16, 48

DIRECTIONS = ((-1, 0), (1, 0), (0, 1), (0, -1))  # north, south, east, west
ARROWS = "^v><"
NAMES = {NOTHING: "nothing", ONION: "onion", TOMATO: "tomato", DISH: "dish", SOUP: "soup"}
LEGEND = """\
X counter  . floor  T tomatoes  O onions  D dishes  P pot  S serving
Xt tomato  Xo onion  Xd dish  Xs soup  P- empty  P+ filling  P~ cooking  P! ready"""


def cell_pixels(kitchen: Kitchen) -> int:
    """The side of one cell in `image`, in pixels."""
    longer = max(kitchen.cells.shape)
    return int(np.clip(PICTURE_PIXELS // longer, SMALLEST_CELL, LARGEST_CELL))


def image(kitchen: Kitchen, state: State) -> np.ndarray:
    """The state as an RGB image  # (height, width, 3) uint8."""
    cell = cell_pixels(kitchen)
    height, width = (cell * side for side in kitchen.cells.shape)
    canvas = Image.new("RGB", (width, height), FLOOR_COLOUR)
    pen = Pen(canvas, cell, frame=0)
    ground = {
        COUNTER: COUNTER_COLOUR,
        POT: POT_COLOUR,
        SERVING: SERVING_COLOUR,
        FLOOR: FLOOR_COLOUR,
    }
    for place, character in np.ndenumerate(kitchen.cells):
        pen.square(place, ground.get(character, DISPENSER_COLOUR))
    for place in kitchen.places(SERVING):
        pen.write(place, "S", 0.7, FLOOR_COLOUR)
    for place, item in zip(kitchen.stations, np.asarray(state.items), strict=True):
        _draw_item(pen, place, int(item), 0.34)
    for place, contents, cooked in zip(
        kitchen.places(POT), np.asarray(state.contents), np.asarray(state.cooked), strict=True
    ):
        _draw_pot(pen, place, int(contents), _stage(kitchen, int(contents), int(cooked)))
    _draw_lines(pen, kitchen)
    for agent in range(len(kitchen.starts)):
        _draw_agent(pen, agent, state)
    return np.array(canvas)


def _draw_lines(pen: Pen, kitchen: Kitchen) -> None:
    """A faint line between cells, so that steps can be counted."""
    height, width = (side * pen.cell for side in kitchen.cells.shape)
    pixels = np.array(pen.canvas)
    pixels[:: pen.cell] = pixels[:: pen.cell] * 0.93
    pixels[:, :: pen.cell] = pixels[:, :: pen.cell] * 0.93
    pen.canvas.paste(Image.fromarray(pixels[:height, :width]))


def _draw_item(pen: Pen, place: tuple[float, float], item: int, radius: float) -> None:
    if item == NOTHING:
        return
    pen.disc(place, radius, INK)
    pen.disc(place, radius * 0.86, ITEM_COLOURS.get(item, ITEM_COLOURS[DISH]))
    if item == DISH:  # a plate has a rim
        pen.disc(place, radius * 0.58, POT_COLOUR)
        pen.disc(place, radius * 0.5, ITEM_COLOURS[DISH])
    elif item >= SOUP:
        pen.disc(place, radius * 0.68, SOUP_COLOUR)
        _draw_ingredients(pen, place, item - SOUP, radius * 0.68)


def _draw_pot(pen: Pen, place: tuple[int, int], contents: int, stage: str) -> None:
    rim = {"cooking": COOKING_COLOUR, "ready": READY_COLOUR}.get(stage, IRON)
    pen.disc(place, 0.46, rim)
    pen.disc(place, 0.34, SOUP_COLOUR if stage in ("cooking", "ready") else IRON)
    _draw_ingredients(pen, place, contents, 0.34)


def _draw_ingredients(pen: Pen, place: tuple[float, float], contents: int, radius: float) -> None:
    """As many small discs as there are onions and tomatoes, in a ring."""
    inside = [ONION] * onions(contents) + [TOMATO] * tomatoes(contents)
    ring = 0.0 if len(inside) == 1 else 0.5 * radius
    for number, ingredient in enumerate(inside):
        angle = 2 * np.pi * number / len(inside)
        there = (place[0] - ring * np.cos(angle), place[1] + ring * np.sin(angle))
        pen.disc(there, 0.42 * radius, ITEM_COLOURS[ingredient])


def _draw_agent(pen: Pen, agent: int, state: State) -> None:
    """A disc with a nose where it looks; what it holds is before it, its number behind."""
    row, column = (int(x) for x in state.position[agent])
    down, right = DIRECTIONS[int(state.facing[agent])]
    held = int(state.held[agent])

    def ahead(distance: float) -> tuple[float, float]:
        return row + distance * down, column + distance * right

    pen.disc(ahead(0.4), 0.14, INK)
    pen.disc((row, column), 0.42, INK)
    pen.disc((row, column), 0.38, agent_colour(agent))
    pen.write(ahead(-0.17 if held else 0.0), str(agent), 0.45, FLOOR_COLOUR)
    _draw_item(pen, ahead(0.28), held, 0.26)


def _stage(kitchen: Kitchen, contents: int, cooked: int) -> str:
    if contents == 0:
        return "empty"
    if cooked < 0:
        return "filling"
    return "ready" if cooked >= kitchen.cooking_time else "cooking"


def text(kitchen: Kitchen, state: State) -> str:
    """The state for a terminal: two characters per cell, and below what they cannot say."""
    cells = np.char.add(kitchen.cells, " ")  # (height, width)
    cells[kitchen.floor] = ". "
    for place, item in zip(kitchen.stations, np.asarray(state.items), strict=True):
        if kitchen.cells[place] not in DISPENSED:
            cells[place] = COUNTER + (_name(int(item))[0] if item else COUNTER)
    notes = []
    for place, contents, cooked in zip(
        kitchen.places(POT), np.asarray(state.contents), np.asarray(state.cooked), strict=True
    ):
        stage = _stage(kitchen, int(contents), int(cooked))
        cells[place] = POT + {"empty": "-", "filling": "+", "cooking": "~", "ready": "!"}[stage]
        inside = f": {name_contents(int(contents))}" if contents else ""
        notes.append(f"pot in row {place[0]}, column {place[1]}: {stage}{inside}")
    for agent, (row, column) in enumerate(np.asarray(state.position)):
        cells[row, column] = f"{agent}{ARROWS[int(state.facing[agent])]}"
        notes.append(f"agent {agent} holds {_name(int(state.held[agent]))}")
    return "\n".join(["".join(row).rstrip() for row in cells] + [LEGEND, *notes])


def _name(item: int) -> str:
    return NAMES[item] if item < SOUP else f"soup ({name_contents(item - SOUP)})"


def name_contents(contents: int) -> str:
    """What is in a pot or a soup, in words."""
    counted = ((onions(contents), "onion"), (tomatoes(contents), "tomato"))
    return ", ".join(
        f"{number} {name}{'' if number == 1 else ('s' if name == 'onion' else 'es')}"
        for number, name in counted
        if number
    )
