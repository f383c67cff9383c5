"""How an observation enters tables and networks, from what the world declares of its features."""

import math
from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from mace_marl.envs.api import Feature, World
from mace_marl.errors import UserError

MIXER = -1640531535  # 2³² / golden ratio: spreads bits widely


@dataclass(frozen=True)
class Index:
    """Numbers the values that some discrete features of an observation take together."""

    columns: tuple[int, ...]
    features: tuple[Feature, ...]
    most: int = 2**31
    """A power of two. More values than this share so many numbers, spread over them at random."""

    @property
    def values(self) -> int:
        return math.prod(feature.levels for feature in self.features)

    @property
    def size(self) -> int:
        return min(self.values, self.most)

    def __call__(self, obs: Array) -> Array:
        """The number of each observation  # obs (…, observation_size) → (…) int32."""
        index = jnp.zeros(obs.shape[:-1], jnp.int32)
        for column, feature in zip(self.columns, self.features, strict=True):
            level = _level(obs[..., column], feature)
            index = mix(index, level) if self.values > self.most else index * feature.levels + level
        return index if self.values <= self.most else index & np.int32(self.most - 1)


def mix(mixed: Array, number: Array) -> Array:
    """A number that depends on both in no simple way  # (…) int32."""
    mixed = (mixed ^ number) * np.int32(MIXER)
    return mixed ^ lax.shift_right_logical(mixed, np.int32(15))


@dataclass(frozen=True)
class Encoding:
    """An observation as a network's input: as it is, or with its discrete features one-hot."""

    features: tuple[Feature | None, ...]  # None: this number enters as it is

    @property
    def size(self) -> int:
        return sum(feature.levels if feature else 1 for feature in self.features)

    def __call__(self, obs: Array) -> Array:  # (…, observation_size) → (…, size)
        if not any(self.features):
            return obs
        parts = [
            jax.nn.one_hot(_level(obs[..., column], feature), feature.levels)
            if feature
            else obs[..., column, None]
            for column, feature in enumerate(self.features)
        ]
        return jnp.concatenate(parts, axis=-1)

    def of_all(self, num_agents: int) -> "Encoding":
        """Of as many agents' observations, one after the other."""
        return Encoding(self.features * num_agents)


def _level(number: Array, feature: Feature) -> Array:
    level = jnp.round(number / feature.step).astype(jnp.int32) - feature.least
    return level if feature.exact else jnp.clip(level, 0, feature.levels - 1)


def world_features(world: World) -> tuple[Feature | None, ...]:
    return world.features or (None,) * world.observation_size


def exact_features(world: World) -> tuple[Feature | None, ...]:
    """Those that tell apart all that the numbers do, and can be counted by."""
    return tuple(
        feature if feature and feature.exact else None for feature in world_features(world)
    )


def encode_for_networks(world: World, one_hot: bool) -> Encoding:
    """Features of two levels are as good as one-hot already and stay one number."""
    return Encoding(
        tuple(
            feature if one_hot and feature and feature.levels > 2 else None
            for feature in world_features(world)
        )
    )


def index_discrete(world: World, purpose: str, instead: str, most: int = Index.most) -> Index:
    """An index over all discrete features, of which there must be some."""
    columns = tuple(column for column, feature in enumerate(exact_features(world)) if feature)
    return replace(index_columns(world, columns, purpose, instead), most=most)


def index_columns(world: World, columns: tuple[int, ...], purpose: str, instead: str) -> Index:
    """An index over these columns of the observation, all of which must be discrete."""
    features = [exact_features(world)[column] for column in columns]
    discrete = tuple(feature for feature in features if feature)
    if not columns or len(discrete) < len(columns):
        raise UserError(
            f"{purpose} needs discrete observations, and this world does not declare all it takes;"
            f" use {instead}, or declare `features` and `place` (docs/worlds.md)."
        )
    return Index(columns, discrete)


def index_all(world: World) -> Index | None:
    """An index over whole observations, if all of them are discrete and not too many."""
    features = tuple(feature for feature in exact_features(world) if feature)
    index = Index(tuple(range(world.observation_size)), features)
    return index if len(features) == world.observation_size and index.values < 2**20 else None
