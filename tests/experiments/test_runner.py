"""Running a study: what is skipped, resumed, refused, told; with a stand-in for training."""

import fcntl
import json
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from made_up import make_study

from mace_marl import UserError
from mace_marl.errors import Stopped
from mace_marl.experiments import runner
from mace_marl.experiments.results import Results
from mace_marl.experiments.runner import core_shares, on_cores, run_study, train_arguments
from mace_marl.experiments.study import Study

STAND_IN = Path(__file__).with_name("stand_in.py")


@pytest.fixture(autouse=True)
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every run is made by the stand-in instead of JAX."""
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{STAND_IN}" "$@"\n')
    python.chmod(python.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(runner.sys, "executable", str(python))
    monkeypatch.setattr(runner, "POLL_SECONDS", 0.02)
    monkeypatch.setenv("STAND_IN_CONFIGS", str(tmp_path / "configs.json"))


def run(study: Study, tmp_path: Path, workers: int | None = None) -> tuple[bool, Results]:
    table = {planned.name: planned.config() for planned in study.runs()}
    (tmp_path / "configs.json").write_text(json.dumps(table))
    results = Results(tmp_path / "results")
    return run_study(study, results, workers), results


def files(results: Results) -> dict[str, bytes]:
    return {
        str(path.relative_to(results.directory)): path.read_bytes()
        for path in results.directory.rglob("*")
        if path.is_file()
    }


def test_all_runs_end_in_the_folder_and_are_skipped_the_next_time(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    study = make_study()
    well, results = run(study, tmp_path)
    assert well
    expected = {
        f"runs/{p.name}/{f}" for p in study.runs() for f in ("config.json", "metrics.jsonl")
    }
    before = files(results)
    assert before.keys() == expected | {"study.toml", ".lock"}
    told = capfd.readouterr().err.splitlines()
    ended = [line for line in told if "done after 50 steps, success 100.0%" in line]
    assert len(ended) == len(study.runs()), "a line for each where there is no terminal"
    assert told[-1].startswith("all 6 runs are finished")
    assert run(study, tmp_path)[0]
    assert files(results) == before


def test_a_failing_run_does_not_stop_the_others(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    study = make_study(methods=("mace",), variants={"broken": {}, "whole": {}})
    well, results = run(study, tmp_path)
    assert not well
    assert [results.is_finished(p) for p in study.runs()] == [
        p.label == "whole" for p in study.runs()
    ]
    told = capfd.readouterr().err
    log = results.directory / "work/gridworld-minipass/broken/seed-2.log"
    assert f"gridworld-minipass/broken/seed-2 failed: this run is broken. (log: {log})" in told
    assert "this run is broken" in log.read_text()


def test_no_more_runs_at_a_time_than_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted from outside, by the logs that are locked."""
    study = make_study(seeds=4)
    most = 0

    def watch(self: object) -> None:
        nonlocal most
        most = max(most, sum(map(is_locked, (tmp_path / "results/work").rglob("*.log"))))

    monkeypatch.setattr(runner, "LOOK_SECONDS", 0.0)
    monkeypatch.setattr(runner._Runner, "look_at_all", watch)
    assert run(study, tmp_path, workers=3)[0]
    assert most == 3


