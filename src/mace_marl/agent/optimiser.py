"""A network with its optimiser, and one step of it: Adam along a gradient clipped by its norm."""

from typing import Any, Generic, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jax import Array

from mace_marl.settings import Settings

N = TypeVar("N")


class Optimised(NamedTuple, Generic[N]):
    """A network and the state of its optimiser."""

    network: N
    adam: Any


def init_optimised(network: N, settings: Settings) -> Optimised[N]:
    return Optimised(network, _adam(settings).init(eqx.filter(network, eqx.is_array)))


def descend(
    optimised: Optimised[N], gradient: N, learning_rate: Array | float, settings: Settings
) -> tuple[Optimised[N], Array]:
    """One step of Adam along the gradient, clipped by its own norm; returns that norm too."""
    norm = optax.tree.norm(gradient)
    scale = jnp.minimum(1.0, settings.max_grad_norm / (norm + 1e-6))
    clipped = jax.tree.map(lambda g: g * scale, gradient)
    direction, adam = _adam(settings).update(clipped, optimised.adam)
    step = jax.tree.map(lambda d: -learning_rate * d, direction)
    return Optimised(eqx.apply_updates(optimised.network, step), adam), norm


def _adam(settings: Settings) -> optax.GradientTransformation:
    return optax.scale_by_adam(eps=settings.adam_epsilon)
