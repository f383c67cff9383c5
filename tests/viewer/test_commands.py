"""`mace figure`, as a user calls it, but within this process: that is quicker."""

import shutil
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import numpy as np
import pytest
from commands import assert_one_sentence, mace_here
from pictures import size
from samples import Sheet

import mace_marl
from mace_marl.runs.places import Places
from mace_marl.viewer.ground import ground_of
from mace_marl.viewer.overview import snapshots

pytestmark = pytest.mark.usefixtures("hasty_compiler")

UPDATES = 4
SMALL: dict[str, Any] = {"num_envs": 4, "rollout_length": 20, "hidden_size": 8, "epochs": 1}

Figure = Callable[..., CompletedProcess[str]]


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run as it may be passed on: without its checkpoints."""
    directory = tmp_path_factory.mktemp("figure") / "run"
    task, steps = "gridworld/minipass", UPDATES * 80
    mace_marl.train(task, steps=steps, run_dir=directory, progress=False, **SMALL)
    shutil.rmtree(directory / "checkpoints")
    return directory


@pytest.fixture
def figure(capsys: pytest.CaptureFixture[str]) -> Figure:
    """`mace figure …`: its status and what it printed."""

    return lambda *arguments: mace_here(capsys, "figure", *arguments)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (["illustration"], "illustration.png"),
        (["map", "gridworld/minimulti"], "map_minimulti.png"),
        (["map", "gridworld/pass", "--out", "pass.pdf"], "pass.pdf"),
        (["map", "overcooked/narrow"], "map_narrow.png"),
    ],
)
def test_figures_of_no_run(
    figure: Figure, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    result = figure(*arguments)
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip() == name
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize(
    "drawing",
    [
        'horizon = 9\nstarts = [[0, 0]]\ngrid = """\n...**\n"""\n',
        'horizon = 9\nkitchen = """\nXTPX\nX12X\nXDSX\n"""\n',
    ],
    ids=["map", "kitchen"],
)
def test_a_drawing_of_ones_own(
    figure: Figure, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, drawing: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.toml").write_text(drawing)
    result = figure("map", "mine.toml")
    assert result.returncode == 0, result.stderr
    size(Path("map_mine.png"))


def test_figures_of_a_run(figure: Figure, run_dir: Path, tmp_path: Path) -> None:
    for arguments in (
        ["rewards", run_dir],
        ["rewards", run_dir, "--updates", "1:3", "--out", tmp_path / "part.png"],
        ["visits", run_dir, "--snapshots", "3"],
    ):
        result = figure(*arguments)
        assert result.returncode == 0, result.stderr
        size(Path(result.stdout.strip()))
    assert (run_dir / "reward_maps.png").exists() and (run_dir / "visits.png").exists()
    assert (tmp_path / "part.png").exists()


@pytest.mark.parametrize(
    ("arguments", "mentions"),
    [
        (["rewards", "nowhere"], ["there is no run directory nowhere"]),
        (["visits", "."], ["config.json"]),
        (["map", "gridworld/pas"], ["did you mean 'gridworld/pass'"]),
        (["map", "missing.toml"], ["missing.toml", "cannot be read"]),
        (["map", "test_floor_plan:Unseen"], ["no map", "`picture`"]),
        (["illustration", "--out", "figure.gif"], ["figure.gif", ".png, .pdf or .svg"]),
        (["illustration", "--out", "no/figure.png"], ["no is not a directory"]),
        (["rewards", ".", "--updates", "700"], ["700:1000", "'700'"]),
        (["rewards", ".", "--updates", "-1:5"], ["'-1:5'"]),
        (["visits", ".", "--snapshots", "0"], ["snapshots", "0"]),
    ],
    ids=lambda value: " ".join(value),
)
def test_bad_input_is_one_sentence(
    figure: Figure,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    mentions: list[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert_one_sentence(figure(*arguments), *mentions)
    assert list(tmp_path.iterdir()) == [], "nothing was written"


def test_a_range_beyond_the_run_is_one_sentence(
    figure: Figure, run_dir: Path, tmp_path: Path
) -> None:
    path = tmp_path / "rewards.png"
    for updates in ("2:5", "3:3"):
        result = figure("rewards", run_dir, "--updates", updates, "--out", path)
        assert_one_sentence(result, updates, "0:4")
    assert not path.exists()


def test_a_run_without_places_is_one_sentence(
    figure: Figure, run_dir: Path, tmp_path: Path
) -> None:
    shutil.copy(run_dir / "config.json", tmp_path)
    for command in ("rewards", "visits"):
        assert_one_sentence(figure(command, tmp_path), "recorded no places")
    assert [path.name for path in tmp_path.iterdir()] == ["config.json"]


def test_a_full_disk_is_one_sentence(
    figure: Figure, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: object, path: Path, **_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("matplotlib.figure.Figure.savefig", fail)
    assert_one_sentence(figure("illustration"), "No space left")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("updates", "count", "ends"),
    [
        (9, 3, [4, 6, 9]),  # five blocks of two updates, the last of them half full
        (9, 99, [2, 4, 6, 8, 9]),
        (1, 5, [1]),
        (10, 1, [10]),
    ],
)
def test_snapshots_are_all_of_training_in_whole_blocks(
    updates: int, count: int, ends: list[int]
) -> None:
    sums = np.random.default_rng(0).integers(0, 9, (5, 2, 3, 4)).astype(np.float32)
    sums[-(-updates // 2) :] = 0
    shots = snapshots(Places(sums, 2, updates), count)
    assert [shot.last for shot in shots] == ends
    assert [shot.first for shot in shots] == [0, *ends[:-1]]
    np.testing.assert_array_equal(sum(shot.visits for shot in shots), sums[:, :, 2].sum(axis=0))


def test_a_heat_map_needs_two_features() -> None:
    class Line(Sheet):
        place = (0,)

    assert ground_of(Sheet()).shape == (3, 2)
    with pytest.raises(mace_marl.UserError, match="two discrete features"):
        ground_of(Line())
