"""A gated recurrent unit.

Our own for two reasons, both speed: the input's part of the gates is computed outside the scan over
time, in one large matrix product; and so is, backwards, the gradient of the recurrent weights.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array, lax

from mace_marl.agent.linear import Linear


class GRU(eqx.Module):
    inputs: Linear  # to the three gates: reset, update, candidate
    recurrent: Linear

    def __call__(self, from_input: Array, hidden: Array) -> Array:
        """The next hidden state, from `inputs(x)`  # (batch, 3·size), hidden (batch, size)."""
        return _step(from_input, self.recurrent(hidden), hidden)[0]

    def over_time(self, from_input: Array, hidden: Array, first: Array) -> Array:
        """Hidden states after each step  # (time, batch, size).

        `from_input`  # (time, batch, 3·size); `hidden`  # (batch, size), before the first step
        `first`  # (time, batch) bool: an episode begins here, so nothing is remembered
        """
        return _over_time(self.recurrent.weight, self.recurrent.bias, from_input, hidden, first)

    def over_time_plainly(self, from_input: Array, hidden: Array, first: Array) -> Array:
        """What `over_time` computes, and whose gradient it has: its specification."""

        def step(hidden: Array, now: tuple[Array, Array]) -> tuple[Array, Array]:
            from_input, first = now
            hidden = self(from_input, jnp.where(first[:, None], 0.0, hidden))
            return hidden, hidden

        return lax.scan(step, hidden, (from_input, first))[1]


def _step(from_input: Array, from_hidden: Array, hidden: Array) -> tuple[Array, ...]:
    """The next hidden state, and the gates it was made of."""
    reset_x, update_x, candidate_x = jnp.split(from_input, 3, axis=-1)
    reset_h, update_h, candidate_h = jnp.split(from_hidden, 3, axis=-1)
    reset = jax.nn.sigmoid(reset_x + reset_h)
    update = jax.nn.sigmoid(update_x + update_h)
    candidate = jnp.tanh(candidate_x + reset * candidate_h)
    return (1 - update) * candidate + update * hidden, reset, update, candidate, candidate_h


@jax.custom_vjp
def _over_time(weight: Array, bias: Array, from_input: Array, hidden: Array, first: Array) -> Array:
    return _forwards(weight, bias, from_input, hidden, first)[0]


def _forwards(
    weight: Array, bias: Array, from_input: Array, hidden: Array, first: Array
) -> tuple[Array, Any]:
    def step(hidden: Array, now: tuple[Array, Array]) -> tuple[Array, tuple[Array, ...]]:
        from_input, first = now
        before = jnp.where(first[:, None], 0.0, hidden)
        after, *gates = _step(from_input, before @ weight + bias, before)
        return after, (after, before, *gates)

    _, (after, *kept) = lax.scan(step, hidden, (from_input, first))
    return after, (kept, weight, first)


def _backwards(residuals: Any, d_after: Array) -> tuple[Array | None, ...]:
    kept, weight, first = residuals
    before = kept[0]

    def step(d_later: Array, now: tuple[Array, ...]) -> tuple[Array, tuple[Array, Array]]:
        d_after, first, before, reset, update, candidate, candidate_h = now
        d_hidden = d_after + d_later
        d_candidate = d_hidden * (1 - update) * (1 - candidate**2)
        d_update = d_hidden * (before - candidate) * update * (1 - update)
        d_reset = d_candidate * candidate_h * reset * (1 - reset)
        d_from_hidden = jnp.concatenate([d_reset, d_update, d_candidate * reset], axis=-1)
        d_before = d_hidden * update + d_from_hidden @ weight.T
        return jnp.where(first[:, None], 0.0, d_before), (d_from_hidden, d_candidate)

    d_hidden, (d_from_hidden, d_candidate) = lax.scan(
        step, jnp.zeros_like(before[0]), (d_after, first, *kept), reverse=True
    )
    size = before.shape[-1]
    d_weight = before.reshape(-1, size).T @ d_from_hidden.reshape(-1, 3 * size)
    d_from_input = jnp.concatenate([d_from_hidden[..., : 2 * size], d_candidate], axis=-1)
    return d_weight, d_from_hidden.sum(axis=(0, 1)), d_from_input, d_hidden, None


_over_time.defvjp(_forwards, _backwards)
