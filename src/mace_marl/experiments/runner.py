"""Runs a study: each run in a process of its own, so that none can harm another."""

import fcntl
import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

from mace_marl.errors import Stopped, UserError
from mace_marl.experiments.display import Display, Status, look
from mace_marl.experiments.results import Results
from mace_marl.experiments.study import Planned, Study
from mace_marl.machine import cores
from mace_marl.runs.files import locked
from mace_marl.viewer.progress import say

POLL_SECONDS = 0.2
LOOK_SECONDS = 1.0
STOPPING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def run_study(study: Study, results: Results, workers: int | None = None) -> bool:
    """Run what is not finished yet; whether all went well. Folder and study must be checked."""
    if workers is None:
        # By the whole study, so that a second call shares out the cores like the first.
        workers = min(cores(), len(study.runs()))
    if workers < 1:
        raise UserError(f"workers must be at least 1, not {workers}.")
    results.refuse_other_study(study)
    results.make()
    with locked(results.directory / ".lock") as free:
        if not free:
            raise UserError(f"another `mace experiment` is running in {results.directory}.")
        results.begin(study)
        return _Runner(study, results, workers).run()


@dataclass(frozen=True)
class _Job:
    """A run in one of the workers' places."""

    planned: Planned
    log: BinaryIO
    """Locked while any process writes to it: the run's process inherits the lock with the file."""
    process: subprocess.Popen[bytes] | None
    """None while a process that an earlier call left behind is still at it."""


