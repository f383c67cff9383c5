"""A run small enough to be made many times, and the command as a user calls it."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mace_marl.cli import main

SMALL = [
    *("--num-envs", "4", "--rollout-length", "20", "--hidden-size", "8"),
    *("--epochs", "2", "--minibatches", "2"),
]
STEPS_PER_UPDATE = 4 * 20


def mace(
    *arguments: str | Path, hasty: bool = True, timeout: float = 300
) -> subprocess.CompletedProcess[str]:
    """The command, run to its end in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "mace_marl", *map(str, arguments)],
        env=environment(hasty),
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def mace_here(
    capsys: pytest.CaptureFixture[str], *arguments: str | Path
) -> subprocess.CompletedProcess[str]:
    """The command, within this process: much quicker, for here Python and JAX run already."""
    command = [*map(str, arguments)]
    capsys.readouterr()  # what was printed before is not the command's
    with pytest.raises(SystemExit) as stop:
        main(command)
    return subprocess.CompletedProcess(command, int(stop.value.code or 0), *capsys.readouterr())


def start_mace(*arguments: str | Path, hasty: bool = True) -> subprocess.Popen[bytes]:
    """The command, running."""
    return subprocess.Popen(
        [sys.executable, "-m", "mace_marl", *map(str, arguments)],
        env=environment(hasty),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def environment(hasty: bool) -> dict[str, str]:
    """In haste, programs are compiled in less time, as the fixture `hasty_compiler` does here."""
    return os.environ | {"JAX_DISABLE_MOST_OPTIMIZATIONS": str(int(hasty))}


def train_small(run_dir: Path, updates: int, *more: str) -> list[str]:
    """The arguments that train a small run, with a checkpoint after every update."""
    steps = str(updates * STEPS_PER_UPDATE)
    return [
        *("train", "gridworld/minipass", "--run-dir", str(run_dir), "--steps", steps),
        *("--checkpoint-every", "0", *SMALL, *more),
    ]


def rows(run_dir: Path) -> list[dict[str, Any]]:
    """The metrics without what depends on the clock."""
    lines = (run_dir / "metrics.jsonl").read_text().splitlines()
    return [
        {key: value for key, value in json.loads(line).items() if "second" not in key}
        for line in lines
    ]


def assert_one_sentence(result: subprocess.CompletedProcess[str], *mentions: str) -> None:
    """The command failed with one clear sentence, no traceback, and nothing on standard output."""
    assert result.returncode == 2, result.stderr
    assert "Traceback" not in result.stderr
    message = result.stderr.strip()
    assert message.startswith("mace: "), message
    assert "\n" not in message, message
    for mention in mentions:
        assert mention in message, message
    assert result.stdout == ""
