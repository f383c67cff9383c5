"""Many worlds in worker processes, one board between them and the trainer."""

import json
import os
import signal
import subprocess
import sys
import weakref
from dataclasses import astuple, dataclass
from itertools import pairwise

import numpy as np

from mace_marl.host.api import WorldError
from mace_marl.host.board import Board, Sizes, linger
from mace_marl.host.worker import FAILED, STEP, TAKE_UP, Orders
from mace_marl.machine import cores

MOST_DEATHS = 3  # of a worker in a row, without a step in between

# A worker is one process on one core: threads of its libraries would only be in the way.
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


class Died(Exception):
    """A worker's process is gone."""


@dataclass
class Worker:
    process: subprocess.Popen[bytes]
    commands: int  # our ends of the pipes to it and from it
    answers: int
    board: Board
    start: int
    stop: int
    lingers: bool
    deaths: int = 0
    closed: bool = False

    @property
    def worlds(self) -> slice:
        return slice(self.start, self.stop)

    def send(self, command: bytes) -> None:
        try:
            os.write(self.commands, command)
        except BrokenPipeError:
            raise Died from None
        self.board.asked[self.start] += 1

    def wait(self) -> None:
        """Until it has done what it was told; what went wrong in its worlds is raised here."""
        answer = os.read(self.answers, 1)
        if answer == FAILED:
            raise WorldError(_read_all(self.answers).decode())
        if not answer:
            raise Died

    def close(self) -> None:
        """It ends when its pipes do."""
        if not self.closed:
            os.close(self.commands)
            os.close(self.answers)
        self.closed = True


class Pool:
    """`copies` of a world, in as many processes as there are cores."""

    def __init__(self, name: str, sizes: Sizes, copies: int, processes: int | None = None) -> None:
        self.name, self.copies = name, copies
        self.board = Board(sizes, copies)
        processes = min(processes or cores(), copies)
        # A worker waits awake if it has a core to itself. With as many workers as cores, the last
        # one shares its core with the trainer, and sleeps while that is awake.
        self.spare_core = processes < cores()
        edges = [copies * number // processes for number in range(processes + 1)]
        self.workers: list[Worker] = []
        self.close = weakref.finalize(self, _close, self.workers, self.board)
        for start, stop in pairwise(edges):
            self.workers.append(self._start(start, stop))
        for number, worker in enumerate(self.workers):
            try:
                worker.wait()
            except Died:
                self._restart(number)

    def begin(self, root: tuple[int, int], episode: np.ndarray | int, once: bool = False) -> None:
        """Start the episodes of these numbers  # (copies,); `once`: none follows where one ends."""
        board = self.board
        board.root[:], board.once[:] = root, once
        board.episode[:], board.time[:] = episode, 0
        self.take_up()

    def take_up(self) -> np.ndarray:
        """Bring the worlds to where the board says they stand; which of them could not be.

        # (copies,) bool
        """
        self._command(TAKE_UP)
        return self.board.row.part(self.board.ahead, "lost") > 0

    def step(self, actions: np.ndarray) -> None:
        """One step of all worlds with these actions  # (copies, num_agents)."""
        self.board.actions[:] = actions
        self._command(STEP)

    def _command(self, command: bytes) -> None:
        dead = []
        for number, worker in enumerate(self.workers):
            try:
                worker.send(command)
            except Died:
                dead.append(number)
        # The last worker first: it may have the core that the trainer gives up here.
        for number in reversed(range(len(self.workers))):
            if number in dead:
                continue
            worker = self.workers[number]
            if worker.lingers:
                linger(self.board.done, worker.start, self.board.asked[worker.start])
            try:
                worker.wait()
            except Died:
                dead.append(number)
            else:
                worker.deaths = 0
        for number in dead:
            self._replace(number)

    def _replace(self, number: int) -> None:
        """A new worker instead of one that died. What ran there is lost; new episodes begin."""
        from mace_marl.viewer.progress import say

        board, worlds = self.board, self.workers[number].worlds
        what = self._restart(number)
        board.after[worlds] = board.ahead[worlds]
        for part, value in (("reward", 0.0), ("truncated", 1.0), ("lost", 1.0)):
            board.row.part(board.after, part)[worlds] = value
        board.episode[worlds] += 1
        board.time[worlds] = 0
        self._take_up_alone(number)
        board.row.part(board.ahead, "lost")[worlds] = 1.0
        say(
            f"a worker with worlds {worlds.start}–{worlds.stop - 1} of {self.name} {what}; it was"
            " restarted, and the episodes that ran in it are dropped."
        )

    def _take_up_alone(self, number: int) -> None:
        while True:
            worker = self.workers[number]
            try:
                worker.send(TAKE_UP)
                worker.wait()
                return
            except Died:
                self._restart(number)

    def _restart(self, number: int) -> str:
        """A new process with new worlds; returns how the old one ended."""
        old = self.workers[number]
        while True:
            what = _end(old)
            if old.deaths + 1 >= MOST_DEATHS:
                raise WorldError(
                    f"{self.name}: a worker process {what} {MOST_DEATHS} times in a row; the world"
                    " crashes Python itself, so try it in a process of its own first."
                )
            new = self._start(old.start, old.stop)
            new.deaths = old.deaths + 1
            self.workers[number] = old = new
            try:
                new.wait()
                return what
            except Died:
                continue

    def _start(self, start: int, stop: int) -> Worker:
        their_commands, our_commands = os.pipe()
        our_answers, their_answers = os.pipe()
        theirs = (self.board.descriptor, their_commands, their_answers)
        sizes = astuple(self.board.sizes)
        lingers = self.spare_core or stop < self.copies
        orders = Orders(self.name, sizes, self.copies, start, stop, *theirs, lingers)
        self.board.done[start] = self.board.asked[start]
        path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)  # noqa: PTH109
        process = subprocess.Popen(
            [sys.executable, "-m", "mace_marl.host.worker", json.dumps(orders)],
            env=ONE_THREAD | os.environ | {"PYTHONPATH": path},
            stdin=subprocess.DEVNULL,
            stdout=2,  # standard output may be one JSON document
            pass_fds=theirs,
            start_new_session=True,  # Ctrl-C is for the trainer
        )
        os.close(their_commands)
        os.close(their_answers)
        return Worker(process, our_commands, our_answers, self.board, start, stop, lingers)


def _close(workers: list[Worker], board: Board) -> None:
    """Workers end when their pipes do; what a world takes to close, it is given."""
    for worker in workers:
        worker.close()
    for worker in workers:
        _end(worker)
    board.close()


def _end(worker: Worker) -> str:
    """Wait for a worker that must end now; how it did, in words."""
    worker.close()
    try:
        status = worker.process.wait(timeout=10)
    except subprocess.TimeoutExpired:
        worker.process.kill()
        status = worker.process.wait()
    if status < 0:
        return f"was killed ({signal.Signals(-status).name})"
    return f"ended (status {status})"


def _read_all(answers: int) -> bytes:
    parts = []
    while part := os.read(answers, 1 << 16):
        parts.append(part)
    return b"".join(parts)
