"""However the work lies on the machine, the results are the same up to float rounding."""

from functools import partial
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from commands import mace, rows

from mace_marl import shards
from mace_marl.agent import ppo
from mace_marl.agent.gradient import (
    find_distinct,
    make_room,
    plain_gradient,
    summed_gradient,
)
from mace_marl.machine import Layout
from mace_marl.methods import METHODS
from mace_marl.settings import Settings
from mace_marl.tasks import get_task
from mace_marl.trainer import Learner, Trainer, TrainState
from mace_marl.worlds import make_world

pytestmark = pytest.mark.usefixtures("hasty_compiler")

UPDATES = 3
SETTINGS = [
    *("--num-envs", "8", "--rollout-length", "20", "--hidden-size", "16"),
    *("--epochs", "2", "--minibatches", "2"),
]


def train(task: str, run_dir: Path, devices: int, *more: str) -> None:
    where = ["--run-dir", str(run_dir), "--devices", str(devices)]
    steps = str(UPDATES * 8 * 20)
    result = mace("train", task, *where, "--steps", steps, *SETTINGS, *more)
    assert result.returncode == 0, result.stderr


def test_devices_change_results_by_rounding_only(tmp_path: Path) -> None:
    """Three agents on eight devices, against one device."""
    train("gridworld/multiroom", tmp_path / "one", 1)
    train("gridworld/multiroom", tmp_path / "run", 8)
    for ours, theirs in zip(rows(tmp_path / "run"), rows(tmp_path / "one"), strict=True):
        assert ours.keys() == theirs.keys()
        for key, value in theirs.items():
            if value is not None:
                np.testing.assert_allclose(ours[key], value, rtol=2e-3, atol=2e-5, err_msg=key)


def test_two_devices_train_learned_novelty_and_posteriors_alike(tmp_path: Path) -> None:
    """Three agents, each with RND and two posterior networks, on a replay that comes out odd."""
    learned = [
        *("--novelty", "rnd", "--posterior", "network"),
        *("--replay", "401", "--posterior-epochs", "3"),
    ]
    for devices in (1, 2):
        train("gridworld/multiroom", tmp_path / str(devices), devices, *learned)
    for ours, theirs in zip(rows(tmp_path / "2"), rows(tmp_path / "1"), strict=True):
        assert "novelty_loss" in theirs
        for key, value in theirs.items():
            if value is not None:
                np.testing.assert_allclose(ours[key], value, rtol=2e-3, atol=2e-5, err_msg=key)


def test_layouts_of_one_device_agree() -> None:
    """Agents in turn or at once, distinct observations or every sample, any micro-batch."""
    task = get_task("gridworld/minipass")
    world = make_world(task.name, task.map)
    settings = Settings(num_envs=8, rollout_length=20, hidden_size=16, epochs=3)

    def losses(layout: Layout) -> dict[str, np.ndarray]:
        trainer = Trainer(world, METHODS["mace"], settings, layout)
        state = trainer.init(0)
        state, _ = trainer.update(state)
        _, report = trainer.update(state)
        return jax.device_get(report.agents)

    expected = losses(Layout(micro_batch=16, in_turn=False))
    for layout in (Layout(micro_batch=4), Layout(micro_batch=8, distinct=True)):
        for term, values in losses(layout).items():
            np.testing.assert_allclose(values, expected[term], rtol=1e-3, atol=1e-5, err_msg=term)


@pytest.mark.parametrize(
    ("task_name", "one_hot"), [("gridworld/minipass", True), ("gridworld/multiroom", False)]
)
def test_fast_gradient_is_the_plain_gradient(task_name: str, one_hot: bool) -> None:
    """Micro-batches and distinct observations give the gradient that `plain_gradient` defines."""
    task = get_task(task_name)
    world = make_world(task.name, task.map)
    settings = Settings(num_envs=8, rollout_length=30, hidden_size=16, one_hot=one_hot)
    trainer = Trainer(world, METHODS["mace"], settings, Layout())
    state = trainer.init(3)

    @jax.jit
    def first_agents(state: TrainState) -> tuple[Learner, ppo.Chunks]:
        _, rollouts, _ = trainer.collect_all(state)
        values, _ = trainer.appraise(state.learners, rollouts, state.stage, settings)
        learners, heard = trainer.exchange(state.learners, rollouts, settings)
        prepare = partial(trainer.agent.prepare, settings=settings, layout=trainer.layout)
        learners, _, chunks = jax.vmap(prepare)(learners, rollouts, values, heard)
        return jax.tree.map(lambda x: x[0], (learners, chunks))

    learner, chunks = first_agents(state)
    assert trainer.agent.observations is not None
    distinct, row = find_distinct(chunks.obs, trainer.agent.observations)
    unique = np.unique(np.asarray(chunks.obs).reshape(-1, world.observation_size), axis=0)
    assert int(distinct.size) == len(unique)
    numbered = chunks._replace(row=row)
    group = jax.vmap(lambda which: numbered.grouped(which, 6), axis_name=shards.AXIS)
    groups = jax.tree.map(lambda x: x[0], group(jnp.arange(24)[None]))
    for loss, network in (
        (ppo.actor_loss, learner.actor.network),
        (ppo.critic_loss, learner.critic.network),
    ):
        expected, expected_report = eqx.filter_jit(plain_gradient)(loss, network, chunks, settings)
        dirty = jax.tree.map(lambda x: x + 7.0, make_room(network, distinct))  # need not be clear
        for way in ((None, None), (distinct, dirty)):
            gradient, report, _ = eqx.filter_jit(summed_gradient)(
                loss, network, groups, settings, *way
            )
            for ours, theirs in zip(
                jax.tree.leaves(gradient), jax.tree.leaves(expected), strict=True
            ):
                scale = float(jnp.abs(theirs).max()) + 1e-6
                np.testing.assert_allclose(ours / scale, theirs / scale, atol=2e-5)
            for term, value in expected_report.items():  # sums over 240 samples
                np.testing.assert_allclose(report[term], value, rtol=1e-4, atol=1e-3)
