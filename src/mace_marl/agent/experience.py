"""What an agent lives through, and what it makes of it: the arrays that pass between stages."""

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array


class Rollout(NamedTuple):
    """One agent's own experience. `t` runs over rollout_length steps, `e` over environments."""

    obs: Array  # (t, e, observation_size)
    action: Array  # (t, e) int32
    log_prob: Array  # (t, e), of the action when it was taken
    reward: Array  # (t, e), the world's
    next_obs: Array  # (t, e, observation_size): of the state reached, never of a reset
    first: Array  # (t, e) bool: an episode begins with this step
    terminated: Array  # (t, e) bool
    truncated: Array  # (t, e) bool
    available: Array  # (t, e, num_actions) bool
    alive: Array  # (t, e) bool: when it acted
    next_alive: Array  # (t, e) bool: in the state reached
    actor_hidden: Array  # (t / chunk_length, e, hidden_size), where chunks begin
    last_obs: Array  # (e, observation_size): what it sees after the rollout


class View(NamedTuple):
    """What an agent's critic sees of a rollout: its own observations, or everyone's."""

    now: Array  # (t, e, view_size)
    reached: Array  # (t, e, view_size): of the state reached, never of a reset
    last: Array  # (e, view_size): after the rollout


class Values(NamedTuple):
    """What an agent's critic says of a rollout."""

    seen: Array  # (t, e, view_size), what it was asked about
    now: Array  # (t, e)
    final: Array  # (t, e): V of the final observation where the horizon was reached, else 0
    hidden: Array  # (t / chunk_length, e, hidden_size), where chunks begin
    last: Array  # (e,): of what is seen after the rollout


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
