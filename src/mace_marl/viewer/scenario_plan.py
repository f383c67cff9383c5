"""A scenario as a figure: its ground, where units begin, what they reach, where enemies go."""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Circle, Patch

from mace_marl.envs.skirmish.picture import (
    CLOSED_COLOUR,
    ENEMY_COLOUR,
    ENEMY_RIM,
    OPEN_COLOUR,
    letter,
)
from mace_marl.envs.skirmish.scenariofile import Group, Scenario
from mace_marl.viewer import agent_colour
from mace_marl.viewer.plan import Plan, draw_cells, key_disc
from mace_marl.viewer.style import SOFT_INK

MARGIN = 1  # closed cells shown around the ground


def scenario_plan(scenario: Scenario, title: str, path: Path) -> None:
    """Draw the ground, all units where they begin, their reach, and the enemies' orders."""
    xs, ys = np.nonzero(scenario.ground)
    padded = np.pad(scenario.ground, MARGIN)
    left, low = int(xs.min()), int(ys.min())
    shown = padded[left : xs.max() + 1 + 2 * MARGIN, low : ys.max() + 1 + 2 * MARGIN]
    plan = draw_cells(shown.T.astype(int), (CLOSED_COLOUR, OPEN_COLOUR), title, below=0.8)
    plan.panel.invert_yaxis()  # north is up
    plan.panel.set_autoscale_on(False)  # reaches may go beyond the ground

    def place(x: float, y: float) -> tuple[float, float]:
        """The panel's x and y: a cell's middle is a whole number there."""
        return x - left + MARGIN - 0.5, y - low + MARGIN - 0.5

    for group in scenario.enemies:
        _draw_orders(plan, group, place)
    agent = enemy = 0
    for group in scenario.allies:
        for x, y in group.places:
            colour = agent_colour(agent)
            _draw_unit(plan, group, place(x, y), str(agent), (colour, colour))
            agent += 1
    for group in scenario.enemies:
        for x, y in group.places:
            _draw_unit(plan, group, place(x, y), letter(enemy), (ENEMY_COLOUR, ENEMY_RIM))
            enemy += 1
    plan.save(_key(scenario), _notes(scenario), path, columns=3)


def _draw_unit(
    plan: Plan, group: Group, place: tuple[float, float], name: str, colours: tuple[str, str]
) -> None:
    """A disc of its size, and a dotted circle around what it reaches from there."""
    face, edge = colours
    kind = group.unit
    disc = Circle(place, kind.radius, facecolor=face, edgecolor=edge, zorder=5)
    reach = Circle(
        place, kind.range + kind.radius, fill=False, edgecolor=edge, ls=":", lw=0.8, zorder=4
    )
    plan.panel.add_patch(reach)
    plan.panel.add_patch(disc)
    plan.write(place[1], place[0], name, "white", 1.1 * kind.radius)


def _draw_orders(
    plan: Plan, group: Group, place: Callable[[float, float], tuple[float, float]]
) -> None:
    """An arrow to where a group attack-moves; a line where that is a random point of one."""
    if group.attack is None:
        return
    ends = [place(*point) for point in group.attack]
    middle = tuple(np.mean(ends, axis=0))
    style = {"arrowstyle": "-|>", "color": ENEMY_RIM, "lw": 1.2, "alpha": 0.7}
    plan.panel.annotate("", middle, place(*group.at), arrowprops=style, zorder=3)
    xs, ys = zip(*ends, strict=True)
    plan.panel.plot(xs, ys, color=ENEMY_RIM, lw=2, alpha=0.5, zorder=3)


def _key(scenario: Scenario) -> list[Patch | Line2D]:
    key: list[Patch | Line2D] = [
        key_disc("agent", agent_colour(0)),
        key_disc("enemy", ENEMY_COLOUR, edge=ENEMY_RIM),
        Line2D([], [], color=SOFT_INK, ls=":", label="reach"),
    ]
    if any(group.attack for group in scenario.enemies):
        key.append(Line2D([], [], color=ENEMY_RIM, alpha=0.7, label="attack-move"))
    key.append(Patch(color=CLOSED_COLOUR, label="closed"))
    return key


def _notes(scenario: Scenario) -> list[str]:
    """Who fights whom."""
    return [
        f"{side}: " + ", ".join(_counted(name, count) for name, count in _numbers(groups).items())
        for side, groups in (("agents", scenario.allies), ("enemies", scenario.enemies))
    ]


def _numbers(groups: Sequence[Group]) -> Counter[str]:
    """How many units there are of each type."""
    return sum((Counter({group.unit.name: group.count}) for group in groups), Counter())


def _counted(name: str, count: int) -> str:
    return f"{count} {name}{'' if count == 1 else 's'}"
