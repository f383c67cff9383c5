"""One game loop of fighting: who hits whom, what that costs, and whom enemies go for next."""

import jax.numpy as jnp
import numpy as np
from jax import Array

from mace_marl.envs.skirmish.side import Side
from mace_marl.envs.skirmish.state import Units

ACQUIRE = 5.0  # cells between edges within which enemies go for somebody by themselves
LEAST_DAMAGE = 0.5  # of a hit to health, whatever the armour
REGENERATION = 2 / 16  # of shields, per game loop
REGENERATION_DELAY = 160  # game loops after the last hit


def attack(
    side: Side, units: Units, foes_alive: Array, gap: Array, jitter: Array
) -> tuple[Units, Array]:
    """Begin attacks and go on with begun ones; and who hits whom  # (units, foes) bool.

    `gap`  # (units, foes): between edges; `jitter`  # (units,): loops added to the period
    """
    in_reach = units.target & foes_alive & (gap <= side.range[:, None])
    begins = units.alive & (units.cooldown <= 0) & in_reach.any(axis=1)
    hits = in_reach & begins[:, None]
    cooldown = _count_down(jnp.where(begins, side.period + jitter, units.cooldown))
    units = units._replace(cooldown=cooldown)
    if side.hits.max() == 1:
        return units, hits
    due = units.alive & (units.hits_left > 0) & (units.swing <= 0)
    again = units.struck & foes_alive & due[:, None]
    units = units._replace(
        struck=jnp.where(begins[:, None], hits, units.struck),
        hits_left=jnp.where(begins, side.hits - 1, units.hits_left - due),
        swing=_count_down(jnp.where(begins | due, side.hit_delay, units.swing)),
    )
    return units, hits | again


def suffer(side: Side, units: Units, hits: Array, blow: np.ndarray) -> Units:
    """The units after being hit; hits land one after the other, in the order of the attackers.

    `hits`  # (foes, units) bool; `blow`  # (foes, units): damage of a hit before armour
    """
    rest = damage = jnp.where(hits, blow, 0.0)  # (foes, units)
    if side.shield.any():
        before = jnp.cumsum(damage, axis=0) - damage  # by those who come earlier
        rest = damage - jnp.clip(units.shield - before, 0.0, damage)
        units = units._replace(
            shield=jnp.maximum(units.shield - damage.sum(axis=0), 0.0),
            unhurt=jnp.where(hits.any(axis=0), 0, units.unhurt + 1),
        )
    hurt = jnp.minimum(rest, jnp.maximum(rest - side.armour, LEAST_DAMAGE)).sum(axis=0)
    return units._replace(health=jnp.maximum(units.health - hurt, 0.0))


def regenerate(side: Side, units: Units) -> Units:
    """Shields grow again some time after the last hit."""
    if not side.shield.any():
        return units
    grows = units.alive & (units.unhurt >= REGENERATION_DELAY)
    grown = jnp.minimum(units.shield + REGENERATION, side.shield)
    return units._replace(shield=jnp.where(grows, grown, units.shield))


def choose_targets(side: Side, units: Units, foes_alive: Array, gap: Array, hit_by: Array) -> Array:
    """Whom the enemies are after  # (units, foes) bool.

    They turn on whoever hit them last, unless the one they are after is in reach; who is after
    nobody takes the nearest near enough. Of several who hit at once it is the nearest too.

    `gap`  # (units, foes): between edges; `hit_by`  # (units, foes) bool: in this loop
    """
    target = units.target & foes_alive
    engaged = (target & (gap <= side.range[:, None])).any(axis=1)
    hit_by = hit_by & foes_alive
    turns = hit_by.any(axis=1) & ~engaged
    free = ~target.any(axis=1)
    candidates = jnp.where(turns[:, None], hit_by, foes_alive & (gap <= ACQUIRE))
    nearest = jnp.argmin(jnp.where(candidates, gap, jnp.inf), axis=1)
    chosen = candidates & (np.arange(gap.shape[1]) == nearest[:, None])
    return jnp.where((turns | free)[:, None], chosen, target)


def _count_down(loops: Array) -> Array:
    return jnp.maximum(loops - 1, 0.0)
