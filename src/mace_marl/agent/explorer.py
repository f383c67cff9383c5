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
from mace_marl.agent.encoding import Encoding
from mace_marl.agent.experience import Heard, Intrinsic, Rollout
from mace_marl.agent.novelty import NOVELTIES, Novelty
from mace_marl.agent.posterior import POSTERIORS, Accumulated, Posterior
from mace_marl.envs.api import World
from mace_marl.methods import Method
from mace_marl.settings import Settings


class Exploration(NamedTuple):
    """What an agent keeps of its exploring from update to update."""

    novelty: Any  # what its measure of novelty keeps, or None
    posterior: Any  # what its estimate of the posterior keeps, or None
    edges: Array  # (others, percentile_bins − 1): the last percentile edges of others' novelty
    updates: Array  # () int32
    rewarded: Array  # (): the share of its latest episodes that the world rewarded


@dataclass(frozen=True)
class Explorer:
    """The fixed parts: a method's terms, a measure of novelty, and an estimate of the posterior."""

    others: int
    method: Method
    novelty: Novelty | None
    posterior: Posterior | None

    @classmethod
    def of(cls, world: World, encoding: Encoding, method: Method, settings: Settings) -> "Explorer":
        novelty, posterior = NOVELTIES[settings.novelty], POSTERIORS[settings.posterior]
        together = method.together
        return cls(
            others=world.num_agents - 1,
            method=method,
            novelty=novelty.of(world, encoding, settings) if method.explores else None,
            posterior=posterior.of(world, encoding, settings, together) if method.infers else None,
        )

    def init(self, settings: Settings, key: Array) -> Exploration:
        novelty_key, posterior_key = jax.random.split(key)
        return Exploration(
            novelty=self.novelty.init(settings, novelty_key) if self.novelty else None,
            posterior=self.posterior.init(settings, posterior_key) if self.posterior else None,
            edges=jnp.zeros((self.others, settings.percentile_bins - 1)),
            updates=jnp.int32(0),
            rewarded=jnp.float32(0),
        )

    def reward(
        self,
        exploration: Exploration,
        rollout: Rollout,
        heard: Heard,
        settings: Settings,
        micro_batch: int,
    ) -> tuple[Exploration, Intrinsic]:
        """The intrinsic rewards of a rollout. No other agent can be reached from here."""
        novelty, hindsight = heard.own, jnp.zeros_like(heard.own)
        if self.method.novelty in ("sum", "max"):
            others = jnp.where(heard.scored, heard.inbox, 0.0)
            novelty = intrinsic.novelty_reward(heard.own, others, self.method.novelty)
        if self.method.hindsight != "none":
            exploration, hindsight = self.hindsight(
                exploration, rollout, heard, settings, micro_batch
            )
        ended = rollout.terminated | rollout.truncated
        exploration = exploration._replace(
            updates=exploration.updates + 1,
            rewarded=intrinsic.rewarded_share(
                rollout.reward, ended, exploration.rewarded, settings.fading_smoothing
            ),
        )
        dead = ~rollout.alive
        return exploration, Intrinsic(*(jnp.where(dead, 0.0, x) for x in (novelty, hindsight)))

    def exchange(
        self, exploration: Exploration, rollout: Rollout, settings: Settings
    ) -> tuple[Exploration, Heard]:
        """Measure the novelty of a rollout and tell the others, as far as the method needs it."""
        nothing = jnp.zeros_like(rollout.reward)
        silence = jnp.zeros((self.others, *nothing.shape))
        if self.novelty is None:
            return exploration, Heard(nothing, silence, scored=jnp.zeros_like(rollout.first))
        kept = self.novelty.visit(exploration.novelty, *self._visited(rollout, settings))
        # As in the authors' code, without `final_novelty` u_t is of the observation acted upon
        # next, a reset's included, and counts for nothing where the episode ended.
        if settings.final_novelty:
            came_to, scored = rollout.next_obs, jnp.ones_like(rollout.first)
        else:
            came_to = jnp.concatenate([rollout.obs[1:], rollout.last_obs[None]])
            scored = ~(rollout.terminated | rollout.truncated)
        message = self.novelty.novelty(kept, came_to, settings)
        told = rollout.next_alive
        if settings.episodic:
            told &= intrinsic.first_visits(self.novelty.code(kept, came_to), rollout.first)
        message = jnp.where(told, message, 0.0)
        inbox = channel.exchange(message) if self.method.communicates else silence
        own = jnp.where(scored, message, 0.0)
        return exploration._replace(novelty=kept), Heard(own, inbox, scored)

    def learn_novelty(
        self,
        exploration: Exploration,
        rollout: Rollout,
        settings: Settings,
        key: Array,
        micro_batch: int,
    ) -> tuple[Exploration, dict[str, Array]]:
        """Get used to what was visited, after it was rated."""
        if self.novelty is None:
            return exploration, {}
        visited = self._visited(rollout, settings)
        kept, report = self.novelty.learn(exploration.novelty, *visited, settings, key, micro_batch)
        return exploration._replace(novelty=kept), report

    def _visited(self, rollout: Rollout, settings: Settings) -> tuple[Array, Array]:
        """The observations reached, or with the authors those acted upon; and where it lived."""
        if settings.final_novelty:
            return rollout.next_obs, rollout.next_alive
        return rollout.obs, rollout.alive

    def hindsight(
        self,
        exploration: Exploration,
        rollout: Rollout,
        heard: Heard,
        settings: Settings,
        micro_batch: int,
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
            assert self.posterior is not None
            kept, estimate = self.posterior.estimate(
                exploration.posterior, rollout, Accumulated(z, z_label), settings, micro_batch
            )
            exploration = exploration._replace(posterior=kept)
            log_ratio = intrinsic.log_ratio(*estimate, settings.ratio_epsilon)
            weight = z if self.method.hindsight == "weighted" else jnp.ones_like(z)
            reward = intrinsic.hindsight_reward(weight, log_ratio)
        return exploration, reward