def is_locked(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except FileNotFoundError:
        pass
    return False


def test_asked_to_stop_it_stops_all_and_goes_on_later(
    tmp_path: Path, heeding_interrupts: None
) -> None:
    study = make_study(methods=("mace",), variants={"patient": {}})
    threading.Thread(target=interrupt_when_two_have_begun, args=[tmp_path], daemon=True).start()
    with pytest.raises(Stopped, match=r"0 of 3 runs finished .* the same command goes on"):
        run(study, tmp_path, workers=2)
    results = Results(tmp_path / "results")
    begun = [planned for planned in study.runs() if results.is_begun(planned)]
    assert len(begun) == 2
    before = {planned: made_by(results.work_dir(planned)) for planned in begun}
    assert all(1 <= len(makers) < 5 for makers in before.values())
    assert run(study, tmp_path, workers=2)[0]
    for planned, makers in before.items():
        after = made_by(results.run_dir(planned))
        assert len(after) == 5
        assert after[: len(makers)] == makers, "gone on with, not begun again"
    assert not (results.directory / "work").exists()


@pytest.fixture
def heeding_interrupts() -> Iterator[None]:
    """Even where the tests run in the background of a shell, which ignores Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupt_when_two_have_begun(tmp_path: Path) -> None:
    """A Ctrl-C, as the terminal would send it to the command."""
    deadline = time.monotonic() + 60
    while len(list(tmp_path.glob("results/work/*/*/*/metrics.jsonl"))) < 2:
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGINT)


def made_by(run_dir: Path) -> list[int]:
    """The process that made each update."""
    rows = (run_dir / "metrics.jsonl").read_text().splitlines()
    return [json.loads(row)["made_by"] for row in rows]


def test_runs_left_by_a_killed_call_are_waited_for(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The process of the call before still holds its log, though its directory is not there yet."""
    study = make_study(methods=("mace",), seeds=1, variants={"slow": {}})
    (planned,) = study.runs()
    results = Results(tmp_path / "results")
    log = results.log(planned)
    log.parent.mkdir(parents=True)
    results.begin(study)
    (tmp_path / "configs.json").write_text(json.dumps({planned.name: planned.config()}))
    with log.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        command = [runner.sys.executable, "-m", "mace_marl"]
        arguments = train_arguments(planned, results.work_dir(planned))
        left = subprocess.Popen([*command, *arguments], stdout=file, stderr=file)
    assert run(study, tmp_path)[0]
    assert left.wait() == 0
    assert set(made_by(results.run_dir(planned))) == {left.pid}
    assert "left by an earlier call" in capfd.readouterr().err


def test_two_calls_do_not_work_in_one_folder(tmp_path: Path) -> None:
    study = make_study(methods=("mace",), seeds=1)
    assert run(study, tmp_path)[0]
    with (tmp_path / "results/.lock").open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(UserError, match="another `mace experiment` is running"):
            run(study, tmp_path)


def test_a_changed_study_is_refused_and_nothing_touched(tmp_path: Path) -> None:
    _, results = run(make_study(), tmp_path)
    before = files(results)
    changes: list[tuple[Study, str]] = [
        (make_study(seeds=4), r"tasks\.gridworld/minipass\.seeds \(\[0, 1, 2, 3\] here"),
        (make_study(methods=("mace",)), r"methods \(\['mace'\] here, \['mace', 'ippo'\] there\)"),
        (make_study(until_success=0.9), r"until_success \(0\.9 here, None there\)"),
        (make_study(overrides={"gamma": 0.9}), r"overrides\.gamma \(0\.9 here, None there\)"),
    ]
    for study, difference in changes:
        with pytest.raises(UserError, match=difference):
            run(study, tmp_path)
    assert files(results) == before


def test_runs_made_by_another_version_are_refused(tmp_path: Path) -> None:
    """The same names may stand for something else: a map, a preset or a method was changed."""
    study = make_study(methods=("mace",), seeds=1)
    _, results = run(study, tmp_path)
    path = results.run_dir(study.runs()[0]) / "config.json"
    config = json.loads(path.read_text())
    config["settings"]["gamma"] = 0.5
    path.write_text(json.dumps(config))
    with pytest.raises(UserError, match=r"settings\.gamma \(0\.99 here, 0\.5 there\)"):
        run(study, tmp_path)
    del config["settings"]["gamma"]  # made before there was this setting: then it was as by default
    path.write_text(json.dumps(config))
    assert run(study, tmp_path)[0]


def test_folders_of_other_things_are_refused(tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    (tmp_path / "results/thesis.txt").write_text("years of work")
    with pytest.raises(UserError, match="left untouched"):
        run(make_study(), tmp_path)
    assert [path.name for path in (tmp_path / "results").iterdir()] == ["thesis.txt"]
    with pytest.raises(UserError, match="at least 1, not 0"):
        run(make_study(), tmp_path, workers=0)


def test_remains_of_a_kill_while_moving_are_cleared(tmp_path: Path) -> None:
    """Killed after a run appeared among the finished, before its work was gone; and before."""
    study = make_study(methods=("mace",), seeds=2)
    _, results = run(study, tmp_path)
    whole = files(results)
    moved, half = study.runs()
    (results.work_dir(moved) / "checkpoints").mkdir(parents=True)
    results.log(moved).write_text("done")
    draft = results.run_dir(half).with_name(".seed-1.tmp")
    results.run_dir(half).rename(draft)
    (draft / "metrics.jsonl").unlink()
    assert run(study, tmp_path)[0]
    assert files(results).keys() == whole.keys()
    assert len(made_by(results.run_dir(half))) == 5


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="cores cannot be chosen here")
def test_workers_share_the_cores_equally(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {1, 3, 5, 7, 9})
    assert core_shares(1) == [[1, 3, 5, 7, 9]]
    assert core_shares(2) == [[1, 3], [5, 7]]
    assert core_shares(5) == [[1], [3], [5], [7], [9]]
    assert core_shares(6) == [[1], [3], [5], [7], [9], [1]]
    monkeypatch.undo()
    ours = os.sched_getaffinity(0)
    share = [max(ours)]
    with on_cores(share):
        told = subprocess.run(
            [sys.executable, "-c", "import os; print(os.sched_getaffinity(0))"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    assert told.strip() == str(set(share))
    assert os.sched_getaffinity(0) == ours
