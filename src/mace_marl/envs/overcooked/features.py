"""What a cook sees: 38 numbers about itself, the nearest things, the nearest pot. No partner.

Near is what is few cells away, |dx| + |dy|, whether or not a way leads there. Of things equally
near, dispensers come first, then items on counters in the order they were put there; all others row
by row. Whatever depends only on where a cook stands is looked up. So are quotients: a compiler may
round a division differently in different places, and the same place must always look the same.
"""

import jax.numpy as jnp
import numpy as np
from jax import Array

from mace_marl.envs.api import Feature
from mace_marl.envs.overcooked.items import (
    DISH,
    FLOOR,
    NOTHING,
    ONION,
    ONIONS,
    POT,
    POT_SIZE,
    SERVING,
    SOUP,
    TOMATO,
    onions,
    tomatoes,
)
from mace_marl.envs.overcooked.kitchenfile import Kitchen, Sight
from mace_marl.envs.overcooked.state import State

HELD = np.array([ONION, SOUP, DISH, TOMATO])  # in the order of the features
NEAREST = np.array([ONION, TOMATO, DISH, SOUP, NOTHING])  # NOTHING: the nearest empty counter
FAR = 2**30  # beyond every distance
AGENTS = np.arange(2)


def declare(kitchen: Kitchen) -> tuple[Feature | None, ...]:
    """The values that each feature takes.

    Distances are in units of each cook's own sight. Declared are those of the wider one, in which
    no two distances of either cook are nearest to the same value; where one's sight is far
    narrower, its longest distances share the last. None for distances of what never moves, as the
    place says them, and of onions where there are none.
    """
    height, width = kitchen.cells.shape
    yes_or_no, count = Feature(2, 1.0), Feature(POT_SIZE + 1, 1.0)
    wide, high = (max(sight.size[axis] for sight in kitchen.sight) for axis in (0, 1))
    distance = (
        Feature(2 * width - 1, 1 / wide, least=1 - width, exact=False),
        Feature(2 * height - 1, 1 / high, least=1 - height, exact=False),
    )
    fixed = (None, None)
    return (
        *(Feature(width, 1 / width), Feature(height, 1 / height)),
        *(yes_or_no,) * 8,  # orientation, held
        *(distance if kitchen.places(ONIONS) else fixed),
        *(*distance * 3, count, count),  # tomato, dish, soup and what is in it
        *(*fixed, *distance),  # serving area, empty counter
        *(yes_or_no,) * 5,  # pot: exists, empty, full, cooking, ready
        *(count, count, Feature(kitchen.cooking_time + 1, 1.0)),
        *fixed,
        *(yes_or_no,) * 4,  # surroundings
    )


