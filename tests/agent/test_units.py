"""Critics that speak in units of their own, against plain Python."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from made_rollouts import CHUNK, ENVS, STEPS, make_rollouts, of_agent
from numpy.testing import assert_allclose
from plain import PlainNetwork
from samples import Sheet, random_learners

from mace_marl.agent.experience import View
from mace_marl.agent.learner import Agent, Learner
from mace_marl.agent.ppo import Chunks
from mace_marl.agent.units import LEAST_DEVIATION, first_units, renew
from mace_marl.methods import METHODS
from mace_marl.settings import Settings

SMOOTHING = 0.75
SETTINGS = Settings(
    num_envs=ENVS,
    rollout_length=STEPS,
    chunk_length=CHUNK,
    hidden_size=2,
    normalise_values=True,
    units_smoothing=SMOOTHING,
)
PLAIN = SETTINGS.override({"normalise_values": False})
AGENT = Agent.of(Sheet(), METHODS["ippo"], SETTINGS)


def a_learner() -> Learner:
    return jax.tree.map(lambda x: x[0], random_learners(AGENT, SETTINGS))


def with_targets(target: np.ndarray, alive: np.ndarray) -> Chunks:
    chunks = {name: jnp.zeros(()) for name in Chunks._fields}
    given = {"target": target, "value": target / 2 + 1, "alive": alive.astype(np.float32)}
    return Chunks(**chunks | {name: jnp.asarray(x) for name, x in given.items()})


def appraise(learner: Learner, settings: Settings) -> tuple[np.ndarray, ...]:
    rollout = jax.tree.map(jnp.asarray, of_agent(0, make_rollouts(0)))
    view = View(rollout.obs, rollout.next_obs, rollout.last_obs)
    values, _ = AGENT.appraise(learner, rollout, view, jnp.zeros((ENVS, 2)), settings)
    final = np.where(rollout.truncated, values.final, 0.0)  # elsewhere it says nothing
    return np.asarray(values.now), final, np.asarray(values.last)


def test_units_are_moments_of_all_targets_the_older_the_lighter() -> None:
    """Rollout k of n weighs smoothing^(n − k) in mean and variance; the dead are left out."""
    learner, rng = a_learner(), np.random.default_rng(0)
    before = appraise(learner, PLAIN)
    weighed: list[tuple[float, float, float]] = []  # weight, mean and mean square of each rollout
    for update in range(4):
        target = rng.normal(3 * update, 1 + update, (CHUNK, 9)).astype(np.float32)
        alive = rng.random((CHUNK, 9)) < 0.7
        learner, chunks = AGENT.normalise(learner, with_targets(target, alive), SETTINGS)

        living = [float(target[at]) for at in np.ndindex(target.shape) if alive[at]]
        square = sum(x * x for x in living) / len(living)
        weighed = [(w * SMOOTHING, m, s) for w, m, s in weighed]
        weighed.append((1.0, sum(living) / len(living), square))
        total = sum(w for w, _, _ in weighed)
        mean = sum(w * m for w, m, _ in weighed) / total
        deviation = math.sqrt(sum(w * s for w, _, s in weighed) / total - mean**2)
        assert_allclose(chunks.target, (target - mean) / deviation, rtol=1e-4, atol=1e-5)
        assert_allclose(chunks.value, (target / 2 + 1 - mean) / deviation, rtol=1e-4, atol=1e-5)
        for ours, theirs in zip(appraise(learner, SETTINGS), before, strict=True):
            assert_allclose(ours, theirs, rtol=1e-4, atol=1e-4)  # new units, the same values
    assert abs(float(learner.units.mean)) > 1


def test_values_are_what_the_network_says_times_deviation_plus_mean() -> None:
    learner = a_learner()
    target = np.array([[1.0, 5.0]], np.float32)  # mean 3, deviation 2
    learner, _ = AGENT.normalise(learner, with_targets(target, np.ones((1, 2), bool)), SETTINGS)
    rollout = of_agent(0, make_rollouts(0))
    network = PlainNetwork.of(learner.critic.network)
    outputs, _ = network.run(rollout.obs, np.zeros((ENVS, 2)), rollout.first)
    assert_allclose(appraise(learner, SETTINGS)[0], 3 + 2 * outputs[..., 0], rtol=1e-4, atol=1e-5)


def test_targets_that_are_all_alike_are_not_blown_up() -> None:
    same = jnp.full((3, 3), 7.0)
    units = renew(first_units(), same, same > 0, SMOOTHING)
    assert float(units.mean) == 7.0
    assert float(units.deviation) == pytest.approx(LEAST_DEVIATION)
    assert_allclose(units.from_value(same), 0.0, atol=1e-3)


def test_before_the_first_targets_units_change_nothing() -> None:
    learner = a_learner()
    for ours, theirs in zip(appraise(learner, SETTINGS), appraise(learner, PLAIN), strict=True):
        assert_allclose(ours, theirs, rtol=1e-6)
