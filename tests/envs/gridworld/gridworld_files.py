"""A valid map file to change, and what is expected of maps."""

import gridworld_oracle as oracle
import numpy as np
import pytest
from drawn_files import replaced_once
from gridworld_oracle import Cell, Layout

from mace_marl.envs.gridworld import Map, parse_map
from mace_marl.errors import UserError

FILE = "my maps/rooms.toml"

VALID = '''
name = "Rooms"
description = "Two agents, two doors."
horizon = 50
reward = 5
starts = [[0, 0], [2, 1]]
grid = """
..a#..C
...1.#.
..b2.**
####.**
"""

[switches]
a = [1]
b = [1, 2]
c = [2]
'''


def changed(old: str, new: str) -> str:
    """The valid map with one thing changed."""
    return replaced_once(VALID, old, new)


def error_of(text: str) -> str:
    """The sentence that a broken map gets."""
    with pytest.raises(UserError) as caught:
        parse_map(text, FILE)
    return str(caught.value)


def cells_where(array: np.ndarray) -> set[Cell]:
    return {(int(row), int(column)) for row, column in np.argwhere(array)}


def assert_matches(map: Map, layout: Layout) -> None:
    """The map says exactly what the layout says."""
    assert map.walls.shape == (layout.height, layout.width)
    assert map.horizon == layout.horizon and map.reward == layout.reward
    assert map.starts == layout.starts
    assert cells_where(map.walls) == layout.walls
    assert cells_where(map.target) == layout.target
    assert map.num_doors == layout.num_doors
    for door in range(1, layout.num_doors + 1):
        doorway = {cell for cell, number in layout.doorways.items() if number == door}
        assert cells_where(map.doors == door) == doorway
    drawn = {(map.switches[letter], frozenset(map.opens[letter])) for letter in map.switches}
    assert drawn == {(switch.cell, frozenset(switch.opens)) for switch in layout.switches}
    for cell in layout.cells():
        opened = list(oracle.doors_held_open(layout, [cell]))
        assert map.opened_from[cell].tolist() == opened
