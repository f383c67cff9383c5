"""One agent's networks: two fully connected layers, a GRU and a linear head.

Actor and critic are two of these that share nothing.
"""

from collections.abc import Callable
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from mace_marl.agent.encoding import Encoding
from mace_marl.agent.gru import GRU
from mace_marl.agent.linear import Linear, orthogonal_layers
from mace_marl.settings import Settings

GAIN = {"relu": 2**0.5, "tanh": 5 / 3}
ACTIVATION: dict[str, Callable[[Array], Array]] = {"relu": jax.nn.relu, "tanh": jnp.tanh}


class Network(eqx.Module):
    encoding: Encoding = eqx.field(static=True)
    activation: str = eqx.field(static=True)
    fc1: Linear
    fc2: Linear
    gru: GRU
    head: Linear

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

    def from_gates(self, gates: Array, hidden: Array, first: Array) -> Array:
        """Outputs over consecutive steps, from `before_memory`  # gates (time, batch, 3·size)."""
        return self.head(self.gru.over_time(gates, hidden, first))


def make_network(
    encoding: Encoding, outputs: int, head_gain: Array | float, settings: Settings, key: Array
) -> Network:
    """A network before learning: orthogonal weights, biases zero."""
    size, gain = settings.hidden_size, GAIN[settings.activation]
    shapes = [
        (encoding.size, size),
        (size, size),
        (size, 3 * size),
        (size, 3 * size),
        (size, outputs),
    ]
    gains = (gain, gain, 1.0, 1.0, head_gain)
    fc1, fc2, inputs, recurrent, head = orthogonal_layers(shapes, gains, key)
    return Network(encoding, settings.activation, fc1, fc2, GRU(inputs, recurrent), head)


def make_actor(encoding: Encoding, num_actions: int, settings: Settings, key: Array) -> Network:
    return make_network(encoding, num_actions, settings.head_gain, settings, key)


def make_critic(encoding: Encoding, settings: Settings, key: Array) -> Network:
    return make_network(encoding, 1, 1.0, settings, key)


@partial(jnp.vectorize, signature="(a),(a)->(a)")
def log_policy(logits: Array, available: Array) -> Array:
    """Log-probabilities of all actions; an unavailable one has probability zero.

    Its logarithm is a large negative number, not −∞, so that gradients stay finite.
    """
    return jax.nn.log_softmax(jnp.where(available, logits, -1e9))
