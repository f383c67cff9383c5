"""Playing with learned policies. Every agent acts on its own observation; nothing is exchanged."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from mace_marl.agent.learner import Learner
from mace_marl.envs.api import World
from mace_marl.rollout import act_together, sampling_noise


class Played(NamedTuple):
    """Episodes played side by side."""

    success: Array  # (episodes,) bool
    returns: Array  # (episodes,), mean over agents
    length: Array  # (episodes,) int32
    states: Any  # the world's states (horizon + 1, episodes, …); meaningless after the end


def play(
    world: World, learners: Learner, key: Array, episodes: int, greedy: bool, record: bool
) -> Played:
    """Play `episodes` whole episodes, stochastically or with each policy's most likely action.

    `record` keeps the worlds' states, else `states` is None.
    """

    def step(carry: Any, key: Array) -> tuple[Any, Any]:
        state, seen, hidden, first, playing, success, returns, length = carry
        noise_key, world_key = jax.random.split(key)
        noise = sampling_noise(jax.random.split(noise_key, episodes), world)
        action, _, hidden = act_together(
            learners, seen, hidden, first, jnp.zeros_like(noise) if greedy else noise
        )
        keys = jax.random.split(world_key, episodes)
        state, seen = jax.vmap(world.step)(keys, state, action)
        success |= playing & jax.vmap(world.success)(seen)
        returns += jnp.where(playing, seen.reward.mean(axis=1), 0.0)
        length += playing
        playing &= ~(seen.terminated | seen.truncated)
        carry = (state, seen, hidden, jnp.zeros_like(first), playing, success, returns, length)
        return carry, state if record else None

    reset_key, play_key = jax.random.split(key)
    state, seen = jax.vmap(world.reset)(jax.random.split(reset_key, episodes))
    hidden_size = learners.actor.network.fc1.bias.shape[-1]
    hidden = jnp.zeros((episodes, world.num_agents, hidden_size))
    yes, zeros = jnp.ones(episodes, bool), jnp.zeros(episodes)
    begin = (state, seen, hidden, yes, yes, ~yes, zeros, zeros.astype(jnp.int32))
    end, states = lax.scan(step, begin, jax.random.split(play_key, world.horizon))
    if record:
        states = jax.tree.map(lambda x, xs: jnp.concatenate([x[None], xs]), state, states)
    return Played(success=end[5], returns=end[6], length=end[7], states=states)
