"""A linear layer, and its orthogonal initialisation."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array, lax


class Linear(eqx.Module):
    weight: Array  # (inputs, outputs)
    bias: Array  # (outputs,)

    def __init__(self, inputs: int, outputs: int, gain: float, key: Array) -> None:
        self.weight = gain * orthogonal(key, inputs, outputs)
        self.bias = jnp.zeros(outputs)

    def __call__(self, x: Array) -> Array:
        return x @ self.weight + self.bias


def orthogonal(key: Array, rows: int, columns: int) -> Array:
    """A random matrix with orthonormal columns (or rows, if they are fewer).

    Gram–Schmidt, each vector cleaned twice for accuracy. Not JAX's own initialiser: it calls
    LAPACK, and several such calls in one program can hang the CPU runtime (seen in JAX 0.10.2).
    """
    vectors = jax.random.normal(key, (min(rows, columns), max(rows, columns)))

    def add(k: Array, basis: Array) -> Array:
        vector = vectors[k]
        for _ in range(2):
            vector = vector - (basis @ vector) @ basis
        return basis.at[k].set(vector / jnp.linalg.norm(vector))

    basis = lax.fori_loop(0, len(vectors), add, jnp.zeros_like(vectors))
    return basis if rows <= columns else basis.T
