"""What a user sees while a run trains, on standard error."""

import time
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table

from mace_marl.statistics import success_rate

if TYPE_CHECKING:
    from mace_marl.runs.config import Config

LINE_EVERY = 10.0  # seconds between lines where there is no terminal to redraw

console = Console(stderr=True, highlight=False)


def say(sentence: str) -> None:
    console.print(sentence, soft_wrap=True, markup=False)


class Progress:
    """A live display in a terminal, a line now and then elsewhere, nothing if not wanted."""

    def __init__(self, config: "Config", wanted: bool) -> None:
        self._config = config
        self._wanted = wanted
        self._rows: list[dict[str, Any]] = []
        self._printed = 0.0
        self._live: Live | None = None

    def __enter__(self) -> "Progress":
        if self._wanted:
            config = self._config
            say(
                f"{config.method.name} on {config.task}, preset {config.preset},"
                f" seed {config.seed}: {config.updates} updates of"
                f" {config.settings.steps_per_update:,} steps"
                f" on {config.layout.devices} device(s); compiling …"
            )
        if self._wanted and console.is_terminal:
            self._live = Live(console=console, refresh_per_second=4)
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            self._live.stop()

    def show(self, row: dict[str, Any]) -> None:
        if not self._wanted:
            return
        self._rows.append(row)
        if self._live:
            self._live.update(self._table())
        elif time.monotonic() - self._printed > LINE_EVERY or row["update"] == self._config.updates:
            self._printed = time.monotonic()
            say("  ".join(f"{name} {value}" for name, value in self.numbers().items()))

    def numbers(self) -> dict[str, str]:
        """The display's figures, by name."""
        row, config = self._rows[-1], self._config
        numbers = {
            "update": f"{row['update']}/{config.updates}",
            "steps": f"{row['env_steps']:,}",
            "steps/s": f"{self._speed():,.0f}",
            "left": _duration((config.updates - row["update"]) * self._seconds_per_update()),
            "success": _share(success_rate(self._rows)),
            "return": "–" if row["episode_return"] is None else f"{row['episode_return']:.1f}",
        }
        for name in ("novelty_reward", "hindsight_reward", "entropy"):
            if row[name] is not None:
                numbers[name.removesuffix("_reward")] = " ".join(f"{x:.2f}" for x in row[name])
        return numbers

    def _table(self) -> Table:
        done = self._rows[-1]["update"]
        table = Table.grid(padding=(0, 2))
        table.add_row("", ProgressBar(total=self._config.updates, completed=done, width=40))
        for name, value in self.numbers().items():
            table.add_row(name, value)
        return table

    def _seconds_per_update(self) -> float:
        """Over the last updates, without the first, which compiles."""
        rows = (self._rows[1:] or self._rows)[-20:]
        steps = self._config.settings.steps_per_update
        return sum(steps / row["env_steps_per_second"] for row in rows) / len(rows)

    def _speed(self) -> float:
        return self._config.settings.steps_per_update / self._seconds_per_update()


def _share(share: float | None) -> str:
    return "–" if share is None else f"{share:.1%}"


def _duration(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"
