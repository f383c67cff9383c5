"""One agent: what it owns, how it acts, and what it does with a rollout.

Nothing here knows of other agents. The trainer maps these functions over agents. Two of them,
`look` and `exchange`, go through a door of the channel; from the others nobody can be reached.
"""

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from mace_marl import channel
from mace_marl.agent import gae, intrinsic, ppo
from mace_marl.agent.appraisal import appraise
from mace_marl.agent.encoding import Encoding, Index, encode_for_networks, index_all
from mace_marl.agent.experience import Heard, Intrinsic, Rollout, Values, View, mean_where
from mace_marl.agent.explorer import Exploration, Explorer
from mace_marl.agent.gradient import find_distinct
from mace_marl.agent.networks import Network, log_policy, make_actor, make_critic
from mace_marl.agent.optimiser import Optimised, init_optimised
from mace_marl.agent.units import Units, first_units, renew, translate
from mace_marl.envs.api import World
from mace_marl.machine import Layout
from mace_marl.methods import Method
from mace_marl.settings import Settings


class Learner(NamedTuple):
    """All that one agent owns and learns."""

    actor: Optimised[Network]
    critic: Optimised[Network]
    exploration: Exploration
    key: Array
    units: Units  # of its critic; not used unless values are normalised


@dataclass(frozen=True)
class Agent:
    """The fixed parts of an agent: how it sees, and how it explores."""

    num_agents: int
    num_actions: int
    centralised: bool  # its critic sees all agents' observations
    encoding: Encoding
    critic_encoding: Encoding
    observations: Index | None  # numbers all observations, where they are discrete
    explorer: Explorer

    @classmethod
    def of(cls, world: World, method: Method, settings: Settings) -> "Agent":
        encoding = encode_for_networks(world, settings.one_hot)
        return cls(
            num_agents=world.num_agents,
            num_actions=world.num_actions,
            centralised=method.centralised,
            encoding=encoding,
            critic_encoding=encoding.of_all(world.num_agents) if method.centralised else encoding,
            observations=index_all(world),
            explorer=Explorer.of(world, encoding, method, settings),
        )

    def init(self, settings: Settings, key: Array) -> Learner:
        actor_key, critic_key, key, explorer_key = jax.random.split(key, 4)
        actor = make_actor(self.encoding, self.num_actions, settings, actor_key)
        critic = make_critic(self.critic_encoding, settings, critic_key)
        return Learner(
            actor=init_optimised(actor, settings),
            critic=init_optimised(critic, settings),
            exploration=self.explorer.init(settings, explorer_key),
            key=key,
            units=first_units(),
        )

    def update(
        self,
        learner: Learner,
        rollout: Rollout,
        critic_hidden: Array,  # (e, hidden_size), before the rollout
        settings: Settings,
        layout: Layout,
    ) -> tuple[Learner, Intrinsic, dict[str, Array]]:
        """Algorithm 1 from the end of a rollout on, for one agent."""
        values, _ = self.appraise(learner, rollout, self.look(rollout), critic_hidden, settings)
        learner, heard = self.exchange(learner, rollout, settings)
        return self.learn(learner, rollout, values, heard, settings, layout)

    def look(self, rollout: Rollout) -> View:
        """What the critic sees; through the channel's second door if it sees everyone's."""
        own = View(rollout.obs, rollout.next_obs, rollout.last_obs)
        return View(*map(channel.show, own)) if self.centralised else own

    def appraise(
        self, learner: Learner, rollout: Rollout, view: View, hidden: Array, settings: Settings
    ) -> tuple[Values, Array]:
        """The critic's values, and its memory after the rollout."""
        values, hidden = appraise(
            learner.critic.network, view, rollout, hidden, settings.chunk_length
        )
        if settings.normalise_values:
            now, final, last = map(learner.units.to_value, (values.now, values.final, values.last))
            values = values._replace(now=now, final=final, last=last)
        return values, hidden

    def exchange(
        self, learner: Learner, rollout: Rollout, settings: Settings
    ) -> tuple[Learner, Heard]:
        """Measure the novelty of a rollout and tell the others, as far as the method needs it."""
        exploration, heard = self.explorer.exchange(learner.exploration, rollout, settings)
        return learner._replace(exploration=exploration), heard

    def learn(
        self,
        learner: Learner,
        rollout: Rollout,
        values: Values,
        heard: Heard,
        settings: Settings,
        layout: Layout,
    ) -> tuple[Learner, Intrinsic, dict[str, Array]]:
        """Reward itself and improve. No other agent can be reached from here."""
        learner, rewards, chunks = self.prepare(learner, rollout, values, heard, settings, layout)
        learner, report = self.improve(learner, chunks, settings, layout)
        learner, novelty_report = self.learn_novelty(learner, rollout, settings, layout)
        return learner, rewards, report | novelty_report

    def prepare(
        self,
        learner: Learner,
        rollout: Rollout,
        values: Values,
        heard: Heard,
        settings: Settings,
        layout: Layout,
    ) -> tuple[Learner, Intrinsic, ppo.Chunks]:
        """Shape the reward and estimate advantages: all that PPO needs."""
        exploration, rewards = self.explorer.reward(
            learner.exploration, rollout, heard, settings, layout.samples
        )
        reward = intrinsic.shaped_reward(
            rollout.reward, rewards.novelty, rewards.hindsight, settings, exploration.rewarded
        )
        advantage = self.advantage(rollout, values, reward, settings)
        learner = learner._replace(exploration=exploration)
        chunks = self.chunks(rollout, values, advantage, settings)
        if settings.normalise_values:
            learner, chunks = self.normalise(learner, chunks, settings)
        return learner, rewards, chunks

    def normalise(
        self, learner: Learner, chunks: ppo.Chunks, settings: Settings
    ) -> tuple[Learner, ppo.Chunks]:
        """Values in units that now include these targets', and the critic that speaks in them."""
        units = renew(learner.units, chunks.target, chunks.alive > 0, settings.units_smoothing)
        critic = translate(learner.critic.network, learner.units, units)
        learner = learner._replace(critic=learner.critic._replace(network=critic), units=units)
        value, target = map(units.from_value, (chunks.value, chunks.target))
        return learner, chunks._replace(value=value, target=target)

    def improve(
        self, learner: Learner, chunks: ppo.Chunks, settings: Settings, layout: Layout
    ) -> tuple[Learner, dict[str, Array]]:
        """Improve the policy and the critic."""
        key, shuffle_key = jax.random.split(learner.key)
        distinct = None
        if layout.distinct and self.observations:
            distinct, row = find_distinct(chunks.obs, self.observations)
            chunks = chunks._replace(row=row)
        actor, critic, report = ppo.improve(
            learner.actor,
            learner.critic,
            chunks,
            settings,
            shuffle_key,
            layout.micro_batch,
            actor_distinct=distinct,
            critic_distinct=None if self.centralised else distinct,
        )
        return learner._replace(actor=actor, critic=critic, key=key), report

    def learn_novelty(
        self, learner: Learner, rollout: Rollout, settings: Settings, layout: Layout
    ) -> tuple[Learner, dict[str, Array]]:
        """Get used to what was seen, where the measure of novelty is one that learns."""
        key = jax.random.fold_in(learner.key, 2)  # 0 and 1 are what the next update splits off
        exploration, report = self.explorer.learn_novelty(
            learner.exploration, rollout, settings, key, layout.samples
        )
        return learner._replace(exploration=exploration), report

    def advantage(
        self, rollout: Rollout, values: Values, reward: Array, settings: Settings
    ) -> Array:
        following = jnp.concatenate([values.now[1:], values.last[None]])
        return gae.advantages(
            reward,
            values.now,
            jnp.where(rollout.truncated, values.final, following),
            rollout.terminated,
            rollout.truncated,
            settings.gamma,
            settings.gae_lambda,
            discard_truncated=settings.truncation == "discard",
        )

    def chunks(
        self, rollout: Rollout, values: Values, advantage: Array, settings: Settings
    ) -> ppo.Chunks:
        """The rollout cut into stretches of chunk_length steps, the advantage normalised."""
        length = settings.chunk_length

        def cut(x: Array) -> Array:  # (t, e, …) → (length, t/length · e, …)
            x = x.reshape(-1, length, *x.shape[1:]).swapaxes(0, 1)
            return x.reshape(length, -1, *x.shape[3:])

        mean = mean_where(advantage, rollout.alive)
        deviation = jnp.sqrt(mean_where((advantage - mean) ** 2, rollout.alive))
        return ppo.Chunks(
            obs=cut(rollout.obs),
            critic_obs=cut(values.seen),
            action=cut(rollout.action),
            log_prob=cut(rollout.log_prob),
            value=cut(values.now),
            advantage=cut((advantage - mean) / (deviation + 1e-5)),
            target=cut(values.now + advantage),
            first=cut(rollout.first),
            available=cut(rollout.available),
            alive=cut(rollout.alive.astype(jnp.float32)),
            actor_hidden=rollout.actor_hidden.reshape(1, -1, settings.hidden_size),
            critic_hidden=values.hidden.reshape(1, -1, settings.hidden_size),
            row=jnp.zeros_like(cut(rollout.action)),
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
