"""Bad input gets one clear sentence, a non-zero status, and nothing is lost or overwritten."""

import json
import shutil
import textwrap
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import pytest
from commands import SMALL, assert_one_sentence, mace, mace_here
from jax import Array

import mace_marl
from mace_marl import UserError
from mace_marl.envs import Step, World
from mace_marl.runs.metrics import Diverged

pytestmark = pytest.mark.usefixtures("hasty_compiler")

SMALL_SETTINGS: dict[str, Any] = {
    "num_envs": 4,
    "rollout_length": 20,
    "hidden_size": 8,
    "epochs": 1,
    "window": 2,
}


class Souring(World):
    """One agent counts its steps; once it has made 30, its rewards are no longer numbers."""

    num_agents = 1
    num_actions = 2
    observation_size = 1
    horizon = 60
    rot = float("nan")

    def reset(self, key: Array) -> tuple[Array, Step]:
        time = jnp.int32(0)
        return time, self._step(time, jnp.float32(0))

    def step(self, key: Array, state: Array, actions: Array) -> tuple[Array, Step]:
        time = state + 1
        return time, self._step(time, jnp.where(time > 30, self.rot, 0.0))

    def _step(self, time: Array, reward: Array) -> Step:
        return Step(
            obs=jnp.full((1, 1), time / 60, jnp.float32),
            reward=jnp.full(1, reward, jnp.float32),
            terminated=jnp.bool_(False),
            truncated=time >= self.horizon,
            available=jnp.ones((1, 2), bool),
            alive=jnp.ones(1, bool),
        )


class Exploding(Souring):
    rot = float("inf")


@pytest.mark.parametrize("world", ["Souring", "Exploding"])
def test_nan_and_infinity_stop_the_run_and_keep_the_last_good_checkpoint(
    tmp_path: Path, world: str
) -> None:
    run_dir = tmp_path / "run"
    with pytest.raises(Diverged) as caught:
        mace_marl.train(
            f"test_bad_input:{world}",
            method="ippo",
            steps=800,
            run_dir=run_dir,
            checkpoint_every=0,
            progress=False,
            **SMALL_SETTINGS,
        )
    message = str(caught.value)
    assert "update 2, agent 0: " in message
    assert any(
        f"{term} is" in message
        for term in ("value_loss", "policy_loss", "critic_grad_norm", "actor_grad_norm")
    )
    assert [path.name for path in (run_dir / "checkpoints").iterdir()] == ["000001"]
    assert (run_dir / "metrics.jsonl").read_text().count("\n") == 1
    assert not (run_dir / "places.npz").exists(), "this world does not say where agents are"
    run = mace_marl.load(run_dir)
    assert 0 <= run.evaluate(episodes=2)["mean_length"] <= 60


def test_a_directory_in_use_is_refused_and_left_untouched(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    result = mace("train", "gridworld/minipass", "--run-dir", tmp_path, "--steps", "80", *SMALL)
    assert_one_sentence(result, str(tmp_path), "not empty")
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]
    assert (tmp_path / "thesis.txt").read_text() == "years of work"


@pytest.mark.parametrize(
    ("arguments", "mentions"),
    [
        (["train", "gridworld/pas"], ["gridworld/pas", "did you mean 'gridworld/pass'"]),
        (["train", "no-such-task"], ["no-such-task", "gridworld/pass"]),
        (["train", "missing.toml"], ["missing.toml", "cannot be read"]),
        (["train", "no_such_module:World"], ["no_such_module"]),
        (["train", "json:loads"], ["json:loads"]),
        (["train", "json:nothing"], ["json", "nothing"]),
        (["train", ":"], ["':'"]),
        (["train", "gridworld/pass", "--method", "mac"], ["mac", "did you mean 'mace'"]),
        (["train", "gridworld/pass", "--preset", "papyrus"], ["papyrus", "paper, authors"]),
        (["train", "gridworld/pass", "--steps", "0"], ["steps", "0"]),
        (["train", "gridworld/pass", "--seed", "-1"], ["seed", "-1"]),
        (["train", "gridworld/pass", "--gamma", "nan"], ["gamma", "nan"]),
        (["train", "gridworld/pass", "--gamma", "1.5"], ["gamma", "1.5"]),
        (["train", "gridworld/pass", "--num-envs", "0"], ["num_envs", "0"]),
        (["train", "gridworld/pass", "--chunk-length", "7"], ["chunk_length", "7"]),
        (["train", "gridworld/pass", "--minibatches", "7"], ["7", "mini-batches"]),
        (["train", "gridworld/pass", "--checkpoint-every", "nan"], ["checkpoint-every", "nan"]),
        (["train", "gridworld/pass", "--devices", "0"], ["devices", "0"]),
        (["train", "gridworld/pass", "--devices", "7"], ["devices", "7"]),
        (["train", "gridworld/pass", "--micro-batch", "0"], ["micro-batch", "0", "1 would"]),
        (["train", "gridworld/pass", "--micro-batch", "7"], ["micro-batch", "7", "6 would"]),
        (["train", "gridworld/pass", "--bins", "100000000"], ["bins", "too large"]),
        (["train", "gridworld/pass", "--replay", "9"], ["replay", "no effect", "network"]),
        (["train", "skirmish/mini", "--bins", "9"], ["bins", "no effect", "table"]),
        (["resume", "nowhere"], ["nowhere"]),
        (["evaluate", "nowhere", "--json"], ["nowhere"]),
        (["watch", "nowhere"], ["nowhere"]),
        (["resume", "."], ["config.json"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_one_sentence(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    mentions: list[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert_one_sentence(mace_here(capsys, *arguments), *mentions)
    assert list(tmp_path.iterdir()) == [], "nothing was written"


@pytest.mark.parametrize(
    "arguments", [["train"], ["train", "gridworld/pass", "--gama", "0.9"], ["fly"], []]
)
def test_unknown_words_on_the_command_line(
    capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    result = mace_here(capsys, *arguments)
    assert result.returncode == 2
    assert "Traceback" not in result.stderr


def test_evaluate_before_the_first_checkpoint(tmp_path: Path) -> None:
    mace_marl.train(
        "gridworld/minipass", steps=80, run_dir=tmp_path / "run", progress=False, **SMALL_SETTINGS
    )
    shutil.rmtree(tmp_path / "run" / "checkpoints")
    with pytest.raises(UserError, match="no usable checkpoint"):
        mace_marl.load(tmp_path / "run").evaluate()


def test_broken_map_names_file_row_and_problem(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        textwrap.dedent(
            '''
            horizon = 20
            starts = [[0, 0]]
            grid = """
            ..#**
            ..?**
            """
            '''
        )
    )
    result = mace_here(capsys, "train", path, "--run-dir", tmp_path / "run")
    assert_one_sentence(result, str(path), "grid row 1", "unknown character '?'")
    assert not (tmp_path / "run").exists()


def test_own_map_is_trained_and_travels_with_the_run(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('horizon = 20\nstarts = [[0, 0]]\ngrid = """\n...**\n...**\n"""\n')
    run_dir = tmp_path / "run"
    result = mace("train", path, "--run-dir", run_dir, "--steps", "160", *SMALL)
    assert result.returncode == 0, result.stderr
    path.unlink()
    evaluation = mace("evaluate", run_dir, "--episodes", "10", "--json")
    assert evaluation.returncode == 0, evaluation.stderr
    figures = json.loads(evaluation.stdout)
    assert figures.keys() == {"episodes", "success_rate", "mean_return", "mean_length"}
    assert figures["episodes"] == 10
    assert figures["mean_return"] == pytest.approx(100 * figures["success_rate"])
