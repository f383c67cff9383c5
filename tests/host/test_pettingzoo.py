"""PettingZoo's environments as worlds: small ones made up for it, and a real one."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zoo
from commands import SMALL, assert_one_sentence, mace_here, rows
from PIL import Image

import mace_marl
from mace_marl.errors import UserError
from mace_marl.host import check
from mace_marl.host.pettingzoo import PettingZoo
from mace_marl.host.worlds import make_host

pytestmark = pytest.mark.usefixtures("hasty_compiler")

SPREAD = "pettingzoo:mpe2.simple_spread_v3"
LEARNED = ["--replay", "200", "--posterior-epochs", "1"]


def test_sizes_are_the_largest_of_all_agents() -> None:
    world = make_host("pettingzoo:zoo")
    assert (world.num_agents, world.num_actions, world.observation_size) == (3, 4, 4)
    assert world.horizon == 6
    check(world)


@pytest.mark.parametrize("kind", [zoo.Herd, zoo.InformedHerd, zoo.UnmaskedHerd])
def test_padding_masks_and_leaving(kind: type[zoo.Herd]) -> None:
    """By hand: cow sees 4 and has 3 actions, goat 2 and 4, hen 3 and 2, numbered from 1."""
    env = kind()
    world = PettingZoo(env)
    moments = [world.reset(seed=3)]
    assert env.seed == 3
    moments += [world.step(np.array([1, 2, 0])) for _ in range(6)]
    for time, moment in enumerate(moments):
        goat = time < 2
        seen = [[time] * 4, [time * goat] * 2 + [0, 0], [time] * 3 + [0]]
        np.testing.assert_array_equal(moment.obs, seen)
        last = time % 2 == 0 or not kind.masks
        its = [1, 1, 1, last] if goat else [1, 0, 0, 0]
        assert moment.available is not None and moment.alive is not None
        np.testing.assert_array_equal(
            moment.available, np.array([[1, 1, last, 0], its, [1, last, 0, 0]], bool)
        )
        assert moment.alive.tolist() == [True, goat, True]
        rewards = [time, time if time <= 2 else 0, time] if time else [0, 0, 0]
        np.testing.assert_array_equal(moment.reward, rewards)
        assert (moment.terminated, moment.truncated) == (False, time == 6)
    assert env.taken[0] == {"cow": 1, "goat": 2, "hen": 1}
    assert env.taken[-1] == {"cow": 1, "hen": 1}


def test_all_leave_together() -> None:
    """That is a termination; what the environment says of success counts."""
    for seed in (1, 2):
        world = PettingZoo(zoo.Rewarded())
        world.reset(seed)
        steps = [world.step(np.array([0, 0, 0])) for _ in range(3)]
        assert [step.terminated for step in steps] == [False, False, True]
        assert steps[-1].success == (seed == 1)
        assert steps[-1].alive is not None and steps[-1].alive.tolist() == [True, False, True]


@pytest.mark.parametrize(
    ("task", "sentence"),
    [
        ("pettingzoo:no_such_module", "cannot be imported (No module named 'no_such_module')"),
        ("pettingzoo:json", "module 'json' has no function 'parallel_env'"),
        ("pettingzoo:zoo:Cattle", "module 'zoo' has no function 'Cattle'"),
        ("pettingzoo:json:JSONDecoder", "no PettingZoo parallel environment: no `possible_agents`"),
        ("pettingzoo:zoo:Steered", "actions of cow must be Discrete, and are continuous (Box("),
        ("pettingzoo:zoo:Filmed", "must be vectors, and are images of shape (8, 8, 3)"),
        ("pettingzoo:zoo:Labelled", "must be vectors, and are Discrete of shape ()"),
        ("pettingzoo:zoo:Dazzled", "reset: an observation of agent 0 is not finite"),
        ("host_worlds:Sizeless", "num_actions must be a whole number above 0, not 0"),
        ("host_worlds:nothing", "is neither a mace_marl.envs.World nor a mace_marl.host.HostWorld"),
        ("host_worlds:absent", "module 'host_worlds' has no 'absent'"),
    ],
)
def test_bad_input_is_one_sentence(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, task: str, sentence: str
) -> None:
    small = [*SMALL, "--method", "ippo", "--steps", "80"]
    result = mace_here(capsys, "train", task, "--run-dir", tmp_path / "run", *small)
    assert_one_sentence(result, task, sentence)


def test_observations_that_belie_their_space() -> None:
    with pytest.raises(UserError, match=r"observation of cow must be of shape \(4,\), not \(7,\)"):
        check(PettingZoo(zoo.Lying()))


def test_more_devices_are_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    arguments = ["train", "pettingzoo:zoo", "--run-dir", tmp_path / "run", "--devices", "2"]
    assert_one_sentence(mace_here(capsys, *arguments), "one device")


@pytest.mark.filterwarnings("error::UserWarning")
def test_environments_pass_the_api_test_of_pettingzoo(capsys: pytest.CaptureFixture[str]) -> None:
    """The ones we test with are what PettingZoo takes for environments, and so is the real one."""
    from mpe2 import simple_spread_v3
    from pettingzoo.test import parallel_api_test

    class Unrewarding(zoo.UnmaskedHerd):
        def step(self, actions: Any) -> Any:
            seen, _, *rest = super().step(actions)
            return seen, {}, *rest

    parallel_api_test(zoo.UnmaskedHerd(), num_cycles=20)
    parallel_api_test(simple_spread_v3.parallel_env(), num_cycles=60)
    assert capsys.readouterr().out.count("Passed Parallel API test") == 2
    with pytest.raises(UserWarning, match="not given reward"):
        parallel_api_test(Unrewarding(), num_cycles=20)


def test_real_environment_is_repeated_step_for_step() -> None:
    """simple_spread through the adapter and by itself, with the same seed and actions."""
    from mpe2 import simple_spread_v3

    world, env = make_host(SPREAD), simple_spread_v3.parallel_env()
    assert (world.num_agents, world.num_actions, world.observation_size) == (3, 5, 18)
    assert world.horizon == 25
    moment, (seen, _) = world.reset(11), env.reset(seed=11)
    chance = np.random.default_rng(0)
    for time in range(1, 26):
        np.testing.assert_array_equal(moment.obs, list(seen.values()))
        actions = chance.integers(5, size=3)
        moment = world.step(actions)
        seen, rewards, *_ = env.step(dict(zip(env.possible_agents, actions, strict=True)))
        np.testing.assert_allclose(moment.reward, list(rewards.values()))
        assert (moment.terminated, moment.truncated) == (False, time == 25)
    check(world, episodes=1)


def test_real_environment_is_trained_evaluated_and_watched(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    run_dir = tmp_path / "run"
    small = [*SMALL, *LEARNED, "--steps", "160"]
    result = mace_here(capsys, "train", SPREAD, "--run-dir", run_dir, *small)
    assert result.returncode == 0, result.stderr
    assert result.stdout == ""
    assert len(rows(run_dir)) == 2
    assert rows(run_dir)[1]["episode_length"] == 25
    assert rows(run_dir)[1]["floats_sent_per_agent_and_step"] == 1.0
    result = mace_here(capsys, "evaluate", run_dir, "--episodes", "5", "--json")
    figures = json.loads(result.stdout)
    assert figures["episodes"] == 5 and figures["mean_length"] == 25
    assert figures["mean_return"] < 0
    result = mace_here(capsys, "watch", run_dir)
    assert result.returncode == 0, result.stderr
    with Image.open(result.stdout.strip()) as gif:
        assert getattr(gif, "n_frames", 1) == 26


def test_worlds_by_name_in_python() -> None:
    world = mace_marl.make("pettingzoo:zoo:UnmaskedHerd")
    assert (world.num_agents, world.num_actions, world.horizon) == (3, 4, 6)
    assert mace_marl.make("host_worlds:make_duo").num_actions == 3
    with pytest.raises(UserError, match="pettingzoo:module or smac/map"):
        mace_marl.make("pettingzo")
