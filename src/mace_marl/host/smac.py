"""The real SMAC (`smac/2m_vs_1z`, …), for those who have StarCraft II.

Rewards are the paper's, computed from what SMAC tells of a step: 200 for a win; on 3m, 8m and all
maps the paper does not name also 10 for each enemy that dies; on 3s_vs_5z SMAC's own dense reward.
"""

import importlib
import os
from pathlib import Path
from typing import Any

import numpy as np

from mace_marl.errors import UserError
from mace_marl.host.api import HostWorld, Moment

WIN, KILL = 200.0, 10.0
KILLS_COUNT = {"2m_vs_1z": False}  # elsewhere they do
DENSE = ("3s_vs_5z",)


def make_smac(map_name: str) -> "Smac":
    return Smac(map_name, find_smac(map_name))


def find_smac(map_name: str) -> Any:
    """SMAC's class of environments, or one sentence about what to install and set."""
    how = (
        "pip install git+https://github.com/oxwhirl/smac.git, install StarCraft II with SMAC's"
        " maps, and set SC2PATH to its directory (docs/your-world.md)"
    )
    try:
        found = getattr(importlib.import_module("smac.env"), "StarCraft2Env", None)
    except ImportError as error:
        raise UserError(f"smac/{map_name} needs the real SMAC ({error}): {how}.") from None
    if found is None:
        raise UserError(
            f"smac/{map_name} needs the real SMAC, and the installed package 'smac' is another"
            f" project of that name: {how}."
        )
    game = Path(os.environ.get("SC2PATH", "~/StarCraftII")).expanduser()
    if not game.is_dir():
        raise UserError(f"smac/{map_name} needs StarCraft II, which is not at {game}: {how}.")
    return found


class Smac(HostWorld):
    """A battle in StarCraft II. A game has a seed, its episodes have not: none can be repeated."""

    repeatable = False

    def __init__(self, map_name: str, environment: Any) -> None:
        """`environment`: SMAC's StarCraft2Env, or what follows its documented interface."""
        self.map_name, self.environment = map_name, environment
        try:
            info = environment(map_name=map_name).get_env_info()
        except KeyError:
            raise UserError(f"SMAC has no map '{map_name}'.") from None
        self.num_agents, self.num_actions = int(info["n_agents"]), int(info["n_actions"])
        self.observation_size, self.horizon = int(info["obs_shape"]), int(info["episode_limit"])
        self.game: Any = None
        self.dead_enemies = 0

    def reset(self, seed: int) -> Moment:
        if self.game is None:  # the game itself starts with its first episode
            self.game = self.environment(map_name=self.map_name, seed=seed)
        self.game.reset()
        self.dead_enemies = 0
        return self._moment()

    def step(self, actions: np.ndarray) -> Moment:
        dense, ended, info = self.game.step([int(action) for action in actions])
        won = bool(info.get("battle_won", False))
        # At the limit SMAC says so; where the game itself failed it says nothing.
        truncated = bool(ended) and (bool(info.get("episode_limit", False)) or not info)
        reward = float(dense) if self.map_name in DENSE else self._sparse(won, info)
        return self._moment()._replace(
            reward=reward,
            terminated=bool(ended) and not truncated,
            truncated=truncated,
            success=won if ended else None,
        )

    def close(self) -> None:
        if self.game is not None:
            self.game.close()

    def _sparse(self, won: bool, info: dict[str, Any]) -> float:
        dead = int(info.get("dead_enemies", self.dead_enemies))
        killed, self.dead_enemies = dead - self.dead_enemies, dead
        return WIN * won + (KILL * killed if KILLS_COUNT.get(self.map_name, True) else 0.0)

    def _moment(self) -> Moment:
        available = np.array(self.game.get_avail_actions(), bool)  # (num_agents, num_actions)
        # Doing nothing, action 0, is for the dead alone.
        return Moment(
            np.array(self.game.get_obs(), np.float32),
            available=available,
            alive=~available[:, 0],
        )
