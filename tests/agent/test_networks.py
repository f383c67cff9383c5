"""Networks against NumPy, their initialisation, masked policies, and encodings."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import plain
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from plain import PlainNetwork
from samples import Sheet, random_network

from mace_marl.agent import networks
from mace_marl.agent.encoding import Encoding, encode_for_networks
from mace_marl.agent.linear import orthogonal
from mace_marl.envs.api import Feature
from mace_marl.settings import Settings

TIME, BATCH, INPUTS, OUTPUTS, SIZE = 7, 4, 3, 5, 8


def some_input(rng: np.random.Generator) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Observations, a hidden state and flags of beginning episodes."""
    obs = rng.normal(size=(TIME, BATCH, INPUTS))
    hidden = rng.normal(size=(BATCH, SIZE))
    first = rng.random((TIME, BATCH)) < 0.3
    first[0] = [True, False, False, True]
    return jnp.asarray(obs, jnp.float32), jnp.asarray(hidden, jnp.float32), jnp.asarray(first)


# Forward


def test_gru_equations() -> None:
    rng = np.random.default_rng(0)
    network = random_network(INPUTS, OUTPUTS, Settings(hidden_size=SIZE), rng)
    x, hidden = rng.normal(size=(2, BATCH, SIZE)).astype(np.float32)
    ours = network.gru(network.gru.inputs(jnp.asarray(x)), jnp.asarray(hidden))
    assert_allclose(ours, PlainNetwork.of(network).remember(x, hidden), atol=1e-6)


@pytest.mark.parametrize(("update_weight", "wanted"), [(10.0, 2.0), (-10.0, math.tanh(4.0))])
def test_gru_by_hand(update_weight: float, wanted: float) -> None:
    """One unit, x = 1, h = 2; W_c = 1, U_c = 3, all other weights 0 but W_u.

    An update gate wide open keeps h = 2. Shut, it leaves the candidate tanh(1 + r · 3 · 2), where
    the reset gate is r = 1/2 as all its weights are 0.
    """
    network = random_network(1, 1, Settings(hidden_size=1), np.random.default_rng(0))
    inputs, recurrent = jnp.array([[0.0, update_weight, 1.0]]), jnp.array([[0.0, 0.0, 3.0]])
    gru = eqx.tree_at(
        lambda gru: (gru.inputs.weight, gru.inputs.bias, gru.recurrent.weight, gru.recurrent.bias),
        network.gru,
        (inputs, jnp.zeros(3), recurrent, jnp.zeros(3)),
    )
    hidden = gru(gru.inputs(jnp.ones((1, 1))), jnp.full((1, 1), 2.0))
    assert_allclose(hidden, [[wanted]], rtol=1e-4)


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_network_equals_numpy_step_by_step(activation: str) -> None:
    rng = np.random.default_rng(1)
    settings = Settings().override({"hidden_size": SIZE, "activation": activation})
    network = random_network(INPUTS, OUTPUTS, settings, rng)
    obs, hidden, first = some_input(rng)
    outputs, hiddens = PlainNetwork.of(network).run(*map(np.asarray, (obs, hidden, first)))
    for time in range(TIME):
        output, hidden = network(obs[time], hidden, first[time])
        assert_allclose(output, outputs[time], atol=1e-5)
        assert_allclose(hidden, hiddens[time], atol=1e-5)


def test_a_chunk_at_once_equals_step_by_step() -> None:
    """Also with episodes that begin within the chunk."""
    rng = np.random.default_rng(2)
    network = random_network(INPUTS, OUTPUTS, Settings(hidden_size=SIZE), rng)
    obs, hidden, first = some_input(rng)
    wanted, _ = PlainNetwork.of(network).run(*map(np.asarray, (obs, hidden, first)))
    assert_allclose(
        network.from_gates(network.before_memory(obs), hidden, first), wanted, atol=1e-5
    )


def test_nothing_is_remembered_where_an_episode_begins() -> None:
    """Neither in the outputs nor in their gradients."""
    rng = np.random.default_rng(3)
    network = random_network(INPUTS, OUTPUTS, Settings(hidden_size=SIZE), rng)
    obs, hidden, first = some_input(rng)
    first = jnp.zeros_like(first).at[3, 1].set(True)

    def late(hidden: jax.Array, obs: jax.Array) -> jax.Array:
        return network.from_gates(network.before_memory(obs), hidden, first)[3:].sum(axis=(0, 2))[1]

    of_hidden, of_obs = jax.grad(late, argnums=(0, 1))(hidden, obs)
    assert_array_equal(of_hidden[1], 0)
    assert_array_equal(of_obs[:3], 0)
    assert np.abs(of_obs[3:, 1]).min() > 0


# Initialisation


@pytest.mark.parametrize(("rows", "columns"), [(4, 12), (12, 4), (1, 5), (64, 64)])
def test_orthogonal(rows: int, columns: int) -> None:
    make = jax.jit(lambda key: orthogonal(jax.random.normal(key, (rows, columns))))
    matrix = np.asarray(make(jax.random.key(0)), np.float64)
    assert matrix.shape == (rows, columns)
    gram = matrix @ matrix.T if rows <= columns else matrix.T @ matrix
    assert_allclose(gram, np.eye(min(rows, columns)), atol=1e-5)


def test_orthogonal_matrices_are_spread_evenly() -> None:
    """A uniform orthogonal matrix has entries of mean 0 and variance 1/n: no axis is preferred."""
    keys = jax.random.split(jax.random.key(1), 2000)
    matrices = jax.jit(jax.vmap(lambda key: orthogonal(jax.random.normal(key, (3, 3)))))(keys)
    assert_allclose(np.mean(matrices, axis=0), np.zeros((3, 3)), atol=0.06)
    assert_allclose(np.mean(matrices**2, axis=0), np.full((3, 3), 1 / 3), atol=0.04)


