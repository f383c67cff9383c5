"""The posterior network: its replay, its input and its training, against NumPy and Adam by hand."""

import math
from collections import deque
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import plain
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from plain import PlainMLP
from samples import Sheet, on_shards

import mace_marl.trainer  # noqa: F401  (makes the floats of Settings arguments under jit)
from mace_marl.agent.encoding import encode_for_networks
from mace_marl.agent.experience import Rollout
from mace_marl.agent.posterior import Accumulated, NetworkPosterior
from mace_marl.agent.posterior.network import Trained
from mace_marl.settings import PRESETS, Settings

STEPS, ENVS, ACTIONS, OTHERS = 4, 3, Sheet.num_actions, Sheet.num_agents - 1
SMALL = {
    "num_envs": ENVS,
    "rollout_length": STEPS,
    "chunk_length": STEPS,
    "hidden_size": 5,
    "replay": 30,  # two rollouts and a half
    "posterior_epochs": 3,
    "posterior_learning_rate": 1e-2,
}
PAPER, AUTHORS = (PRESETS[name].override(SMALL) for name in ("paper", "authors"))
ENCODING = encode_for_networks(Sheet(), one_hot=True)
POSTERIOR = NetworkPosterior.of(Sheet(), ENCODING, PAPER, together=False)


def make_rollout(seed: int) -> tuple[Any, np.ndarray]:
    """A rollout of one agent, only what a posterior looks at; and z  # (others, t, e)."""
    rng = np.random.default_rng(seed)
    shape = STEPS, ENVS
    available = rng.random((*shape, ACTIONS)) < 0.7
    action = rng.integers(ACTIONS, size=shape)
    np.put_along_axis(available, action[..., None], True, axis=-1)
    fields = {
        "obs": Sheet().random_obs(rng, *shape),
        "action": action.astype(np.int32),
        "available": available,
        "alive": rng.random(shape) < 0.8,
        "log_prob": np.log(rng.uniform(0.1, 1, shape)).astype(np.float32),
    }
    rollout = Rollout(**{name: fields.get(name) for name in Rollout._fields})  # pyright: ignore[reportArgumentType]
    return rollout, rng.uniform(0, 8, (OTHERS, *shape)).astype(np.float32)


def begin(settings: Settings) -> Trained:
    """With random biases too, and so that the first guesses are not all alike."""
    rng = np.random.default_rng(5)
    kept = jax.jit(POSTERIOR.init)(settings, jax.random.key(0))
    network = jax.tree.map(
        lambda x: jnp.asarray(rng.normal(0, 0.5, x.shape), jnp.float32), kept.networks.network
    )
    return kept._replace(networks=kept.networks._replace(network=network))


@partial(jax.jit, static_argnames=("micro_batch", "num_shards"))
def estimate(
    kept: Trained,
    rollout: Rollout,
    z: np.ndarray,
    settings: Settings,
    micro_batch: int = 7,
    num_shards: int = 1,
) -> tuple[Trained, jax.Array]:
    def program() -> tuple[Trained, jax.Array]:
        both = Accumulated(jnp.asarray(z), jnp.full_like(z, jnp.nan))
        kept_now, estimate = POSTERIOR.estimate(kept, rollout, both, settings, micro_batch)
        return kept_now, estimate.log_posterior

    return on_shards(program, num_shards)


class PlainPosterior:
    """One network and its replay, sample by sample."""

    def __init__(self, network: PlainMLP, other: int, settings: Settings) -> None:
        self.network, self.other, self.settings = network, other, settings
        self.replay: deque[tuple[Any, ...]] = deque(maxlen=settings.replay)

    def estimate(self, rollout: Any, z: np.ndarray) -> np.ndarray:
        """log p of every sample of a rollout."""
        settings = self.settings
        new = {
            at: (
                rollout.obs[at],
                rollout.action[at],
                rollout.available[at],
                float(z[self.other][at]),
                bool(rollout.alive[at]),
            )
            for at in np.ndindex(STEPS, ENVS)
        }
        self.replay.extend(new.values())
        living = [sample for sample in self.replay if sample[-1]]
        numbers = [sample[3] for sample in living]
        scale = settings.posterior_scale
        if scale is None:
            mean = sum(numbers) / len(numbers)
            scale = math.sqrt(sum((x - mean) ** 2 for x in numbers) / len(numbers))
        if settings.replay_first and len(self.replay) < settings.replay:
            return np.array(rollout.log_prob)
        for _ in range(settings.posterior_epochs):
            x = np.stack([self.inputs(sample, scale) for sample in living])
            slope = np.zeros((len(living), ACTIONS))
            for k, sample in enumerate(living):
                probs = np.exp(self.log_probs(sample, scale))
                slope[k] = (probs - np.eye(ACTIONS)[sample[1]]) / len(living)
            gradient = self.network.gradient(x, slope)
            self.network.descend(gradient, settings.posterior_learning_rate, 10.0)
        result = np.zeros((STEPS, ENVS))
        for at, sample in new.items():
            result[at] = self.log_probs(sample, scale)[sample[1]]
        return result

    def inputs(self, sample: tuple[Any, ...], scale: float) -> np.ndarray:
        """The first number of an observation has three levels and enters one-hot."""
        x, y, lamp = sample[0]
        return np.array([*np.eye(3)[round(x / 0.5)], y, lamp, sample[3] / scale])

    def log_probs(self, sample: tuple[Any, ...], scale: float) -> np.ndarray:
        logits = self.network(self.inputs(sample, scale)[None])[0]
        return plain.log_softmax(np.where(sample[2], logits, -np.inf))


