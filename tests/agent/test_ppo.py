"""PPO: its losses, gradients and optimiser steps, against NumPy loops and finite differences."""

from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import plain
import pytest
from numpy.testing import assert_allclose
from plain import PlainNetwork
from plain_ppo import (
    norm,
    plain_actor_loss,
    plain_critic_loss,
    plain_gradient,
    plain_improvement,
)
from samples import random_network

import mace_marl.trainer  # noqa: F401  (makes the floats of Settings arguments under jit)
from mace_marl import shards
from mace_marl.agent import ppo
from mace_marl.agent.networks import Network
from mace_marl.agent.optimiser import Optimised, init_optimised
from mace_marl.agent.ppo import Chunks
from mace_marl.settings import Settings

TIME, CHUNKS, INPUTS, ACTIONS, SIZE = 4, 6, 3, 3, 4
DEFAULTS = Settings(hidden_size=SIZE, huber_delta=1.0)


class Sample(NamedTuple):
    """Networks, and chunks for them."""

    actor: Network
    critic: Network
    chunks: Chunks

    def but(self, **changes: jax.Array) -> "Sample":
        return self._replace(chunks=self.chunks._replace(**changes))


def make_sample() -> Sample:
    """Random, but so that every branch of the losses is met."""
    rng = np.random.default_rng(0)
    actor = random_network(INPUTS, ACTIONS, DEFAULTS, rng)
    critic = random_network(2 * INPUTS, 1, DEFAULTS, rng)  # as if it saw two agents' observations
    obs, *others = rng.normal(size=(2, TIME, CHUNKS, INPUTS))
    critic_obs = np.concatenate([obs, *others], axis=-1)
    hidden = rng.normal(size=(2, 1, CHUNKS, SIZE))
    first = rng.random((TIME, CHUNKS)) < 0.2
    available = rng.random((TIME, CHUNKS, ACTIONS)) < 0.7
    action = rng.integers(ACTIONS, size=(TIME, CHUNKS))
    np.put_along_axis(available, action[..., None], True, axis=-1)
    logits, _ = PlainNetwork.of(actor).run(obs, hidden[0, 0], first)
    log_probs = plain.log_softmax(np.where(available, logits, -1e9))
    log_prob = np.take_along_axis(log_probs, action[..., None], axis=-1)[..., 0]
    value = PlainNetwork.of(critic).run(critic_obs, hidden[1, 0], first)[0][..., 0]
    chunks = {
        "obs": obs,
        "critic_obs": critic_obs,
        "log_prob": log_prob + rng.normal(0, 0.3, log_prob.shape),
        "value": value + rng.normal(0, 0.4, value.shape),
        "advantage": rng.normal(size=(TIME, CHUNKS)),
        "target": value + rng.normal(0, 1.5, value.shape),
        "alive": rng.random((TIME, CHUNKS)) < 0.8,
        "actor_hidden": hidden[0],
        "critic_hidden": hidden[1],
    }
    return Sample(
        actor,
        critic,
        Chunks(
            action=jnp.asarray(action, jnp.int32),
            first=jnp.asarray(first),
            available=jnp.asarray(available),
            row=jnp.zeros((TIME, CHUNKS), jnp.int32),
            **{name: jnp.asarray(x, jnp.float32) for name, x in chunks.items()},
        ),
    )


# Losses

CRITIC_VARIANTS = [
    {"value_clip": value_clip, "huber_defect": defect}
    for value_clip in (None, 0.2)
    for defect in (False, True)
]


def test_actor_loss_equals_loops() -> None:
    sample = make_sample()
    loss, report = ppo.actor_loss(sample.actor, sample.chunks, DEFAULTS)
    wanted, details = plain_actor_loss(PlainNetwork.of(sample.actor), sample.chunks, DEFAULTS)
    assert 0 < details["clipped"] < sample.chunks.alive.sum()
    assert_allclose(loss, wanted, rtol=1e-5)
    for name, number in details.items():
        assert_allclose(report[name], number, rtol=1e-5, err_msg=name)


@pytest.mark.parametrize("variant", CRITIC_VARIANTS)
def test_critic_loss_equals_loops(variant: dict[str, Any]) -> None:
    sample = make_sample()
    settings = DEFAULTS.override(variant)
    loss, report = ppo.critic_loss(sample.critic, sample.chunks, settings)
    wanted, _ = plain_critic_loss(PlainNetwork.of(sample.critic), sample.chunks, settings)
    assert_allclose(loss, wanted, rtol=1e-5)
    assert_allclose(report["value_loss"], wanted, rtol=1e-5)


