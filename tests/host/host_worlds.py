"""Worlds outside JAX to test with: a good one, ones that die, ones that break every rule."""

import os
import signal
from pathlib import Path

import numpy as np

from mace_marl.host import HostWorld, Moment


class Duo(HostWorld):
    """Two agents count to three together: each must choose the same number, the next one."""

    num_agents, num_actions, observation_size, horizon = 2, 3, 3, 12

    def reset(self, seed: int) -> Moment:
        self.chance = np.random.default_rng(seed)
        self.time = self.hits = 0
        return self.tell()

    def step(self, actions: np.ndarray) -> Moment:
        self.time += 1
        self.hits += bool(actions[0] == actions[1] == self.hits)
        won = self.hits >= 3
        return self.tell()._replace(reward=np.array([1.0, 3.0]) * won, terminated=won)

    def tell(self) -> Moment:
        obs = np.array([[agent, self.time / 12, self.hits / 3] for agent in range(2)])
        obs += 0.1 * self.chance.random((2, 3))
        available = np.ones((2, 3), bool)
        available[1, 2] = self.time % 2 == 0
        return Moment(obs, available=available, alive=np.array([True, self.time != 5]))

    def text(self) -> str:
        return f"{self.hits} of 3"


class Thrifty(HostWorld):
    """All copies write what they return into the same memory: how often each was stepped."""

    num_agents, num_actions, observation_size, horizon = 2, 3, 1, 12
    paper = np.zeros((2, 1), np.float32)

    def reset(self, seed: int) -> Moment:
        self.time = 0.0
        return self.tell()

    def step(self, actions: np.ndarray) -> Moment:
        self.time += 1 + actions[0]
        return self.tell()

    def tell(self) -> Moment:
        self.paper[:] = self.time
        return Moment(self.paper, reward=self.paper[:, 0] * 0)


class Unrepeatable(Duo):
    """Says so itself."""

    repeatable = False


class Forgetful(Duo):
    """Calls itself repeatable, and is not."""

    def reset(self, seed: int) -> Moment:
        return super().reset(int.from_bytes(os.urandom(4)))


class Mortal(Duo):
    """Kills its process once, at the step and in the file that the environment names."""

    def step(self, actions: np.ndarray) -> Moment:
        grave = Path(os.environ["MORTAL_FILE"])
        if self.time == 7 and not grave.exists():
            grave.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().step(actions)


class Stillborn(Duo):
    """Cannot be reset alive."""

    def reset(self, seed: int) -> Moment:
        os._exit(3)


class Broken(Duo):
    """A Duo that breaks one rule, in its second step or in its reset."""

    how = ""

    def reset(self, seed: int) -> Moment:
        moment = super().reset(seed)
        return moment._replace(reward=1.0) if self.how == "rewarding reset" else moment

    def step(self, actions: np.ndarray) -> Moment:
        moment = super().step(actions)
        if self.time < 2:
            return moment
        obs = moment.obs.copy()
        obs[1, 2] = np.nan
        broken = {
            "nan": moment._replace(obs=obs),
            "infinite reward": moment._replace(reward=float("inf")),
            "shape": moment._replace(obs=obs[:, :2]),
            "reward shape": moment._replace(reward=np.zeros(3)),
            "mask shape": moment._replace(available=np.ones((2, 4), bool)),
            "nothing to do": moment._replace(available=np.zeros((2, 3), bool)),
            "both ends": moment._replace(terminated=True, truncated=True),
            "no moment": (obs, 0.0),
        }
        if self.how == "exception":
            raise KeyError("a thing that is missing")
        return broken.get(self.how, moment)  # pyright: ignore[reportReturnType]


class NotANumber(Broken):
    """NaN in an observation."""

    how = "nan"


class Raising(Duo):
    """Cannot be reset."""

    def reset(self, seed: int) -> Moment:
        raise ValueError("no")


class Sizeless(Duo):
    """Does not say how many actions there are."""

    num_actions = 0


def make_duo() -> Duo:
    return Duo()


def nothing() -> None:
    """No world at all."""
