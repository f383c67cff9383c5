"""What `mace bench` counts, and that it says all it promises."""

import json

import jax
import pytest
from commands import mace

from mace_marl import textbook
from mace_marl.agent.learner import Learner
from mace_marl.bench import fullest_method
from mace_marl.machine import Layout
from mace_marl.methods import METHODS
from mace_marl.settings import Settings
from mace_marl.tasks import get_task, task_settings
from mace_marl.trainer import Trainer
from mace_marl.worlds import make_world


def learners_of(name: str, method: str) -> tuple[Settings, Learner]:
    """All agents' learners, stacked; shapes only."""
    task = get_task(name)
    settings = task_settings(task, "paper")
    trainer = Trainer(make_world(task.name, task.map), METHODS[method], settings, Layout())
    return settings, jax.eval_shape(trainer.init_state, settings, jax.random.key(0)).learners


def test_textbook_operations_of_pass() -> None:
    """6 × weights × samples × epochs: both networks of 3 → 64 → 64 → GRU 64, heads of 4 and 1."""
    body = 3 * 64 + 64 * 64 + 2 * 64 * 3 * 64
    by_hand = 6 * (2 * body + 4 * 64 + 1 * 64) * (128 * 300) * 10 * 2 / 1e9
    pair = learners_of("gridworld/pass", "mace")
    assert textbook.ppo_gflop(*pair) == pytest.approx(by_hand)
    assert round(by_hand) == 267
    assert textbook.posterior_gflop(*pair) == textbook.novelty_gflop(*pair) == 0


def test_textbook_operations_of_overcooked() -> None:
    """Two agents, each with a posterior 39 → 64 → 64 → 6, and RND of 38 numbers to 32."""
    pair = learners_of("overcooked/base", "mace")
    posterior = 39 * 64 + 64 * 64 + 64 * 6
    assert textbook.posterior_gflop(*pair) == pytest.approx(6 * posterior * 1e5 * 40 * 2 / 1e9)
    predictor, target = 38 * 64 + 3 * 64 * 64 + 64 * 32, 38 * 64 + 64 * 64 + 64 * 32
    by_hand = (6 * predictor * 10 + 2 * target) * (32 * 300) * 2 / 1e9
    assert textbook.novelty_gflop(*pair) == pytest.approx(by_hand)
    assert textbook.posterior_gflop(*learners_of("overcooked/base", "r_nov")) == 0


def test_worlds_are_measured_with_what_they_can_be_trained_with() -> None:
    assert fullest_method(get_task("gridworld/pass"), "paper") == "mace"
    assert fullest_method(get_task("overcooked/mini"), "paper") == "mace"


def test_bench_of_one_task_is_one_document() -> None:
    result = mace("bench", "--task", "gridworld/minipass", "--json")
    assert result.returncode == 0, result.stderr
    figures = json.loads(result.stdout)
    assert figures.keys() >= {"peak_gflops", "cores", "devices", "jax"}
    (task,) = figures["tasks"].values()
    assert task["learner_fraction_of_peak"] == pytest.approx(
        task["learner_gflops"] / figures["peak_gflops"]
    )
    stages = {"collect", "exchange", "posterior", "shape", "learn", "novelty"}
    assert task["share"].keys() == stages
    assert task["posterior_fraction_of_peak"] is task["novelty_fraction_of_peak"] is None
    assert sum(task["share"].values()) == pytest.approx(1)
    for name in (
        "world_steps_per_second",
        "end_to_end_fraction_of_peak",
        "env_steps_per_second",
        "peak_memory_mib",
        "compile_seconds",
    ):
        assert task[name] > 0, name
