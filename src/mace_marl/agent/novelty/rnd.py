"""Novelty by random network distillation: the error of a network that learns what another says.

The target is a fixed random network of the observation; the predictor is trained, on what the agent
meets, to say the same. Where it was often, it errs little. Nothing is normalised, unless rare
inputs are to be magnified: both networks then see each in units of its root mean square so far.
"""

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from mace_marl import shards
from mace_marl.agent import fitting
from mace_marl.agent.encoding import Encoding
from mace_marl.agent.mlp import MLP, make_mlp
from mace_marl.agent.novelty.api import Novelty, Report
from mace_marl.agent.optimiser import Optimised, init_optimised
from mace_marl.envs.api import World
from mace_marl.settings import Settings

TARGET_LAYERS, PREDICTOR_LAYERS, OUTPUTS = 2, 4, 32  # hidden layers, and what both say


class Inputs(NamedTuple):
    """All inputs so far."""

    squares: Array  # (inputs,): summed
    samples: Array  # ()

    def add(self, encoded: Array, seen: Array) -> "Inputs":
        squares = (encoded**2 * seen[..., None]).reshape(-1, encoded.shape[-1]).sum(axis=0)
        return Inputs(self.squares + squares, self.samples + seen.sum())

    def magnify(self, encoded: Array, most: Array | float) -> Array:
        """Each in units of its root mean square, but at most so many times as large."""
        factor = jnp.sqrt(self.samples / jnp.maximum(self.squares, 1e-6))
        return encoded * jnp.minimum(factor, most)


class Distilled(NamedTuple):
    target: MLP  # fixed
    predictor: Optimised[MLP]
    inputs: Inputs | None = None  # where rare ones are magnified


@dataclass(frozen=True)
class RandomNetworkDistillation(Novelty):
    encoding: Encoding

    @classmethod
    def of(
        cls, world: World, encoding: Encoding, settings: Settings
    ) -> "RandomNetworkDistillation":
        return cls(encoding)

    def init(self, settings: Settings, key: Array) -> Distilled:
        def make(layers: int, key: Array) -> MLP:
            sizes = (self.encoding.size, *[settings.hidden_size] * layers, OUTPUTS)
            return make_mlp(sizes, "relu", 1.0, key)

        target_key, predictor_key = jax.random.split(key)
        predictor = make(PREDICTOR_LAYERS, predictor_key)
        none_yet = Inputs(jnp.zeros(self.encoding.size), jnp.float32(0))
        return Distilled(
            target=make(TARGET_LAYERS, target_key),
            predictor=init_optimised(predictor, settings),
            inputs=None if settings.rnd_magnified is None else none_yet,
        )

    def visit(self, kept: Distilled, obs: Array, seen: Array) -> Distilled:
        if kept.inputs is None:
            return kept
        return kept._replace(inputs=kept.inputs.add(self.encoding(obs), seen))

    def encode(self, kept: Distilled, obs: Array, settings: Settings) -> Array:
        """What both networks see of observations."""
        encoded = self.encoding(obs)
        if kept.inputs is None or settings.rnd_magnified is None:
            return encoded
        return kept.inputs.magnify(encoded, settings.rnd_magnified)

    def novelty(self, kept: Distilled, obs: Array, settings: Settings) -> Array:
        encoded = self.encode(kept, obs, settings)
        error = kept.predictor.network(encoded) - kept.target(encoded)
        return settings.novelty_scale * error_size(error, settings)

    def learn(
        self,
        kept: Distilled,
        obs: Array,
        seen: Array,
        settings: Settings,
        key: Array,
        micro_batch: int,
    ) -> tuple[Distilled, Report]:
        """Minimise the mean novelty itself."""
        encoded = self.encode(kept, obs.reshape(-1, obs.shape[-1]), settings)
        plan = fitting.Plan(
            settings.epochs, settings.minibatches, micro_batch, settings.rnd_learning_rate
        )

        def loss(predictor: MLP, samples: tuple[Array, Array]) -> Array:
            encoded, said = samples
            return error_size(predictor(encoded) - said, settings)

        said = shards.gather(kept.target(shards.share(encoded)), axis=0)
        batch = fitting.Batch((encoded, said), seen.reshape(-1))
        predictor, mean = fitting.fit(kept.predictor, loss, batch, plan, settings, key)
        return kept._replace(predictor=predictor), {"novelty_loss": mean}


def error_size(error: Array, settings: Settings) -> Array:
    """‖f(o; θ) − f̄(o)‖, or its mean square over outputs  # (…, outputs) → (…)."""
    square = (error**2).sum(axis=-1)
    if settings.rnd_error == "square":
        return square / error.shape[-1]
    return jnp.sqrt(jnp.maximum(square, 1e-12))  # at 0, a norm has no gradient