def test_every_variant_of_the_critic_loss_is_another() -> None:
    """So that the sample above meets every branch."""
    sample = make_sample()
    losses = {
        float(ppo.critic_loss(sample.critic, sample.chunks, DEFAULTS.override(variant))[0])
        for variant in CRITIC_VARIANTS
    }
    assert len(losses) == len(CRITIC_VARIANTS)


def test_huber_by_hand() -> None:
    """δ = 10: 3²/2 = 4.5; beyond, 10 · (|e| − 5). The defect drops all that lies below −10."""
    error = jnp.array([0.0, 3.0, -3.0, 10.0, -10.0, 12.0, -12.0, 100.0, -100.0])
    sound = [0, 4.5, 4.5, 50, 50, 70, 70, 950, 950]
    assert_allclose(ppo.huber(error, Settings()), sound)
    defective = [0, 4.5, 4.5, 50, 50, 70, 0, 950, 0]
    assert_allclose(ppo.huber(error, Settings(huber_defect=True)), defective)


def test_entropy_of_an_indifferent_policy() -> None:
    """log of how many actions are available, for every living sample."""
    sample = make_sample()
    actor = jax.tree.map(jnp.zeros_like, sample.actor)
    _, report = ppo.actor_loss(actor, sample.chunks, DEFAULTS)
    per_sample = np.log(np.asarray(sample.chunks.available).sum(axis=-1))
    assert_allclose(report["entropy"], (per_sample * sample.chunks.alive).sum(), rtol=1e-5)


# Gradients


