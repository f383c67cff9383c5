"""What `mace bench` counts, and that it says all it promises."""

import json

import jax
import pytest
from commands import mace

from mace_marl.bench import fullest_method, textbook_gflop
from mace_marl.machine import Layout
from mace_marl.methods import METHODS
from mace_marl.tasks import get_task, make_world, task_settings
from mace_marl.trainer import Trainer


def test_textbook_operations_of_pass() -> None:
    """6 × weights × samples × epochs: both networks of 3 → 64 → 64 → GRU 64, heads of 4 and 1."""
    body = 3 * 64 + 64 * 64 + 2 * 64 * 3 * 64
    by_hand = 6 * (2 * body + 4 * 64 + 1 * 64) * (128 * 300) * 10 * 2 / 1e9
    task = get_task("gridworld/pass")
    settings = task_settings(task, "paper")
    trainer = Trainer(make_world(task.name, task.map), METHODS["mace"], settings, Layout())
    learners = jax.eval_shape(trainer.init_state, settings, jax.random.key(0)).learners
    assert textbook_gflop(settings, learners) == pytest.approx(by_hand)
    assert round(by_hand) == 267


def test_worlds_are_measured_with_what_they_can_be_trained_with() -> None:
    assert fullest_method(get_task("gridworld/pass"), "paper") == "mace"
    assert fullest_method(get_task("overcooked/mini"), "paper") == "r_nov"


def test_bench_of_one_task_is_one_document() -> None:
    result = mace("bench", "--task", "gridworld/minipass", "--json")
    assert result.returncode == 0, result.stderr
    figures = json.loads(result.stdout)
    assert figures.keys() >= {"peak_gflops", "cores", "devices", "jax"}
    (task,) = figures["tasks"].values()
    assert task["learner_fraction_of_peak"] == pytest.approx(
        task["learner_gflops"] / figures["peak_gflops"]
    )
    assert task["share"].keys() == {"collect", "exchange", "posterior", "shape", "learn"}
    assert sum(task["share"].values()) == pytest.approx(1)
    for name in (
        "world_steps_per_second",
        "end_to_end_fraction_of_peak",
        "env_steps_per_second",
        "peak_memory_mib",
        "compile_seconds",
    ):
        assert task[name] > 0, name
