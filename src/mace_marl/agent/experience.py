"""What an agent lives through, and what it makes of it: the arrays that pass between stages."""

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array


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


def mean_where(x: Array, where: Array) -> Array:
    """The mean where there is anything, else 0."""
    return jnp.where(where, x, 0.0).sum() / jnp.maximum(where.sum(), 1)
