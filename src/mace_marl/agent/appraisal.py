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
        seen, first, reached, truncated = now
        value, after = critic(seen, hidden, first)
        final = lax.cond(
            truncated.any(),
            lambda: critic(reached, after, jnp.zeros_like(first))[0],
            lambda: jnp.zeros_like(value),
        )
        return after, (hidden, value[:, 0], jnp.where(truncated, final[:, 0], 0.0))

    after, (before, now, final) = lax.scan(
        step, hidden, (view.now, rollout.first, view.reached, rollout.truncated)
    )
    ended = rollout.terminated[-1] | rollout.truncated[-1]
    values = Values(
        seen=view.now,
        now=now,
        final=final,
        hidden=before[::chunk_length],
        last=critic(view.last, after, ended)[0][:, 0],
    )
    return values, after
