"""Figures: they are drawn from whatever a run has, and what they show is true."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

from mace_marl.viewer import agent_colour, figures
from mace_marl.viewer.figures import learning_curve, outlines, reward_maps, running_mean

SHAPE = (4, 6)


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Figure]:
    """The figures that were written, to look into."""
    made: list[Figure] = []
    save = figures._save

    def keep(figure: Figure, path: Path) -> None:
        made.append(figure)
        save(figure, path)

    monkeypatch.setattr(figures, "_save", keep)
    return made


def rows(updates: int, num_agents: int, **more: Any) -> list[dict[str, Any]]:
    return [
        {
            "env_steps": 1000 * (update + 1),
            "episodes": 3,
            "success_rate": update / updates,
            "episode_return": 100 * update / updates,
            "entropy": [1.0 + agent for agent in range(num_agents)],
            **more,
        }
        for update in range(updates)
    ]


def size(path: Path) -> tuple[int, int]:
    with Image.open(path) as picture:
        assert picture.format == "PNG"
        picture.load()
        assert len(np.unique(np.asarray(picture.convert("L")))) > 10, "something is drawn"
        return picture.size


def labels(figure: Figure) -> list[str]:
    return [panel.get_ylabel().replace("\n", " ") for panel in figure.axes]


def remarks(figure: Figure) -> list[str]:
    return [note.get_text() for panel in figure.axes for note in panel.texts]


@pytest.mark.parametrize("num_agents", [1, 3])
def test_a_learning_curve_has_a_panel_for_all_there_is(
    tmp_path: Path, drawn: list[Figure], num_agents: int
) -> None:
    rewards = {"novelty_reward": [0.1] * num_agents, "hindsight_reward": [-0.1] * num_agents}
    learning_curve(rows(60, num_agents, **rewards), "MACE on Pass", tmp_path / "curve.png")
    width, height = size(tmp_path / "curve.png")
    assert 800 <= width <= 1200
    assert 800 <= height <= 1400
    assert labels(drawn[0]) == [
        "Success rate",
        "Novelty-based reward",
        "Hindsight-based reward",
        "Policy entropy",
    ]
    entropy = drawn[0].axes[3]
    assert {line.get_color() for line in entropy.lines} == {
        agent_colour(agent) for agent in range(num_agents)
    }
    assert entropy.get_xlabel() == "Environment steps (thousands)"
    assert list(tmp_path.iterdir()) == [tmp_path / "curve.png"]


def test_what_a_method_does_not_use_has_no_panel(tmp_path: Path, drawn: list[Figure]) -> None:
    learning_curve(rows(9, 2, novelty_reward=None), "IPPO", tmp_path / "curve.png")
    assert labels(drawn[0]) == ["Success rate", "Policy entropy"]


def test_gaps_and_nan_are_left_out(tmp_path: Path, drawn: list[Figure]) -> None:
    table = rows(50, 2)
    for row in table[::2]:
        row |= {"success_rate": None, "episode_return": None, "episodes": 0, "entropy": None}
    table[1] |= {"success_rate": float("nan"), "entropy": [float("nan"), None]}
    learning_curve(table, "gaps", tmp_path / "curve.png")
    single, mean = drawn[0].axes[0].lines
    assert len(np.asarray(single.get_xdata())) == 24
    assert np.isfinite(np.asarray(mean.get_ydata())).all()


@pytest.mark.parametrize(
    ("table", "remark"),
    [
        ([], "no updates yet"),
        (rows(3, 2, success_rate=None, episode_return=None), "no episode has ended yet"),
    ],
)
def test_a_run_that_has_only_begun(
    tmp_path: Path, drawn: list[Figure], table: list[dict[str, Any]], remark: str
) -> None:
    learning_curve(table, "begun", tmp_path / "curve.png")
    size(tmp_path / "curve.png")
    assert remarks(drawn[0]) == [remark]


def test_returns_stand_in_where_a_world_knows_no_success(
    tmp_path: Path, drawn: list[Figure]
) -> None:
    learning_curve(rows(5, 1, success_rate=None), "returns", tmp_path / "curve.png")
    assert labels(drawn[0])[0] == "Episode return"


@pytest.mark.parametrize(("steps", "unit"), [(900, ""), (5_000_000, " (millions)")])
def test_steps_are_in_a_unit_that_can_be_read(
    tmp_path: Path, drawn: list[Figure], steps: int, unit: str
) -> None:
    learning_curve([{"env_steps": steps}], "steps", tmp_path / "curve.png")
    assert drawn[0].axes[-1].get_xlabel() == f"Environment steps{unit}"


def test_the_running_mean_counts_episodes() -> None:
    values = np.array([0.0, 1.0, np.nan, 0.5, 1.0])
    episodes = np.array([3.0, 1.0, 7.0, 2.0, 6.0])
    mean = running_mean(values, episodes, window=2)
    np.testing.assert_allclose(mean, [0, 1 / 4, 1, 0.5, 7 / 8])
    nothing = running_mean(np.array([np.nan, 1.0]), np.zeros(2), window=9)
    assert np.isnan(nothing).all()


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
    reward_maps(sums, SHAPE, "Pass", tmp_path / "maps.png")
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
    reward_maps(sums, (20, 20), "rare", tmp_path / "maps.png")
    novelty, hindsight = (panel.images[0] for panel in drawn[0].axes[:2])
    assert novelty.get_clim()[1] < 1.1
    low, high = hindsight.get_clim()
    assert high < 1.1
    assert low == -high, "centred on zero"


def test_a_reward_that_is_not_used_is_said_to_be(tmp_path: Path, drawn: list[Figure]) -> None:
    sums = made_up_sums(2)
    sums[:, 1] = 0
    sums[1] = 0
    reward_maps(sums, SHAPE, "r_nov", tmp_path / "maps.png")
    assert remarks(drawn[0]) == ["not used by this method", "no visits yet", "no visits yet"]


def test_the_map_is_drawn_over_the_rewards(tmp_path: Path, drawn: list[Figure]) -> None:
    walls, doors = np.zeros(SHAPE, bool), np.zeros(SHAPE, int)
    walls[:, 2] = True
    walls[1, 2], doors[1, 2] = False, 1
    reward_maps(made_up_sums(1), SHAPE, "map", tmp_path / "maps.png", walls, doors, {"a": (3, 1)})
    for panel in drawn[0].axes[:2]:
        solid, _ = sorted(panel.images, key=lambda picture: -picture.get_zorder())
        np.testing.assert_array_equal(~np.ma.getmaskarray(np.ma.asarray(solid.get_array())), walls)
        (cross,) = panel.lines
        np.testing.assert_array_equal(cross.get_xydata(), [[1, 3]])
        assert len(panel.collections) == 1


def test_a_constant_reward_can_be_drawn(tmp_path: Path, drawn: list[Figure]) -> None:
    sums = np.full((1, 3, 24), 2.0)
    sums[0, 0] = -4.0
    reward_maps(sums, SHAPE, "constant", tmp_path / "maps.png")
    low, high = drawn[0].axes[0].images[0].get_clim()
    assert low < -2 < high


def test_sums_of_another_map_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="4 by 7"):
        reward_maps(made_up_sums(1), (4, 7), "wrong", tmp_path / "maps.png")
    assert list(tmp_path.iterdir()) == []


def test_doors_are_outlined_as_a_whole() -> None:
    doors = np.zeros((3, 4), int)
    doors[1, 1:3] = 1  # two cells: six edges around, none between
    edges = {frozenset(edge) for edge in outlines(doors)}
    assert len(edges) == 6
    assert frozenset([(1.5, 0.5), (1.5, 1.5)]) not in edges
    assert frozenset([(0.5, 0.5), (0.5, 1.5)]) in edges


def test_a_failure_keeps_the_old_figure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "curve.png"
    path.write_bytes(b"old")

    def fail(self: Figure, temporary: Path, **_: Any) -> None:
        temporary.write_bytes(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(Figure, "savefig", fail)
    with pytest.raises(OSError, match="disk full"):
        learning_curve(rows(3, 1), "fails", path)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_figures_leave_pyplot_alone(tmp_path: Path) -> None:
    program = """
import pathlib, sys
import numpy as np
from mace_marl.viewer.figures import learning_curve, reward_maps
path = pathlib.Path(sys.argv[1])
learning_curve([{"env_steps": 1, "episodes": 1, "success_rate": 1.0}], "curve", path)
reward_maps(np.ones((1, 3, 4)), (2, 2), "maps", path)
print("matplotlib.pyplot" in sys.modules)
"""
    command = [sys.executable, "-c", program, str(tmp_path / "figure.png")]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.stdout.strip() == "False", result.stderr
