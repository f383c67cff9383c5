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


class Room(NamedTuple):
    """Memory for the gates of all distinct observations and for their gradient.

    It is handed on from gradient to gradient of one network: where most of it is never used,
    clearing it each time would take longer than the work. (Two networks that shared one would have
    XLA copy it.)
    """

    gates: Array  # (blocks, BLOCK, 3·size)
    d_gates: Array  # (blocks, BLOCK, 3·size)


def make_room(network: Network, distinct: Distinct) -> Room:
    gates = _zeros(jax.eval_shape(network.before_memory, distinct.obs))
    return Room(gates, gates)


def find_distinct(obs: Array, index: Index) -> tuple[Distinct, Array]:
    """The distinct ones among observations, and which of them each is  # (time, chunks) int32.

    `obs`  # (time, chunks, observation_size)
    """
    number = index(obs)
    seen = jnp.zeros(index.size, jnp.int32).at[number].set(1)
    row = (jnp.cumsum(seen) - 1)[number]
    size = min(index.size, number.size)
    room = jnp.zeros((-(-size // BLOCK) * BLOCK, obs.shape[-1])).at[row].set(obs)
    return Distinct(room.reshape(-1, BLOCK, obs.shape[-1]), seen.sum()), row


def plain_gradient(
    loss: Loss, network: Network, chunks: Chunks, settings: Settings
) -> tuple[Network, Report]:
    """The gradient of the loss summed over all samples, and its report."""
    return eqx.filter_grad(loss, has_aux=True)(network, chunks, settings, None)


def summed_gradient(
    loss: Loss,
    network: Network,
    groups: Chunks,
    settings: Settings,
    distinct: Distinct | None = None,
    room: Room | None = None,
) -> tuple[Network, Report, Room | None]:
    """`plain_gradient` of all chunks in `groups`  # (groups, time, size, …); and the room again."""
    if distinct is not None and room is not None:
        return _gradient_by_distinct(loss, network, groups, settings, distinct, room)

    def part(group: Chunks) -> tuple[Network, Report]:
        return plain_gradient(loss, network, group, settings)

    def add(sums: tuple[Network, Report], group: Chunks) -> tuple[tuple[Network, Report], None]:
        return jax.tree.map(jnp.add, sums, part(group)), None

    nothing = _nothing(loss, network, groups, settings)
    gradient, report = lax.scan(add, nothing, groups)[0]
    return gradient, report, room


def _gradient_by_distinct(
    loss: Loss,
    network: Network,
    groups: Chunks,
    settings: Settings,
    distinct: Distinct,
    room: Room,
) -> tuple[Network, Report, Room]:
    """Down to the gates sample by sample; from there on observation by observation."""
    room = _prepare(network, distinct, room)
    gates = room.gates.reshape(-1, room.gates.shape[-1])  # (blocks · BLOCK, 3·size)

    def part(group: Chunks) -> tuple[tuple[Network, Array], Report]:
        def of_gates(both: tuple[Network, Array]) -> tuple[Array, Report]:
            return loss(both[0], group, settings, both[1])

        return eqx.filter_grad(of_gates, has_aux=True)((network, gates[group.row]))

    def add(sums: tuple, group: Chunks) -> tuple[tuple, None]:
        above, d_gates, report = sums
        (part_above, part_gates), part_report = part(group)
        d_gates = d_gates.at[group.row].add(part_gates)
        above, report = jax.tree.map(jnp.add, (above, report), (part_above, part_report))
        return (above, d_gates, report), None

    above, report = _nothing(loss, network, groups, settings)
    nothing = (above, room.d_gates.reshape(gates.shape), report)
    (above, d_gates, report), _ = lax.scan(add, nothing, groups)
    room = room._replace(d_gates=d_gates.reshape(room.d_gates.shape))
    below = _pull_back(network, distinct, room.d_gates)
    return jax.tree.map(jnp.add, above, below), report, room


def _prepare(network: Network, distinct: Distinct, room: Room) -> Room:
    """`before_memory` of every distinct observation, and no gradient yet: in the blocks in use."""

    def block(k: Array, room: Room) -> Room:
        gates = network.before_memory(distinct.obs[k])
        return Room(room.gates.at[k].set(gates), room.d_gates.at[k].set(0.0))

    return lax.fori_loop(0, _blocks(distinct), block, room)


def _pull_back(network: Network, distinct: Distinct, d_gates: Array) -> Network:
    """The gradient of the layers below the gates, from that of the gates."""

    def block(k: Array, sums: Network) -> Network:
        _, pull = eqx.filter_vjp(lambda network: network.before_memory(distinct.obs[k]), network)
        return jax.tree.map(jnp.add, sums, pull(d_gates[k])[0])

    return lax.fori_loop(0, _blocks(distinct), block, jax.tree.map(jnp.zeros_like, network))


def _blocks(distinct: Distinct) -> Array:
    return (distinct.size + BLOCK - 1) // BLOCK


def _nothing(
    loss: Loss, network: Network, groups: Chunks, settings: Settings
) -> tuple[Network, Report]:
    """The gradient and the report of no samples."""
    first = jax.tree.map(lambda x: x[0], groups)
    _, report = jax.eval_shape(loss, network, first, settings, None)
    return jax.tree.map(jnp.zeros_like, network), _zeros(report)


def _zeros(like: Any) -> Any:
    return jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), like)
