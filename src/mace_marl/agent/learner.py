"""One agent: what it owns, how it acts, and what it does with a rollout.

Nothing here knows of other agents, except the inbox that the channel fills. The trainer maps these
functions over agents.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from mace_marl import channel
from mace_marl.agent import gae, intrinsic, ppo
from mace_marl.agent.encoding import Encoding, Index, encode_for_networks, index_all
from mace_marl.agent.gradient import find_distinct
from mace_marl.agent.networks import log_policy, make_actor, make_critic
from mace_marl.agent.novelty import CountNovelty
from mace_marl.agent.posterior import TablePosterior
from mace_marl.envs.api import World
from mace_marl.machine import Layout
from mace_marl.methods import Method
from mace_marl.settings import Settings


class Learner(NamedTuple):
    """All that one agent owns and learns."""

    actor: ppo.Optimised
    critic: ppo.Optimised
    novelty: Any  # what its measure of novelty keeps, or None
    posterior: Any  # for each other agent, what its posterior keeps, or None
    edges: Array  # (num_agents − 1, percentile_bins − 1): the last percentile edges of others
    updates: Array  # () int32
    key: Array


class Rollout(NamedTuple):
    """One agent's own experience. `t` runs over rollout_length steps, `e` over environments."""

    obs: Array  # (t, e, observation_size)
    action: Array  # (t, e) int32
    log_prob: Array  # (t, e), of the action when it was taken
    value: Array  # (t, e)
    final_value: Array  # (t, e): V of the final observation where the horizon was reached, else 0
    reward: Array  # (t, e), the world's
    next_obs: Array  # (t, e, observation_size): of the state reached, never of a reset
    first: Array  # (t, e) bool: an episode begins with this step
    terminated: Array  # (t, e) bool
    truncated: Array  # (t, e) bool
    available: Array  # (t, e, num_actions) bool
    alive: Array  # (t, e) bool: when it acted
    next_alive: Array  # (t, e) bool: in the state reached
    actor_hidden: Array  # (t / chunk_length, e, hidden_size), where chunks begin
    critic_hidden: Array  # (t / chunk_length, e, hidden_size)
    last_obs: Array  # (e, observation_size): what it sees after the rollout
    last_value: Array  # (e,)


class Heard(NamedTuple):
    """Novelties of a rollout: one's own, and those the others told."""

    own: Array  # (t, e): 0 where it does not count
    inbox: Array  # (others, t, e), as received
    scored: Array  # (t, e) bool: where novelty counts


class Intrinsic(NamedTuple):
    """The parts of the shaped reward, all (t, e); zeros where the method does without."""

    novelty: Array
    hindsight: Array


