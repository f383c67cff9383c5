"""Generalised advantage estimation, with both ends of an episode told apart."""

import jax.numpy as jnp
from jax import Array, lax


def advantages(
    reward: Array,
    value: Array,
    next_value: Array,
    terminated: Array,
    truncated: Array,
    gamma: Array | float,
    gae_lambda: Array | float,
    discard_truncated: bool,
) -> Array:
    """A_t = Σ_k (γλ)^k δ_{t+k} within the episode, all arguments  # (steps, envs).

    `next_value` is V(o_{t+1}) of the observation really reached, also where a reset follows. A
    termination is worth nothing beyond its reward; a truncation goes on in the critic's opinion,
    or, if `discard_truncated`, its step has no advantage at all.
    """
    ended = terminated | truncated
    delta = reward + gamma * jnp.where(terminated, 0.0, next_value) - value

    def backwards(later: Array, now: tuple[Array, Array, Array]) -> tuple[Array, Array]:
        delta, ended, dropped = now
        advantage = delta + gamma * gae_lambda * jnp.where(ended, 0.0, later)
        advantage = jnp.where(dropped, 0.0, advantage)
        return advantage, advantage

    dropped = truncated & discard_truncated
    _, advantage = lax.scan(
        backwards, jnp.zeros_like(delta[0]), (delta, ended, dropped), reverse=True
    )
    return advantage