@pytest.mark.parametrize("settings", [PAPER, AUTHORS], ids=["paper", "authors"])
def test_posteriors_equal_plain_networks(settings: Settings) -> None:
    """Over more rollouts than the replay holds. The authors wait until it is full: two rollouts."""
    kept = begin(settings)
    network = kept.networks.network
    reference = [PlainPosterior(PlainMLP(network, (k,)), k, settings) for k in range(OTHERS)]
    for update in range(5):
        rollout, z = make_rollout(update)
        kept, log_posterior = estimate(kept, rollout, z, settings)
        for k, one in enumerate(reference):
            wanted = one.estimate(rollout, z)
            assert_allclose(log_posterior[k], wanted, rtol=1e-3, atol=1e-4)
            assert (one.network.steps > 0) == (settings is PAPER or update >= 2)
            pairs = zip(
                PlainMLP(kept.networks.network, (k,)).parameters,
                one.network.parameters,
                strict=True,
            )
            for ours, theirs in pairs:
                assert_allclose(ours, theirs, atol=3e-4)
        check_replay(kept, reference)


def check_replay(kept: Trained, reference: list[PlainPosterior]) -> None:
    """The latest samples, oldest first, at the end."""
    held = len(reference[0].replay)
    assert int(kept.held) == held
    replay = jax.tree.map(lambda x: np.asarray(x)[-held:], kept.replay)
    for k, one in enumerate(reference):
        for i, (obs, action, available, z, alive) in enumerate(one.replay):
            assert_array_equal(replay.obs[i], obs)
            assert_array_equal(replay.available[i], available)
            assert (replay.action[i], replay.counts[i]) == (action, alive)
            assert_allclose(replay.z[i, k], z)
    assert not np.asarray(kept.replay.counts)[: PAPER.replay - held].any()


def test_a_replay_smaller_than_a_rollout_holds_its_last_samples() -> None:
    settings = PAPER.override({"replay": 5})
    rollout, z = make_rollout(0)
    kept, _ = estimate(begin(settings), rollout, z, settings)
    assert int(kept.held) == 5
    assert_array_equal(kept.replay.action, rollout.action.reshape(-1)[-5:])
    assert_array_equal(kept.replay.z, z.reshape(OTHERS, -1).T[-5:])


def test_unavailable_actions_have_no_probability() -> None:
    rollout, z = make_rollout(0)
    only = np.zeros_like(rollout.available)
    np.put_along_axis(only, rollout.action[..., None], True, axis=-1)
    _, log_posterior = estimate(begin(PAPER), rollout._replace(available=only), z, PAPER)
    assert_allclose(log_posterior, 0.0, atol=1e-6)


def test_dead_samples_teach_nothing() -> None:
    rollout, z = make_rollout(0)
    dead = ~rollout.alive
    assert dead.any()
    nonsense = rollout._replace(
        obs=np.where(dead[..., None], rollout.obs + 7, rollout.obs),
        action=np.where(dead, 0, rollout.action),
        available=rollout.available | dead[..., None],
    )
    one, _ = estimate(begin(PAPER), rollout, z, PAPER)
    other, _ = estimate(begin(PAPER), nonsense, np.where(dead, 50.0, z), PAPER)
    for ours, theirs in zip(
        jax.tree.leaves(one.networks), jax.tree.leaves(other.networks), strict=True
    ):
        assert_allclose(ours, theirs, atol=1e-6)


def test_an_agent_that_never_lived_stays_finite() -> None:
    rollout, z = make_rollout(0)
    nobody = rollout._replace(alive=np.zeros((STEPS, ENVS), bool))
    kept, log_posterior = estimate(begin(PAPER), nobody, z, PAPER)
    assert all(np.isfinite(x).all() for x in jax.tree.leaves((kept, log_posterior)))


def test_it_learns_what_precedes_z() -> None:
    """z tells the action, the observation does not: after training, p(a | o, z) is near 1."""
    settings = PAPER.override({"posterior_epochs": 300, "hidden_size": 16})
    rollout, _ = make_rollout(0)
    rollout = rollout._replace(available=np.ones((STEPS, ENVS, ACTIONS), bool))
    told, silent = 3.0 * rollout.action, np.ones((STEPS, ENVS))
    z = np.stack([told, silent]).astype(np.float32)
    _, log_posterior = estimate(begin(settings), rollout, z, settings)
    p = np.exp(log_posterior)[:, rollout.alive]
    assert p[0].mean() > 0.9
    assert p[1].mean() < 0.8


def test_together_there_is_one_network() -> None:
    posterior = NetworkPosterior.of(Sheet(), ENCODING, PAPER, together=True)
    kept = jax.eval_shape(posterior.init, PAPER, jax.random.key(0))
    assert kept.networks.network.layers[0].weight.shape == (1, ENCODING.size + 1, 5)
    assert kept.replay.z.shape == (PAPER.replay, 1)


def test_layout_changes_rounding_only() -> None:
    """The replay of 30 does not come out even in any way."""
    rollout, z = make_rollout(0)
    one = estimate(begin(PAPER), rollout, z, PAPER)
    other = estimate(begin(PAPER), rollout, z, PAPER, micro_batch=4, num_shards=4)
    for ours, theirs in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        assert_allclose(ours, theirs, atol=1e-5)
