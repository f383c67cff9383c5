"""One process's share of the worlds on a board, stepped one after the other."""

import contextlib
import traceback
from collections.abc import Sequence
from typing import Any

import numpy as np

from mace_marl.errors import UserError
from mace_marl.host.api import HostWorld, Moment, WorldError
from mace_marl.host.board import Board, episode_seed


class Share:
    """The worlds from number `start` on: an end begins the next episode at once."""

    def __init__(self, name: str, worlds: Sequence[HostWorld], board: Board, start: int) -> None:
        self.name = name
        self.worlds = worlds
        self.numbers = range(start, start + len(worlds))
        mine = slice(start, start + len(worlds))
        self.board, sizes = board, board.sizes
        self.actions, self.history = board.actions[mine], board.history[mine]
        self.episode, self.time = board.episode[mine], board.time[mine]
        self.after, self.ahead = board.after[mine], board.ahead[mine]
        self.obs_shape = (sizes.num_agents, sizes.observation_size)
        # Views of the rows' parts, made once: making them is slower than writing to them.
        self._after = {name: board.row.part(self.after, name) for name in board.row.parts}
        self._ahead = {name: board.row.part(self.ahead, name) for name in board.row.parts}
        self.blank = np.zeros(board.row.width, np.float32)
        for part in ("available", "alive"):
            board.row.part(self.blank, part)[...] = 1.0
        self.numeric = slice(0, board.row.parts["reward"][0].stop)  # obs and reward
        self.over = np.zeros(len(worlds), bool)
        self.rows = np.arange(len(worlds))

    def step(self) -> None:
        """One step of every world whose episode is not over."""
        actions = self.actions.copy()  # a world may keep what it is given
        now = self._after
        self.after[:] = self.blank
        ends: list[int] = []
        if self.over.any():
            self.after[self.over] = self.ahead[self.over]
            now["reward"][self.over] = 0.0
        playing = ~self.over
        for place in np.flatnonzero(playing).tolist():
            try:
                if self._write(now, place, self.worlds[place].step(actions[place])):
                    ends.append(place)
            except Exception as error:
                raise self._error(place, "step", failure(error)) from None
        self._check(self.after, "step")
        self.history[self.rows[playing], self.time[playing]] = actions[playing]
        self.time[playing] += 1
        for place in np.flatnonzero(playing & (self.time >= self.board.sizes.horizon)):
            if place not in ends:
                now["truncated"][place] = 1.0
                ends.append(int(place))
        self.ahead[:] = self.after
        for place in ends:
            if self.board.once[0]:
                self.over[place] = True
            else:
                self.begin(place, self.episode[place] + 1)

    def take_up(self) -> None:
        """Bring every world to where the board says it stands, by playing its episode again.

        One that does not come to the same observations begins a new episode, and is marked as lost.
        """
        self.over[:] = False
        for place, world in enumerate(self.worlds):
            wanted, time = self.ahead[place].copy(), int(self.time[place])
            history = self.history[place, :time].copy()
            if time and not world.repeatable:
                self.begin(place, self.episode[place] + 1, lost=True)
                continue
            self.begin(place, self.episode[place])
            for actions in history:
                self.ahead[place] = self.blank
                try:
                    if self._write(self._ahead, place, world.step(actions)):
                        break
                except Exception as error:
                    raise self._error(place, "step", failure(error)) from None
                self.history[place, self.time[place]] = actions
                self.time[place] += 1
            if time and not np.array_equal(self.ahead[place], wanted):
                self.begin(place, self.episode[place] + 1, lost=True)

    def begin(self, place: int, episode: int, lost: bool = False) -> None:
        """Start a world's episode of that number."""
        self.episode[place], self.time[place] = episode, 0
        seed = episode_seed(self.board.root, self.numbers[place], episode)
        self.ahead[place] = self.blank
        try:
            ended = self._write(self._ahead, place, self.worlds[place].reset(seed))
            if ended or self._ahead["reward"][place].any():
                raise WorldError("reset must give no reward and must not end the episode")
        except Exception as error:
            raise self._error(place, "reset", failure(error)) from None
        self._ahead["first"][place] = 1.0
        self._ahead["lost"][place] = float(lost)
        self._check(self.ahead[place : place + 1], "reset", place)

    def close(self) -> None:
        for world in self.worlds:
            with contextlib.suppress(Exception):
                world.close()

    def _write(self, parts: dict[str, np.ndarray], place: int, moment: Moment) -> bool:
        """Put a moment into its row; whether the episode ends with it."""
        if type(moment) is not Moment:
            raise WorldError(f"must return a mace_marl.host.Moment, not {type(moment).__name__}")
        obs, reward, terminated, truncated, available, alive, success = moment
        if np.shape(obs) != self.obs_shape:
            raise WorldError(f"obs must be of shape {self.obs_shape}, not {np.shape(obs)}")
        parts["obs"][place] = obs
        self._fit("reward", reward, parts["reward"][place], scalar=True)
        if available is not None:
            self._fit("available", available, parts["available"][place])
        if alive is not None:
            self._fit("alive", alive, parts["alive"][place])
        if not (terminated or truncated):
            return False
        if terminated and truncated:
            raise WorldError("an episode must not end both ways; a success terminates")
        if success is None:
            success = bool(terminated) and parts["reward"][place].sum() > 0
        parts["terminated"][place] = float(terminated)
        parts["truncated"][place] = float(truncated)
        parts["success"][place] = float(success)
        return True

    def _fit(self, what: str, value: Any, target: np.ndarray, scalar: bool = False) -> None:
        shape = np.shape(value)
        if shape != target.shape and not (scalar and shape == ()):
            raise WorldError(f"{what} must be of shape {target.shape}, not {shape}")
        target[...] = value

    def _check(self, rows: np.ndarray, where: str, first: int = 0) -> None:
        """Numbers are finite and everyone can do something: of all rows at once, to be quick."""
        if not np.isfinite(rows[:, self.numeric]).all():
            place = int(np.flatnonzero(~np.isfinite(rows[:, self.numeric]).all(axis=1))[0])
            good = np.isfinite(self.board.row.part(rows[place], "obs")).all(axis=1)
            agent = int(np.argmin(good))
            what = "a reward" if good.all() else f"an observation of agent {agent}"
            raise self._error(first + place, where, f"{what} is not finite")
        available = self.board.row.part(rows, "available")
        if not available.any(axis=-1).all():
            place, agent = np.argwhere(~available.any(axis=-1))[0]
            problem = f"agent {agent} has no available action"
            raise self._error(first + int(place), where, problem)

    def _error(self, place: int, where: str, problem: str) -> WorldError:
        when = f"{where} {self.time[place] + 1}" if where == "step" else where
        return WorldError(f"{self.name}, world {self.numbers[place]}, {when}: {problem}.")


def failure(error: BaseException) -> str:
    """An exception as the last line of its traceback, and where in the world's code it arose."""
    if isinstance(error, UserError):
        return str(error).rstrip(".")
    last = "".join(traceback.format_exception_only(error)).strip().splitlines()[-1]
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({frames[-1].filename}, line {frames[-1].lineno})" if frames else ""
    return f"{last.rstrip('.')}{place}"
