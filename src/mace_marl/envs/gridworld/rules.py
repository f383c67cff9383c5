"""The rules of GridWorld, for any map.

Agents walk; a switch is occupied while an agent stands on it or beside it; a door is open while a
switch that opens it is occupied; the episode ends well when all agents stand in the target room.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from mace_marl.envs.api import Feature, Step, World
from mace_marl.envs.gridworld import picture
from mace_marl.envs.gridworld.mapfile import Map

MOVES = np.array([(-1, 0), (1, 0), (0, -1), (0, 1)], dtype=np.int32)  # up, down, left, right


class State(NamedTuple):
    position: Array  # (num_agents, 2) int32: row, column
    doors: Array  # (num_doors,) bool: open
    time: Array  # () int32


class GridWorld(World):
    def __init__(self, map: Map) -> None:
        self.map = map
        self.num_agents = len(map.starts)
        self.num_actions = len(MOVES)
        self.observation_size = 2 + map.num_doors
        self.horizon = map.horizon
        height, width = map.walls.shape
        self.features = (
            Feature(height, 1 / height),
            Feature(width, 1 / width),
            *(Feature(2, 1.0) for _ in range(map.num_doors)),
        )
        self.place = (0, 1)
        self._size = np.array([height, width], dtype=np.int32)
        # Looked up, not divided: a compiler may round a division differently in different places,
        # and the same place must always look the same.
        self._row_numbers = (np.arange(height) / height).astype(np.float32)
        self._column_numbers = (np.arange(width) / width).astype(np.float32)
        # What a walker may enter, for each cell: bit 0 says floor, bit d says doorway of door d.
        # A step is possible if the cell's bits meet the bits of (floor, open doors).
        self._entry = np.where(map.walls, 0, 1 << map.doors).astype(np.int32).ravel()
        self._opens = map.opened_from.reshape(height * width, -1)

    def reset(self, key: Array) -> tuple[State, Step]:
        state = State(
            position=jnp.asarray(self.map.starts, jnp.int32),
            doors=jnp.zeros(self.map.num_doors, bool),
            time=jnp.int32(0),
        )
        return state, self._step(state, success=jnp.bool_(False))

    def step(self, key: Array, state: State, actions: Array) -> tuple[State, Step]:
        position = self._move(state, actions)
        cell = position[:, 0] * self._size[1] + position[:, 1]
        doors = jnp.asarray(self._opens)[cell].any(axis=0)
        success = jnp.asarray(self.map.target.ravel())[cell].all()
        state = State(position, doors, state.time + 1)
        return state, self._step(state, success)

    def _move(self, state: State, actions: Array) -> Array:
        """Where the agents are after moving, with the doors as they were before this step."""
        wished = state.position + jnp.asarray(MOVES)[actions]
        inside = ((wished >= 0) & (wished < self._size)).all(axis=-1)
        cell = jnp.where(inside, wished[:, 0] * self._size[1] + wished[:, 1], 0)
        door_bits = jnp.asarray(2 << np.arange(self.map.num_doors), jnp.int32)
        passable = 1 + jnp.where(state.doors, door_bits, 0).sum()
        free = inside & ((jnp.asarray(self._entry)[cell] & passable) != 0)
        return jnp.where(free[:, None], wished, state.position)

    def _step(self, state: State, success: Array) -> Step:
        doors = jnp.broadcast_to(state.doors, (self.num_agents, self.map.num_doors))
        row = jnp.asarray(self._row_numbers)[state.position[:, 0]]
        column = jnp.asarray(self._column_numbers)[state.position[:, 1]]
        return Step(
            obs=jnp.concatenate([row[:, None], column[:, None], doors], axis=1),
            reward=jnp.where(success, self.map.reward, 0.0) * jnp.ones(self.num_agents),
            terminated=success,
            truncated=~success & (state.time >= self.horizon),
            available=jnp.ones((self.num_agents, self.num_actions), bool),
            alive=jnp.ones(self.num_agents, bool),
        )

    def picture(self, state: State) -> np.ndarray:
        return picture.image(self.map, np.asarray(state.position), np.asarray(state.doors))

    def text(self, state: State) -> str:
        return picture.text(self.map, np.asarray(state.position), np.asarray(state.doors))
