"""p(a | o, z) by counting: n(a, o, z) / n(o, z) over the last w rollouts.

Beyond the paper, α samples may be made up for every (o, z), of actions in the proportions n(a, o) /
n(o) of all z together, and a sample may be left out of its own estimate.

The paper's table is w × |A| × |S| × K numbers. What is kept instead is which entry each sample of
the last w rollouts falls into; they are counted anew at every update. That is smaller, needs no
subtraction of what leaves the window, and is the whole state that a checkpoint must hold.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from mace_marl.agent import intrinsic
from mace_marl.agent.encoding import Encoding, Index, index_discrete
from mace_marl.agent.experience import Rollout
from mace_marl.agent.posterior.api import Accumulated, Estimate, Posterior
from mace_marl.envs.api import World
from mace_marl.errors import UserError
from mace_marl.settings import Settings

MOST_ENTRIES = 2**28  # 1 GiB of counts
SHARED_OBSERVATIONS = 2**16  # as if there were so many, where a table of all would be too large


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
        index = index_discrete(world, "the table posterior", "--posterior network")
        if index.values * world.num_actions * settings.bins > MOST_ENTRIES:
            index = replace(index, most=SHARED_OBSERVATIONS)
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
    ) -> tuple[Window, Estimate]:
        def of_one(window: Window, z_label: Array) -> tuple[Window, Estimate]:
            z_bins = intrinsic.z_bin(z_label, settings, self.summed)
            window, log_posterior, log_marginal = self.update(
                window, rollout.obs, rollout.action, z_bins, rollout.alive, settings
            )
            to_policy = settings.ratio_to == "policy"
            return window, Estimate(log_posterior, rollout.log_prob if to_policy else log_marginal)

        return jax.vmap(of_one)(kept, z.labelled)

    def update(
        self,
        window: Window,
        obs: Array,  # (steps, envs, observation_size)
        actions: Array,  # (steps, envs) int32
        z_bins: Array,  # (steps, envs) int32
        sampled: Array,  # (steps, envs) bool: samples to count
        settings: Settings,
    ) -> tuple[Window, Array, Array]:
        """Count this rollout, forget the one before the last w, and score every sample.

        Returns also log p̂(a | o, z) and log p̂(a | o), both  # (steps, envs); they are finite
        because each sample counts itself, or else what is made up.
        """
        observed = self.index(obs)
        entry = (observed * self.bins + z_bins) * self.num_actions + actions
        counted = jnp.where(sampled, entry, -1).reshape(-1)
        window = Window(
            entries=window.entries.at[window.oldest].set(counted),
            oldest=(window.oldest + 1) % window.entries.shape[0],
        )
        taken, seen = self.count(window, entry, self.num_actions)  # n(a, o, z), n(o, z)
        ever_taken, ever_seen = self.count(window, entry, self.num_actions * self.bins)
        left_out = 1 if settings.leave_one_out else 0
        marginal = ever_taken / ever_seen
        posterior = (taken - left_out + settings.table_prior * marginal) / (
            seen - left_out + settings.table_prior
        )
        return window, jnp.log(posterior), jnp.log(marginal)

    def count(self, window: Window, entry: Array, width: int) -> tuple[Array, Array]:
        """How often this action was taken, and any, by samples of the same group  # (steps, envs).

        A group is `width` entries: those of one (o, z), or all of one o. There are many more groups
        than samples, so that a table of all would take longer to clear and read than all else;
        each group is instead known by the place of one of its samples.
        """
        entries = window.entries.reshape(-1)
        groups = self.index.size * self.bins * self.num_actions // width
        group = jnp.where(entries < 0, groups, entries // width)  # out of bounds is dropped
        places = jnp.arange(len(entries), dtype=jnp.int32)
        place = jnp.zeros(groups, jnp.int32).at[group].set(places, mode="drop")
        where = jnp.where(entries < 0, len(entries), place[group])
        table = jnp.zeros((len(entries), self.num_actions), jnp.int32)
        table = table.at[where, entries % self.num_actions].add(1, mode="drop")
        here = table[place[entry // width]]  # (steps, envs, num_actions)
        taken = jnp.take_along_axis(here, (entry % self.num_actions)[..., None], axis=-1)[..., 0]
        # A sample that is not counted itself is scored all the same, and its score not used.
        return jnp.maximum(taken, 1), jnp.maximum(here.sum(axis=-1), 1)
