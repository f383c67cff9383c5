"""Collecting experience: all agents act in many worlds at once. Nothing is communicated here.

The world needs everyone's actions, so this is the one place that handles all agents together; the
policies themselves are mapped over agents and see their own observations only.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from mace_marl.agent.experience import Rollout
from mace_marl.agent.learner import Learner, act
from mace_marl.envs.api import Step, World, auto_reset
from mace_marl.settings import Settings


class Stage(NamedTuple):
    """Where the worlds and the agents' memories stand. Environments come first everywhere."""

    world: Any  # the worlds' states (envs, …)
    seen: Step  # what the agents act upon next (envs, …)
    first: Array  # (envs,) bool: an episode begins
    actor_hidden: Array  # (envs, num_agents, hidden_size)
    critic_hidden: Array  # (envs, num_agents, hidden_size), see agent/appraisal.py
    episode_return: Array  # (envs,): of the running episode so far, mean over agents
    episode_length: Array  # (envs,) int32
    key: Array  # (envs,)


class Episodes(NamedTuple):
    """Sums over the episodes that ended."""

    ended: Array  # () int32: how many
    successes: Array  # () int32
    returns: Array  # ()
    lengths: Array  # () int32


class _Moment(NamedTuple):
    """What one step leaves behind: a slice of a Rollout, for all agents (envs, num_agents, …)."""

    obs: Array
    action: Array
    log_prob: Array
    reward: Array
    next_obs: Array
    first: Array
    terminated: Array
    truncated: Array
    available: Array
    alive: Array
    next_alive: Array


def begin(world: World, settings: Settings, key: Array) -> Stage:
    """All environments at the start of an episode."""
    keys = jax.vmap(jax.random.split, out_axes=1)(jax.random.split(key, settings.num_envs))
    states, first = jax.vmap(world.reset)(keys[0])
    memory = (settings.num_envs, world.num_agents, settings.hidden_size)
    return Stage(
        world=states,
        seen=first,
        first=jnp.ones(settings.num_envs, bool),
        actor_hidden=jnp.zeros(memory),
        critic_hidden=jnp.zeros(memory),
        episode_return=jnp.zeros(settings.num_envs),
        episode_length=jnp.zeros(settings.num_envs, jnp.int32),
        key=keys[1],
    )


def collect(
    world: World, learners: Learner, stage: Stage, settings: Settings
) -> tuple[Stage, Rollout, Episodes]:
    """rollout_length steps of every environment; `learners` are stacked over agents.

    In the rollout returned, the agent axis comes third: (t, e, num_agents, …).
    """

    def step(carry: tuple[Stage, Episodes], _: None) -> tuple[tuple[Stage, Episodes], _Moment]:
        stage, episodes = carry
        keys = jax.vmap(lambda key: jax.random.split(key, 3), out_axes=1)(stage.key)
        action, log_prob, actor_hidden = act_together(
            learners, stage.seen, stage.actor_hidden, stage.first, sampling_noise(keys[0], world)
        )
        state, after, ahead = jax.vmap(auto_reset, in_axes=(None, 0, 0, 0))(
            world, keys[1], stage.world, action
        )
        ended = after.terminated | after.truncated
        episode_return = stage.episode_return + after.reward.mean(axis=1)
        episode_length = stage.episode_length + 1
        successes = jax.vmap(world.success)(after) & ended
        episodes = Episodes(
            episodes.ended + ended.sum(),
            episodes.successes + successes.sum(),
            episodes.returns + jnp.where(ended, episode_return, 0.0).sum(),
            episodes.lengths + jnp.where(ended, episode_length, 0).sum(),
        )

        def everyone(x: Array) -> Array:  # (envs,) → (envs, num_agents)
            return jnp.broadcast_to(x[:, None], (len(x), world.num_agents))

        moment = _Moment(
            obs=stage.seen.obs,
            action=action,
            log_prob=log_prob,
            reward=after.reward,
            next_obs=after.obs,
            first=everyone(stage.first),
            terminated=everyone(after.terminated),
            truncated=everyone(after.truncated),
            available=stage.seen.available,
            alive=stage.seen.alive,
            next_alive=after.alive,
        )
        stage = stage._replace(
            world=state,
            seen=ahead,
            first=ended,
            actor_hidden=actor_hidden,
            episode_return=jnp.where(ended, 0.0, episode_return),
            episode_length=jnp.where(ended, 0, episode_length),
            key=keys[2],
        )
        return (stage, episodes), moment

    def chunk(
        carry: tuple[Stage, Episodes], _: None
    ) -> tuple[tuple[Stage, Episodes], tuple[_Moment, Array]]:
        actor_hidden = carry[0].actor_hidden
        carry, moments = lax.scan(step, carry, length=settings.chunk_length)
        return carry, (moments, actor_hidden)

    none_yet = Episodes(jnp.int32(0), jnp.int32(0), jnp.float32(0), jnp.int32(0))
    (stage, episodes), (moments, actor_hidden) = lax.scan(
        chunk, (stage, none_yet), length=settings.rollout_length // settings.chunk_length
    )
    moments = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), moments)
    rollout = Rollout(**moments._asdict(), actor_hidden=actor_hidden, last_obs=stage.seen.obs)
    return stage, rollout, episodes


def act_together(
    learners: Learner, seen: Step, hidden: Array, first: Array, noise: Array
) -> tuple[Array, Array, Array]:
    """Every agent acts on its own observation  # everything (envs, num_agents, …)."""
    return jax.vmap(act, in_axes=(0, 1, 1, None, 1, 1), out_axes=1)(
        learners, seen.obs, hidden, first, seen.available, noise
    )


def sampling_noise(keys: Array, world: World) -> Array:
    """Gumbel noise that turns a policy's mode into a sample  # (envs, num_agents, num_actions)."""
    shape = (world.num_agents, world.num_actions)
    return jax.vmap(lambda key: jax.random.gumbel(key, shape))(keys)
