"""The units a critic speaks in: the mean and the deviation of what it is to predict.

Returns of exploration shrink a hundredfold while it goes on, and a success is worth a hundred. In
units of its own a critic always predicts numbers of about 1. When the units change, its last layer
changes with them, so that all values stay what they were (van Hasselt et al., 2016: PopArt).
"""

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jax import Array

from mace_marl.agent.experience import mean_where
from mace_marl.agent.linear import Linear
from mace_marl.agent.networks import Network

LEAST_DEVIATION = 1e-2


class Units(NamedTuple):
    """Running moments of a critic's targets; 0 and 1 before there are any."""

    mean: Array  # ()
    square: Array  # ()
    weight: Array  # (): of all targets so far

    @property
    def deviation(self) -> Array:
        variance = jnp.maximum(self.square - self.mean**2, LEAST_DEVIATION**2)
        return jnp.where(self.weight > 0, jnp.sqrt(variance), 1.0)

    def to_value(self, output: Array) -> Array:
        return self.mean + self.deviation * output

    def from_value(self, value: Array) -> Array:
        return (value - self.mean) / self.deviation


def first_units() -> Units:
    return Units(jnp.float32(0), jnp.float32(0), jnp.float32(0))


def renew(units: Units, target: Array, where: Array, smoothing: Array | float) -> Units:
    """Moments over all rollouts, each weighing `smoothing` times as much as the one after it."""
    old = smoothing * units.weight
    weight = old + 1

    def average(before: Array, now: Array) -> Array:
        return (old * before + now) / weight

    mean, square = mean_where(target, where), mean_where(target**2, where)
    return Units(average(units.mean, mean), average(units.square, square), weight)


def translate(critic: Network, old: Units, new: Units) -> Network:
    """The critic of the same values, in new units."""
    head = Linear(
        weight=critic.head.weight * old.deviation / new.deviation,
        bias=new.from_value(old.to_value(critic.head.bias)),
    )
    return eqx.tree_at(lambda network: network.head, critic, head)
