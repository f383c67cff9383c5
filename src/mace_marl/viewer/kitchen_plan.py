"""A kitchen as a figure: all that stands in it, and what each cook sees of it, as in the paper."""

from pathlib import Path

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Circle, Patch, Rectangle

from mace_marl.envs.overcooked.items import (
    COUNTER,
    DISHES,
    DISPENSED,
    FLOOR,
    ONIONS,
    POT,
    SERVING,
    TOMATOES,
    contents_of,
)
from mace_marl.envs.overcooked.kitchenfile import Kitchen, Sight
from mace_marl.envs.overcooked.picture import (
    COUNTER_COLOUR,
    DISPENSER_COLOUR,
    FLOOR_COLOUR,
    IRON,
    ITEM_COLOURS,
    POT_COLOUR,
    SERVING_COLOUR,
    name_contents,
)
from mace_marl.viewer import agent_colour
from mace_marl.viewer.plan import Plan, draw_cells, key_disc
from mace_marl.viewer.style import INK

GROUND = {
    FLOOR: FLOOR_COLOUR,
    COUNTER: COUNTER_COLOUR,
    POT: POT_COLOUR,
    SERVING: SERVING_COLOUR,
    **dict.fromkeys(DISPENSED, DISPENSER_COLOUR),
}
LABELS = {ONIONS: "onions", TOMATOES: "tomatoes", DISHES: "dishes", POT: "pot"}
DISCS = {POT: IRON} | {cell: ITEM_COLOURS[item] for cell, item in DISPENSED.items()}
MARGINS = (0.16, 0.36)  # cells between what an agent sees and its box: two of one range stay apart


def kitchen_plan(kitchen: Kitchen, title: str, path: Path) -> None:
    """Draw counters, dispensers, pots, serving areas, starts, and a box around what each sees."""
    kinds = np.select([kitchen.cells == cell for cell in GROUND], range(len(GROUND)))
    plan = draw_cells(kinds, tuple(GROUND.values()), title, below=0.8)
    for cell, colour in DISCS.items():
        ink = "white" if cell == POT else INK
        for row, column in kitchen.places(cell):
            disc = Circle((column, row), 0.42, facecolor=colour, edgecolor=INK, zorder=4)
            plan.panel.add_patch(disc)
            plan.write(row, column, cell, ink, 0.8)
    for row, column in kitchen.places(SERVING):
        plan.write(row, column, SERVING, "white")
    for agent, sight in enumerate(kitchen.sight):
        _draw_sight(plan, kitchen, agent, sight)
    plan.draw_starts(kitchen.starts)
    plan.save(_key(kitchen), [_wanted(kitchen)], path, columns=4, gap=1.3)  # below the boxes


def _draw_sight(plan: Plan, kitchen: Kitchen, agent: int, sight: Sight) -> None:
    """A dashed box around the cells an agent sees things in."""
    height, width = kitchen.cells.shape
    (left, right), (top, bottom) = sight.x, sight.y
    right, bottom = min(right, width - 1), min(bottom, height - 1)  # a range may end outside
    margin = 0.5 + MARGINS[agent]
    box = Rectangle(
        (left - margin, top - margin),
        right - left + 2 * margin,
        bottom - top + 2 * margin,
        fill=False,
        edgecolor=agent_colour(agent),
        linestyle="--",
        linewidth=2,
        zorder=4.5,
        clip_on=False,
    )
    plan.panel.add_patch(box)


def _key(kitchen: Kitchen) -> list[Patch | Line2D]:
    """Which fills its columns one after the other."""
    key: list[Patch | Line2D] = [
        Line2D([], [], color=agent_colour(agent), ls="--", label=f"agent {agent} sees")
        for agent in range(len(kitchen.sight))
    ]
    key.append(key_disc("start", agent_colour(0)))
    key.append(Patch(color=COUNTER_COLOUR, label="counter"))
    for cell, label in LABELS.items():
        if kitchen.places(cell):
            key.append(key_disc(label, DISCS[cell], edge=INK))
    key.append(Patch(color=SERVING_COLOUR, label="serving"))
    return key


def _wanted(kitchen: Kitchen) -> str:
    """The soup that is rewarded."""
    soup = name_contents(contents_of(kitchen.onions, kitchen.tomatoes))
    return f"wanted: a soup of {soup}"
