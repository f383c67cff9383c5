"""A linear layer, and its orthogonal initialisation."""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax


class Linear(eqx.Module):
    weight: Array  # (inputs, outputs)
    bias: Array  # (outputs,)

    def __call__(self, x: Array) -> Array:
        return product(x, self.weight) + self.bias


@jax.custom_vjp
def product(x: Array, weight: Array) -> Array:
    """x @ weight. Its own gradient for speed: XLA is ten times slower at xᵀd, where d is narrow,
    than at dᵀx, and would turn the latter into the former."""
    return x @ weight


def _forwards(x: Array, weight: Array) -> tuple[Array, tuple[Array, Array]]:
    return x @ weight, (x, weight)


def _backwards(kept: tuple[Array, Array], d: Array) -> tuple[Array, Array]:
    x, weight = kept
    inputs, outputs = weight.shape
    rows, d_rows = x.reshape(-1, inputs), d.reshape(-1, outputs)
    if outputs < inputs:
        return d @ weight.T, lax.optimization_barrier(d_rows.T @ rows).T
    return d @ weight.T, rows.T @ d_rows


product.defvjp(_forwards, _backwards)


def orthogonal_layers(
    shapes: Sequence[tuple[int, int]], gains: Sequence[Array | float], key: Array
) -> list[Linear]:
    """Layers of these shapes, with orthogonal weights times a gain each, and without bias."""
    # All random numbers at once: each draw would add to the time it takes to compile.
    ends = np.cumsum([rows * columns for rows, columns in shapes])
    parts = jnp.split(jax.random.normal(key, (int(ends[-1]),)), ends[:-1])
    return [
        Linear(gain * orthogonal(part.reshape(shape)), jnp.zeros(shape[1]))
        for part, shape, gain in zip(parts, shapes, gains, strict=True)
    ]


def orthogonal(gaussian: Array) -> Array:
    """The orthogonal factor of a matrix: orthonormal columns (or rows, if they are fewer).

    Of a Gaussian matrix, it favours no direction. By Newton–Schulz: every singular value goes to 1,
    the smallest growing by half in each iteration. Not JAX's own initialiser: several LAPACK calls
    in one program can hang the CPU runtime (seen in JAX 0.10.2).
    """
    rows, columns = gaussian.shape
    wide = gaussian if rows <= columns else gaussian.T
    wide = lax.fori_loop(
        0, 60, lambda _, x: 1.5 * x - 0.5 * (x @ x.T) @ x, wide / jnp.linalg.norm(wide)
    )
    return wide if rows <= columns else wide.T
