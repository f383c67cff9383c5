"""What a user sees of a study that is running, on standard error."""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Literal

from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from mace_marl.experiments.study import Planned
from mace_marl.runs.metrics import FILE as METRICS
from mace_marl.statistics import success_rate
from mace_marl.viewer.progress import console, say

LAST_BYTES = 1 << 16  # of the metrics: far more than a look at the last rows needs
KEY = "▸ steps done   ✓ success of the last 1,000 episodes   ✗ failed   … left running   · waiting"

State = Literal["waiting", "running", "left", "done", "failed"]


@dataclass(frozen=True)
class Status:
    """How a run stands."""

    state: State = "waiting"
    env_steps: int = 0
    success: float | None = None  # of about the last thousand training episodes
    reason: str = ""  # why it failed

    def text(self, budget: int) -> Text:
        """A few letters, for a cell of the table."""
        success = "" if self.success is None else f" {self.success:.0%}"
        return {
            "waiting": Text("·", style="dim"),
            "running": Text(f"▸ {min(1.0, self.env_steps / budget):.0%}", style="bold"),
            "left": Text("…", style="yellow"),
            "done": Text(f"✓{success}", style="green"),
            "failed": Text("✗", style="bold red"),
        }[self.state]


def look(run_dir: Path, state: State) -> Status:
    """How the run in a directory stands, by the last rows of its metrics."""
    try:
        with (run_dir / METRICS).open("rb") as file:
            size = file.seek(0, 2)
            start = file.seek(max(0, size - LAST_BYTES))
            lines = file.read().split(b"\n")
        # The first line may have been cut by us, the last by whoever writes it.
        rows = [json.loads(line) for line in lines[1 if start else 0 : -1]]
    except (OSError, ValueError):
        return Status(state)
    return Status(state, rows[-1]["env_steps"], success_rate(rows)) if rows else Status(state)


class Display:
    """A live table in a terminal: a row for what is compared, a cell for each run. Lines else."""

    def __init__(
        self, title: str, budgets: Mapping[Planned, int], runs: Mapping[Planned, Status]
    ) -> None:
        self._title = title
        self._budgets = budgets
        self._live: Live | None = None
        self._began = time.monotonic()
        self._found = self._steps_done(runs)  # before this display began

    def __enter__(self) -> "Display":
        if console.is_terminal:
            self._live = Live(console=console, auto_refresh=False)
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            self._live.stop()

    def show(self, runs: Mapping[Planned, Status]) -> None:
        if self._live:
            self._live.update(
                Group(self._table(runs), Text(self.summary(runs)), Text(KEY, style="dim")),
                refresh=True,
            )

    def tell(self, planned: Planned, runs: Mapping[Planned, Status]) -> None:
        """One line about a run that has ended, or was left by others, where nothing is redrawn."""
        if self._live:
            return
        status = runs[planned]
        success = "" if status.success is None else f", success {status.success:.1%}"
        what = {
            "done": f"done after {status.env_steps:,} steps{success}",
            "failed": f"failed: {status.reason}",
            "left": "another process, left by an earlier call, is at it; waiting for its end",
        }
        say(f"{planned.name}: {what.get(status.state, status.state)}  [{self.summary(runs)}]")

    def summary(self, runs: Mapping[Planned, Status]) -> str:
        """How many runs are done, and how long the others may take."""
        states = [status.state for status in runs.values()]
        parts = [f"{states.count('done')} of {len(runs)} runs done"]
        parts += [f"{states.count('failed')} failed"] if "failed" in states else []
        left = self._seconds_left(runs)
        parts += [f"about {timedelta(seconds=round(left))} left"] if left else []
        return ", ".join(parts)

    def _seconds_left(self, runs: Mapping[Planned, Status]) -> float | None:
        """By the steps made since this display began; None before there are any."""
        done = self._steps_done(runs)
        made = done - self._found
        missing = sum(self._budgets.values()) - done
        return missing * (time.monotonic() - self._began) / made if made > 0 < missing else None

    def _steps_done(self, runs: Mapping[Planned, Status]) -> int:
        """Of a run that has ended, all it was meant to make: none are missing."""
        return sum(
            self._budgets[planned] if status.state in ("done", "failed") else status.env_steps
            for planned, status in runs.items()
        )

    def _table(self, runs: Mapping[Planned, Status]) -> Table:
        seeds = sorted({planned.seed for planned in runs})
        table = Table(title=self._title, box=None, title_justify="left", title_style="bold")
        for name in ("task", "", *(f"seed {seed}" for seed in seeds)):
            table.add_column(name, no_wrap=True)
        rows: dict[tuple[str, str], dict[int, Text]] = {}
        for planned, status in runs.items():
            cells = rows.setdefault((planned.task, planned.label), {})
            cells[planned.seed] = status.text(self._budgets[planned])
        for (task, label), cells in rows.items():
            table.add_row(task, label, *(cells.get(seed, Text()) for seed in seeds))
        return table
