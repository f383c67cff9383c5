"""One process's share of the worlds on a board, stepped one after the other."""

import contextlib
import traceback
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from mace_marl.errors import UserError
from mace_marl.host.api import HostWorld, Moment, WorldError
from mace_marl.host.board import Board, episode_seed


class Slot(NamedTuple):
    """The parts of one row, as views that are made once: making them is slower than writing."""

    obs: np.ndarray  # (num_agents, observation_size)
    reward: np.ndarray  # (num_agents,)
    available: np.ndarray  # (num_agents, num_actions)
    alive: np.ndarray  # (num_agents,)
    first: np.ndarray  # (), as all flags
    terminated: np.ndarray
    truncated: np.ndarray
    success: np.ndarray
    lost: np.ndarray


class Share:
    """The worlds from number `start` on: an end begins the next episode at once."""

    def __init__(self, name: str, worlds: Sequence[HostWorld], board: Board, start: int) -> None:
        self.name = name
        self.worlds = worlds
        self.numbers = range(start, start + len(worlds))
        mine = slice(start, start + len(worlds))
        self.board, row = board, board.row
        self.actions, self.history = board.actions[mine], board.history[mine]
        self.episode, self.time = board.episode[mine], board.time[mine]
        self.moves = self.history.reshape(-1, board.sizes.num_agents)  # all histories as one
        self.beginnings = np.arange(len(worlds)) * board.sizes.horizon  # of each among them
        self.after, self.ahead = board.after[mine], board.ahead[mine]
        self._after, self._ahead = (
            [Slot(**{part: row.part(one, part) for part in row.parts}) for one in rows]
            for rows in (self.after, self.ahead)
        )
        self.blank = np.zeros(row.width, np.float32)
        for part in ("available", "alive"):
            row.part(self.blank, part)[...] = 1.0
        self.numeric = slice(0, row.parts["reward"][0].stop)  # obs and reward
        self.shapes = {part: shape for part, (_, shape) in row.parts.items()}
        self.masked = False  # whether any world ever said what is available
        self.playing = np.arange(len(worlds))  # those whose episode is not over

    def step(self) -> None:
        """One step of every world whose episode is not over."""
        actions = self.actions.copy()  # a world may keep what it is given
        self.after[:] = self.blank
        playing, horizon, place = self.playing, self.board.sizes.horizon, 0
        worlds, slots, write = self.worlds, self._after, self._write
        ends: list[int] = []
        try:
            for place in playing.tolist():
                # Written at once: the next world may use the same memory for what it returns.
                if write(slots[place], worlds[place].step(actions[place])):
                    ends.append(place)
        except Exception as error:
            raise self._error(place, "step", failure(error)) from None
        self._check(self.after, "step")
        if len(playing) == len(worlds):
            playing = slice(None)  # quicker than a list of all
        self.moves[self.beginnings[playing] + self.time[playing]] = actions[playing]
        self.time[playing] += 1
        if self.time.max() >= horizon:
            for place in self.playing.tolist():
                if self.time[place] >= horizon and place not in ends:
                    self._after[place].truncated[...] = 1.0
                    ends.append(place)
        self.ahead[:] = self.after
        if not ends:
            return
        if self.board.once[0]:
            self.playing = np.setdiff1d(self.playing, ends)
        else:
            for place in ends:
                self.begin(place, self.episode[place] + 1)

    def take_up(self) -> None:
        """Bring every world to where the board says it stands, by playing its episode again.

        One that does not come to the same observations begins a new episode, and is marked as lost.
        """
        self.playing = np.arange(len(self.worlds))
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
                    if self._write(self._ahead[place], world.step(actions)):
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
            ended = self._write(self._ahead[place], self.worlds[place].reset(seed))
            if ended or self._ahead[place].reward.any():
                raise WorldError("reset must give no reward and must not end the episode")
        except Exception as error:
            raise self._error(place, "reset", failure(error)) from None
        self._ahead[place].first[...] = 1.0
        self._ahead[place].lost[...] = float(lost)
        self._check(self.ahead[place : place + 1], "reset", place)

    def close(self) -> None:
        for world in self.worlds:
            with contextlib.suppress(Exception):
                world.close()

    def _write(self, slot: Slot, moment: Moment) -> bool:
        """Put a moment into its row; whether the episode ends with it."""
        if type(moment) is not Moment:
            raise WorldError(f"must return a mace_marl.host.Moment, not {type(moment).__name__}")
        obs, reward, terminated, truncated, available, alive, success = moment
        shapes = self.shapes
        if type(obs) is not np.ndarray or obs.shape != shapes["obs"]:
            _check_shape("obs", obs, shapes["obs"])
        slot.obs[...] = obs
        if type(reward) is not np.ndarray or reward.shape != shapes["reward"]:
            _check_shape("reward", reward, shapes["reward"], ())
        slot.reward[...] = reward
        if available is not None:
            self.masked = True
            _check_shape("available", available, shapes["available"])
            slot.available[...] = available
        if alive is not None:
            _check_shape("alive", alive, shapes["alive"])
            slot.alive[...] = alive
        if not (terminated or truncated):
            return False
        if terminated and truncated:
            raise WorldError("an episode must not end both ways; a success terminates")
        if success is None:
            success = bool(terminated) and slot.reward.sum() > 0
        slot.terminated[...], slot.truncated[...] = bool(terminated), bool(truncated)
        slot.success[...] = bool(success)
        return True

    def _check(self, rows: np.ndarray, where: str, first: int = 0) -> None:
        """Numbers are finite and everyone can do something: of all rows at once, to be quick."""
        if not np.isfinite(rows[:, self.numeric]).all():
            place = int(np.flatnonzero(~np.isfinite(rows[:, self.numeric]).all(axis=1))[0])
            good = np.isfinite(self.board.row.part(rows[place], "obs")).all(axis=1)
            agent = int(np.argmin(good))
            what = "a reward" if good.all() else f"an observation of agent {agent}"
            raise self._error(first + place, where, f"{what} is not finite")
        if not self.masked:
            return
        available = self.board.row.part(rows, "available")
        if not available.any(axis=-1).all():
            place, agent = np.argwhere(~available.any(axis=-1))[0]
            problem = f"agent {agent} has no available action"
            raise self._error(first + int(place), where, problem)

    def _error(self, place: int, where: str, problem: str) -> WorldError:
        when = f"{where} {self.time[place] + 1}" if where == "step" else where
        return WorldError(f"{self.name}, world {self.numbers[place]}, {when}: {problem}.")


def _check_shape(what: str, value: Any, *shapes: tuple[int, ...]) -> None:
    if np.shape(value) not in shapes:
        raise WorldError(f"{what} must be of shape {shapes[0]}, not {np.shape(value)}")


def failure(error: BaseException) -> str:
    """An exception as the last line of its traceback, and where in the world's code it arose."""
    if isinstance(error, UserError):
        return str(error).rstrip(".")
    last = "".join(traceback.format_exception_only(error)).strip().splitlines()[-1]
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({frames[-1].filename}, line {frames[-1].lineno})" if frames else ""
    return f"{last.rstrip('.')}{place}"
