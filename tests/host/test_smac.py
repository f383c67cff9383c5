"""The adapter to the real SMAC, against a small stand-in that follows its documented interface.

It was not run against the game.
"""

import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mace_marl.errors import UserError
from mace_marl.host import check
from mace_marl.host.smac import Smac
from mace_marl.host.worlds import make_host
from mace_marl.tasks import get_task


class StandIn:
    """Two marines against enemies that die one by one when all who live attack them."""

    maps = {"2m_vs_1z": (1, 150), "3m": (3, 60), "3s_vs_5z": (5, 250)}  # noqa: RUF012
    games: list["StandIn"] = []  # noqa: RUF012

    def __init__(self, map_name: str = "8m", seed: int | None = None) -> None:
        self.enemies, self.limit = self.maps[map_name]
        self.seed = seed
        self.closed = False
        self.games.append(self)

    def get_env_info(self) -> dict[str, int]:
        return {
            "state_shape": 4,
            "obs_shape": 3,
            "n_actions": 6 + self.enemies,
            "n_agents": 2,
            "episode_limit": self.limit,
        }

    def reset(self) -> tuple[list[np.ndarray], np.ndarray]:
        self.time = self.killed = 0
        self.alive = [True, True]
        self.failed = False
        return self.get_obs(), np.zeros(4)

    def get_obs(self) -> list[np.ndarray]:
        return [
            np.array([agent + 1, self.time, self.killed], float) * self.alive[agent]
            for agent in range(2)
        ]

    def get_avail_actions(self) -> list[list[int]]:
        return [self.get_avail_agent_actions(agent) for agent in range(2)]

    def get_avail_agent_actions(self, agent: int) -> list[int]:
        targets = [int(enemy >= self.killed) for enemy in range(self.enemies)]
        if self.alive[agent]:
            return [0, 1, 1, 1, 1, 1, *targets]
        return [1] + [0] * (5 + self.enemies)

    def step(self, actions: list[int]) -> tuple[float, bool, dict[str, Any]]:
        if self.failed:
            return 0, True, {}
        for agent, action in enumerate(actions):
            assert type(action) is int and self.get_avail_agent_actions(agent)[action]
        self.time += 1
        if all(action >= 6 for action, alive in zip(actions, self.alive, strict=True) if alive):
            self.killed += 1
        if self.time == 3:
            self.alive[1] = False
        won = self.killed == self.enemies
        info = {
            "battle_won": won,
            "dead_allies": 2 - sum(self.alive),
            "dead_enemies": self.killed,
        }
        limit = self.time >= self.limit and not won
        if limit:
            info["episode_limit"] = True
        return 0.25 * self.time, won or limit, info

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def smac(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """SMAC as Python and the system see it where it is installed."""
    module = types.ModuleType("smac.env")
    module.StarCraft2Env = StandIn  # pyright: ignore[reportAttributeAccessIssue]
    monkeypatch.setitem(sys.modules, "smac", types.ModuleType("smac"))
    monkeypatch.setitem(sys.modules, "smac.env", module)
    monkeypatch.setenv("SC2PATH", str(tmp_path))
    StandIn.games.clear()


@pytest.mark.usefixtures("smac")
def test_sizes_and_the_contract() -> None:
    world = make_host("smac/3m")
    assert (world.num_agents, world.num_actions, world.observation_size) == (2, 9, 3)
    assert world.horizon == 60
    assert not world.repeatable
    check(world)


@pytest.mark.usefixtures("smac")
def test_settings_are_those_of_the_simulation() -> None:
    for name in StandIn.maps:
        real, simulated = get_task(f"smac/{name}"), get_task(f"skirmish/{name}")
        assert real.overrides == simulated.overrides


@pytest.mark.usefixtures("smac")
def test_observation_availability_and_life() -> None:
    world = make_host("smac/3m")
    moment = world.reset(5)
    np.testing.assert_array_equal(moment.obs, [[1, 0, 0], [2, 0, 0]])
    assert moment.available is not None
    assert moment.available.tolist() == [[False, *[True] * 8]] * 2
    for _ in range(3):
        moment = world.step(np.array([1, 1]))
    np.testing.assert_array_equal(moment.obs, [[1, 3, 0], [0, 0, 0]])
    assert moment.alive is not None and moment.available is not None
    assert moment.alive.tolist() == [True, False]
    assert moment.available[1].tolist() == [True, *[False] * 8]


def rewards(world: Smac | Any, attacks: int) -> list[float]:
    """Of a game in which all who live attack the first enemy left, so many times."""
    world.reset(1)
    out = []
    for time in range(attacks):
        actions = [6 + time, 6 + time if time < 3 else 0]
        out.append(float(world.step(np.array(actions)).reward))
    return out


@pytest.mark.usefixtures("smac")
def test_rewards_are_the_papers() -> None:
    assert rewards(make_host("smac/2m_vs_1z"), 1) == [200]
    assert rewards(make_host("smac/3m"), 3) == [10, 10, 210]
    assert rewards(make_host("smac/3s_vs_5z"), 5) == [0.25, 0.5, 0.75, 1.0, 1.25], "SMAC's own"
    world = make_host("smac/3m")
    assert rewards(world, 2) == rewards(world, 2), "deaths are counted anew in every episode"


@pytest.mark.usefixtures("smac")
def test_win_limit_and_failure() -> None:
    world = make_host("smac/2m_vs_1z")
    world.reset(1)
    step = world.step(np.array([6, 6]))
    assert (step.terminated, step.truncated, step.success) == (True, False, True)
    world.reset(2)
    for time in range(1, 151):
        step = world.step(np.array([1, 1 if time < 4 else 0]))
    assert (step.terminated, step.truncated, step.success) == (False, True, False)
    world.reset(3)
    StandIn.games[-1].failed = True
    step = world.step(np.array([1, 1]))
    assert (step.terminated, step.truncated, step.success) == (False, True, False)


@pytest.mark.usefixtures("smac")
def test_a_game_is_started_once_with_the_first_seed() -> None:
    world = make_host("smac/3m")
    assert len(StandIn.games) == 1, "one to ask for sizes"
    world.reset(11)
    world.reset(12)
    assert [game.seed for game in StandIn.games] == [None, 11]
    world.close()
    assert StandIn.games[-1].closed


@pytest.mark.usefixtures("smac")
def test_unknown_map_and_missing_game(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match="SMAC has no map '9z'"):
        make_host("smac/9z")
    monkeypatch.setenv("SC2PATH", "/nowhere")
    with pytest.raises(UserError, match=r"StarCraft II, which is not at /nowhere.*set SC2PATH"):
        make_host("smac/3m")


def test_without_smac_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match=r"No module named 'smac.*pip install git.*SC2PATH"):
        make_host("smac/3m")
    # The project of that name on PyPI has no environments, or other ones.
    monkeypatch.setitem(sys.modules, "smac", types.ModuleType("smac"))
    with pytest.raises(UserError, match="needs the real SMAC"):
        make_host("smac/3m")
    monkeypatch.setitem(sys.modules, "smac.env", types.ModuleType("smac.env"))
    with pytest.raises(UserError, match="another project of that name"):
        make_host("smac/3m")
