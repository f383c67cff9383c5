"""MiniPass is small, but no walk-over: the length of its shortest solution, by exact search."""

import jax
import jax.numpy as jnp
import numpy as np
from gridworld_drawings import MAPS

from mace_marl.envs.gridworld import GridWorld, Map, read_map

MOVES = ((-1, 0), (1, 0), (0, -1), (0, 1))  # up, down, left, right


def moves(map: Map, door_open: bool) -> np.ndarray:  # (num_actions, cells) int
    """Where each action leads from each cell. Walls lead nowhere, but nobody stands in them."""
    height, width = map.walls.shape
    table = np.empty((len(MOVES), height * width), np.int64)
    for action, (down, right) in enumerate(MOVES):
        for row in range(height):
            for column in range(width):
                there = (row + down, column + right)
                blocked = (
                    not 0 <= there[0] < height
                    or not 0 <= there[1] < width
                    or bool(map.walls[there])
                    or (map.doors[there] > 0 and not door_open)
                )
                cell = (row, column) if blocked else there
                table[action, row * width + column] = cell[0] * width + cell[1]
    return table


def shortest_solution(map: Map) -> np.ndarray | None:  # (length, 2) int: both agents' actions
    """Breadth first over both agents' cells at once; a whole layer of the search per round."""
    height, width = map.walls.shape
    cells = height * width
    lead = np.stack([moves(map, door_open=False), moves(map, door_open=True)])
    holds = map.opened_from[..., 0].ravel()
    target = map.target.ravel()
    (row, column), (other_row, other_column) = map.starts
    start = (row * width + column) * cells + other_row * width + other_column
    # At reset doors are closed; elsewhere they follow from where the agents stand.
    assert not holds[start // cells] and not holds[start % cells]

    parent = np.full(cells * cells, -1)
    by_action = np.full(cells * cells, -1)
    parent[start] = start
    layer = np.array([start])
    while len(layer):
        door = (holds[layer // cells] | holds[layer % cells]).astype(int)
        found = []
        for joint in range(len(MOVES) ** 2):
            one, other = divmod(joint, len(MOVES))
            reached = lead[door, one, layer // cells] * cells + lead[door, other, layer % cells]
            fresh = parent[reached] < 0
            parent[reached[fresh]] = layer[fresh]
            by_action[reached[fresh]] = joint
            found.append(np.unique(reached[fresh]))
        layer = np.concatenate(found)
        solved = layer[target[layer // cells] & target[layer % cells]]
        if len(solved):
            return _way_back(int(solved[0]), start, parent, by_action)
    return None


def _way_back(state: int, start: int, parent: np.ndarray, by_action: np.ndarray) -> np.ndarray:
    actions = []
    while state != start:
        actions.append(divmod(int(by_action[state]), len(MOVES)))
        state = int(parent[state])
    return np.array(actions[::-1])


def test_shortest_solution():
    """At least 30 steps, so that chance does not find it; and well within the horizon."""
    map = read_map(MAPS / "minipass.toml")
    assert map.num_doors == 1 and len(map.starts) == 2
    solution = shortest_solution(map)
    assert solution is not None
    length = len(solution)
    assert 30 <= length <= map.horizon // 2

    # The world itself agrees that this play succeeds, and with its last step only.
    world = GridWorld(map)
    step = jax.jit(world.step)
    state, now = world.reset(jax.random.key(0))
    for time, joint in enumerate(solution, start=1):
        state, now = step(jax.random.key(0), state, jnp.asarray(joint))
        assert bool(now.terminated) == (time == length) and not now.truncated
    np.testing.assert_array_equal(now.reward, map.reward)
