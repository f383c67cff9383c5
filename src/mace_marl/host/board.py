"""What the trainer and its workers share: one block of memory, and the names of its parts.

At every step the trainer writes actions and workers write rows, and nothing is pickled. The memory
is a file without a name: it ends with the last process that holds it, however that ends.
"""

import mmap
import tempfile
import time
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np


class Sized(Protocol):
    num_agents: int
    num_actions: int
    observation_size: int
    horizon: int


@dataclass(frozen=True)
class Sizes:
    num_agents: int
    num_actions: int
    observation_size: int
    horizon: int

    @classmethod
    def of(cls, world: Sized) -> "Sizes":
        return cls(world.num_agents, world.num_actions, world.observation_size, world.horizon)


LINGER = 200e-6  # seconds: longer than agents take to act, and much shorter than they learn

FLAGS = ("first", "terminated", "truncated", "success", "lost")
"""first: an episode begins here; lost: it was dropped here, because its worker died or because it
could not be taken up again."""


@dataclass(frozen=True)
class Row:
    """Everything about one world's step as one row of float32, and where in it things are."""

    sizes: Sizes

    @cached_property
    def parts(self) -> dict[str, tuple[slice, tuple[int, ...]]]:
        """Of each part, its columns and its shape."""
        agents = self.sizes.num_agents
        shapes = {
            "obs": (agents, self.sizes.observation_size),
            "reward": (agents,),
            "available": (agents, self.sizes.num_actions),
            "alive": (agents,),
            **dict.fromkeys(FLAGS, ()),
        }
        parts, start = {}, 0
        for name, shape in shapes.items():
            stop = start + int(np.prod(shape))
            parts[name] = slice(start, stop), shape
            start = stop
        return parts

    @property
    def width(self) -> int:
        return self.parts[FLAGS[-1]][0].stop

    def part(self, rows: Any, name: str) -> Any:
        """One part of rows (…, width), of NumPy (then it is a view) or of JAX  # (…, *shape)."""
        columns, shape = self.parts[name]
        return rows[..., columns].reshape((*rows.shape[:-1], *shape))


class Board:
    """All worlds of a pool: what they do next, what came of it, and where they stand."""

    actions: np.ndarray  # (copies, num_agents) int32: what to do next
    after: np.ndarray  # (copies, width) float32: the step as it happened
    ahead: np.ndarray  # (copies, width) float32: what agents act upon next
    episode: np.ndarray  # (copies,) int32: number of the running episode, for its seed
    time: np.ndarray  # (copies,) int32: its steps so far
    history: np.ndarray  # (copies, horizon, num_agents) int32: its actions so far
    root: np.ndarray  # (2,) uint32: what all seeds are derived from
    once: np.ndarray  # (1,) bool: no new episode begins where one ends
    asked: np.ndarray  # (copies,) int32: commands given so far to the worker that starts here
    done: np.ndarray  # (copies,) int32: and how many of them it has carried out

    def __init__(self, sizes: Sizes, copies: int, descriptor: int | None = None) -> None:
        """A new board, or the one behind a file descriptor."""
        self.sizes, self.copies = sizes, copies
        self.row = Row(sizes)
        agents = sizes.num_agents
        plan = {
            "actions": ((copies, agents), np.int32),
            "after": ((copies, self.row.width), np.float32),
            "ahead": ((copies, self.row.width), np.float32),
            "episode": ((copies,), np.int32),
            "time": ((copies,), np.int32),
            "history": ((copies, sizes.horizon, agents), np.int32),
            "root": ((2,), np.uint32),
            "once": ((1,), np.bool_),
            "asked": ((copies,), np.int32),
            "done": ((copies,), np.int32),
        }
        offsets, size = {}, 0
        for name, (shape, kind) in plan.items():
            offsets[name] = size
            size += -(-int(np.prod(shape)) * np.dtype(kind).itemsize // 64) * 64
        self._file = None
        if descriptor is None:
            in_memory = Path("/dev/shm")
            directory = in_memory if in_memory.is_dir() else None
            self._file = tempfile.TemporaryFile(dir=directory)  # noqa: SIM115 (kept open)
            self._file.truncate(size)
            descriptor = self._file.fileno()
        self.descriptor = descriptor
        memory = mmap.mmap(descriptor, size)
        for name, (shape, kind) in plan.items():
            count = int(np.prod(shape))
            view = np.frombuffer(memory, kind, count, offsets[name]).reshape(shape)
            setattr(self, name, view)

    def close(self) -> None:
        """The memory itself goes when nobody looks at it any more."""
        if self._file:
            self._file.close()


def linger(counters: np.ndarray, place: int, goal: int) -> None:
    """Wait a moment, awake, for a counter to come to `goal`.

    It takes tens of microseconds to wake a process up on another core, and this saves them. What
    counts is a byte in a pipe, for which whoever lingered waits then: this may end too soon. The
    byte is written before the counter moves, or it would be waited for asleep after all.
    """
    deadline = time.perf_counter() + LINGER
    while counters[place] < goal and time.perf_counter() < deadline:
        pass


def episode_seed(root: np.ndarray, world: int, episode: int) -> int:
    """The seed of a world's episode: a number of 31 bits, which every library takes."""
    mixed = np.random.SeedSequence([int(root[0]), int(root[1]), world, int(episode)])
    return int(mixed.generate_state(1)[0] >> 1)
