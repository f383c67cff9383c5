"""What a critic says of a rollout, after it has been collected."""

import jax.numpy as jnp
from jax import Array, lax

from mace_marl.agent.experience import Rollout, Values, View
from mace_marl.agent.networks import Network


def appraise(
    critic: Network, view: View, rollout: Rollout, hidden: Array, chunk_length: int
) -> tuple[Values, Array]:
    """All values of a rollout, and the critic's memory after it.

    `hidden`  # (e, hidden_size): its memory before the rollout
    """

    def step(hidden: Array, now: tuple[Array, ...]) -> tuple[Array, tuple[Array, ...]]:
        gates, first, reached, truncated = now
        after = critic.gru(gates, jnp.where(first[:, None], 0.0, hidden))
        final = lax.cond(
            truncated.any(),
            lambda: critic(reached, after, jnp.zeros_like(first))[0][:, 0],
            lambda: jnp.zeros(len(first)),
        )
        return after, (hidden, after, jnp.where(truncated, final, 0.0))

    gates = critic.before_memory(view.now)
    last, (before, after, final) = lax.scan(
        step, hidden, (gates, rollout.first, view.reached, rollout.truncated)
    )
    ended = rollout.terminated[-1] | rollout.truncated[-1]
    values = Values(
        seen=view.now,
        now=critic.head(after)[..., 0],
        final=final,
        hidden=before[::chunk_length],
        last=critic(view.last, last, ended)[0][:, 0],
    )
    return values, last
