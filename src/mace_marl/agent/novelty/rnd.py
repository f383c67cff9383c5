"""Novelty by random network distillation: the error of a network that learns what another says.

The target is a fixed random network of the observation; the predictor is trained, on what the agent
meets, to say the same. Where it was often, it errs little. Nothing is normalised.
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


class Distilled(NamedTuple):
    target: MLP  # fixed
    predictor: Optimised[MLP]


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
        return Distilled(make(TARGET_LAYERS, target_key), init_optimised(predictor, settings))

    def novelty(self, kept: Distilled, obs: Array, settings: Settings) -> Array:
        encoded = self.encoding(obs)
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
        encoded = self.encoding(obs.reshape(-1, obs.shape[-1]))
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
