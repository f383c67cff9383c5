"""Devices share the work by environments, not by agents.

Every device collects from its share of the environments and computes its share of every gradient;
all hold all agents' parameters. Three agents on two cores are therefore no special case, and no
number reaches another *agent* through this axis: it joins parts of one agent's own sums.
"""

from typing import Any

import jax
import numpy as np
from jax import Array, lax
from jax.sharding import Mesh

AXIS = "shard"


def mesh(devices: int) -> Mesh:
    return Mesh(np.array(jax.devices()[:devices]), (AXIS,))


def total(tree: Any) -> Any:
    """The sum of all shards' parts, on every shard."""
    return jax.tree.map(lambda x: lax.psum(x, AXIS), tree)


def gather(tree: Any, axis: int) -> Any:
    """All shards' parts joined along `axis`, on every shard."""
    return jax.tree.map(lambda x: lax.all_gather(x, AXIS, axis=axis, tiled=True), tree)


def share(x: Array) -> Array:
    """This shard's equal part of an array that all shards hold, cut along its first axis."""
    size = x.shape[0] // lax.axis_size(AXIS)
    return lax.dynamic_slice_in_dim(x, lax.axis_index(AXIS) * size, size)