@pytest.mark.parametrize(
    ("activation", "gain", "head"), [("relu", 2**0.5, "actor"), ("tanh", 5 / 3, "critic")]
)
def test_initial_gains_and_biases(activation: str, gain: float, head: str) -> None:
    settings = Settings().override({"hidden_size": SIZE, "activation": activation})
    encoding = Encoding((None,) * INPUTS)

    def make(key: jax.Array) -> networks.Network:
        if head == "actor":
            return networks.make_actor(encoding, OUTPUTS, settings, key)
        return networks.make_critic(encoding, settings, key)

    network = jax.jit(make)(jax.random.key(0))
    layers = {
        "fc1": (network.fc1, (INPUTS, SIZE), gain),
        "fc2": (network.fc2, (SIZE, SIZE), gain),
        "gru.inputs": (network.gru.inputs, (SIZE, 3 * SIZE), 1.0),
        "gru.recurrent": (network.gru.recurrent, (SIZE, 3 * SIZE), 1.0),
        "head": (network.head, *(((SIZE, OUTPUTS), 0.01) if head == "actor" else ((SIZE, 1), 1.0))),
    }
    for name, (layer, shape, wanted) in layers.items():
        assert layer.weight.shape == shape, name
        singular_values = np.linalg.svd(np.asarray(layer.weight), compute_uv=False)
        assert_allclose(singular_values, wanted, rtol=1e-4, err_msg=name)
        assert_array_equal(layer.bias, np.zeros(shape[1]), err_msg=name)


# Policy


def test_log_policy_is_a_softmax_over_available_actions() -> None:
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 3, (TIME, BATCH, OUTPUTS)).astype(np.float32)
    available = rng.random(logits.shape) < 0.6
    available[..., 2] = True
    ours = np.asarray(networks.log_policy(jnp.asarray(logits), jnp.asarray(available)))
    for at in np.ndindex(TIME, BATCH):
        allowed = available[at]
        assert_allclose(ours[at][allowed], plain.log_softmax(logits[at][allowed]), atol=1e-5)
        assert_array_equal(np.exp(ours[at][~allowed]), 0)


def test_gradients_stay_finite_where_actions_are_unavailable() -> None:
    """Of the log-probability and of the entropy, even if only one action is left."""

    def entropy_and_log_prob(logits: jax.Array, available: jax.Array) -> jax.Array:
        log_probs = networks.log_policy(logits, available)
        return log_probs[0] - (jnp.exp(log_probs) * log_probs).sum()

    logits = jnp.array([0.3, -1.0, 50.0])
    for available in ([True, True, False], [True, False, False]):
        gradient = jax.grad(entropy_and_log_prob)(logits, jnp.array(available))
        assert np.isfinite(gradient).all()
        assert_array_equal(gradient[~np.array(available)], 0)


# Encoding


def test_one_hot_encoding() -> None:
    """x of three levels becomes three numbers; y and the lamp, of two levels, stay one each."""
    encoding = encode_for_networks(Sheet(), one_hot=True)
    assert encoding.size == 3 + 1 + 1
    obs = jnp.array([[0.0, 0.25, 1.0], [0.5, 0.0, 0.0], [1.0, 0.25, 0.0]])
    assert_allclose(
        encoding(obs), [[1, 0, 0, 0.25, 1], [0, 1, 0, 0, 0], [0, 0, 1, 0.25, 0]], atol=1e-6
    )


def test_encoding_without_one_hot_changes_nothing() -> None:
    encoding = encode_for_networks(Sheet(), one_hot=False)
    obs = jnp.array([[0.5, 0.25, 1.0]])
    assert encoding.size == 3
    assert_array_equal(encoding(obs), obs)


def test_continuous_features_are_never_one_hot() -> None:
    encoding = Encoding((None, Feature(4, 1 / 3), None))
    assert encoding.size == 6
    obs = jnp.array([[0.7, 2 / 3, -5.0]])
    assert_allclose(encoding(obs), [[0.7, 0, 0, 1, 0, -5.0]], atol=1e-6)


def test_levels_may_begin_below_zero() -> None:
    encoding = Encoding((Feature(4, 0.5, least=-2),))
    obs = jnp.array([[-1.0], [-0.5], [0.0], [0.5]])
    assert_array_equal(encoding(obs), np.eye(4))


def test_of_a_number_between_levels_the_nearest_is_shown() -> None:
    encoding = Encoding((Feature(4, 0.5, least=-2, exact=False),))
    obs = jnp.array([[-7.0], [-0.6], [0.2], [9.0]])
    assert_array_equal(encoding(obs), np.eye(4))


def test_levels_survive_float32() -> None:
    """k/30 in float32 is not k · (1/30) exactly; every level must still find itself."""
    encoding = Encoding((Feature(30, 1 / 30),))
    obs = (np.arange(30, dtype=np.float32) / np.float32(30))[:, None]
    assert_array_equal(encoding(jnp.asarray(obs)), np.eye(30))


def test_networks_see_the_encoding() -> None:
    encoding = encode_for_networks(Sheet(), one_hot=True)
    settings = Settings(hidden_size=SIZE)
    network = random_network(encoding, OUTPUTS, settings, np.random.default_rng(0))
    nothing, first = np.zeros((1, SIZE)), np.array([True])
    ours, _ = network(jnp.array([[0.5, 0.25, 1.0]]), jnp.asarray(nothing), jnp.asarray(first))
    one_hot = np.array([[0, 1, 0, 0.25, 1]])
    wanted, _ = PlainNetwork.of(network).step(one_hot, nothing, first)
    assert_allclose(ours, wanted, atol=1e-5)
