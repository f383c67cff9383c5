"""The commands `experiment`, `plot` and `report`, as a user calls them, on runs really trained."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from commands import STEPS_PER_UPDATE, assert_one_sentence, mace, mace_here, rows, start_mace
from made_up import finish, make_study, rising, write_results
from matplotlib.image import imread

UPDATES = 200
STUDY = f"""
title = "Small"
methods = ["ippo"]
tasks = ["gridworld/minipass"]
seeds = 3
steps = {UPDATES * STEPS_PER_UPDATE}
overrides = {{ num_envs = 4, rollout_length = 20, hidden_size = 8, epochs = 2, minibatches = 2 }}
"""


def content(folder: Path) -> dict[str, Any]:
    """All that a results folder holds, without what depends on the clock."""
    found: dict[str, Any] = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = str(path.relative_to(folder))
        found[name] = rows(path.parent) if path.name == "metrics.jsonl" else path.read_bytes()
    return found


def test_killed_half_way_and_run_again_the_results_are_the_same(tmp_path: Path) -> None:
    """Stopped politely; then killed, its runs left running; then all of them killed."""
    file = tmp_path / "small.toml"
    file.write_text(STUDY)
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    result = mace("experiment", file, "--results", whole)
    assert result.returncode == 0, result.stderr
    command = ["experiment", file, "--results", cut]

    process = start_mace(*command)
    wait_for(lambda: updates_under_way(cut) >= 10)
    process.terminate()
    assert process.wait(timeout=120) == 130
    stopped_after = updates_under_way(cut)
    assert stopped_after >= 10
    assert len(list(cut.glob("work/*/*/*/checkpoints/*"))) >= 1

    process = start_mace(*command)
    wait_for(lambda: updates_under_way(cut) >= stopped_after + 10 or finished(cut) > 0)
    process.kill()
    process.wait()

    process = start_mace(*command)
    wait_for(lambda: finished(cut) > 0 and updates_under_way(cut) >= 5)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    pids = children.read_text().split() if children.exists() else []
    process.kill()
    process.wait()
    for pid in pids:
        os.kill(int(pid), signal.SIGKILL)
    assert finished(cut) < 3

    result = mace(*command)
    assert result.returncode == 0, result.stderr
    assert content(cut) == content(whole)
    assert len(content(cut)) == 2 + 3 * 3, "study, lock, and three files of each run"
    config = json.loads((cut / "runs/gridworld-minipass/ippo/seed-1/config.json").read_text())
    assert config["seed"] == 1
    assert {"mace-marl", "jax", "machine", "cores"} <= config["made_with"].keys()


def updates_under_way(results: Path) -> int:
    return sum(path.read_text().count("\n") for path in results.glob("work/*/*/*/metrics.jsonl"))


def finished(results: Path) -> int:
    return len(list(results.glob("runs/*/*/seed-*")))


def wait_for(condition: Callable[[], bool], seconds: float = 300) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.01)


@pytest.fixture(scope="module")
def made_up_results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results")
    study = make_study()
    write_rows = {
        ("gridworld/minipass", "mace"): [rising(40, 10 + seed) for seed in range(3)],
        ("gridworld/minipass", "ippo"): [rising(40, 40)],
    }
    write_results(folder, study, finish(study, write_rows))
    return folder


def test_plot_and_report_write_into_the_folder(
    made_up_results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = mace_here(capsys, "plot", made_up_results)
    assert result.returncode == 0
    for line in result.stdout.splitlines():
        assert imread(line).shape[0] > 300
    result = mace_here(capsys, "report", made_up_results)
    assert result.returncode == 0
    markdown, table = map(Path, result.stdout.splitlines())
    assert markdown.parent == made_up_results
    assert "4 of 6 runs are finished" in markdown.read_text()
    assert len(table.read_text().splitlines()) == 1 + 2


def test_other_places_must_exist(
    made_up_results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in ("plot", "report"):
        nowhere = tmp_path / "nowhere"
        result = mace_here(capsys, command, made_up_results, "--out", nowhere)
        assert result.returncode == 2
        assert f"{nowhere} is not a directory" in result.stderr
    assert mace_here(capsys, "report", made_up_results, "--out", tmp_path).returncode == 0
    assert (tmp_path / "report.md").exists()


@pytest.mark.parametrize(
    ("arguments", "mentions"),
    [
        (["experiment", "mian"], ["mian", "main", "scalability"]),
        (["experiment", "missing.toml"], ["missing.toml", "cannot be read"]),
        (["experiment", "main", "--until-success", "2"], ["until-success", "2"]),
        (["experiment", "main", "--workers", "0"], ["workers", "0"]),
        (["plot", "nowhere"], ["nowhere", "study.toml"]),
        (["report", "."], ["study.toml"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_one_sentence(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    mentions: list[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert_one_sentence(mace_here(capsys, *arguments), *mentions)
    assert list(tmp_path.iterdir()) == [], "nothing was written"


def test_help_imports_nothing_slow() -> None:
    code = (
        "import sys\n"
        "from mace_marl.cli import main\n"
        "try:\n    main(['experiment', '--help'])\n"
        "except SystemExit:\n    pass\n"
        "print(*{'jax', 'scipy', 'matplotlib'} & set(sys.modules), file=sys.stderr)\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (result.returncode, result.stderr.split()) == (0, [])
    assert "usage: mace experiment" in result.stdout
