"""Recurrent PPO for one agent: its actor and its critic, each with its own loss and optimiser."""

import jax
import jax.numpy as jnp
from jax import Array, lax

from mace_marl import shards
from mace_marl.agent.chunks import Chunks
from mace_marl.agent.gradient import Distinct, Room, make_room, summed_gradient
from mace_marl.agent.networks import Network, log_policy
from mace_marl.agent.optimiser import Optimised, descend
from mace_marl.settings import Settings

_Carry = tuple[Optimised[Network], Optimised[Network], Room | None, Room | None]


def actor_loss(
    actor: Network, chunks: Chunks, settings: Settings, gates: Array | None = None
) -> tuple[Array, dict[str, Array]]:
    """PPO's clipped surrogate and the entropy bonus, *summed* over living samples.

    `gates`  # (time, chunks, 3·size): `actor.before_memory(chunks.obs)`, where it is known already
    """
    gates = actor.before_memory(chunks.obs) if gates is None else gates
    logits = actor.from_gates(gates, chunks.actor_hidden[0], chunks.first)
    log_probs = log_policy(logits, chunks.available)
    taken = jax.nn.one_hot(chunks.action, log_probs.shape[-1])  # quicker than indices, backwards
    log_prob = (log_probs * taken).sum(axis=-1)
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
    critic: Network, chunks: Chunks, settings: Settings, gates: Array | None = None
) -> tuple[Array, dict[str, Array]]:
    """Huber loss of the value, *summed* over living samples; `gates` as in `actor_loss`."""
    gates = critic.before_memory(chunks.critic_obs) if gates is None else gates
    value = critic.from_gates(gates, chunks.critic_hidden[0], chunks.first)[..., 0]
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


def improve(
    actor: Optimised,
    critic: Optimised,
    chunks: Chunks,
    settings: Settings,
    key: Array,
    micro_batch: int,
    actor_distinct: Distinct | None = None,
    critic_distinct: Distinct | None = None,
) -> tuple[Optimised, Optimised, dict[str, Array]]:
    """All epochs of one update. Every optimiser step sees one mini-batch: a part of all chunks.

    Its gradient is a sum over shards, each of which sums its share in micro-batches.
    """
    everything = jnp.arange(chunks.action.shape[1])
    all_groups = chunks.grouped(everything, micro_batch) if settings.minibatches == 1 else None

    def minibatch(carry: _Carry, which: Array) -> tuple[_Carry, dict[str, Array]]:
        actor, critic, actor_room, critic_room = carry
        groups = all_groups if all_groups else chunks.grouped(which, micro_batch)
        of_actor, actor_report, actor_room = summed_gradient(
            actor_loss, actor.network, groups, settings, actor_distinct, actor_room
        )
        of_critic, critic_report, critic_room = summed_gradient(
            critic_loss, critic.network, groups, settings, critic_distinct, critic_room
        )
        living = groups.alive.sum()
        of_actor, of_critic, report, living = shards.total(
            (of_actor, of_critic, actor_report | critic_report, living)
        )
        of_actor, of_critic, report = jax.tree.map(
            lambda x: x / jnp.maximum(living, 1.0), (of_actor, of_critic, report)
        )
        actor, actor_norm = descend(actor, of_actor, settings.actor_learning_rate, settings)
        critic, critic_norm = descend(critic, of_critic, settings.critic_learning_rate, settings)
        norms = {"actor_grad_norm": actor_norm, "critic_grad_norm": critic_norm}
        return (actor, critic, actor_room, critic_room), report | norms

    def epoch(carry: _Carry, key: Array) -> tuple[_Carry, dict[str, Array]]:
        order = everything if all_groups else jax.random.permutation(key, everything)
        return lax.scan(minibatch, carry, order.reshape(settings.minibatches, -1))

    keys = jax.random.split(key, settings.epochs)
    actor_room = make_room(actor.network, actor_distinct) if actor_distinct else None
    critic_room = make_room(critic.network, critic_distinct) if critic_distinct else None
    (actor, critic, *_), reports = lax.scan(epoch, (actor, critic, actor_room, critic_room), keys)
    return actor, critic, jax.tree.map(jnp.mean, reports)
