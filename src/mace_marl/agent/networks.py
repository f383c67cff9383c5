"""One agent's networks: two fully connected layers, a GRU and a linear head.

Actor and critic are two of these that share nothing.
"""

from collections.abc import Callable
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array, lax

from mace_marl.agent.encoding import Encoding
from mace_marl.settings import Settings

GAIN = {"relu": 2**0.5, "tanh": 5 / 3}
ACTIVATION: dict[str, Callable[[Array], Array]] = {"relu": jax.nn.relu, "tanh": jnp.tanh}


def orthogonal(key: Array, rows: int, columns: int) -> Array:
    """A random matrix with orthonormal columns (or rows, if they are fewer).

    Gram–Schmidt, each vector cleaned twice for accuracy. Not JAX's own initialiser: it calls
    LAPACK, and several such calls in one program can hang the CPU runtime (seen in JAX 0.10.2).
    """
    vectors = jax.random.normal(key, (min(rows, columns), max(rows, columns)))

    def add(k: Array, basis: Array) -> Array:
        vector = vectors[k]
        for _ in range(2):
            vector = vector - (basis @ vector) @ basis
        return basis.at[k].set(vector / jnp.linalg.norm(vector))

    basis = lax.fori_loop(0, len(vectors), add, jnp.zeros_like(vectors))
    return basis if rows <= columns else basis.T


class Linear(eqx.Module):
    weight: Array  # (inputs, outputs)
    bias: Array  # (outputs,)

    def __init__(self, inputs: int, outputs: int, gain: float, key: Array) -> None:
        self.weight = gain * orthogonal(key, inputs, outputs)
        self.bias = jnp.zeros(outputs)

    def __call__(self, x: Array) -> Array:
        return x @ self.weight + self.bias


class GRU(eqx.Module):
    """Our own, because the input's part of the gates must be computed outside the scan over time:
    one large matrix product instead of many small ones."""

    inputs: Linear  # to the three gates: reset, update, candidate
    recurrent: Linear

    def __init__(self, size: int, key: Array) -> None:
        input_key, recurrent_key = jax.random.split(key)
        self.inputs = Linear(size, 3 * size, 1.0, input_key)
        self.recurrent = Linear(size, 3 * size, 1.0, recurrent_key)

    def __call__(self, from_input: Array, hidden: Array) -> Array:
        """The next hidden state, from `inputs(x)`  # (batch, 3·size) and the last  # (batch, size)."""
        from_hidden = self.recurrent(hidden)
        reset_x, update_x, candidate_x = jnp.split(from_input, 3, axis=-1)
        reset_h, update_h, candidate_h = jnp.split(from_hidden, 3, axis=-1)
        reset = jax.nn.sigmoid(reset_x + reset_h)
        update = jax.nn.sigmoid(update_x + update_h)
        candidate = jnp.tanh(candidate_x + reset * candidate_h)
        return (1 - update) * candidate + update * hidden


class Network(eqx.Module):
    encoding: Encoding = eqx.field(static=True)
    activation: str = eqx.field(static=True)
    fc1: Linear
    fc2: Linear
    gru: GRU
    head: Linear

    def __init__(
        self, encoding: Encoding, outputs: int, head_gain: float, settings: Settings, key: Array
    ) -> None:
        keys = jax.random.split(key, 4)
        size, gain = settings.hidden_size, GAIN[settings.activation]
        self.encoding = encoding
        self.activation = settings.activation
        self.fc1 = Linear(encoding.size, size, gain, keys[0])
        self.fc2 = Linear(size, size, gain, keys[1])
        self.gru = GRU(size, keys[2])
        self.head = Linear(size, outputs, head_gain, keys[3])

    def before_memory(self, obs: Array) -> Array:
        """All that depends on the observation alone: the GRU's gates from it  # (…, 3·size)."""
        activation = ACTIVATION[self.activation]
        x = activation(self.fc1(self.encoding(obs)))
        return self.gru.inputs(activation(self.fc2(x)))

    def __call__(self, obs: Array, hidden: Array, first: Array) -> tuple[Array, Array]:
        """One step for a batch: the head's outputs and the next hidden state.

        `obs`  # (batch, observation_size); `hidden`  # (batch, size)
        `first`  # (batch,) bool: an episode begins here, so nothing is remembered
        """
        hidden = self.gru(self.before_memory(obs), jnp.where(first[:, None], 0.0, hidden))
        return self.head(hidden), hidden

    def over_chunk(self, obs: Array, hidden: Array, first: Array) -> Array:
        """The same over consecutive steps: outputs for  # obs (time, batch, observation_size)."""

        def step(hidden: Array, now: tuple[Array, Array]) -> tuple[Array, Array]:
            from_input, first = now
            hidden = self.gru(from_input, jnp.where(first[:, None], 0.0, hidden))
            return hidden, hidden

        _, hiddens = lax.scan(step, hidden, (self.before_memory(obs), first))
        return self.head(hiddens)


def make_actor(encoding: Encoding, num_actions: int, settings: Settings, key: Array) -> Network:
    return Network(encoding, num_actions, settings.head_gain, settings, key)


def make_critic(encoding: Encoding, settings: Settings, key: Array) -> Network:
    return Network(encoding, 1, 1.0, settings, key)


@partial(jnp.vectorize, signature="(a),(a)->(a)")
def log_policy(logits: Array, available: Array) -> Array:
    """Log-probabilities of all actions; an unavailable one has probability zero.

    Its logarithm is a large negative number, not −∞, so that gradients stay finite.
    """
    return jax.nn.log_softmax(jnp.where(available, logits, -1e9))
