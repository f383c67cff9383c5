"""Supervised learning for one agent: epochs of mini-batches of Adam on a mean over samples.

As in `gradient.py`, a gradient is summed over micro-batches that stay in a core's cache, and every
shard sums its share of them.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array, lax

from mace_marl import shards
from mace_marl.agent.optimiser import Optimised, descend
from mace_marl.settings import Settings

N = TypeVar("N")
Loss = Callable[[N, Any], Array]  # of a network and samples (size, …): each one's loss (size,)


class Plan(NamedTuple):
    """How to fit."""

    epochs: int
    minibatches: int  # optimiser steps per epoch, on shuffled samples
    micro_batch: int  # samples at most whose gradient is computed at a time
    learning_rate: Array | float


class Batch(NamedTuple):
    """Samples, some of which may count for nothing."""

    samples: Any  # arrays (size, …)
    counts: Array  # (size,) bool

    def grouped(self, which: Array, micro_batch: int) -> "Batch":
        """This shard's share of the samples `which`, in groups  # (groups, size, …).

        Where they do not come out even, samples that count for nothing are added.
        """
        num_shards = lax.axis_size(shards.AXIS)
        share = -(-len(which) // num_shards)
        groups = -(-share // micro_batch)
        size = -(-share // groups)
        missing = num_shards * groups * size - len(which)
        mine = shards.share(jnp.pad(which, (0, missing), constant_values=-1)).reshape(groups, size)
        chosen = jax.tree.map(lambda x: x[mine], self)
        return chosen._replace(counts=chosen.counts & (mine >= 0))


def fit(
    optimised: Optimised[N], loss: Loss[N], batch: Batch, plan: Plan, settings: Settings, key: Array
) -> tuple[Optimised[N], Array]:
    """The network after all epochs, and the mean loss over them."""
    everything = jnp.arange(len(batch.counts))
    all_groups = batch.grouped(everything, plan.micro_batch) if plan.minibatches == 1 else None

    def summed(network: N, group: Batch) -> tuple[Array, Array]:
        total = jnp.where(group.counts, loss(network, group.samples), 0.0).sum()
        return total, total

    def minibatch(optimised: Optimised[N], which: Array) -> tuple[Optimised[N], Array]:
        groups = all_groups if all_groups else batch.grouped(which, plan.micro_batch)

        def add(sums: tuple[N, Array], group: Batch) -> tuple[tuple[N, Array], None]:
            part = eqx.filter_grad(summed, has_aux=True)(optimised.network, group)
            return jax.tree.map(jnp.add, sums, part), None

        nothing = (jax.tree.map(jnp.zeros_like, optimised.network), jnp.float32(0))
        sums, _ = lax.scan(add, nothing, groups)
        sums, counted = shards.total((sums, groups.counts.sum()))
        gradient, mean = jax.tree.map(lambda x: x / jnp.maximum(counted, 1), sums)
        optimised, _ = descend(optimised, gradient, plan.learning_rate, settings)
        return optimised, mean

    def epoch(optimised: Optimised[N], key: Array) -> tuple[Optimised[N], Array]:
        order = everything if all_groups else jax.random.permutation(key, everything)
        return lax.scan(minibatch, optimised, order.reshape(plan.minibatches, -1))

    optimised, losses = lax.scan(epoch, optimised, jax.random.split(key, plan.epochs))
    return optimised, losses.mean()
