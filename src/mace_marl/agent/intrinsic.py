"""The paper's equations: accumulated novelty, its discretisation, and the shaped reward."""

from typing import Literal

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from mace_marl.settings import Settings


def accumulate(novelty: Array, ended: Array, gamma: Array | float) -> Array:
    """z_t = Σ_{t' ≥ t} γ^{t'−t} u_{t'}, within the episode and up to the rollout's end.

    `novelty`, `ended`  # (steps, envs): u, and whether the episode ended with this step
    """

    def backwards(z: Array, now: tuple[Array, Array]) -> tuple[Array, Array]:
        u, ended = now
        z = u + gamma * jnp.where(ended, 0.0, z)
        return z, z

    _, z = lax.scan(backwards, jnp.zeros_like(novelty[0]), (novelty, ended), reverse=True)
    return z


def first_visits(code: Array, first: Array) -> Array:
    """Where an episode comes to something for the first time, as far as the rollout tells.

    `code`  # (steps, envs) int32: what was come to; `first`  # (steps, envs): episodes begin
    """
    earlier = np.tril(np.ones((len(code), len(code)), bool), k=-1)

    def in_env(env: tuple[Array, Array]) -> Array:
        code, episode = env  # (steps,)
        same = (code[:, None] == code) & (episode[:, None] == episode)
        return ~(same & earlier).any(axis=1)

    # One environment after the other: XLA would else compute every code anew for every pair.
    return lax.map(in_env, (code.T, jnp.cumsum(first, axis=0).T)).T


def percentile_edges(novelty: Array, bins: int, interpolate: bool) -> Array:
    """The 1/bins, 2/bins, … quantiles of a rollout's novelties  # (bins − 1,).

    A novelty of 0 is none, as told by the dead and of what is not new in an episode: left out.
    """
    there = novelty.reshape(-1) > 0
    ordered = jnp.sort(jnp.where(there, novelty.reshape(-1), jnp.inf))
    numerator = np.arange(1, bins) * (jnp.maximum(there.sum(), 1) - 1)  # of k (n − 1) / bins
    below = _finite(ordered[numerator // bins])
    if not interpolate:
        return below
    above = _finite(ordered[-(-numerator // bins)])
    return below + numerator % bins / bins * (above - below)


def _finite(novelty: Array) -> Array:
    """0 where there is none at all."""
    return jnp.where(jnp.isinf(novelty), 0.0, novelty)


def relabel(novelty: Array, edges: Array) -> Array:
    """ũ: the middle of the bin a novelty falls in, e.g. 0.1, 0.3, … 0.9. On an edge: the lower.

    No novelty stays none.
    """
    bins = len(edges) + 1
    middle = (jnp.searchsorted(edges, novelty, side="left") + 0.5) / bins
    return jnp.where(novelty > 0, middle, 0.0)


def z_bin(z: Array, settings: Settings, summed: int = 1) -> Array:
    """Which of the K bins an accumulated relabelled novelty falls in  # int32; the last is open.

    The bins share the range [0, the largest label / (1 − γ)] equally, `summed` times as wide where
    z is a sum over that many agents.
    """
    largest = summed * (1 - 0.5 / settings.percentile_bins) / (1 - settings.novelty_gamma)
    return jnp.clip(z / largest * settings.bins, 0, settings.bins - 1).astype(jnp.int32)


def novelty_reward(own: Array, inbox: Array, joined: Literal["sum", "max"] = "sum") -> Array:
    """r_nov = Σ_j u^j, equation (1), or max_j u^j in its place.

    `own`  # (steps, envs); `inbox`  # (others, steps, envs)
    """
    if joined == "max":
        return jnp.maximum(own, inbox.max(axis=0, initial=0.0))
    return own + inbox.sum(axis=0)


def log_ratio(log_posterior: Array, log_prior: Array, epsilon: Array | float = 0.0) -> Array:
    """log p(a|o,z)/π(a|o)  # (others, steps, envs), from the logarithms of both.

    It is taken as −log(π/p + ε), as the authors do; with ε = 0 it is the paper's.
    """
    return -jnp.logaddexp(log_prior - log_posterior, jnp.log(epsilon))


def hindsight_reward(weight: Array, log_ratio: Array) -> Array:
    """r_hin^{i→j} = z^j log p(a|o,z^j)/π(a|o), equation (7), summed over others j, equation (8).

    `weight`, `log_ratio`  # (others, steps, envs). With z^{−i} in place of all z^j, (15); with ones
    in place of z^j, its expectation is the plain mutual information.
    """
    return (weight * log_ratio).sum(axis=0)


def rewarded_share(reward: Array, ended: Array, before: Array, smoothing: Array | float) -> Array:
    """The share of episodes that the world rewarded, `smoothing` of it from before this rollout;
    all of it where no episode ended.

    `reward`, `ended`  # (steps, envs)
    """

    def forwards(found: Array, now: tuple[Array, Array]) -> tuple[Array, Array]:
        reward, ended = now
        found = found | (reward > 0)
        return found & ~ended, found & ended

    _, successes = lax.scan(forwards, jnp.zeros_like(ended[0]), (reward, ended))
    now = successes.sum() / jnp.maximum(ended.sum(), 1)
    return jnp.where(ended.any(), smoothing * before + (1 - smoothing) * now, before)


def shaped_reward(
    extrinsic: Array,
    novelty: Array,
    hindsight: Array,
    settings: Settings,
    rewarded: Array | float = 0.0,
) -> Array:
    """r_s = r_ext + β (r_nov + λ r_hin), equation (10), and (13) where β is not 1.

    β may fade as a larger share of episodes is `rewarded` by the world.
    """
    weight = settings.intrinsic_weight * (1 - rewarded) ** settings.intrinsic_fading
    return extrinsic + weight * (novelty + settings.hindsight_weight * hindsight)
