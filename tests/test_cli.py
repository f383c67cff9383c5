"""The command, as a user calls it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from commands import SMALL, mace, mace_here, rows, train_small
from PIL import Image

import mace_marl
from mace_marl.methods import METHODS
from mace_marl.tasks import TASKS

pytestmark = pytest.mark.usefixtures("hasty_compiler")


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("cli") / "run"
    result = mace(*train_small(directory, 3))
    assert result.returncode == 0, result.stderr
    assert result.stdout == ""
    return directory


@pytest.mark.parametrize(("command", "names"), [("tasks", TASKS), ("methods", METHODS)])
def test_lists_have_a_sentence_each(
    capsys: pytest.CaptureFixture[str], command: str, names: dict[str, object]
) -> None:
    lines = mace_here(capsys, command).stdout.splitlines()
    assert [line.split()[0] for line in lines] == list(names)
    assert all(len(line.split()) > 4 and line.endswith(".") for line in lines)
    assert list(json.loads(mace_here(capsys, command, "--json").stdout)) == list(names)


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["tasks"], ["methods"], ["train", "--help"], ["figure", "map", "--help"]],
)
def test_quick_commands_do_not_import_jax(arguments: list[str]) -> None:
    """JAX takes most of a second to import; these must answer at once."""
    code = (
        "import sys\n"
        "from mace_marl.cli import main\n"
        "try:\n    main(sys.argv[1:])\n"
        "except SystemExit as stop:\n    assert not stop.code, stop.code\n"
        "slow = {'jax', 'matplotlib', 'orbax', 'tensorboardX'} & set(sys.modules)\n"
        "assert not slow, slow\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr


def test_train_writes_what_is_promised(run_dir: Path) -> None:
    assert {"config.json", "metrics.jsonl", "places.npz", "checkpoints", "tensorboard"} <= {
        path.name for path in run_dir.iterdir()
    }
    assert any((run_dir / "tensorboard").iterdir())
    config = json.loads((run_dir / "config.json").read_text())
    assert config["task"] == "gridworld/minipass"
    assert config["layout"]["devices"] >= 1
    assert config["settings"]["num_envs"] == 4
    assert "jax" in config["made_with"]


def test_same_seed_same_run_other_seed_other_run(run_dir: Path, tmp_path: Path) -> None:
    for name, seed in (("again", "0"), ("other", "1")):
        assert mace(*train_small(tmp_path / name, 3, "--seed", seed)).returncode == 0
    assert rows(tmp_path / "again") == rows(run_dir)
    assert rows(tmp_path / "other") != rows(run_dir)


@pytest.mark.parametrize("method", ["ippo", "r_nov", "mace"])
def test_metrics_hold_what_the_method_uses(tmp_path: Path, method: str) -> None:
    run = mace_marl.train(
        "gridworld/minipass",
        method=method,
        steps=80,
        run_dir=tmp_path / "run",
        progress=False,
        num_envs=4,
        rollout_length=20,
        hidden_size=8,
        epochs=1,
        minibatches=2,
    )
    row = run.rows[-1]
    assert (row["novelty_reward"] is None) == (method == "ippo")
    assert (row["hindsight_reward"] is None) == (method != "mace")
    assert row["floats_sent_per_agent_and_step"] == float(method != "ippo")


def test_default_directory_says_what_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = ["train", "gridworld/minipass", "--method", "ippo", "--steps", "1", *SMALL]
    for _ in range(2):
        result = mace_here(capsys, *arguments)
        assert result.returncode == 0, result.stderr
    names = sorted(path.name for path in (tmp_path / "runs").iterdir())
    assert names == ["gridworld-minipass-ippo-tuned-seed0", "gridworld-minipass-ippo-tuned-seed0-2"]
    assert len(rows(tmp_path / "runs" / names[0])) == 1, "one step is rounded up to one update"


def test_evaluate_prints_one_document(run_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, again, greedy = (
        mace_here(capsys, "evaluate", run_dir, "--episodes", "20", "--json", *more)
        for more in ([], [], ["--greedy"])
    )
    figures = json.loads(first.stdout)
    assert figures.keys() == {"episodes", "success_rate", "mean_return", "mean_length"}
    assert figures["episodes"] == 20
    assert first.stdout == again.stdout
    assert json.loads(greedy.stdout)["episodes"] == 20
    assert "success rate" in mace("evaluate", run_dir, "--episodes", "2").stdout


def test_watch_writes_a_gif_and_plays_in_the_terminal(run_dir: Path) -> None:
    result = mace("watch", run_dir)
    assert result.returncode == 0, result.stderr
    with Image.open(result.stdout.strip()) as gif:
        assert gif.format == "GIF"
        assert getattr(gif, "n_frames", 1) > 50
    played = mace("watch", run_dir, "--terminal")
    assert played.returncode == 0, played.stderr
    assert played.stdout.count("step ") == 151


def test_until_success_ends_a_run_for_good(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """On a map that every play solves, a thousand episodes are soon over, and that is the end."""
    path = tmp_path / "easy.toml"
    path.write_text('horizon = 10\nstarts = [[0, 0]]\ngrid = """\n**\n**\n"""\n')
    run_dir = tmp_path / "run"
    arguments = ["train", path, "--run-dir", run_dir, "--steps", "80000", "--until-success", "0.9"]
    small = ["--num-envs", "32", "--rollout-length", "10", "--hidden-size", "8", "--epochs", "1"]
    result = mace_here(capsys, *arguments, *small)
    assert result.returncode == 0, result.stderr
    ended = sum(row["episodes"] for row in rows(run_dir))
    assert 1000 <= ended < 1000 + 32 * 10
    assert "is finished" in mace_here(capsys, "resume", run_dir).stderr
