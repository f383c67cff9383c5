"""p(a | o, z) by counting: n(a, o, z) / n(o, z) over the last w rollouts.

The paper's table is w × |A| × |S| × K numbers. What is kept instead is which entry each sample of
the last w rollouts falls into; the sums are made anew at every update. That is smaller, needs no
subtraction of what leaves the window, and is the whole state that a checkpoint must hold.
"""

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from mace_marl.agent import intrinsic
from mace_marl.agent.encoding import Encoding, Index, index_columns
from mace_marl.agent.experience import Rollout
from mace_marl.agent.posterior.api import Accumulated, Posterior
from mace_marl.envs.api import World
from mace_marl.errors import UserError
from mace_marl.settings import Settings

MOST_ENTRIES = 2**28  # 1 GiB of counts


class Window(NamedTuple):
    """The entries (a, o, z) of the last w rollouts, flat; −1 where there is no sample."""

    entries: Array  # (w, samples) int32
    oldest: Array  # () int32: the row that the next rollout replaces


@dataclass(frozen=True)
class TablePosterior(Posterior):
    index: Index
    num_actions: int
    bins: int
    posteriors: int
    summed: int  # over how many agents each z is a sum

    @classmethod
    def of(
        cls, world: World, encoding: Encoding, settings: Settings, together: bool
    ) -> "TablePosterior":
        everything = tuple(range(world.observation_size))
        index = index_columns(world, everything, "the table posterior", "--posterior network")
        if index.size * world.num_actions * settings.bins > MOST_ENTRIES:
            raise UserError(
                f"a posterior table over {index.size} observations, {world.num_actions} actions and"
                f" {settings.bins} bins is too large; use --posterior network, or fewer bins."
            )
        others = world.num_agents - 1
        posteriors, summed = (1, others) if together else (others, 1)
        return cls(index, world.num_actions, settings.bins, posteriors, summed)

    def init(self, settings: Settings, key: Array) -> Window:
        """A window for each posterior  # (posteriors, …)."""
        return Window(
            jnp.full((self.posteriors, settings.window, settings.steps_per_update), -1, jnp.int32),
            jnp.zeros(self.posteriors, jnp.int32),
        )

    def estimate(
        self, kept: Window, rollout: Rollout, z: Accumulated, settings: Settings, micro_batch: int
    ) -> tuple[Window, Array]:
        def of_one(window: Window, z_label: Array) -> tuple[Window, Array]:
            z_bins = intrinsic.z_bin(z_label, settings, self.summed)
            return self.update(window, rollout.obs, rollout.action, z_bins, rollout.alive)

        return jax.vmap(of_one)(kept, z.labelled)

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
