"""The gradient of a loss that is a sum over samples, as fast as the machine allows.

`plain_gradient` says what is computed. `summed_gradient` computes the same up to float rounding:

- in micro-batches, small enough that all that is computed for one stays in a core's cache;
- where observations are few and discrete, the layers before the GRU, which depend on the
  observation alone, once per distinct observation instead of once per sample.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array, lax

from mace_marl.agent.chunks import Chunks
from mace_marl.agent.encoding import Index
from mace_marl.agent.networks import Network
from mace_marl.settings import Settings

Report = dict[str, Array]
Loss = Callable[[Network, Chunks, Settings, Array | None], tuple[Array, Report]]

BLOCK = 512  # distinct observations computed at a time


class Distinct(NamedTuple):
    """The distinct observations among an agent's samples."""

    obs: Array  # (blocks, BLOCK, observation_size): each once, then whatever
    size: Array  # () int32: how many there are
    row: Array  # (time, chunks) int32: which of them each sample is


def find_distinct(obs: Array, index: Index) -> Distinct:
    """The distinct ones among observations  # obs (time, chunks, observation_size)."""
    number = index(obs)
    seen = jnp.zeros(index.size, jnp.int32).at[number].set(1)
    row = (jnp.cumsum(seen) - 1)[number]
    size = min(index.size, number.size)
    room = jnp.zeros((-(-size // BLOCK) * BLOCK, obs.shape[-1])).at[row].set(obs)
    return Distinct(room.reshape(-1, BLOCK, obs.shape[-1]), seen.sum(), row)


def plain_gradient(
    loss: Loss, network: Network, chunks: Chunks, settings: Settings
) -> tuple[Network, Report]:
    """The gradient of the loss summed over all samples, and its report."""
    return eqx.filter_grad(loss, has_aux=True)(network, chunks, settings, None)


def summed_gradient(
    loss: Loss,
    network: Network,
    chunks: Chunks,
    groups: Array,
    settings: Settings,
    distinct: Distinct | None,
) -> tuple[Network, Report]:
    """`plain_gradient` over the chunks in `groups`  # (micro-batches, size) int32."""
    if distinct is not None:
        return _gradient_by_distinct(loss, network, chunks, groups, settings, distinct)

    def part(group: Array) -> tuple[Network, Report]:
        return plain_gradient(loss, network, chunks.take(group), settings)

    def add(sums: tuple[Network, Report], group: Array) -> tuple[tuple[Network, Report], None]:
        return jax.tree.map(jnp.add, sums, part(group)), None

    return lax.scan(add, _zeros(jax.eval_shape(part, groups[0])), groups)[0]


def _gradient_by_distinct(
    loss: Loss,
    network: Network,
    chunks: Chunks,
    groups: Array,
    settings: Settings,
    distinct: Distinct,
) -> tuple[Network, Report]:
    """Down to the gates sample by sample; from there on observation by observation."""
    gates = _gates_of_distinct(network, distinct)  # (blocks · BLOCK, 3·size)

    def part(group: Array) -> tuple[tuple[Network, Array], Report]:
        taken = chunks.take(group)

        def of_gates(both: tuple[Network, Array]) -> tuple[Array, Report]:
            return loss(both[0], taken, settings, both[1])

        return eqx.filter_grad(of_gates, has_aux=True)((network, gates[distinct.row[:, group]]))

    def add(sums: tuple, group: Array) -> tuple[tuple, None]:
        above, d_gates, report = sums
        (part_above, part_gates), part_report = part(group)
        d_gates = d_gates.at[distinct.row[:, group]].add(part_gates)
        above, report = jax.tree.map(jnp.add, (above, report), (part_above, part_report))
        return (above, d_gates, report), None

    (like_above, _), like_report = jax.eval_shape(part, groups[0])
    nothing = (_zeros(like_above), jnp.zeros_like(gates), _zeros(like_report))
    (above, d_gates, report), _ = lax.scan(add, nothing, groups)
    below = _pull_back(network, distinct, d_gates)
    return jax.tree.map(jnp.add, above, below), report


def _gates_of_distinct(network: Network, distinct: Distinct) -> Array:
    """`before_memory` of every distinct observation; no more blocks than there are any."""

    def block(k: Array, gates: Array) -> Array:
        return gates.at[k].set(network.before_memory(distinct.obs[k]))

    shape = jax.eval_shape(network.before_memory, distinct.obs)
    gates = lax.fori_loop(0, _blocks(distinct), block, _zeros(shape))
    return gates.reshape(-1, shape.shape[-1])


def _pull_back(network: Network, distinct: Distinct, d_gates: Array) -> Network:
    """The gradient of the layers below the gates, from that of the gates."""
    d_blocks = d_gates.reshape(-1, BLOCK, d_gates.shape[-1])

    def block(k: Array, sums: Network) -> Network:
        _, pull = eqx.filter_vjp(lambda network: network.before_memory(distinct.obs[k]), network)
        return jax.tree.map(jnp.add, sums, pull(d_blocks[k])[0])

    return lax.fori_loop(0, _blocks(distinct), block, jax.tree.map(jnp.zeros_like, network))


def _blocks(distinct: Distinct) -> Array:
    return (distinct.size + BLOCK - 1) // BLOCK


def _zeros(like: Any) -> Any:
    return jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), like)
