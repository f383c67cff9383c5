"""p(a | o, z) by supervised learning: a network that guesses the action from what was seen, and z.

It is trained on a replay of the latest samples. One network for each accumulated novelty; all learn
from the same samples of this agent, so these are kept once.
"""

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from mace_marl.agent import fitting
from mace_marl.agent.encoding import Encoding
from mace_marl.agent.experience import Rollout
from mace_marl.agent.mlp import MLP, make_mlp
from mace_marl.agent.networks import log_policy
from mace_marl.agent.optimiser import Optimised, init_optimised
from mace_marl.agent.posterior.api import Accumulated, Estimate, Posterior
from mace_marl.envs.api import World
from mace_marl.settings import Settings

LAYERS = 2  # hidden


class Samples(NamedTuple):
    obs: Array  # (samples, observation_size)
    action: Array  # (samples,) int32
    available: Array  # (samples, num_actions) bool
    counts: Array  # (samples,) bool: there is a sample, and the agent lived
    z: Array  # (samples, posteriors)


class Trained(NamedTuple):
    networks: Optimised[MLP]  # stacked (posteriors, …)
    replay: Samples  # the latest ones, oldest first, after places that are still empty
    held: Array  # () int32: how many places are not


@dataclass(frozen=True)
class NetworkPosterior(Posterior):
    encoding: Encoding
    num_actions: int
    posteriors: int

    @classmethod
    def of(
        cls, world: World, encoding: Encoding, settings: Settings, together: bool
    ) -> "NetworkPosterior":
        return cls(encoding, world.num_actions, 1 if together else world.num_agents - 1)

    def init(self, settings: Settings, key: Array) -> Trained:
        sizes = (self.encoding.size + 1, *[settings.hidden_size] * LAYERS, self.num_actions)

        def make(key: Array) -> Optimised[MLP]:
            network = make_mlp(sizes, settings.activation, settings.head_gain, key)
            return init_optimised(network, settings)

        places = settings.replay
        empty = Samples(
            obs=jnp.zeros((places, len(self.encoding.features))),
            action=jnp.zeros(places, jnp.int32),
            available=jnp.ones((places, self.num_actions), bool),
            counts=jnp.zeros(places, bool),
            z=jnp.zeros((places, self.posteriors)),
        )
        return Trained(jax.vmap(make)(jax.random.split(key, self.posteriors)), empty, jnp.int32(0))

    def estimate(
        self, kept: Trained, rollout: Rollout, z: Accumulated, settings: Settings, micro_batch: int
    ) -> tuple[Trained, Estimate]:
        """Before it is trained at all, the posterior is the policy: nothing is known of z."""
        new = _samples(rollout, z)
        kept = remember(kept, new)
        scale = z_scale(kept.replay, settings)  # (posteriors,)

        def train() -> tuple[Optimised[MLP], Array]:
            networks = self._fit(kept, scale, settings, micro_batch)
            return networks, self._log_posterior(networks.network, new, scale)

        def wait() -> tuple[Optimised[MLP], Array]:
            return kept.networks, jnp.broadcast_to(rollout.log_prob.reshape(-1), new.z.T.shape)

        if settings.replay_first:
            full = kept.held == settings.replay
            networks, log_posterior = lax.cond(full, train, wait)
        else:
            networks, log_posterior = train()
        log_posterior = log_posterior.reshape(z.raw.shape)
        log_prior = jnp.broadcast_to(rollout.log_prob, z.raw.shape)
        return kept._replace(networks=networks), Estimate(log_posterior, log_prior)

    def _fit(
        self, kept: Trained, scale: Array, settings: Settings, micro_batch: int
    ) -> Optimised[MLP]:
        """One full batch in every epoch."""
        plan = fitting.Plan(
            settings.posterior_epochs, 1, micro_batch, settings.posterior_learning_rate
        )
        replay = kept.replay
        taken = jax.nn.one_hot(replay.action, self.num_actions)  # quicker than indices, backwards
        unused = jax.random.key(0)  # a single mini-batch has no order

        def loss(network: MLP, samples: tuple[Array, ...]) -> Array:
            inputs, available, taken = samples
            return -(log_policy(network(inputs), available) * taken).sum(axis=-1)

        def fit(network: Optimised[MLP], z: Array, scale: Array) -> Optimised[MLP]:
            samples = (self._inputs(replay.obs, z, scale), replay.available, taken)
            batch = fitting.Batch(samples, replay.counts)
            return fitting.fit(network, loss, batch, plan, settings, unused)[0]

        return jax.vmap(fit, in_axes=(0, 1, 0))(kept.networks, replay.z, scale)

    def _log_posterior(self, networks: MLP, samples: Samples, scale: Array) -> Array:
        """log p of the actions taken  # (posteriors, samples)."""

        def of_one(network: MLP, z: Array, scale: Array) -> Array:
            logits = network(self._inputs(samples.obs, z, scale))
            log_probs = log_policy(logits, samples.available)
            return jnp.take_along_axis(log_probs, samples.action[:, None], axis=-1)[:, 0]

        return jax.vmap(of_one, in_axes=(0, 1, 0))(networks, samples.z, scale)

    def _inputs(self, obs: Array, z: Array, scale: Array) -> Array:
        return jnp.concatenate([self.encoding(obs), (z / scale)[:, None]], axis=-1)


def remember(kept: Trained, new: Samples) -> Trained:
    """Append samples to the replay, whose oldest ones make room."""

    def latest(old: Array, new: Array) -> Array:
        return jnp.concatenate([old, new])[-len(old) :]

    places, added = len(kept.replay.counts), len(new.counts)
    replay = jax.tree.map(latest, kept.replay, new)
    return kept._replace(replay=replay, held=jnp.minimum(kept.held + added, places))


def z_scale(replay: Samples, settings: Settings) -> Array:
    """What z is divided by  # (posteriors,): as set, or its standard deviation in the replay."""
    if settings.posterior_scale is not None:
        return jnp.full(replay.z.shape[1], settings.posterior_scale)
    where = replay.counts[:, None]
    living = jnp.maximum(replay.counts.sum(), 1)
    mean = jnp.where(where, replay.z, 0.0).sum(axis=0) / living
    variance = jnp.where(where, (replay.z - mean) ** 2, 0.0).sum(axis=0) / living
    return jnp.maximum(jnp.sqrt(variance), 1e-6)  # where all are equal, they say nothing


def _samples(rollout: Rollout, z: Accumulated) -> Samples:
    """A rollout's samples in the order of time  # (t · e, …)."""

    def flat(x: Array) -> Array:
        return x.reshape(-1, *x.shape[2:])

    return Samples(
        obs=flat(rollout.obs),
        action=flat(rollout.action),
        available=flat(rollout.available),
        counts=flat(rollout.alive),
        z=z.raw.reshape(len(z.raw), rollout.action.size).T,
    )
