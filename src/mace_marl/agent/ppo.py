"""Recurrent PPO for one agent: its actor and its critic, each with its own loss and optimiser."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jax import Array, lax

from mace_marl import shards
from mace_marl.agent.networks import Network, log_policy
from mace_marl.settings import Settings


class Chunks(NamedTuple):
    """An agent's samples, cut into short stretches of consecutive steps (time first)."""

    obs: Array  # (time, chunks, observation_size)
    action: Array  # (time, chunks) int32
    log_prob: Array  # (time, chunks), of the behaviour policy
    value: Array  # (time, chunks), of the critic at collection
    advantage: Array  # (time, chunks), normalised
    target: Array  # (time, chunks), what the critic should have said
    first: Array  # (time, chunks) bool: an episode begins here
    available: Array  # (time, chunks, num_actions) bool
    alive: Array  # (time, chunks) float32: 0 where the agent was dead
    actor_hidden: Array  # (1, chunks, hidden_size), stored where the chunk begins
    critic_hidden: Array  # (1, chunks, hidden_size)

    def take(self, which: Array) -> "Chunks":
        return Chunks(*(x[:, which] for x in self))


class Optimised(NamedTuple):
    """A network and the state of its optimiser."""

    network: Network
    adam: Any


def actor_loss(
    actor: Network, chunks: Chunks, settings: Settings
) -> tuple[Array, dict[str, Array]]:
    """PPO's clipped surrogate and the entropy bonus, *summed* over living samples."""
    logits = actor.over_chunk(chunks.obs, chunks.actor_hidden[0], chunks.first)
    log_probs = log_policy(logits, chunks.available)
    log_prob = jnp.take_along_axis(log_probs, chunks.action[..., None], axis=-1)[..., 0]
    log_ratio = log_prob - chunks.log_prob
    ratio = jnp.exp(log_ratio)
    clipped = jnp.clip(ratio, 1 - settings.clip, 1 + settings.clip)
    surrogate = jnp.minimum(ratio * chunks.advantage, clipped * chunks.advantage)
    entropy = -(jnp.exp(log_probs) * log_probs).sum(axis=-1)

    def summed(x: Array) -> Array:
        return (x * chunks.alive).sum()

    report = {
        "policy_loss": summed(-surrogate),
        "entropy": summed(entropy),
        "kl": summed(ratio - 1 - log_ratio),
        "clipped": summed((jnp.abs(ratio - 1) > settings.clip).astype(jnp.float32)),
    }
    return summed(-surrogate - settings.entropy_weight * entropy), report


def critic_loss(
    critic: Network, chunks: Chunks, settings: Settings
) -> tuple[Array, dict[str, Array]]:
    """Huber loss of the value, *summed* over living samples."""
    value = critic.over_chunk(chunks.obs, chunks.critic_hidden[0], chunks.first)[..., 0]
    loss = huber(chunks.target - value, settings)
    if settings.value_clip is not None:
        near = chunks.value + jnp.clip(
            value - chunks.value, -settings.value_clip, settings.value_clip
        )
        loss = jnp.maximum(loss, huber(chunks.target - near, settings))
    loss = (loss * chunks.alive).sum()
    return loss, {"value_loss": loss}


def huber(error: Array, settings: Settings) -> Array:
    """Square up to δ, linear beyond. `huber_defect`: nothing below −δ, a known slip of MAPPO's."""
    delta = settings.huber_delta
    beyond = delta * (jnp.abs(error) - delta / 2)
    if settings.huber_defect:
        beyond = jnp.where(error > 0, beyond, 0.0)
    return jnp.where(jnp.abs(error) <= delta, error**2 / 2, beyond)


class Sums(NamedTuple):
    """Sums over some samples; divided by how many of them were alive, they become means."""

    actor: Network  # gradient of its loss
    critic: Network
    report: dict[str, Array]
    living: Array  # ()


def gradients(actor: Network, critic: Network, chunks: Chunks, settings: Settings) -> Sums:
    of_actor, report = eqx.filter_grad(actor_loss, has_aux=True)(actor, chunks, settings)
    of_critic, more = eqx.filter_grad(critic_loss, has_aux=True)(critic, chunks, settings)
    return Sums(of_actor, of_critic, report | more, chunks.alive.sum())


def init_optimised(network: Network, settings: Settings) -> Optimised:
    return Optimised(network, _adam(settings).init(eqx.filter(network, eqx.is_array)))


def _adam(settings: Settings) -> optax.GradientTransformation:
    return optax.scale_by_adam(eps=settings.adam_epsilon)


def _descend(
    optimised: Optimised, gradient: Network, learning_rate: Array | float, settings: Settings
) -> tuple[Optimised, Array]:
    """One step of Adam along the gradient, clipped by its own norm; returns that norm too."""
    norm = optax.global_norm(gradient)
    scale = jnp.minimum(1.0, settings.max_grad_norm / (norm + 1e-6))
    clipped = jax.tree.map(lambda g: g * scale, gradient)
    direction, adam = _adam(settings).update(clipped, optimised.adam)
    step = jax.tree.map(lambda d: -learning_rate * d, direction)
    return Optimised(eqx.apply_updates(optimised.network, step), adam), norm


def improve(
    actor: Optimised,
    critic: Optimised,
    chunks: Chunks,
    settings: Settings,
    key: Array,
    micro_batch: int,
) -> tuple[Optimised, Optimised, dict[str, Array]]:
    """All epochs of one update. Every optimiser step sees one mini-batch: a part of all chunks.

    Its gradient is a sum over shards and, within a shard, over micro-batches of `micro_batch`
    chunks, small enough that all that is computed for one stays in the processor's cache.
    """
    num_chunks = chunks.action.shape[1]

    def minibatch(
        networks: tuple[Optimised, Optimised], which: Array
    ) -> tuple[tuple[Optimised, Optimised], dict[str, Array]]:
        actor, critic = networks
        mine = shards.share(which)
        groups = mine.reshape(-1, min(micro_batch, len(mine)))

        def part(group: Array) -> Sums:
            return gradients(actor.network, critic.network, chunks.take(group), settings)

        def accumulate(sums: Sums, group: Array) -> tuple[Sums, None]:
            return jax.tree.map(jnp.add, sums, part(group)), None

        shapes = jax.eval_shape(part, groups[0])
        nothing = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), shapes)
        sums = shards.total(lax.scan(accumulate, nothing, groups)[0])
        of_actor, of_critic, report = jax.tree.map(
            lambda x: x / jnp.maximum(sums.living, 1.0), (sums.actor, sums.critic, sums.report)
        )
        actor, actor_norm = _descend(actor, of_actor, settings.actor_learning_rate, settings)
        critic, critic_norm = _descend(critic, of_critic, settings.critic_learning_rate, settings)
        norms = {"actor_grad_norm": actor_norm, "critic_grad_norm": critic_norm}
        return (actor, critic), report | norms

    def epoch(networks: Any, key: Array) -> tuple[Any, dict[str, Array]]:
        order = jnp.arange(num_chunks)
        if settings.minibatches > 1:
            order = jax.random.permutation(key, order)
        return lax.scan(minibatch, networks, order.reshape(settings.minibatches, -1))

    keys = jax.random.split(key, settings.epochs)
    (actor, critic), reports = lax.scan(epoch, (actor, critic), keys)
    return actor, critic, jax.tree.map(jnp.mean, reports)
