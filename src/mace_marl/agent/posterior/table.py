"""p(a | o, z) by counting: n(a, o, z) / n(o, z) over the last w rollouts, for one other agent.

The paper's table is w × |A| × |S| × K numbers. What is kept instead is which entry each sample of
the last w rollouts falls into; the sums are made anew at every update. That is smaller, needs no
subtraction of what leaves the window, and is the whole state that a checkpoint must hold.
"""

from dataclasses import dataclass
from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

from mace_marl.agent.encoding import Index, index_columns
from mace_marl.envs.api import World
from mace_marl.errors import UserError

MOST_ENTRIES = 2**28  # 1 GiB of counts


class Window(NamedTuple):
    """The entries (a, o, z) of the last w rollouts, flat; −1 where there is no sample."""

    entries: Array  # (w, samples) int32
    oldest: Array  # () int32: the row that the next rollout replaces


@dataclass(frozen=True)
class TablePosterior:
    index: Index
    num_actions: int
    bins: int

    @classmethod
    def of(cls, world: World, bins: int) -> "TablePosterior":
        everything = tuple(range(world.observation_size))
        index = index_columns(world, everything, "the table posterior")
        if index.size * world.num_actions * bins > MOST_ENTRIES:
            raise UserError(
                f"a posterior table over {index.size} observations, {world.num_actions} actions and"
                f" {bins} bins is too large; use fewer bins, or --method r_nov, which has none."
            )
        return cls(index, world.num_actions, bins)

    def init(self, window: int, samples: int) -> Window:
        return Window(jnp.full((window, samples), -1, jnp.int32), jnp.int32(0))

    def update(
        self, window: Window, obs: Array, actions: Array, z_bins: Array, sampled: Array
    ) -> tuple[Window, Array]:
        """Count this rollout, forget the one before the last w, and score every sample.

        `obs`  # (steps, envs, observation_size); `actions`, `z_bins`  # (steps, envs) int32
        `sampled`  # (steps, envs) bool: samples to count
        Returns log p̂(a | o, z)  # (steps, envs), finite because each sample counts itself.
        """
        entry = (self.index(obs) * self.bins + z_bins) * self.num_actions + actions
        counted = jnp.where(sampled, entry, -1).reshape(-1)
        window = Window(
            entries=window.entries.at[window.oldest].set(counted),
            oldest=(window.oldest + 1) % window.entries.shape[0],
        )
        joint = self.counts(window)  # n(a, o, z), flat
        together = joint.reshape(-1, self.num_actions).sum(axis=1)  # n(o, z), flat
        joint_here = jnp.maximum(joint[entry], 1)  # an uncounted sample scores, unused, as one
        together_here = jnp.maximum(together[entry // self.num_actions], 1)
        return window, jnp.log(joint_here / together_here)

    def counts(self, window: Window) -> Array:
        """n(a, o, z)  # (observations · bins · actions,) int32."""
        size = self.index.size * self.bins * self.num_actions
        entries = window.entries.reshape(-1)
        where = jnp.where(entries < 0, size, entries)  # out of bounds is dropped
        return jnp.zeros(size, jnp.int32).at[where].add(1, mode="drop")
