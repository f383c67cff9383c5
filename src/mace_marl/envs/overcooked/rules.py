"""The rules of Overcooked, for any kitchen.

Two cooks walk, carry one item each, fill pots and serve soup. In every step cooks who interact do
so first, cook 0 before cook 1; then both move; then pots cook. A soup of exactly the wanted
ingredients is rewarded when it is served.
"""

import jax.numpy as jnp
import numpy as np
from jax import Array

from mace_marl.envs.api import Step, World
from mace_marl.envs.overcooked import features, picture
from mace_marl.envs.overcooked.items import (
    DISH,
    DISPENSED,
    NOTHING,
    ONION,
    POT,
    POT_SIZE,
    SERVING,
    SOUP,
    TOMATO,
    contents_of,
    onions,
    tomatoes,
)
from mace_marl.envs.overcooked.kitchenfile import Kitchen
from mace_marl.envs.overcooked.state import State

MOVES = np.array([(-1, 0), (1, 0), (0, 1), (0, -1)], np.int32)  # north, south, east, west
STAY, INTERACT = 4, 5


class Overcooked(World):
    num_agents = 2
    num_actions = 6
    observation_size = 38
    place = (1, 0)  # row, column

    def __init__(self, kitchen: Kitchen) -> None:
        self.kitchen = kitchen
        self.horizon = kitchen.horizon
        self.features = features.declare(kitchen)
        self._observe = features.Observer(kitchen)
        self._wanted = SOUP + contents_of(kitchen.onions, kitchen.tomatoes)
        self._width = kitchen.cells.shape[1]
        self._floor = kitchen.floor.ravel()
        # For each cell the number of the station or pot there, or −1.
        self._station = _numbers(kitchen, kitchen.stations)
        self._pot = _numbers(kitchen, kitchen.places(POT))
        self._serving = (kitchen.cells == SERVING).ravel()
        self._endless = len(kitchen.places(*DISPENSED))  # stations before this one are dispensers

    def reset(self, key: Array) -> tuple[State, Step]:
        cells = [self.kitchen.cells[place] for place in self.kitchen.stations]
        pots = len(self.kitchen.places(POT))
        state = State(
            position=jnp.asarray(self.kitchen.starts, jnp.int32),
            facing=jnp.zeros(2, jnp.int32),
            held=jnp.full(2, NOTHING, jnp.int32),
            items=jnp.asarray([DISPENSED.get(cell, NOTHING) for cell in cells], jnp.int32),
            order=jnp.zeros(len(cells), jnp.int32),
            contents=jnp.zeros(pots, jnp.int32),
            cooked=jnp.full(pots, -1, jnp.int32),
            time=jnp.int32(0),
        )
        return state, self._step(state, jnp.float32(0))

    def step(self, key: Array, state: State, actions: Array) -> tuple[State, Step]:
        reward = jnp.float32(0)
        for agent in range(self.num_agents):
            state, served = self._interact(state, agent, actions[agent] == INTERACT)
            reward += jnp.where(served == self._wanted, self.kitchen.reward, 0.0)
        position, facing = self._move(state, actions)
        cooking = (state.cooked >= 0) & (state.cooked < self.kitchen.cooking_time)
        state = state._replace(
            position=position,
            facing=facing,
            cooked=state.cooked + cooking,
            time=state.time + 1,
        )
        return state, self._step(state, reward)

    def _interact(self, state: State, agent: int, acts: Array) -> tuple[State, Array]:
        """The state after an agent did something to what it faces; and the soup it served."""
        row, column = state.position[agent] + jnp.asarray(MOVES)[state.facing[agent]]
        cell = row * self._width + column
        held = state.held[agent]
        state, held = self._use_station(state, held, jnp.asarray(self._station)[cell], acts)
        state, held = self._use_pot(state, held, jnp.asarray(self._pot)[cell], acts)
        serves = acts & jnp.asarray(self._serving)[cell] & (held >= SOUP)
        served = jnp.where(serves, held, NOTHING)
        held = jnp.where(serves, NOTHING, held)
        return state._replace(held=state.held.at[agent].set(held)), served

    def _use_station(
        self, state: State, held: Array, station: Array, acts: Array
    ) -> tuple[State, Array]:
        """Put down on an empty counter, or take what is there. A dispenser is never empty."""
        items, order = state.items, state.order
        lying, rank = items[station], order[station]
        acts &= station >= 0
        puts = acts & (held != NOTHING) & (lying == NOTHING)
        takes = acts & (held == NOTHING) & (lying != NOTHING)
        clears = takes & (station >= self._endless)
        here = np.arange(len(items)) == station
        last = order.max() + 1
        items = jnp.where(here & puts, held, jnp.where(here & clears, NOTHING, items))
        order = jnp.where(clears & (order > rank), order - 1, order)
        order = jnp.where(here & puts, last, jnp.where(here & clears, 0, order))
        held = jnp.where(puts, NOTHING, jnp.where(takes, lying, held))
        return state._replace(items=items, order=order), held

    def _use_pot(self, state: State, held: Array, pot: Array, acts: Array) -> tuple[State, Array]:
        """Add an ingredient, begin to cook, or fill a dish."""
        contents, cooked = state.contents[pot], state.cooked[pot]
        acts &= pot >= 0
        begun, ready = cooked >= 0, (cooked >= 0) & (cooked >= self.kitchen.cooking_time)
        is_ingredient = (held == ONION) | (held == TOMATO)
        room = onions(contents) + tomatoes(contents) < POT_SIZE
        adds = acts & is_ingredient & ~begun & room
        begins = acts & (held == NOTHING) & ~begun & (contents > 0)
        fills = acts & (held == DISH) & ready
        portion = jnp.where(held == ONION, contents_of(1, 0), contents_of(0, 1))
        here = np.arange(len(state.contents)) == pot
        after = jnp.where(fills, 0, contents + jnp.where(adds, portion, 0))
        ticks = jnp.where(begins, 0, jnp.where(fills, -1, cooked))
        held = jnp.where(adds, NOTHING, jnp.where(fills, SOUP + contents, held))
        return state._replace(
            contents=jnp.where(here, after, state.contents),
            cooked=jnp.where(here, ticks, state.cooked),
        ), held

    def _move(self, state: State, actions: Array) -> tuple[Array, Array]:
        """Where both are and face after moving; who would meet or swap stays, but turns."""
        moves = actions < len(MOVES)
        facing = jnp.where(moves, actions, state.facing)
        wished = state.position + jnp.where(moves[:, None], jnp.asarray(MOVES)[facing], 0)
        free = jnp.asarray(self._floor)[wished[:, 0] * self._width + wished[:, 1]]
        wished = jnp.where(free[:, None], wished, state.position)
        meet = (wished[0] == wished[1]).all()
        swap = (wished == state.position[::-1]).all()
        return jnp.where(meet | swap, state.position, wished), facing

    def _step(self, state: State, reward: Array) -> Step:
        terminated = (reward > 0) & (not self.kitchen.repeated)
        return Step(
            obs=self._observe(state),
            reward=jnp.broadcast_to(reward, 2),
            terminated=terminated,
            truncated=~terminated & (state.time >= self.horizon),
            available=jnp.ones((2, self.num_actions), bool),
            alive=jnp.ones(2, bool),
        )

    def picture(self, state: State) -> np.ndarray:
        return picture.image(self.kitchen, state)

    def text(self, state: State) -> str:
        return picture.text(self.kitchen, state)


def _numbers(kitchen: Kitchen, places: list[tuple[int, int]]) -> np.ndarray:  # (cells,) int32
    numbers = np.full(kitchen.cells.shape, -1, np.int32)
    for number, place in enumerate(places):
        numbers[place] = number
    return numbers.ravel()
