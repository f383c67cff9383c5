"""Fully connected layers without memory, as RND and the posterior have them."""

from collections.abc import Sequence
from itertools import pairwise

import equinox as eqx
from jax import Array

from mace_marl.agent.linear import Linear, orthogonal_layers
from mace_marl.agent.networks import ACTIVATION, GAIN


class MLP(eqx.Module):
    activation: str = eqx.field(static=True)
    layers: tuple[Linear, ...]

    def __call__(self, x: Array) -> Array:  # (…, inputs) → (…, outputs)
        *hidden, head = self.layers
        for layer in hidden:
            x = ACTIVATION[self.activation](layer(x))
        return head(x)

    @property
    def weights(self) -> int:
        """How many there are, without biases: what textbooks count operations by."""
        return sum(layer.weight.size for layer in self.layers)


def make_mlp(sizes: Sequence[int], activation: str, head_gain: float, key: Array) -> MLP:
    """A network before learning, of layers between these sizes: orthogonal, biases zero."""
    shapes = list(pairwise(sizes))
    gains = [*[GAIN[activation]] * (len(shapes) - 1), head_gain]
    return MLP(activation, tuple(orthogonal_layers(shapes, gains, key)))
