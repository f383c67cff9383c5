"""Every registered task keeps the contract of a world."""

from dataclasses import replace

import pytest

import mace_marl
from mace_marl.agent.learner import Agent
from mace_marl.envs import check
from mace_marl.methods import METHODS
from mace_marl.settings import PRESETS
from mace_marl.tasks import TASKS, get_task, task_settings

pytestmark = pytest.mark.usefixtures("hasty_compiler")


@pytest.mark.parametrize("task", TASKS)
def test_contract(task: str) -> None:
    check(mace_marl.make(task), episodes=2)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("preset", PRESETS)
def test_settings_fit_the_task(task: str, preset: str) -> None:
    """A rollout of every task is at least one whole episode long, and can be cut into chunks."""
    settings = task_settings(get_task(task), preset)
    assert settings.rollout_length >= mace_marl.make(task).horizon
    assert settings.rollout_length % settings.chunk_length == 0


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("preset", PRESETS)
def test_every_method_can_be_had_on_every_task(task: str, preset: str) -> None:
    settings = task_settings(get_task(task), preset)
    world = mace_marl.make(task)
    for method in METHODS.values():
        explorer = Agent.of(world, method, settings).explorer  # or it would say why not
        assert (explorer.novelty is not None) == method.explores
        assert (explorer.posterior is not None) == method.infers


def test_preset_tuned_is_the_papers_where_nothing_is_tuned() -> None:
    battle, maze = get_task("skirmish/3m"), get_task("gridworld/pass")
    assert task_settings(battle, "tuned") == task_settings(battle, "paper")
    assert battle.budget_with("tuned") == battle.budget_with("paper")
    assert task_settings(maze, "tuned") == PRESETS["tuned"]
    assert (maze.budget_with("tuned"), maze.budget_with("paper")) == (3_500_000, 80_000_000)


def test_a_tasks_own_settings_with_preset_tuned_are_others() -> None:
    """Of the paper's row for Overcooked (RND, a network, 32 environments), only RND is left."""
    kitchen = get_task("overcooked/base")
    own = replace(
        PRESETS["tuned"],
        episodic=True,
        novelty="rnd",
        novelty_scale=1.0,
        rnd_error="square",
    )
    assert task_settings(kitchen, "tuned") == own
    large = task_settings(get_task("overcooked/large"), "tuned")
    assert large == replace(
        own,
        num_envs=16,
        minibatches=8,
        hindsight_weight=0.003,
        novelty="both",
        novelty_scale=0.03,
        rnd_magnified=30.0,
    )
    assert (kitchen.budget_with("tuned"), kitchen.budget_with("paper")) == (3_000_000, 10_000_000)


def test_small_maps_have_less_novelty_with_preset_tuned_and_longer_of_it() -> None:
    small = get_task("gridworld/minipass")
    own = replace(PRESETS["tuned"], rollout_length=150, novelty_scale=1.0, count_power=0.5)
    assert task_settings(small, "tuned") == own
    assert task_settings(small, "paper").num_envs == 32


def test_the_papers_overcooked() -> None:
    """Its tables: sampling, λ, the sizes of the replays; RND and a network for the posterior."""
    for name, replay in (("base", 100_000), ("narrow", 100_000), ("large", 200_000)):
        settings = task_settings(get_task(f"overcooked/{name}"), "paper")
        assert (settings.num_envs, settings.rollout_length) == (32, 300)
        assert settings.hindsight_weight == 0.1
        assert (settings.novelty, settings.posterior) == ("rnd", "network")
        assert (settings.novelty_scale, settings.replay, settings.posterior_epochs) == (
            1.0,
            replay,
            40,
        )


def test_the_papers_smac() -> None:
    """Its tables: sampling, λ, the sizes of the replays; β and λ of 3s_vs_5z from its text."""
    wanted = {  # λ, β, replay
        "2m_vs_1z": (1.0, 1.0, 50_000),
        "3m": (0.005, 1.0, 10_000),
        "8m": (0.1, 1.0, 10_000),
        "3s_vs_5z": (0.01, 0.1, 10_000),
    }
    for name, numbers in wanted.items():
        settings = task_settings(get_task(f"skirmish/{name}"), "paper")
        assert (settings.num_envs, settings.rollout_length) == (8, 600)
        weights = settings.hindsight_weight, settings.intrinsic_weight
        assert (*weights, settings.replay) == numbers
        assert (settings.novelty, settings.posterior) == ("rnd", "network")
        assert (settings.novelty_scale, settings.posterior_epochs) == (1.0, 40)


def test_sizes_of_the_papers_tasks() -> None:
    """Agents, actions, numbers seen, horizon, as in the paper's appendix."""
    sizes = {
        name: (world.num_agents, world.num_actions, world.observation_size, world.horizon)
        for name in ("pass", "secretroom", "multiroom")
        for world in [mace_marl.make(f"gridworld/{name}")]
    }
    assert sizes == {
        "pass": (2, 4, 3, 300),
        "secretroom": (2, 4, 5, 300),
        "multiroom": (3, 4, 7, 300),
    }
