"""The loop around the updates: metrics, checkpoints, progress and Ctrl-C as ordinary code."""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jax
import numpy as np
from tensorboardX import SummaryWriter

from mace_marl.errors import Stopped, UserError
from mace_marl.runs import checkpoints, metrics
from mace_marl.runs.checkpoints import Checkpoint
from mace_marl.runs.config import Config
from mace_marl.runs.files import locked
from mace_marl.runs.places import Places, updates_per_block
from mace_marl.statistics import reached
from mace_marl.trainer import Trainer, TrainState
from mace_marl.viewer.progress import Progress, say


def train(
    directory: Path,
    config: Config,
    make_trainer: Callable[[], Trainer],
    checkpoint: Checkpoint | None,
    progress: bool,
) -> None:
    """Train from `checkpoint`, or from the beginning, to the end of the budget."""
    with locked(directory / ".lock") as free:
        if not free:
            raise UserError(f"another process is training in {directory}; wait for it or stop it.")
        if checkpoint and checkpoint.progress["finished"]:
            say(f"{directory} is finished: {checkpoint.update} updates.")
            return
        trainer = make_trainer()
        try:
            _Training(directory, config, trainer, checkpoint).run(progress)
        finally:
            trainer.close()


class _Training:
    def __init__(
        self, directory: Path, config: Config, trainer: Trainer, checkpoint: Checkpoint | None
    ) -> None:
        self.directory = directory
        self.config = config
        self.trainer = trainer
        self.update = 0
        self.wall_seconds = 0.0
        self.block = updates_per_block(config.updates)
        blocks = -(-config.updates // self.block)
        self.places = np.zeros((blocks, *trainer.places_shape), np.float32)
        if checkpoint:
            self.update = checkpoint.update
            self.wall_seconds = float(checkpoint.progress["wall_seconds"])
            self.state = trainer.lay_out(checkpoints.unflatten(trainer.shapes, checkpoint.arrays))
            restored = checkpoints.unflatten({"places": self.places}, checkpoint.arrays)
            self.places = restored["places"].copy()
        else:
            self.state: TrainState = trainer.init(config.seed)
        self.rows = metrics.keep_rows(directory, self.update)
        self.floats_sent = trainer.floats_sent()

    def run(self, progress: bool) -> None:
        file = metrics.MetricsFile(self.directory)
        # Events after the checkpoint, from before the stop, are marked as void.
        board = SummaryWriter(str(self.directory / "tensorboard"), purge_step=self.update + 1)
        saved_at = time.monotonic()
        try:
            with _stop_on_signal() as stop, Progress(self.config, progress) as display:
                while not self.finished:
                    began = time.monotonic()
                    row = self.next_row(began)
                    file.append(row)
                    _to_tensorboard(board, row)
                    display.show(row)
                    # Saved now if another update would take longer than the user allows.
                    now = time.monotonic()
                    due = now + (now - began) - saved_at > self.config.checkpoint_every
                    if due or stop.is_set() or self.finished:
                        file.sync()
                        self.save()
                        saved_at = time.monotonic()
                    if stop.is_set() and not self.finished:
                        raise Stopped(
                            f"stopped after update {self.update} of {self.config.updates};"
                            f" `mace resume {self.directory}` goes on from here."
                        )
        finally:
            file.close()
            board.close()

    def next_row(self, began: float) -> dict[str, Any]:
        """One update, and its metrics."""
        self.state, report = self.trainer.update(self.state)
        report = jax.device_get(report)
        seconds = time.monotonic() - began
        self.wall_seconds += seconds
        row = metrics.make_row(
            report,
            self.update + 1,
            self.config.settings,
            self.config.method,
            self.floats_sent,
            seconds,
            self.wall_seconds,
        )
        self.places[self.update // self.block] += report.places
        self.update += 1
        self.rows.append(row)
        return row

    @property
    def finished(self) -> bool:
        wanted = self.config.until_success
        enough = wanted is not None and reached(self.rows, wanted)
        return enough or self.update >= self.config.updates

    def save(self) -> None:
        if self.places.size:  # before the checkpoint: a finished run is never without its places
            Places(self.places, self.block, self.update).write(self.directory)
        arrays = checkpoints.flatten(jax.device_get(self.state)) | {"places": self.places}
        progress = {"wall_seconds": self.wall_seconds, "finished": self.finished}
        checkpoints.save(
            self.directory, Checkpoint(self.update, arrays, self.config.as_json(), progress)
        )


@contextmanager
def _stop_on_signal() -> Iterator[threading.Event]:
    """Ctrl-C and SIGTERM ask to stop after the current update; a second one stops at once."""
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def ask(number: int, frame: Any) -> None:
        say("stopping after this update (once more to stop at once) …")
        stop.set()
        restore()

    for number in before:
        signal.signal(number, ask)
    try:
        yield stop
    finally:
        restore()


def _to_tensorboard(board: SummaryWriter, row: dict[str, Any]) -> None:
    for name, value in row.items():
        if isinstance(value, list):
            for agent, number in enumerate(value):
                board.add_scalar(f"agent{agent}/{name}", number, row["update"])
        elif value is not None and name != "update":
            board.add_scalar(name, value, row["update"])