def test_actor_gradient_equals_finite_differences() -> None:
    sample = make_sample()
    gradient, _ = eqx.filter_grad(ppo.actor_loss, has_aux=True)(
        sample.actor, sample.chunks, DEFAULTS
    )
    wanted = plain_gradient(
        plain_actor_loss, PlainNetwork.of(sample.actor), sample.chunks, DEFAULTS
    )
    for ours, theirs in zip(PlainNetwork.of(gradient).parameters, wanted, strict=True):
        assert_allclose(ours, theirs, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("variant", CRITIC_VARIANTS)
def test_critic_gradient_equals_finite_differences(variant: dict[str, Any]) -> None:
    sample = make_sample()
    settings = DEFAULTS.override(variant)
    gradient, _ = eqx.filter_grad(ppo.critic_loss, has_aux=True)(
        sample.critic, sample.chunks, settings
    )
    wanted = plain_gradient(
        plain_critic_loss, PlainNetwork.of(sample.critic), sample.chunks, settings
    )
    for ours, theirs in zip(PlainNetwork.of(gradient).parameters, wanted, strict=True):
        assert_allclose(ours, theirs, rtol=1e-3, atol=1e-4)


# Improvement


Improved = tuple[Network, Network, dict[str, jax.Array]]


def improve(
    sample: Sample, settings: Settings, key: int = 0, micro_batch: int = 6, num_shards: int = 1
) -> Improved:
    """The networks after `ppo.improve`, run on so many shards, and its report."""
    return jitted_improve(sample, settings, key, micro_batch, num_shards)


@partial(jax.jit, static_argnames=("micro_batch", "num_shards"))
def jitted_improve(
    sample: Sample, settings: Settings, key: int, micro_batch: int, num_shards: int
) -> Improved:
    def on_shard(_: jax.Array) -> tuple[Optimised, Optimised, dict[str, jax.Array]]:
        return ppo.improve(
            init_optimised(sample.actor, settings),
            init_optimised(sample.critic, settings),
            sample.chunks,
            settings,
            jax.random.key(key),
            micro_batch,
        )

    results = jax.vmap(on_shard, axis_name=shards.AXIS)(jnp.arange(num_shards))
    actor, critic, report = jax.tree.map(lambda x: x[-1], results)
    return actor.network, critic.network, report


def assert_close(ours: Network, theirs: Network | PlainNetwork, atol: float) -> None:
    wanted = theirs if isinstance(theirs, PlainNetwork) else PlainNetwork.of(theirs)
    for one, other in zip(PlainNetwork.of(ours).parameters, wanted.parameters, strict=True):
        assert_allclose(one, other, rtol=0, atol=atol)


TWICE = DEFAULTS.override({"epochs": 2})

# With a large ε, Adam's steps follow the size of the clipped gradient, not only its direction.
SIZE_MATTERS = {"adam_epsilon": 1.0, "actor_learning_rate": 1.0, "critic_learning_rate": 0.5}


@pytest.mark.parametrize(
    ("settings", "wild", "clipped"),
    [
        (TWICE.override({"critic_learning_rate": 2e-3}), None, (False, False)),
        (TWICE.override({**SIZE_MATTERS, "max_grad_norm": 0.3}), "target", (False, True)),
        (TWICE.override({**SIZE_MATTERS, "max_grad_norm": 0.5}), "advantage", (True, False)),
    ],
    ids=["unclipped", "critic clipped", "actor clipped"],
)
def test_improvement_equals_plain_adam(
    settings: Settings, wild: str | None, clipped: tuple[bool, bool]
) -> None:
    """Gradients by finite differences, their mean over living samples, each clipped on its own."""
    sample = make_sample()
    if wild:
        sample = sample.but(**{wild: 10 * getattr(sample.chunks, wild)})
    actor, critic, report = improve(sample, settings)
    for name, loss, before, after, is_clipped in (
        ("actor", plain_actor_loss, sample.actor, actor, clipped[0]),
        ("critic", plain_critic_loss, sample.critic, critic, clipped[1]),
    ):
        start = PlainNetwork.of(before)
        learning_rate = getattr(settings, f"{name}_learning_rate")
        end, norms = plain_improvement(loss, start, learning_rate, sample.chunks, settings)
        assert all((x > settings.max_grad_norm) == is_clipped for x in norms)
        assert_allclose(report[f"{name}_grad_norm"], np.mean(norms), rtol=1e-3)
        distance = norm(list(map(np.subtract, end.parameters, start.parameters)))
        assert_close(after, end, atol=2e-3 * distance)


@pytest.mark.parametrize(("minibatches", "micro_batch", "num_shards"), [(1, 2, 1), (3, 1, 2)])
def test_layout_changes_rounding_only(minibatches: int, micro_batch: int, num_shards: int) -> None:
    """Micro-batches of other sizes, and two shards: these see the same mini-batches too."""
    settings = TWICE.override({**SIZE_MATTERS, "minibatches": minibatches})
    one = improve(make_sample(), settings)
    other = improve(make_sample(), settings, micro_batch=micro_batch, num_shards=num_shards)
    assert_close(other[0], one[0], atol=1e-5)
    assert_close(other[1], one[1], atol=1e-5)
    for name, number in one[2].items():
        assert_allclose(other[2][name], number, rtol=1e-4, err_msg=name)


@pytest.mark.parametrize("minibatches", [1, 3])
def test_every_chunk_is_used_once_per_epoch(minibatches: int) -> None:
    """A critic that always says 0 and never learns has the loss 8^k on chunk k, so the sum of all
    losses is 111111 in base 8 if and only if each of the six chunks was used once."""
    target = np.sqrt(2 * 8.0 ** np.arange(CHUNKS))
    sample = make_sample().but(
        target=jnp.broadcast_to(jnp.asarray(target, jnp.float32), (TIME, CHUNKS)),
        alive=jnp.ones((TIME, CHUNKS)),
    )
    sample = sample._replace(critic=jax.tree.map(jnp.zeros_like, sample.critic))
    settings = TWICE.override(
        {"minibatches": minibatches, "critic_learning_rate": 0.0, "huber_delta": 1e6}
    )
    for key in range(3):
        _, _, report = improve(sample, settings, key=key)
        assert_allclose(report["value_loss"] * CHUNKS, int("111111", 8), rtol=1e-6)


@pytest.mark.parametrize(("minibatches", "same"), [(1, True), (3, False)])
def test_minibatches_are_shuffled(minibatches: int, same: bool) -> None:
    """Another key, another order, another result; with a single mini-batch there is no order."""
    settings = TWICE.override({"minibatches": minibatches})
    _, one, _ = improve(make_sample(), settings, key=0)
    _, other, _ = improve(make_sample(), settings, key=1)
    assert np.array_equal(one.head.weight, other.head.weight) == same


# Dead agents


def test_dead_samples_teach_nothing() -> None:
    """Whatever they hold; but they are lived through, as hidden states go on."""
    sample = make_sample()
    dead = sample.chunks.alive == 0
    assert dead.any()
    nonsense = sample.but(
        log_prob=jnp.where(dead, -5.0, sample.chunks.log_prob),
        value=jnp.where(dead, 99.0, sample.chunks.value),
        advantage=jnp.where(dead, 77.0, sample.chunks.advantage),
        target=jnp.where(dead, -55.0, sample.chunks.target),
    )
    one, other = improve(sample, TWICE), improve(nonsense, TWICE)
    assert_close(other[0], one[0], atol=0)
    assert_close(other[1], one[1], atol=0)


def test_an_agent_that_never_lived_learns_nothing() -> None:
    sample = make_sample().but(alive=jnp.zeros((TIME, CHUNKS)))
    actor, critic, report = improve(sample, TWICE)
    assert_close(actor, sample.actor, atol=0)
    assert_close(critic, sample.critic, atol=0)
    assert all(np.isfinite(number) for number in report.values())
