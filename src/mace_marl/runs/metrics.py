"""metrics.jsonl: one object per update. Of two runs with one seed only `…second…` keys differ."""

import json
import math
import os
from pathlib import Path
from typing import Any

from mace_marl.errors import UserError
from mace_marl.methods import Method
from mace_marl.runs.files import write_atomically
from mace_marl.settings import Settings
from mace_marl.trainer import Report

FILE = "metrics.jsonl"


class Diverged(UserError):
    """A number that training depends on is no longer finite."""


def make_row(
    report: Report,
    update: int,
    settings: Settings,
    method: Method,
    floats_sent: float,
    update_seconds: float,
    wall_seconds: float,
) -> dict[str, Any]:
    """The metrics of one update, from what it reported. Raises Diverged on NaN and infinity."""
    episodes = report.episodes
    ended = int(episodes.ended)
    agents = {name: [float(x) for x in values] for name, values in sorted(report.agents.items())}
    for term, values in agents.items():
        for agent, value in enumerate(values):
            if not math.isfinite(value):
                raise Diverged(
                    f"update {update}, agent {agent}: {term} is {value}; the last good checkpoint"
                    " is kept: look at the world's rewards, or train with smaller learning rates."
                )
    unused = {
        "novelty_reward": method.novelty == "none",
        "hindsight_reward": method.hindsight == "none",
    }
    return {
        "update": update,
        "env_steps": update * settings.steps_per_update,
        "episodes": ended,
        "successes": int(episodes.successes),
        "success_rate": int(episodes.successes) / ended if ended else None,
        "episode_return": float(episodes.returns) / ended if ended else None,
        "episode_length": int(episodes.lengths) / ended if ended else None,
        "floats_sent_per_agent_and_step": floats_sent,
        **{name: None if unused.get(name) else values for name, values in agents.items()},
        "wall_seconds": wall_seconds,
        "env_steps_per_second": settings.steps_per_update / update_seconds,
    }


def read_rows(run_dir: Path) -> list[dict[str, Any]]:
    """All complete rows of a run; a last one that was cut off while being written is left out."""
    try:
        lines = (run_dir / FILE).read_text("utf-8").split("\n")
    except FileNotFoundError:
        return []
    rows = []
    for number, line in enumerate(lines[:-1], start=1):
        try:
            rows.append(json.loads(line))
        except json.JSONDecodeError:
            raise UserError(f"{run_dir / FILE}: line {number} is not valid JSON.") from None
    return rows


def keep_rows(run_dir: Path, updates: int) -> list[dict[str, Any]]:
    """The rows up to `updates`; those after it are forgotten, and will be written again."""
    rows = read_rows(run_dir)
    kept = [row for row in rows if row["update"] <= updates]
    if [row["update"] for row in kept] != list(range(1, updates + 1)):
        raise UserError(
            f"{run_dir / FILE} does not hold every update up to the checkpoint's {updates};"
            " it was changed by hand: restore it, or train anew."
        )
    write_atomically(run_dir / FILE, "".join(json.dumps(row) + "\n" for row in kept).encode())
    return kept


class MetricsFile:
    """Appends rows. Each is in the system's hands at once, on disk with `sync`."""

    def __init__(self, run_dir: Path) -> None:
        self._file = (run_dir / FILE).open("a", encoding="utf-8")

    def append(self, row: dict[str, Any]) -> None:
        self._file.write(json.dumps(row, allow_nan=False) + "\n")
        self._file.flush()

    def sync(self) -> None:
        os.fsync(self._file.fileno())

    def close(self) -> None:
        self._file.close()
