"""The learning curve: drawn from whatever a run has, and what it shows is true."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from pictures import remarks, size

from mace_marl.viewer import agent_colour
from mace_marl.viewer.learning_curve import learning_curve, running_mean


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


def labels(figure: Figure) -> list[str]:
    return [panel.get_ylabel().replace("\n", " ") for panel in figure.axes]


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
