"""What a measure of novelty is.

It lives in one agent, knows only what that agent sees, and must satisfy this: u is finite and not
negative, depends on the observation alone (given what is kept), and falls, by and by, the more
often that observation, or one like it, was met. What is kept is a pytree of arrays, which is mapped
over agents and saved in checkpoints.
"""

import abc
from typing import Any

import jax.numpy as jnp
from jax import Array, lax

from mace_marl.agent.encoding import Encoding, mix
from mace_marl.envs.api import World
from mace_marl.settings import Settings

Report = dict[str, Array]


class Novelty(abc.ABC):
    """Base class: write `of`, `init`, `novelty`, and `visit` or `learn`."""

    @classmethod
    @abc.abstractmethod
    def of(cls, world: World, encoding: Encoding, settings: Settings) -> "Novelty":
        """The measure for this world, or a UserError that says why it cannot be had."""

    @abc.abstractmethod
    def init(self, settings: Settings, key: Array) -> Any:
        """What an agent keeps before it has seen anything."""

    @abc.abstractmethod
    def novelty(self, kept: Any, obs: Array, settings: Settings) -> Array:
        """u of each observation  # obs (…, observation_size) → (…) float32."""

    def code(self, kept: Any, obs: Array) -> Array:
        """A number for each observation, the same for those that are one to it  # (…) int32.

        Here: the same for equal observations (and, once in four thousand million, for others).
        """
        bits = lax.bitcast_convert_type(obs + 0.0, jnp.int32)  # −0 is 0
        mixed = jnp.zeros(obs.shape[:-1], jnp.int32)
        for column in range(obs.shape[-1]):
            mixed = mix(mixed, bits[..., column])
        return mixed

    def visit(self, kept: Any, obs: Array, seen: Array) -> Any:
        """Meet a rollout's observations where seen  # (…) bool; before they are rated."""
        return kept

    def learn(
        self,
        kept: Any,
        obs: Array,
        seen: Array,
        settings: Settings,
        key: Array,
        micro_batch: int,
    ) -> tuple[Any, Report]:
        """Learn from the same observations; after they were rated, with PPO's epochs.

        Other agents cannot be reached from here. Devices share the work: `fitting.fit` does so.
        """
        return kept, {}
