"""How one agent rewards itself for exploring: novelty, exchange, accumulation, posterior.

Of others it knows the inbox that the channel fills, and nothing else.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from mace_marl import channel
from mace_marl.agent import intrinsic
from mace_marl.agent.experience import Heard, Intrinsic, Rollout
from mace_marl.agent.novelty import CountNovelty
from mace_marl.agent.posterior import TablePosterior
from mace_marl.envs.api import World
from mace_marl.methods import Method
from mace_marl.settings import Settings


class Exploration(NamedTuple):
    """What an agent keeps of its exploring from update to update."""

    novelty: Any  # what its measure of novelty keeps, or None
    posterior: Any  # for each accumulated novelty, what its posterior keeps, or None
    edges: Array  # (others, percentile_bins − 1): the last percentile edges of others' novelty
    updates: Array  # () int32


@dataclass(frozen=True)
class Explorer:
    """The fixed parts: a method's terms, a measure of novelty, and an estimate of the posterior."""

    others: int
    method: Method
    novelty: CountNovelty | None
    posterior: TablePosterior | None

    @classmethod
    def of(cls, world: World, method: Method, settings: Settings) -> "Explorer":
        return cls(
            others=world.num_agents - 1,
            method=method,
            novelty=CountNovelty.of(world) if method.explores else None,
            posterior=TablePosterior.of(world, settings.bins) if method.infers else None,
        )

    def init(self, settings: Settings) -> Exploration:
        posterior = None
        if self.posterior:
            one = self.posterior.init(settings.window, settings.steps_per_update)
            posteriors = 1 if self.method.together else self.others
            posterior = jax.tree.map(lambda x: jnp.broadcast_to(x, (posteriors, *x.shape)), one)
        return Exploration(
            novelty=self.novelty.init() if self.novelty else None,
            posterior=posterior,
            edges=jnp.zeros((self.others, settings.percentile_bins - 1)),
            updates=jnp.int32(0),
        )

    def reward(
        self, exploration: Exploration, rollout: Rollout, heard: Heard, settings: Settings
    ) -> tuple[Exploration, Intrinsic]:
        """The intrinsic rewards of a rollout. No other agent can be reached from here."""
        novelty, hindsight = heard.own, jnp.zeros_like(heard.own)
        if self.method.novelty in ("sum", "max"):
            others = jnp.where(heard.scored, heard.inbox, 0.0)
            novelty = intrinsic.novelty_reward(heard.own, others, self.method.novelty)
        if self.method.hindsight != "none":
            exploration, hindsight = self.hindsight(exploration, rollout, heard, settings)
        exploration = exploration._replace(updates=exploration.updates + 1)
        return exploration, Intrinsic(novelty, hindsight)

    def exchange(
        self, exploration: Exploration, rollout: Rollout, settings: Settings
    ) -> tuple[Exploration, Heard]:
        """Measure the novelty of a rollout and tell the others, as far as the method needs it."""
        nothing = jnp.zeros_like(rollout.reward)
        silence = jnp.zeros((self.others, *nothing.shape))
        if self.novelty is None:
            return exploration, Heard(nothing, silence, scored=jnp.zeros_like(rollout.first))
        counts, seen_next, scored = self._measured(exploration, rollout, settings)
        message = self.novelty.novelty(counts, seen_next, settings.novelty_scale)
        message = jnp.where(rollout.next_alive, message, 0.0)
        inbox = channel.exchange(message) if self.method.communicates else silence
        own = jnp.where(scored, message, 0.0)
        return exploration._replace(novelty=counts), Heard(own, inbox, scored)

    def _measured(
        self, exploration: Exploration, rollout: Rollout, settings: Settings
    ) -> tuple[Array, Array, Array]:
        """Counts after this rollout; whose novelty u_t is; and where it counts at all  # (t, e).

        With `final_novelty`, u_t is of the observation reached, and that is what is visited. Else,
        as in the authors' code, it is of the observation acted upon next, a reset's included, it
        counts for nothing where the episode ended, and visited is what was acted upon.
        """
        assert self.novelty is not None
        if settings.final_novelty:
            seen_next, scored = rollout.next_obs, jnp.ones_like(rollout.first)
            visited, seen = rollout.next_obs, rollout.next_alive
        else:
            seen_next = jnp.concatenate([rollout.obs[1:], rollout.last_obs[None]])
            scored = ~(rollout.terminated | rollout.truncated)
            visited, seen = rollout.obs, rollout.alive
        return self.novelty.visit(exploration.novelty, visited, seen), seen_next, scored

    def hindsight(
        self, exploration: Exploration, rollout: Rollout, heard: Heard, settings: Settings
    ) -> tuple[Exploration, Array]:
        """The hindsight reward  # (t, e), from the novelties received."""
        ended = rollout.terminated | rollout.truncated
        smoothing = jnp.where(exploration.updates == 0, 0.0, settings.edge_smoothing)

        def of_other(old_edges: Array, u: Array) -> tuple[Array, Array, Array]:
            edges = intrinsic.percentile_edges(
                u, settings.percentile_bins, settings.edge_interpolation
            )
            edges = smoothing * old_edges + (1 - smoothing) * edges
            z, z_label = (
                intrinsic.accumulate(jnp.where(heard.scored, x, 0.0), ended, settings.novelty_gamma)
                for x in (u, intrinsic.relabel(u, edges))
            )
            return edges, z, z_label

        edges, z, z_label = jax.vmap(of_other)(exploration.edges, heard.inbox)  # (others, …)
        exploration = exploration._replace(edges=edges)
        if self.method.together:
            z, z_label = z.sum(axis=0, keepdims=True), z_label.sum(axis=0, keepdims=True)
        if self.method.hindsight == "novelty":
            reward = z.sum(axis=0)
        else:
            exploration, log_ratio = self._log_ratio(exploration, rollout, z_label, settings)
            weight = z if self.method.hindsight == "weighted" else jnp.ones_like(z)
            reward = intrinsic.hindsight_reward(weight, log_ratio)
        return exploration, jnp.where(rollout.alive, reward, 0.0)

    def _log_ratio(
        self, exploration: Exploration, rollout: Rollout, z_label: Array, settings: Settings
    ) -> tuple[Exploration, Array]:
        """log p(a|o,z)/π(a|o) for each accumulated novelty  # (others or 1, t, e)."""
        posterior = self.posterior
        assert posterior is not None
        summed = self.others if self.method.together else 1

        def of_one(kept: Any, z_label: Array) -> tuple[Any, Array]:
            z_bins = intrinsic.z_bin(z_label, settings, summed)
            return posterior.update(kept, rollout.obs, rollout.action, z_bins, rollout.alive)

        kept, log_posterior = jax.vmap(of_one)(exploration.posterior, z_label)
        log_ratio = intrinsic.log_ratio(log_posterior, rollout.log_prob, settings.ratio_epsilon)
        return exploration._replace(posterior=kept), log_ratio