class Observer:
    """Makes the observations of both cooks of a kitchen."""

    def __init__(self, kitchen: Kitchen) -> None:
        self.kitchen = kitchen
        height, width = kitchen.cells.shape
        self.station_rows, self.station_columns = np.array(kitchen.stations, np.int32).T
        # Distance, order and number of a station are put into one integer: its minimum says all.
        self.radix = len(kitchen.stations) + 1
        self.number = np.array(
            [
                [i if sight.covers(*place) else FAR for i, place in enumerate(kitchen.stations)]
                for sight in kitchen.sight
            ],
            np.int32,
        )  # (num_agents, stations)
        sizes = [sight.size for sight in kitchen.sight]
        self.along_x = _quotients(width, [size[0] for size in sizes])
        self.along_y = _quotients(height, [size[1] for size in sizes])
        self.places, self.pots = _standing(kitchen)

    def __call__(self, state: State) -> Array:  # (num_agents, 38) float32
        row, column = state.position.T  # (num_agents,)
        cell = row * self.kitchen.cells.shape[1] + column
        place = jnp.asarray(self.places)[AGENTS, cell]  # (num_agents, 10)
        held_kind = jnp.minimum(state.held, SOUP)
        distance, nearest_soup = self._nearest(state, row, column, held_kind)
        soup = jnp.where(held_kind == SOUP, state.held, nearest_soup)
        contents = jnp.maximum(soup - SOUP, 0)[:, None]
        parts = (
            place[:, :2],
            state.facing[:, None] == np.arange(4),
            held_kind[:, None] == HELD,
            distance[:, :8],
            onions(contents),
            tomatoes(contents),
            place[:, 2:4],  # serving area
            distance[:, 8:],
            *self._pot(state, cell),
            place[:, 4:],  # distance of the pot, surroundings
        )
        return jnp.concatenate([part.astype(jnp.float32) for part in parts], axis=1)

    def _nearest(
        self, state: State, row: Array, column: Array, held_kind: Array
    ) -> tuple[Array, Array]:
        """Distances of the nearest of all kinds  # (num_agents, 10), and the soup among them."""
        away = jnp.abs(self.station_rows - row[:, None])
        away += jnp.abs(self.station_columns - column[:, None])
        key = (away * self.radix + state.order) * self.radix + self.number  # (num_agents, stations)
        is_kind = jnp.minimum(state.items, SOUP) == NEAREST[:, None]  # (kinds, stations)
        least = jnp.where(is_kind[:, None], key, FAR).min(axis=2).T  # (num_agents, kinds)
        station = jnp.where(least < FAR, least % self.radix, 0)
        holds = (held_kind[:, None] == NEAREST) & (NEAREST != NOTHING)
        seen = (least < FAR) & ~holds
        height, width = self.kitchen.cells.shape
        dx = jnp.asarray(self.station_columns)[station] - column[:, None] + width
        dy = jnp.asarray(self.station_rows)[station] - row[:, None] + height
        agents = AGENTS[:, None]
        pairs = jnp.stack(
            [jnp.asarray(self.along_x)[agents, dx], jnp.asarray(self.along_y)[agents, dy]], axis=2
        )
        distance = jnp.where(seen[:, :, None], pairs, 0.0).reshape(2, -1)
        return distance, jnp.where(seen[:, 3], state.items[station[:, 3]], NOTHING)

    def _pot(self, state: State, cell: Array) -> tuple[Array, ...]:
        """The state of the nearest pot, all zeros if there is none in sight."""
        pot = jnp.asarray(self.pots)[AGENTS, cell]
        exists = (pot >= 0)[:, None]
        contents, cooked = state.contents[pot][:, None], state.cooked[pot][:, None]
        ready = cooked >= self.kitchen.cooking_time
        begun = cooked >= 0
        ingredients = onions(contents), tomatoes(contents)
        parts = (
            contents == 0,
            begun | (sum(ingredients) == POT_SIZE),  # full: nothing more goes in
            begun & ~ready,
            begun & ready,
            *ingredients,
            jnp.where(begun, self.kitchen.cooking_time - cooked, 0),
        )
        return exists, *(jnp.where(exists, part, 0) for part in parts)


def _quotients(length: int, sizes: list[int]) -> np.ndarray:
    """Every distance within `length`, divided by each size  # (num_agents, 2 · length + 1)."""
    return (np.arange(-length, length + 1) / np.array(sizes)[:, None]).astype(np.float32)


def _standing(kitchen: Kitchen) -> tuple[np.ndarray, np.ndarray]:
    """What an agent sees from every cell, whatever happens; and the pot nearest to it, or −1.

    The numbers are: position, serving area, distance of that pot, surroundings
    # (num_agents, cells, 10) float32, (num_agents, cells) int32
    """
    height, width = kitchen.cells.shape
    blocked = np.pad(kitchen.cells != FLOOR, 1, constant_values=True)
    views, pots = [], []
    for sight in kitchen.sight:
        for row, column in np.ndindex(height, width):
            serving, _ = _closest(kitchen.places(SERVING), row, column, sight)
            to_pot, pot = _closest(kitchen.places(POT), row, column, sight)
            walls = blocked[
                [row, row + 2, row + 1, row + 1], [column + 1] * 2 + [column + 2, column]
            ]
            views.append((column / width, row / height, *serving, *to_pot, *walls))
            pots.append(pot)
    return (
        np.array(views, np.float32).reshape(len(kitchen.sight), height * width, -1),
        np.array(pots, np.int32).reshape(len(kitchen.sight), -1),
    )


def _closest(
    places: list[tuple[int, int]], row: int, column: int, sight: Sight
) -> tuple[tuple[float, float], int]:
    """Divided distance (dx, dy) and number of the nearest place in sight; 0, 0 and −1 if none."""
    seen = [number for number, place in enumerate(places) if sight.covers(*place)]
    if not seen:
        return (0.0, 0.0), -1
    nearest = min(seen, key=lambda i: abs(places[i][0] - row) + abs(places[i][1] - column))
    dy, dx = places[nearest][0] - row, places[nearest][1] - column
    return (dx / sight.size[0], dy / sight.size[1]), nearest