@dataclass(frozen=True)
class Agent:
    """The fixed parts of an agent: how it sees, measures novelty and estimates the posterior."""

    num_agents: int
    num_actions: int
    encoding: Encoding
    observations: Index | None  # numbers all observations, where they are discrete
    method: Method
    novelty: CountNovelty | None
    posterior: TablePosterior | None

    @classmethod
    def of(cls, world: World, method: Method, settings: Settings) -> "Agent":
        hindsight = method.hindsight != "none"
        return cls(
            num_agents=world.num_agents,
            num_actions=world.num_actions,
            encoding=encode_for_networks(world, settings.one_hot),
            observations=index_all(world),
            method=method,
            novelty=CountNovelty.of(world) if method.explores else None,
            posterior=TablePosterior.of(world, settings.bins) if hindsight else None,
        )

    def init(self, settings: Settings, key: Array) -> Learner:
        actor_key, critic_key, key = jax.random.split(key, 3)
        posterior = None
        if self.posterior:
            window = self.posterior.init(settings.window, settings.steps_per_update)
            posterior = jax.tree.map(
                lambda x: jnp.broadcast_to(x, (self.num_agents - 1, *x.shape)), window
            )
        actor = make_actor(self.encoding, self.num_actions, settings, actor_key)
        critic = make_critic(self.encoding, settings, critic_key)
        return Learner(
            actor=ppo.init_optimised(actor, settings),
            critic=ppo.init_optimised(critic, settings),
            novelty=self.novelty.init() if self.novelty else None,
            posterior=posterior,
            edges=jnp.zeros((self.num_agents - 1, settings.percentile_bins - 1)),
            updates=jnp.int32(0),
            key=key,
        )

    def update(
        self, learner: Learner, rollout: Rollout, settings: Settings, layout: Layout
    ) -> tuple[Learner, Intrinsic, dict[str, Array]]:
        """Algorithm 1 from the end of a rollout on, for one agent."""
        learner, rewards, chunks = self.prepare(learner, rollout, settings)
        learner, report = self.improve(learner, chunks, settings, layout)
        return learner, rewards, report

    def prepare(
        self, learner: Learner, rollout: Rollout, settings: Settings
    ) -> tuple[Learner, Intrinsic, ppo.Chunks]:
        """Explore, shape the reward, estimate advantages: all that PPO needs."""
        learner, rewards = self.explore(learner, rollout, settings)
        reward = intrinsic.shaped_reward(
            rollout.reward, rewards.novelty, rewards.hindsight, settings
        )
        advantage = self.advantage(rollout, reward, settings)
        return learner, rewards, self.chunks(rollout, advantage, settings)

    def improve(
        self, learner: Learner, chunks: ppo.Chunks, settings: Settings, layout: Layout
    ) -> tuple[Learner, dict[str, Array]]:
        """Improve the policy and the critic. No other agent can be reached from here."""
        key, shuffle_key = jax.random.split(learner.key)
        distinct = None
        if layout.distinct and self.observations:
            distinct = find_distinct(chunks.obs, self.observations)
        actor, critic, report = ppo.improve(
            learner.actor,
            learner.critic,
            chunks,
            settings,
            shuffle_key,
            layout.micro_batch,
            distinct,
        )
        updates = learner.updates + 1
        return learner._replace(actor=actor, critic=critic, updates=updates, key=key), report

    def explore(
        self, learner: Learner, rollout: Rollout, settings: Settings
    ) -> tuple[Learner, Intrinsic]:
        """Novelty, exchange, accumulation, posterior: the intrinsic rewards of a rollout."""
        learner, heard = self.exchange(learner, rollout, settings)
        novelty, hindsight = heard.own, jnp.zeros_like(heard.own)
        if self.method.novelty == "sum":
            others = jnp.where(heard.scored, heard.inbox, 0.0)
            novelty = intrinsic.novelty_reward(heard.own, others)
        if self.posterior:
            learner, hindsight = self.hindsight(learner, rollout, heard, settings)
        return learner, Intrinsic(novelty, hindsight)

    def exchange(
        self, learner: Learner, rollout: Rollout, settings: Settings
    ) -> tuple[Learner, Heard]:
        """Measure the novelty of a rollout and tell the others, as far as the method needs it."""
        nothing = jnp.zeros_like(rollout.reward)
        silence = jnp.zeros((self.num_agents - 1, *nothing.shape))
        if self.novelty is None:
            return learner, Heard(nothing, silence, scored=jnp.zeros_like(rollout.first))
        counts, seen_next, scored = self._measured(learner, rollout, settings)
        message = self.novelty.novelty(counts, seen_next, settings.novelty_scale)
        message = jnp.where(rollout.next_alive, message, 0.0)
        inbox = channel.exchange(message) if self.method.communicates else silence
        own = jnp.where(scored, message, 0.0)
        return learner._replace(novelty=counts), Heard(own, inbox, scored)

    def _measured(
        self, learner: Learner, rollout: Rollout, settings: Settings
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
        return self.novelty.visit(learner.novelty, visited, seen), seen_next, scored

    def hindsight(
        self, learner: Learner, rollout: Rollout, heard: Heard, settings: Settings
    ) -> tuple[Learner, Array]:
        """The hindsight reward  # (t, e), from the novelties received."""
        posterior, scored = self.posterior, heard.scored
        assert posterior is not None
        ended = rollout.terminated | rollout.truncated

        def of_other(window: Any, old_edges: Array, u: Array) -> tuple[Any, Array, Array, Array]:
            z = intrinsic.accumulate(jnp.where(scored, u, 0.0), ended, settings.novelty_gamma)
            edges = intrinsic.percentile_edges(
                u, settings.percentile_bins, settings.edge_interpolation
            )
            smoothing = jnp.where(learner.updates == 0, 0.0, settings.edge_smoothing)
            edges = smoothing * old_edges + (1 - smoothing) * edges
            label = jnp.where(scored, intrinsic.relabel(u, edges), 0.0)
            z_label = intrinsic.accumulate(label, ended, settings.novelty_gamma)
            z_bins = intrinsic.z_bin(z_label, settings)
            window, log_posterior = posterior.update(
                window, rollout.obs, rollout.action, z_bins, rollout.alive
            )
            return window, edges, z, log_posterior

        window, edges, z, log_posterior = jax.vmap(of_other)(
            learner.posterior, learner.edges, heard.inbox
        )
        reward = intrinsic.hindsight_reward(
            z, log_posterior, rollout.log_prob, settings.ratio_epsilon
        )
        reward = jnp.where(rollout.alive, reward, 0.0)
        return learner._replace(posterior=window, edges=edges), reward

    def advantage(self, rollout: Rollout, reward: Array, settings: Settings) -> Array:
        following = jnp.concatenate([rollout.value[1:], rollout.last_value[None]])
        return gae.advantages(
            reward,
            rollout.value,
            jnp.where(rollout.truncated, rollout.final_value, following),
            rollout.terminated,
            rollout.truncated,
            settings.gamma,
            settings.gae_lambda,
            discard_truncated=settings.truncation == "discard",
        )

    def chunks(self, rollout: Rollout, advantage: Array, settings: Settings) -> ppo.Chunks:
        """The rollout cut into stretches of chunk_length steps, the advantage normalised."""
        length = settings.chunk_length

        def cut(x: Array) -> Array:  # (t, e, …) → (length, t/length · e, …)
            x = x.reshape(-1, length, *x.shape[1:]).swapaxes(0, 1)
            return x.reshape(length, -1, *x.shape[3:])

        mean = mean_where(advantage, rollout.alive)
        deviation = jnp.sqrt(mean_where((advantage - mean) ** 2, rollout.alive))
        return ppo.Chunks(
            obs=cut(rollout.obs),
            action=cut(rollout.action),
            log_prob=cut(rollout.log_prob),
            value=cut(rollout.value),
            advantage=cut((advantage - mean) / (deviation + 1e-5)),
            target=cut(rollout.value + advantage),
            first=cut(rollout.first),
            available=cut(rollout.available),
            alive=cut(rollout.alive.astype(jnp.float32)),
            actor_hidden=rollout.actor_hidden.reshape(1, -1, settings.hidden_size),
            critic_hidden=rollout.critic_hidden.reshape(1, -1, settings.hidden_size),
        )


def act(
    learner: Learner,
    obs: Array,  # (e, observation_size)
    hidden: Array,  # (e, hidden_size)
    first: Array,  # (e,) bool
    available: Array,  # (e, num_actions) bool
    noise: Array,  # (e, num_actions): standard Gumbel to draw from the policy, zeros for its mode
) -> tuple[Array, Array, Array]:
    """Actions  # (e,) int32, their log-probabilities  # (e,), and the actor's next hidden state."""
    logits, hidden = learner.actor.network(obs, hidden, first)
    log_probs = log_policy(logits, available)
    action = jnp.argmax(log_probs + noise, axis=-1)
    log_prob = jnp.take_along_axis(log_probs, action[:, None], axis=-1)[:, 0]
    return action, log_prob, hidden


def mean_where(x: Array, where: Array) -> Array:
    """The mean where there is anything, else 0."""
    return jnp.where(where, x, 0.0).sum() / jnp.maximum(where.sum(), 1)
