"""Heat maps: drawn from whatever a run has, and what they show is true."""

from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from pictures import remarks, size

from mace_marl.envs.overcooked import Overcooked, parse_kitchen
from mace_marl.viewer.ground import Ground, ground_of, outlines
from mace_marl.viewer.heat_maps import Snapshot, reward_maps, visit_maps

SHAPE = (4, 6)


def made_up_sums(num_agents: int) -> np.ndarray:
    """Some rewards on all but the last two places  # (num_agents, 3, height · width)."""
    random = np.random.default_rng(0)
    sums = random.normal(size=(num_agents, 3, SHAPE[0] * SHAPE[1]))
    sums[:, 2] = random.integers(1, 9, size=sums[:, 2].shape)
    sums[:, :, -2:] = 0
    return sums


@pytest.mark.parametrize("num_agents", [1, 3])
def test_reward_maps_show_means_per_visit(
    tmp_path: Path, drawn: list[Figure], num_agents: int
) -> None:
    sums = made_up_sums(num_agents)
    reward_maps(sums, Ground(SHAPE), "Pass", tmp_path / "maps.png")
    width, height = size(tmp_path / "maps.png")
    assert 900 <= width <= 1300
    assert 300 * num_agents <= height <= 700 * num_agents
    panels = drawn[0].axes[: 2 * num_agents]
    for agent in range(num_agents):
        for reward in (0, 1):
            (picture,) = panels[2 * agent + reward].images
            shown = np.ma.asarray(picture.get_array())
            visited = sums[agent, 2].reshape(SHAPE) > 0
            np.testing.assert_array_equal(np.ma.getmaskarray(shown), ~visited)
            expected = (sums[agent, reward, :-2] / sums[agent, 2, :-2]).ravel()
            np.testing.assert_allclose(shown.compressed(), expected)
    assert list(tmp_path.iterdir()) == [tmp_path / "maps.png"]


def test_one_rare_place_does_not_pale_all_others(tmp_path: Path, drawn: list[Figure]) -> None:
    sums = np.ones((1, 3, 400))
    sums[0, 0] = np.linspace(0, 1, 400)
    sums[0, 1] = np.linspace(-1, 0.2, 400)
    sums[0, :2, 17] = 1e6
    reward_maps(sums, Ground((20, 20)), "rare", tmp_path / "maps.png")
    novelty, hindsight = (panel.images[0] for panel in drawn[0].axes[:2])
    assert novelty.get_clim()[1] < 1.1
    low, high = hindsight.get_clim()
    assert high < 1.1
    assert low == -high, "centred on zero"


def test_a_reward_that_is_not_used_is_said_to_be(tmp_path: Path, drawn: list[Figure]) -> None:
    sums = made_up_sums(2)
    sums[:, 1] = 0
    sums[1] = 0
    reward_maps(sums, Ground(SHAPE), "r_nov", tmp_path / "maps.png")
    assert remarks(drawn[0]) == ["not used by this method", "no visits yet", "no visits yet"]


def test_the_map_is_drawn_over_the_rewards(tmp_path: Path, drawn: list[Figure]) -> None:
    walls, doors = np.zeros(SHAPE, bool), np.zeros(SHAPE, int)
    walls[:, 2] = True
    walls[1, 2], doors[1, 2] = False, 1
    ground = Ground(SHAPE, walls, doors, {"a": (3, 1)})
    reward_maps(made_up_sums(1), ground, "map", tmp_path / "maps.png")
    for panel in drawn[0].axes[:2]:
        solid, _ = sorted(panel.images, key=lambda picture: -picture.get_zorder())
        np.testing.assert_array_equal(~np.ma.getmaskarray(np.ma.asarray(solid.get_array())), walls)
        (cross,) = panel.lines
        np.testing.assert_array_equal(cross.get_xydata(), [[1, 3]])
        assert len(panel.collections) == 1


def test_a_kitchen_is_drawn_with_what_stands_in_it(tmp_path: Path, drawn: list[Figure]) -> None:
    text = 'horizon = 9\nkitchen = """\nXTPOX\nX1 2X\nXDSPX\n"""\n'
    ground = ground_of(Overcooked(parse_kitchen(text, "mine.toml")))
    visits = np.zeros((2, 15))
    visits[:, 6:9] = 3
    visit_maps([Snapshot(visits, 0, 1)], ground, "kitchen", tmp_path / "visits.png")
    stands = {("T", (1, 0)), ("P", (2, 0)), ("O", (3, 0)), ("D", (1, 2)), ("S", (2, 2))}
    stands |= {("P", (3, 2))}
    for panel in drawn[0].axes[:2]:
        assert {(note.get_text(), note.get_position()) for note in panel.texts} == stands
    assert "dark: counter" in drawn[0].get_supxlabel()


def test_a_constant_reward_can_be_drawn(tmp_path: Path, drawn: list[Figure]) -> None:
    sums = np.full((1, 3, 24), 2.0)
    sums[0, 0] = -4.0
    reward_maps(sums, Ground(SHAPE), "constant", tmp_path / "maps.png")
    low, high = drawn[0].axes[0].images[0].get_clim()
    assert low < -2 < high


def test_sums_of_another_map_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="4 by 7"):
        reward_maps(made_up_sums(1), Ground((4, 7)), "wrong", tmp_path / "maps.png")
    assert list(tmp_path.iterdir()) == []


def test_doors_are_outlined_as_a_whole() -> None:
    doors = np.zeros((3, 4), int)
    doors[1, 1:3] = 1  # two cells: six edges around, none between
    edges = {frozenset(edge) for edge in outlines(doors)}
    assert len(edges) == 6
    assert frozenset([(1.5, 0.5), (1.5, 1.5)]) not in edges
    assert frozenset([(0.5, 0.5), (0.5, 1.5)]) in edges


@pytest.mark.parametrize("num_agents", [1, 3])
def test_visit_maps_show_visits_per_update(
    tmp_path: Path, drawn: list[Figure], num_agents: int
) -> None:
    visits = np.random.default_rng(1).integers(0, 50, (2, num_agents, 24)).astype(float)
    shots = [Snapshot(visits[0], 0, 10), Snapshot(visits[1], 10, 14)]
    visit_maps(shots, Ground(SHAPE), "visits", tmp_path / "visits.png")
    size(tmp_path / "visits.png")
    panels = np.reshape(np.array(drawn[0].axes[: 2 * num_agents]), (num_agents, 2))
    assert [panel.get_title() for panel in panels[0]] == ["updates 0 to 10", "updates 10 to 14"]
    limits = set()
    for (agent, column), panel in np.ndenumerate(panels):
        (picture,) = panel.images
        shown = np.ma.asarray(picture.get_array())
        wanted = visits[column, agent].reshape(SHAPE)
        np.testing.assert_array_equal(np.ma.getmaskarray(shown), wanted == 0)
        np.testing.assert_allclose(shown.filled(0), wanted / (10, 4)[column])
        limits.add(picture.get_clim())
    assert len(limits) == 1, "all panels have one scale"


def test_visits_of_nobody_can_be_drawn(tmp_path: Path, drawn: list[Figure]) -> None:
    visit_maps([Snapshot(np.zeros((2, 24)), 0, 1)], Ground(SHAPE), "none", tmp_path / "visits.png")
    size(tmp_path / "visits.png")
    for panel in drawn[0].axes[:2]:
        (picture,) = panel.images
        assert np.ma.getmaskarray(np.ma.asarray(picture.get_array())).all(), "no cell is coloured"
