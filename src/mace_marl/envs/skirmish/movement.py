"""One game loop of walking: towards a goal, out of each other's way, and never off the ground."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

CLOSE = 1e-3  # cells: nearer units count as being on the same spot


class Pairs(NamedTuple):
    """From every unit to every unit, those of both sides together."""

    dx: Array  # (units, units)
    dy: Array  # (units, units)
    distance: Array  # (units, units), between centres


def measure(position: Array) -> Pairs:
    """`position`  # (units, 2)"""
    x, y = position[:, 0], position[:, 1]
    dx, dy = x - x[:, None], y - y[:, None]
    return Pairs(dx, dy, jnp.sqrt(dx * dx + dy * dy))


def stride(way: Array, speed: np.ndarray, walks: Array) -> Array:
    """One loop's walk along a way, not beyond its end  # (units, 2).

    `way`  # (units, 2): from each to its goal; `speed`  # (units,); `walks`  # (units,) bool
    """
    length = jnp.sqrt(way[:, 0] ** 2 + way[:, 1] ** 2)
    share = jnp.where(walks, jnp.minimum(speed / jnp.maximum(length, CLOSE), 1.0), 0.0)
    return way * share[:, None]


def push(pairs: Pairs, alive: Array, together: np.ndarray) -> Array:
    """Units that overlap give way, each by half of the overlap  # (units, 2).

    `together`  # (units, units): sums of radii
    """
    order = np.sign(np.subtract.outer(np.arange(len(together)), np.arange(len(together))))
    both = alive & alive[:, None] & (order != 0)
    overlap = jnp.where(both, jnp.maximum(together - pairs.distance, 0.0), 0.0)
    # On the same spot there is no direction: the first goes west, the other east.
    same = pairs.distance < CLOSE
    factor = -0.5 * overlap / jnp.maximum(pairs.distance, CLOSE)
    x = jnp.where(same, 0.5 * overlap * order, factor * pairs.dx).sum(axis=1)
    y = (factor * pairs.dy).sum(axis=1)
    return jnp.stack([x, y], axis=1)


class Ground:
    """Where units can walk; positions are offsets from its middle."""

    def __init__(self, open_cells: np.ndarray) -> None:
        """`open_cells`  # (width, height) bool, by x and y"""
        self.width, self.height = open_cells.shape
        self.middle = np.array(open_cells.shape, np.float32) / 2
        self.cells = open_cells.ravel()

    def open_at(self, x: Array, y: Array) -> Array:
        """Whether cells can be walked on, by their numbers; beyond the border there are none."""
        inside = (x >= 0) & (x < self.width) & (y >= 0) & (y < self.height)
        cell = jnp.clip(x * self.height + y, 0, len(self.cells) - 1)
        return inside & jnp.asarray(self.cells)[cell]

    def walk(self, position: Array, step: Array) -> Array:
        """Where a step leads: where it would leave the ground, along its edge  # (units, 2).

        East or west first, then north or south: both ways end on the ground.
        """
        x, y = position[:, 0], position[:, 1]
        new_x, new_y = x + step[:, 0], y + step[:, 1]
        x = jnp.where(self.open_at(self._cell(new_x, 0), self._cell(y, 1)), new_x, x)
        y = jnp.where(self.open_at(self._cell(x, 0), self._cell(new_y, 1)), new_y, y)
        return jnp.stack([x, y], axis=1)

    def _cell(self, offset: Array, axis: int) -> Array:
        return jnp.floor(offset + self.middle[axis]).astype(jnp.int32)
