"""The state of a skirmish."""

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

from mace_marl.envs.skirmish.side import Side


class Units(NamedTuple):
    """One side at one moment. Positions are offsets from the middle of the ground, in cells."""

    position: Array  # (units, 2): x to the east, y to the north
    health: Array  # (units,); the dead have none
    shield: Array  # (units,)
    cooldown: Array  # (units,): game loops until it may attack again
    target: Array  # (units, foes) bool: whom it is after, at most one
    struck: Array  # (units, foes) bool: whom the hits still to come of its attack will meet
    hits_left: Array  # (units,) int32: how many there are to come
    swing: Array  # (units,): game loops until the next of them
    unhurt: Array  # (units,) int32: game loops since it was last hit

    @property
    def alive(self) -> Array:  # (units,) bool
        return self.health > 0


class State(NamedTuple):
    """A skirmish at one moment."""

    allies: Units  # the agents
    enemies: Units
    goal: Array  # (enemies, 2): where they are going as long as they are after nobody
    time: Array  # () int32: steps


def fresh(side: Side, position: Array, foes: int) -> Units:
    """Units that have done nothing yet, at these positions  # (units, 2)."""
    count = len(side)
    nobody = jnp.zeros((count, foes), bool)
    return Units(
        position=position,
        health=jnp.asarray(side.health),
        shield=jnp.asarray(side.shield),
        cooldown=jnp.zeros(count),
        target=nobody,
        struck=nobody,
        hits_left=jnp.zeros(count, jnp.int32),
        swing=jnp.zeros(count),
        unhurt=jnp.zeros(count, jnp.int32),
    )
