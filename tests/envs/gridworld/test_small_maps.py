"""Small maps are no walk-overs: the length of their shortest solutions, and that chance fails."""

from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gridworld_drawings import MAPS
from jax import Array

from mace_marl.envs.gridworld import GridWorld, Map, read_map
from mace_marl.envs.gridworld.rules import State
from mace_marl.tasks import get_task

MOVES = ((-1, 0), (1, 0), (0, -1), (0, 1))  # up, down, left, right
SHORTEST = {"minipass": 32, "minisecret": 22, "minimulti": 18}  # steps


def moves(map: Map, open_doors: int) -> np.ndarray:  # (num_actions, cells) int
    """Where each action leads from each cell. Walls lead nowhere, but nobody stands in them."""
    height, width = map.walls.shape
    table = np.empty((len(MOVES), height * width), np.int64)
    for action, (down, right) in enumerate(MOVES):
        for row, column in np.ndindex(height, width):
            there = (row + down, column + right)
            blocked = (
                not 0 <= there[0] < height
                or not 0 <= there[1] < width
                or bool(map.walls[there])
                or (map.doors[there] > 0 and not open_doors >> (map.doors[there] - 1) & 1)
            )
            cell = (row, column) if blocked else there
            table[action, row * width + column] = cell[0] * width + cell[1]
    return table


def shortest_solution(map: Map) -> np.ndarray | None:  # (length, num_agents) int: actions
    """Breadth first over all agents' cells at once; a whole layer of the search per round.

    A state is the number whose digits, to the base of the number of cells, are the agents' cells.
    """
    width = map.walls.shape[1]
    cells, num_agents = map.walls.size, len(map.starts)
    lead = np.stack([moves(map, doors) for doors in range(2**map.num_doors)])
    holds = (map.opened_from @ (1 << np.arange(map.num_doors))).ravel()  # doors, as a bit mask
    target = map.target.ravel()
    place_values = cells ** np.arange(num_agents)
    start_cells = np.array([row * width + column for row, column in map.starts])
    # At reset doors are closed; elsewhere they follow from where the agents stand.
    assert not holds[start_cells].any()
    start = int(start_cells @ place_values)

    parent = np.full(cells**num_agents, -1, np.int32)
    by_action = np.full(cells**num_agents, -1, np.int8)
    parent[start] = start
    layer = np.array([start])
    while len(layer):
        stand = layer // place_values[:, None] % cells  # (num_agents, layer)
        doors = np.bitwise_or.reduce(holds[stand], axis=0)
        found = []
        for number, joint in enumerate(product(range(len(MOVES)), repeat=num_agents)):
            go = [lead[doors, action, stand[agent]] for agent, action in enumerate(joint)]
            reached = place_values @ np.stack(go)
            fresh = parent[reached] < 0
            parent[reached[fresh]] = layer[fresh]
            by_action[reached[fresh]] = number
            found.append(np.unique(reached[fresh]))
        layer = np.concatenate(found)
        solved = layer[target[layer // place_values[:, None] % cells].all(axis=0)]
        if len(solved):
            return _way_back(int(solved[0]), start, parent, by_action, num_agents)
    return None


def _way_back(
    state: int, start: int, parent: np.ndarray, by_action: np.ndarray, num_agents: int
) -> np.ndarray:
    joints = list(product(range(len(MOVES)), repeat=num_agents))
    actions = []
    while state != start:
        actions.append(joints[by_action[state]])
        state = int(parent[state])
    return np.array(actions[::-1])


@pytest.mark.parametrize("name", SHORTEST)
def test_shortest_solution(name: str) -> None:
    """As long as it is said to be, and well within the horizon."""
    map = read_map(MAPS / f"{name}.toml")
    solution = shortest_solution(map)
    assert solution is not None
    length = len(solution)
    assert length == SHORTEST[name] <= map.horizon // 2

    # The world itself agrees that this play succeeds, and with its last step only.
    world = GridWorld(map)
    step = jax.jit(world.step)
    state, now = world.reset(jax.random.key(0))
    for time, joint in enumerate(solution, start=1):
        state, now = step(jax.random.key(0), state, jnp.asarray(joint))
        assert bool(now.terminated) == (time == length) and not now.truncated
    np.testing.assert_array_equal(now.reward, map.reward)


@pytest.mark.parametrize("name", SHORTEST)
def test_chance_does_not_solve_it(name: str) -> None:
    """Not once in twice as many episodes of random moves as the task's budget has."""
    world = GridWorld(read_map(MAPS / f"{name}.toml"))
    episodes = 2 * get_task(f"gridworld/{name}").budget // world.horizon

    def solved(key: Array) -> Array:
        def move(state: State, key: Array) -> tuple[State, Array]:
            actions = jax.random.randint(key, (world.num_agents,), 0, world.num_actions)
            state, step = world.step(key, state, actions)
            return state, step.terminated

        state, _ = world.reset(key)
        return jax.lax.scan(move, state, jax.random.split(key, world.horizon))[1].any()

    keys = jax.random.split(jax.random.key(0), episodes)
    assert int(jax.jit(jax.vmap(solved))(keys).sum()) == 0
