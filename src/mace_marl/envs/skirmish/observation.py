"""What an agent sees and may do, as in SMAC: units within sight, and nothing of itself but health.

In the authors' order: allies, enemies, ways to move, itself; in stock SMAC's: ways to move,
enemies, allies, itself, of which the authors show four numbers more.
"""

import jax.numpy as jnp
import numpy as np
from jax import Array

from mace_marl.envs.skirmish.movement import Ground, measure
from mace_marl.envs.skirmish.side import Side
from mace_marl.envs.skirmish.state import State, Units

SIGHT = 9.0  # cells between centres
REACH = 6.0  # cells between centres within which an attack may be ordered
NOTHING, STOP, NORTH, SOUTH, EAST, WEST = range(6)
ATTACK = 6  # the first enemy; the others follow
MOVES = np.array([(0, 1), (0, -1), (1, 0), (-1, 0)], np.float32)  # north, south, east, west
LOOK_AHEAD = 1.0  # cells: how far away a move needs ground
MARK = (1.0, 0.0, 0.0, 0.0)  # what the authors put before an agent's own health


class Observer:
    """Makes observations and availability of all agents of a scenario."""

    def __init__(self, allies: Side, enemies: Side, ground: Ground, order: str) -> None:
        self.allies, self.enemies, self.ground = allies, enemies, ground
        self.order = order
        self.size = sum(self.sizes().values())
        self.num_actions = ATTACK + len(enemies)
        # (agents, others): every agent's numbers of all others, in order
        others = [[j for j in range(len(allies)) if j != i] for i in range(len(allies))]
        self.others = np.array(others, np.int32).reshape(len(allies), -1)

    def sizes(self) -> dict[str, int]:
        """How many numbers each part of an observation has, in the order of the parts."""
        ally, enemy = (
            len(_condition(side, side.health, side.shield)) for side in (self.allies, self.enemies)
        )
        sizes = {
            "allies": (len(self.allies) - 1) * (4 + ally),
            "enemies": len(self.enemies) * (4 + enemy),
            "moves": len(MOVES),
            "own": ally + (len(MARK) if self.order == "authors" else 0),
        }
        stock = ("moves", "enemies", "allies", "own")
        return sizes if self.order == "authors" else {part: sizes[part] for part in stock}

    def available(self, state: State) -> Array:
        """Actions that may be taken  # (agents, num_actions) bool."""
        return self.see(state)[1]

    def see(self, state: State) -> tuple[Array, Array]:
        """Observations  # (agents, size) float32, and availability  # (agents, num_actions)."""
        allies, enemies = state.allies, state.enemies
        count = len(self.allies)
        pairs = measure(jnp.concatenate([allies.position, enemies.position]))
        dx, dy, distance = (x[:count] for x in pairs)  # (agents, units)
        alive = allies.alive
        near = distance[:, count:] <= REACH
        attacks = alive[:, None] & enemies.alive & near  # (agents, enemies)
        moves = alive[:, None] & self._open_ways(allies.position)
        available = jnp.concatenate([~alive[:, None], alive[:, None], moves, attacks], axis=1)

        living = jnp.concatenate([alive, enemies.alive])
        seen = alive[:, None] & living & (distance < SIGHT)  # (agents, units)
        where = jnp.stack([distance, dx, dy], axis=2) * np.float32(1 / SIGHT)
        own = self._shown(self.allies, allies)  # (agents, …)
        of_allies = jnp.concatenate(
            [seen[:, :count, None], where[:, :count], jnp.broadcast_to(own, (count, *own.shape))],
            axis=2,
        )
        of_allies = jnp.where(seen[:, :count, None], of_allies, 0.0)
        foes = self._shown(self.enemies, enemies)
        of_enemies = jnp.concatenate(
            [attacks[:, :, None], where[:, count:], jnp.broadcast_to(foes, (count, *foes.shape))],
            axis=2,
        )
        of_enemies = jnp.where(seen[:, count:, None], of_enemies, 0.0)
        mark = np.array(MARK if self.order == "authors" else (), np.float32)
        mark = jnp.broadcast_to(mark, (count, len(mark)))
        parts = {
            "allies": of_allies[np.arange(count)[:, None], self.others].reshape(count, -1),
            "enemies": of_enemies.reshape(count, -1),
            "moves": moves.astype(jnp.float32),
            "own": jnp.where(alive[:, None], jnp.concatenate([mark, own], axis=1), 0.0),
        }
        return jnp.concatenate([parts[part] for part in self.sizes()], axis=1), available

    def _open_ways(self, position: Array) -> Array:
        """Whether there is ground a cell away to the north, south, east, west  # (agents, 4).

        As SMAC does, the cell is found by cutting off decimals, so that just beyond the western and
        the southern border of the map lies the cell within it.
        """
        ahead = position[:, None] + self.ground.middle + MOVES * LOOK_AHEAD  # (agents, 4, 2)
        cell = ahead.astype(jnp.int32)
        return self.ground.open_at(cell[..., 0], cell[..., 1])

    def _shown(self, side: Side, units: Units) -> Array:
        """Health, and where there are any, shield and type  # (units, …)."""
        parts = _condition(side, units.health, units.shield)
        return jnp.stack([jnp.asarray(part, jnp.float32) for part in parts], axis=1)


def _condition(side: Side, health: Array | np.ndarray, shield: Array | np.ndarray) -> list:
    """Health as a share; shield as a share, if any has one; types one-hot, if there are several."""
    parts: list = [health * (1 / side.health)]
    if side.shield.any():
        parts.append(shield * (1 / np.maximum(side.shield, 1)))
    names = sorted({kind.name for kind in side.types})
    if len(names) > 1:
        parts += [np.array([kind.name == name for kind in side.types]) for name in names]
    return parts