class _Runner:
    def __init__(self, study: Study, results: Results, workers: int) -> None:
        self.results = results
        self.shares = core_shares(workers)
        self.jobs: list[_Job | None] = [None] * workers
        self.runs = {
            planned: look(results.run_dir(planned), "done")
            if results.is_finished(planned)
            else look(results.work_dir(planned), "waiting")
            for planned in study.runs()
        }
        self.waiting = deque(run for run in self.runs if self.runs[run].state == "waiting")
        budgets = {planned: planned.config()["steps"] for planned in self.runs}
        self.display = Display(study.title, budgets, self.runs)

    def run(self) -> bool:
        """To the end, or until the user asks to stop."""
        size = f", each on {len(self.shares[0])} core(s)" if self.shares[0] else ""
        say(
            f"{len(self.waiting)} of {len(self.runs)} runs to go, {len(self.jobs)} at a time{size};"
            f" results in {self.results.directory}"
        )
        with _counting_signals() as asked, self.display:
            heeded, looked_at = 0, 0.0
            while any(self.jobs) or (self.waiting and not asked):
                if len(asked) > heeded:
                    heeded = len(asked)
                    self.stop_all(heeded)
                for worker, job in enumerate(self.jobs):
                    if job is None and self.waiting and not asked:
                        self.jobs[worker] = self.take(self.waiting.popleft(), worker)
                    elif job is not None:
                        self.jobs[worker] = self.attend(job, worker, stopping=bool(asked))
                if time.monotonic() - looked_at > LOOK_SECONDS:
                    self.look_at_all()
                    looked_at = time.monotonic()
                time.sleep(POLL_SECONDS)
            self.display.show(self.runs)
        return self.conclude(stopped=bool(asked))

    def take(self, planned: Planned, worker: int) -> _Job | None:
        """Begin a run, or wait for whoever is at it."""
        path = self.results.log(planned)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            log = path.open("ab")
            if _lock(log):
                return self.start(planned, log, worker)
        except OSError as error:
            return self.fail(planned, f"it cannot be started ({error})")
        self.runs[planned] = replace(self.runs[planned], state="left")
        self.display.tell(planned, self.runs)
        return _Job(planned, log, None)

    def start(self, planned: Planned, log: BinaryIO, worker: int) -> _Job:
        work = self.results.work_dir(planned)
        if self.results.is_begun(planned):
            arguments = ["resume", str(work)]
        else:
            arguments = train_arguments(planned, work)
            if not self.shares[worker] and len(self.jobs) > 1:
                arguments += ["--devices", "1"]  # where a process cannot be kept to its cores
        with on_cores(self.shares[worker]):
            process = subprocess.Popen(
                [sys.executable, "-m", "mace_marl", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # a Ctrl-C in the terminal is ours to pass on, once
            )
        self.runs[planned] = replace(self.runs[planned], state="running")
        return _Job(planned, log, process)

    def attend(self, job: _Job, worker: int, stopping: bool) -> _Job | None:
        """The job as it goes on, or None when it has ended."""
        if job.process is None:
            if stopping:
                job.log.close()
                return None
            return self.start(job.planned, job.log, worker) if _lock(job.log) else job
        status = job.process.poll()
        if status is None:
            return job
        reason = "" if status == 0 else failure(status, self.results.log(job.planned))
        if status == 0:
            try:
                self.results.keep(job.planned)
            except OSError as error:
                reason = f"its results cannot be written ({error})"
        job.log.close()
        if reason and stopping:
            self.runs[job.planned] = replace(self.runs[job.planned], state="waiting")
            return None
        if reason:
            return self.fail(job.planned, reason)
        self.runs[job.planned] = look(self.results.run_dir(job.planned), "done")
        self.display.tell(job.planned, self.runs)
        return None

    def fail(self, planned: Planned, reason: str) -> None:
        self.runs[planned] = Status("failed", reason=reason)
        self.display.tell(planned, self.runs)

    def stop_all(self, times: int) -> None:
        """Ask all processes to stop after their update; asked a second time, they stop at once."""
        if times == 1:
            say("stopping all runs after their update (once more to stop at once) …")
        for job in filter(None, self.jobs):
            if job.process:
                job.process.send_signal(signal.SIGTERM)

    def look_at_all(self) -> None:
        for job in filter(None, self.jobs):
            state = "running" if job.process else "left"
            self.runs[job.planned] = look(self.results.work_dir(job.planned), state)
        self.display.show(self.runs)

    def conclude(self, stopped: bool) -> bool:
        """Say what became of the study."""
        failed = {run: status for run, status in self.runs.items() if status.state == "failed"}
        for planned, status in failed.items():
            say(f"{planned.name} failed: {status.reason} (log: {self.results.log(planned)})")
        directory = self.results.directory
        done = sum(status.state == "done" for status in self.runs.values())
        if stopped and done + len(failed) < len(self.runs):
            raise Stopped(
                f"stopped with {done} of {len(self.runs)} runs finished in {directory};"
                " the same command goes on from here."
            )
        if failed:
            say(f"{done} of {len(self.runs)} runs are finished; the same command tries the others.")
        else:
            self.results.end()
            say(
                f"all {done} runs are finished; `mace plot {directory}` and"
                f" `mace report {directory}` show them."
            )
        return not failed


def train_arguments(planned: Planned, run_dir: Path) -> list[str]:
    """The command that makes this run."""
    options: dict[str, Any] = {
        "method": planned.method,
        "preset": planned.preset,
        "seed": planned.seed,
        "steps": planned.steps,
        "until-success": planned.until_success,
        "run-dir": run_dir,
        **{name.replace("_", "-"): value for name, value in planned.overrides.items()},
    }
    chosen = [f"--{name}={value}" for name, value in options.items() if value is not None]
    return ["train", planned.task, *chosen]


def failure(status: int, log: Path) -> str:
    """Why a process failed, in its own last words."""
    if status < 0:
        return f"ended by signal {signal.Signals(-status).name}"
    lines = [line for line in log.read_text("utf-8", "replace").split("\n") if line.strip()]
    return lines[-1].strip().removeprefix("mace: ") if lines else f"exit status {status}"


def core_shares(workers: int) -> list[list[int]]:
    """Each worker's own cores, equally many for all: results must not depend on who made them.

    They are empty where the system cannot keep a process to its cores.
    """
    if not hasattr(os, "sched_setaffinity"):
        return [[] for _ in range(workers)]
    ours = sorted(os.sched_getaffinity(0))
    size = max(1, len(ours) // workers)
    return [
        [ours[(worker * size + place) % len(ours)] for place in range(size)]
        for worker in range(workers)
    ]


@contextmanager
def on_cores(share: Sequence[int]) -> Iterator[None]:
    """A process started within inherits these cores, and XLA makes no more threads than that."""
    if not share:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, share)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _lock(file: BinaryIO) -> bool:
    """Lock a file until it is closed here and in every process it was handed to."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def _counting_signals() -> Iterator[list[int]]:
    """The signals to stop that have come in so far."""
    asked: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield asked
        return
    before = {number: signal.getsignal(number) for number in STOPPING_SIGNALS}
    # What is ignored (SIGHUP under nohup) stays so.
    before = {number: handler for number, handler in before.items() if handler != signal.SIG_IGN}
    for number in before:
        signal.signal(number, lambda number, _frame: asked.append(number))
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
