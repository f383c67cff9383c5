"""Plans of scenarios: ground, units and orders are where the file says."""

from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import Circle
from pictures import size

import mace_marl
from mace_marl.envs.skirmish import Scenario, Skirmish
from mace_marl.viewer.scenario_plan import scenario_plan

CORNERS = {  # cells left of and below the open ground
    "skirmish/2m_vs_1z": (6, 6),
    "skirmish/3m": (0, 8),
    "skirmish/3s_vs_5z": (0, 0),
}


def scenario_of(task: str) -> Scenario:
    world = mace_marl.make(task)
    assert isinstance(world, Skirmish)
    return world.scenario


@pytest.mark.parametrize("task", CORNERS)
def test_units_stand_where_they_begin(tmp_path: Path, drawn: list[Figure], task: str) -> None:
    """In the panel a cell's middle is a whole number, and one closed cell surrounds the ground."""
    scenario = scenario_of(task)
    scenario_plan(scenario, scenario.name, tmp_path / "map.png")
    size(tmp_path / "map.png")
    panel = drawn[0].axes[0]
    corner = np.array(CORNERS[task])
    groups = [*scenario.allies, *scenario.enemies]
    wanted = [
        ((place - corner + 0.5).tolist(), radius)
        for group in groups
        for place in group.places
        for radius in (group.unit.range + group.unit.radius, group.unit.radius)
    ]
    found = [patch for patch in panel.patches if isinstance(patch, Circle)]
    assert len(found) == len(wanted)
    for circle, (place, radius) in zip(found, wanted, strict=True):
        assert circle.center == pytest.approx(place)
        assert circle.radius == pytest.approx(radius)
    width, height = np.ptp(np.nonzero(scenario.ground), axis=1) + 3
    assert panel.get_xlim() == (-0.5, width - 0.5)
    assert panel.get_ylim() == (-0.5, height - 0.5)  # north is up


@pytest.mark.parametrize("task", CORNERS)
def test_the_ground_is_drawn(tmp_path: Path, drawn: list[Figure], task: str) -> None:
    scenario = scenario_of(task)
    scenario_plan(scenario, scenario.name, tmp_path / "map.svg")
    shown = np.asarray(drawn[0].axes[0].images[0].get_array())
    xs, ys = np.nonzero(scenario.ground)
    inner = scenario.ground[xs.min() : xs.max() + 1, ys.min() : ys.max() + 1]
    np.testing.assert_array_equal(shown[1:-1, 1:-1] == 1, inner.T)
    assert not shown[[0, -1]].any() and not shown[:, [0, -1]].any()


def test_key_and_notes(tmp_path: Path, drawn: list[Figure]) -> None:
    scenario_plan(scenario_of("skirmish/3s_vs_5z"), "3s_vs_5z", tmp_path / "map.pdf")
    legend = drawn[0].axes[0].get_legend()
    assert legend is not None
    labels = {entry.get_text() for entry in legend.get_texts()}
    assert labels == {"agent", "enemy", "reach", "attack-move", "closed"}
    assert drawn[0].get_supxlabel() == "agents: 3 stalkers   ·   enemies: 5 zealots"
