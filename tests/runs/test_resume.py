"""A run that is stopped, in whatever way, goes on as if it had never been."""

import json
import os
import random
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from commands import (
    STEPS_PER_UPDATE,
    assert_one_sentence,
    mace,
    mace_here,
    rows,
    start_mace,
    train_small,
)

import mace_marl

UPDATES = 60
KILLS = 20


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that was never stopped."""
    run_dir = tmp_path_factory.mktemp("reference") / "run"
    result = mace(*train_small(run_dir, UPDATES))
    assert result.returncode == 0, result.stderr
    return run_dir


def updates_written(run_dir: Path) -> int:
    try:
        return (run_dir / "metrics.jsonl").read_text().count("\n")
    except FileNotFoundError:
        return 0


def places(run_dir: Path) -> bytes:
    return (run_dir / "places.npz").read_bytes()


def writing_checkpoint(run_dir: Path) -> bool:
    return any((run_dir / "checkpoints").glob(".*.tmp"))


def test_killed_at_twenty_moments(tmp_path: Path, reference: Path) -> None:
    """kill −9 at 20 moments, the first before any checkpoint, every third within the writing of
    one: the metrics of the run that is resumed each time are those of the run never stopped."""
    run_dir = tmp_path / "run"
    chance = random.Random(0)
    killed_while_writing = 0
    arguments = train_small(run_dir, UPDATES)
    for kill in range(KILLS):
        process = start_mace(*arguments)
        before = updates_written(run_dir)
        target = 2 * kill
        wait_for(lambda: (run_dir / "config.json").exists(), process)
        if kill > 0:
            wait_for(lambda target=target: updates_written(run_dir) >= target, process)
        if kill > 0 and kill % 3 == 0:
            wait_for(lambda: writing_checkpoint(run_dir), process)
        else:
            time.sleep(chance.uniform(0, 0.05))
        assert process.poll() is None, "the run ended before it could be killed"
        process.kill()
        process.wait()
        killed_while_writing += writing_checkpoint(run_dir)
        assert updates_written(run_dir) >= max(target, before - 1 if kill else 0)
        arguments = ["resume", str(run_dir)]
    assert killed_while_writing > 0
    result = mace("resume", run_dir)
    assert result.returncode == 0, result.stderr
    assert rows(run_dir) == rows(reference)
    assert places(run_dir) == places(reference)
    assert not list((run_dir / "checkpoints").glob(".*"))


def wait_for(condition: Callable[[], bool], process: "object", seconds: float = 300) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.001)


def test_ctrl_c_saves_and_says_how_to_go_on(tmp_path: Path, reference: Path) -> None:
    run_dir = tmp_path / "run"
    process = start_mace(*train_small(run_dir, UPDATES, "--checkpoint-every", "1000"))
    wait_for(lambda: updates_written(run_dir) >= 3, process)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=300) == 130
    stopped_after = updates_written(run_dir)
    assert 3 <= stopped_after < UPDATES
    saved = [path.name for path in (run_dir / "checkpoints").iterdir()]
    assert saved == [f"{stopped_after:06d}"]
    assert mace("resume", run_dir).returncode == 0
    assert rows(run_dir) == rows(reference)


def newest_checkpoint(run_dir: Path) -> Path:
    return max((run_dir / "checkpoints").iterdir())


def unfinished_copy(reference: Path, run_dir: Path) -> Path:
    """The reference run as it was before its last updates: its newest checkpoint removed."""
    shutil.copytree(reference, run_dir)
    shutil.rmtree(newest_checkpoint(run_dir))
    return run_dir


def test_every_damage_to_any_file_is_noticed(tmp_path: Path, reference: Path) -> None:
    """A flipped byte, a lost tail, a lost file: each file of the newest checkpoint in turn."""
    from mace_marl.runs import checkpoints

    run_dir = tmp_path / "run"
    shutil.copytree(reference, run_dir)
    newest = newest_checkpoint(run_dir)
    chance = random.Random(1)
    files = [path for path in newest.rglob("*") if path.is_file()]
    assert len(files) > 5
    assert checkpoints.damage(newest) is None
    for path in files:
        whole = path.read_bytes()
        for position in (
            {0, len(whole) - 1, *chance.choices(range(len(whole)), k=5)} if whole else ()
        ):
            flipped = bytearray(whole)
            flipped[position] ^= 1 << chance.randrange(8)
            path.write_bytes(flipped)
            assert checkpoints.damage(newest), f"{path.name}, byte {position}"
        for length in {0, len(whole) - 1, len(whole) // 2} if whole else ():
            path.write_bytes(whole[:length])
            assert checkpoints.damage(newest), f"{path.name}, cut to {length}"
        path.write_bytes(whole + b"\0")
        assert checkpoints.damage(newest), f"{path.name}, lengthened"
        path.unlink()
        assert checkpoints.damage(newest), f"{path.name}, lost"
        path.write_bytes(whole)
    assert checkpoints.damage(newest) is None


def test_damaged_newest_checkpoint_is_said_and_the_one_before_used(
    tmp_path: Path, reference: Path
) -> None:
    run_dir = unfinished_copy(reference, tmp_path / "run")
    newest = newest_checkpoint(run_dir)
    victim = max((path for path in newest.rglob("*") if path.is_file()), key=os.path.getsize)
    data = bytearray(victim.read_bytes())
    data[len(data) // 2] ^= 0x10
    victim.write_bytes(data)
    result = mace("resume", run_dir)
    assert result.returncode == 0, result.stderr
    assert "is damaged" in result.stderr
    assert newest.name in result.stderr
    assert rows(run_dir) == rows(reference)


def test_all_checkpoints_damaged_starts_over(tmp_path: Path, reference: Path) -> None:
    run_dir = unfinished_copy(reference, tmp_path / "run")
    for seal in (run_dir / "checkpoints").glob("*/seal"):
        seal.write_bytes(b"")
    result = mace("resume", run_dir)
    assert result.returncode == 0, result.stderr
    assert result.stderr.count("is damaged") == 2
    assert rows(run_dir) == rows(reference)
    assert places(run_dir) == places(reference)


def test_metrics_cut_within_a_row(tmp_path: Path, reference: Path) -> None:
    """A row that a crash cut off is written again."""
    run_dir = unfinished_copy(reference, tmp_path / "run")
    metrics = run_dir / "metrics.jsonl"
    metrics.write_bytes(metrics.read_bytes()[:-40])
    assert mace("resume", run_dir).returncode == 0
    assert rows(run_dir) == rows(reference)


def test_learned_novelty_and_posterior_go_on_too(tmp_path: Path) -> None:
    """RND, posterior networks, their optimisers, and a replay whose first samples have left it."""
    from mace_marl.runs import checkpoints

    run_dir = tmp_path / "run"
    learned = ("--novelty", "rnd", "--posterior", "network", "--replay", "200")
    assert mace(*train_small(run_dir, 4, *learned, "--posterior-epochs", "2")).returncode == 0
    again = unfinished_copy(unfinished_copy(run_dir, tmp_path / "three"), tmp_path / "two")
    assert mace("resume", again).returncode == 0
    assert rows(again) == rows(run_dir)
    ours, theirs = (checkpoints.newest(path)[0] for path in (again, run_dir))
    assert ours and theirs and ours.update == theirs.update == 4
    assert any("replay" in name for name in ours.arrays)
    for name, x in theirs.arrays.items():
        assert (ours.arrays[name] == x).all(), name


def test_other_configuration_is_refused(
    tmp_path: Path, reference: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_dir = unfinished_copy(reference, tmp_path / "run")
    config = json.loads((run_dir / "config.json").read_text())
    config["settings"]["gamma"] = 0.9
    config["seed"] = 7
    (run_dir / "config.json").write_text(json.dumps(config))
    before = snapshot(run_dir)
    for command in ("resume", "evaluate", "watch"):
        result = mace_here(capsys, command, run_dir)
        assert_one_sentence(
            result, "settings.gamma (0.9 here, 0.99 there)", "seed (7 here, 0 there)"
        )
    assert snapshot(run_dir) == before


def test_a_setting_unknown_when_a_run_began_is_as_it_was(tmp_path: Path, reference: Path) -> None:
    """New settings do nothing by default; a run that has not heard of them is the same run."""
    from mace_marl.runs import checkpoints

    run_dir = unfinished_copy(reference, tmp_path / "run")
    checkpoint, _ = checkpoints.newest(run_dir)
    assert checkpoint
    config = json.loads((run_dir / "config.json").read_text())
    del config["settings"]["count_power"], checkpoint.config["settings"]["count_power"]
    (run_dir / "config.json").write_text(json.dumps(config))
    checkpoints.save(run_dir, checkpoint)
    again = mace_marl.load(run_dir).checkpoint()
    assert again and "count_power" not in again.config["settings"]


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "3", '{"task": 1}', '{"settings": {"gamma": "x"}}', "\xff\xfe"]
)
def test_broken_configuration_is_one_sentence(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(mace_marl.UserError, match=r"config\.json"):
        mace_marl.load(tmp_path)


def test_finished_run_stays_as_it_is(
    tmp_path: Path, reference: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_dir = tmp_path / "run"
    shutil.copytree(reference, run_dir)
    before = snapshot(run_dir)
    result = mace_here(capsys, "resume", run_dir)
    assert result.returncode == 0
    assert "is finished" in result.stderr
    assert snapshot(run_dir) == before


def test_two_processes_do_not_train_in_one_directory(
    tmp_path: Path, reference: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from mace_marl.runs.files import locked

    run_dir = unfinished_copy(reference, tmp_path / "run")
    with locked(run_dir / ".lock") as free:
        assert free
        assert_one_sentence(mace_here(capsys, "resume", run_dir), "another process")


def test_only_the_last_few_checkpoints_are_kept(reference: Path) -> None:
    names = sorted(path.name for path in (reference / "checkpoints").iterdir())
    assert names == [f"{update:06d}" for update in range(UPDATES - 2, UPDATES + 1)]


def test_rows_hold_what_is_promised(reference: Path) -> None:
    lines = [json.loads(line) for line in (reference / "metrics.jsonl").read_text().splitlines()]
    assert [row["update"] for row in lines] == list(range(1, UPDATES + 1))
    assert [row["env_steps"] for row in lines] == [
        update * STEPS_PER_UPDATE for update in range(1, UPDATES + 1)
    ]
    assert lines[0]["episode_return"] is None, "no episode ends within the first 20 steps"
    assert any(row["success_rate"] is not None for row in lines)
    for row in lines:
        assert {"wall_seconds", "env_steps_per_second"} <= row.keys()
        assert row["floats_sent_per_agent_and_step"] == 1.0
        assert len(row["novelty_reward"]) == len(row["hindsight_reward"]) == 2


def snapshot(directory: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file() and path.name != ".lock"
    }
