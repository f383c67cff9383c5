"""Random network distillation: its novelty and its training, against NumPy and Adam by hand."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from plain import PlainMLP
from samples import on_shards

import mace_marl.trainer  # noqa: F401  (makes the floats of Settings arguments under jit)
from mace_marl.agent.encoding import Encoding
from mace_marl.agent.novelty.rnd import Distilled, RandomNetworkDistillation
from mace_marl.agent.optimiser import init_optimised
from mace_marl.settings import Settings

SETTINGS = Settings(hidden_size=6, novelty_scale=3.0, epochs=3, rnd_learning_rate=1e-2)
STEPS, ENVS, INPUTS = 6, 4, 5
MEASURE = RandomNetworkDistillation(Encoding((None,) * INPUTS))


@pytest.fixture(scope="module")
def kept() -> Distilled:
    """Also its biases are random, so that none can go untested."""
    rng = np.random.default_rng(5)
    kept = jax.eval_shape(MEASURE.init, SETTINGS, jax.random.key(0))
    target, predictor = jax.tree.map(
        lambda x: jnp.asarray(rng.normal(0, 0.4, x.shape), jnp.float32),
        (kept.target, kept.predictor.network),
    )
    return Distilled(target, init_optimised(predictor, SETTINGS))


def make_obs(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(STEPS, ENVS, INPUTS)).astype(np.float32)


def plain_novelty(target: PlainMLP, predictor: PlainMLP, obs: np.ndarray, error: str) -> float:
    difference = predictor(obs[None])[0] - target(obs[None])[0]
    assert len(difference) == 32
    total = sum(float(x) ** 2 for x in difference)
    return total / 32 if error == "square" else total**0.5


@partial(jax.jit, static_argnames=("micro_batch", "num_shards"))
def learn(
    kept: Distilled,
    obs: np.ndarray,
    seen: np.ndarray,
    settings: Settings,
    key: int = 0,
    micro_batch: int = 7,
    num_shards: int = 1,
) -> tuple[Distilled, dict[str, Any]]:
    def program() -> tuple[Distilled, dict[str, Any]]:
        return MEASURE.learn(
            kept, jnp.asarray(obs), jnp.asarray(seen), settings, jax.random.key(key), micro_batch
        )

    return on_shards(program, num_shards)


def test_networks_have_the_papers_layers() -> None:
    kept = jax.eval_shape(MEASURE.init, Settings(), jax.random.key(0))
    shapes = [[layer.weight.shape for layer in net.layers] for net in (kept[0], kept[1].network)]
    inner = (64, 64)
    assert shapes[0] == [(INPUTS, 64), inner, (64, 32)]
    assert shapes[1] == [(INPUTS, 64), inner, inner, inner, (64, 32)]
    assert kept.target.activation == kept.predictor.network.activation == "relu"


@pytest.mark.parametrize("error", ["norm", "square"])
def test_novelty_is_the_error(kept: Distilled, error: Any) -> None:
    settings = SETTINGS.override({"rnd_error": error})
    obs = make_obs()
    novelty = MEASURE.novelty(kept, jnp.asarray(obs), settings)
    target, predictor = PlainMLP(kept.target), PlainMLP(kept.predictor.network)
    for at in np.ndindex(STEPS, ENVS):
        wanted = 3.0 * plain_novelty(target, predictor, obs[at], error)
        assert_allclose(novelty[at], wanted, rtol=1e-4)


def norm_slope(difference: np.ndarray) -> np.ndarray:
    return difference / np.sqrt((difference**2).sum(axis=1, keepdims=True))


def square_slope(difference: np.ndarray) -> np.ndarray:
    return 2 * difference / 32


@pytest.mark.parametrize(
    ("error", "slope", "clip"),
    [("norm", norm_slope, 10.0), ("square", square_slope, 10.0), ("norm", norm_slope, 0.05)],
)
def test_training_equals_plain_adam(
    kept: Distilled, error: Any, slope: Callable[[np.ndarray], np.ndarray], clip: float
) -> None:
    """Whole batches, some observations of a dead agent among them; the target stays as it is."""
    settings = SETTINGS.override({"rnd_error": error, "max_grad_norm": clip})
    obs = make_obs()
    seen = np.random.default_rng(1).random((STEPS, ENVS)) < 0.8
    after, report = learn(kept, obs, seen, settings)
    target, predictor = PlainMLP(kept.target), PlainMLP(kept.predictor.network)
    losses = []
    for _ in range(settings.epochs):
        x = obs[seen]
        difference = predictor(x) - target(x)
        losses.append(np.mean([plain_novelty(target, predictor, one, error) for one in x]))
        gradient = predictor.gradient(x, slope(difference) / len(x))
        predictor.descend(gradient, settings.rnd_learning_rate, clip)
    assert_allclose(report["novelty_loss"], np.mean(losses), rtol=1e-4)
    for ours, theirs in zip(
        PlainMLP(after.predictor.network).parameters, predictor.parameters, strict=True
    ):
        assert_allclose(ours, theirs, atol=2e-4)
    for ours, theirs in zip(
        PlainMLP(after.target).parameters, PlainMLP(kept.target).parameters, strict=True
    ):
        assert_array_equal(ours, theirs)


def test_what_is_met_often_becomes_less_novel(kept: Distilled) -> None:
    obs = make_obs()
    settings = SETTINGS.override({"epochs": 100})
    after, _ = learn(kept, obs, np.ones((STEPS, ENVS), bool), settings)
    before = MEASURE.novelty(kept, jnp.asarray(obs), settings).mean()
    assert MEASURE.novelty(after, jnp.asarray(obs), settings).mean() < 0.5 * before
    elsewhere = jnp.asarray(3 * make_obs(1))
    assert MEASURE.novelty(after, elsewhere, settings).mean() > 0.5 * before


# Rare inputs, magnified

MAGNIFIED = SETTINGS.override({"rnd_magnified": 4.0, "rnd_error": "square"})


def rare_obs(seed: int = 0) -> np.ndarray:
    """Inputs of 0 and 1: one always there, one hardly ever, one never."""
    often = np.array([1.0, 0.5, 0.2, 0.02, 0.0])
    return (np.random.default_rng(seed).random((STEPS, ENVS, INPUTS)) < often).astype(np.float32)


def test_magnified_inputs_are_in_units_of_their_root_mean_square(kept: Distilled) -> None:
    """Over several rollouts, where seen; and never more than 4 times as large."""
    start = MEASURE.init(MAGNIFIED, jax.random.key(0)).inputs
    magnified = kept._replace(inputs=start)
    target, predictor = PlainMLP(kept.target), PlainMLP(kept.predictor.network)
    squares, samples, capped = np.zeros(INPUTS), 0, False
    for seed in range(3):
        obs = rare_obs(seed) * (1 + seed)
        seen = np.random.default_rng(seed).random((STEPS, ENVS)) < 0.8
        magnified = MEASURE.visit(magnified, jnp.asarray(obs), jnp.asarray(seen))
        for at in zip(*np.nonzero(seen), strict=True):
            squares, samples = squares + obs[at].astype(float) ** 2, samples + 1
        novelty = MEASURE.novelty(magnified, jnp.asarray(obs), MAGNIFIED)
        factor = np.full(INPUTS, 4.0)  # where an input was never there
        factor[squares > 0] = np.minimum(np.sqrt(samples / squares[squares > 0]), 4.0)
        capped = capped or bool((np.sqrt(samples / np.maximum(squares, 1e-6)) > 4).any())
        for at in np.ndindex(STEPS, ENVS):
            wanted = 3.0 * plain_novelty(target, predictor, obs[at] * factor, "square")
            assert_allclose(novelty[at], wanted, rtol=1e-3)
    assert capped


def test_magnified_inputs_are_what_is_learned_from(kept: Distilled) -> None:
    obs, seen = rare_obs(), np.ones((STEPS, ENVS), bool)
    start = MEASURE.init(MAGNIFIED, jax.random.key(0)).inputs
    met = MEASURE.visit(kept._replace(inputs=start), jnp.asarray(obs), jnp.asarray(seen))
    seen_through = obs * np.minimum(np.sqrt(seen.size / np.maximum((obs**2).sum((0, 1)), 1e-6)), 4)
    one, _ = learn(met, obs, seen, MAGNIFIED)
    other, _ = learn(
        kept, seen_through.astype(np.float32), seen, SETTINGS.override({"rnd_error": "square"})
    )
    for ours, theirs in zip(
        jax.tree.leaves(one.predictor), jax.tree.leaves(other.predictor), strict=True
    ):
        assert_allclose(ours, theirs, atol=2e-4)


def test_unseen_observations_teach_nothing(kept: Distilled) -> None:
    obs, seen = make_obs(), np.arange(STEPS * ENVS).reshape(STEPS, ENVS) % 3 > 0
    nonsense = np.where(seen[..., None], obs, 99.0).astype(np.float32)
    one, other = learn(kept, obs, seen, SETTINGS), learn(kept, nonsense, seen, SETTINGS)
    for ours, theirs in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        assert_array_equal(ours, theirs)


def test_a_perfect_prediction_stays_finite(kept: Distilled) -> None:
    """A norm has no gradient at 0."""
    predictor = kept.predictor
    nothing = jax.tree.map(jnp.zeros_like, (kept.target, predictor.network))
    perfect = Distilled(nothing[0], predictor._replace(network=nothing[1]))
    after, _ = learn(perfect, make_obs(), np.ones((STEPS, ENVS), bool), SETTINGS)
    assert all(np.isfinite(x).all() for x in jax.tree.leaves(after))


@pytest.mark.parametrize("minibatches", [1, 3])
def test_layout_changes_rounding_only(kept: Distilled, minibatches: int) -> None:
    settings = SETTINGS.override({"minibatches": minibatches})
    seen = np.arange(STEPS * ENVS).reshape(STEPS, ENVS) % 5 > 0
    one, _ = learn(kept, make_obs(), seen, settings)
    other, _ = learn(kept, make_obs(), seen, settings, micro_batch=3, num_shards=2)
    for ours, theirs in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        assert_allclose(ours, theirs, atol=1e-5)
    shuffled, _ = learn(kept, make_obs(), seen, settings, key=1)
    same = np.array_equal(
        one.predictor.network.layers[0].weight, shuffled.predictor.network.layers[0].weight
    )
    assert not same or minibatches == 1


def test_observations_have_a_code_each(kept: Distilled) -> None:
    """All 2¹² observations of twelve bits; neighbouring floats; the same numbers swapped."""
    bits = np.stack(np.meshgrid(*[[0.0, 1.0]] * 12), axis=-1).reshape(-1, 12).astype(np.float32)
    close = np.array([[0.3], [np.nextafter(np.float32(0.3), np.float32(1))]], np.float32)
    for obs in (bits, close, np.array([[0.1, 0.2], [0.2, 0.1]], np.float32)):
        codes = np.asarray(MEASURE.code(kept, jnp.asarray(obs)))
        assert len(set(codes.tolist())) == len(obs)
    zeros = jnp.asarray([[0.0, 0.0], [-0.0, 0.0]])
    assert len(set(np.asarray(MEASURE.code(kept, zeros)).tolist())) == 1
