"""Pictures of kitchens: whatever the state says can be seen, in the image and in the text."""

from itertools import combinations

import jax
import numpy as np
import pytest

from mace_marl.envs.overcooked import Overcooked, parse_kitchen
from mace_marl.envs.overcooked.picture import cell_pixels, image, text
from mace_marl.envs.overcooked.state import State

SMALL = """
horizon = 50
cooking_time = 3
kitchen = '''
XTXDX
X1  P
X  2S
XXOXX
'''
"""
ONION, TOMATO, DISH, SOUP_OF_TOMATO, SOUP_OF_BOTH = 1, 2, 3, 5, 9
COUNTER = (0, 2)


@pytest.fixture(scope="module")
def world() -> Overcooked:
    return Overcooked(parse_kitchen(SMALL, "small.toml"))


@pytest.fixture(scope="module")
def start(world: Overcooked) -> State:
    return jax.tree.map(np.asarray, jax.jit(world.reset)(jax.random.key(0))[0])


def with_item(world: Overcooked, state: State, item: int) -> State:
    items = state.items.copy()
    items[world.kitchen.stations.index(COUNTER)] = item
    return state._replace(items=items)


def changed_cells(world: Overcooked, one: State, other: State) -> set[tuple[int, int]]:
    """Where two images differ, in cells."""
    differ = (image(world.kitchen, one) != image(world.kitchen, other)).any(axis=-1)
    side = cell_pixels(world.kitchen)
    return {(int(row) // side, int(column) // side) for row, column in np.argwhere(differ)}


def test_every_item_looks_different_and_only_where_it_lies(world: Overcooked, start: State) -> None:
    items = (0, ONION, TOMATO, DISH, SOUP_OF_TOMATO, SOUP_OF_BOTH)
    for one, other in combinations(items, 2):
        states = with_item(world, start, one), with_item(world, start, other)
        assert changed_cells(world, *states) == {COUNTER}


def test_every_held_item_and_direction_looks_different(world: Overcooked, start: State) -> None:
    states = [
        start._replace(facing=np.array([facing, 0]), held=np.array([item, 0]))
        for facing in range(4)
        for item in (0, ONION, TOMATO, DISH, SOUP_OF_TOMATO)
    ]
    pictures = [image(world.kitchen, state) for state in states]
    for one, other in combinations(pictures, 2):
        assert (one != other).any(axis=-1).sum() > 20


def test_every_stage_of_a_pot_looks_different(world: Overcooked, start: State) -> None:
    stages = [(0, -1), (1, -1), (2, -1), (5, -1), (1, 0), (1, 3), (5, 3)]  # contents, cooked
    for one, other in combinations(stages, 2):
        states = [
            start._replace(contents=np.array([contents]), cooked=np.array([cooked]))
            for contents, cooked in (one, other)
        ]
        assert changed_cells(world, *states) == {(1, 4)}


def test_size(world: Overcooked, start: State) -> None:
    picture = world.picture(start)
    assert picture.dtype == np.uint8
    assert picture.shape == (4 * 48, 5 * 48, 3)


def test_text_draws_the_state(world: Overcooked, start: State) -> None:
    state = with_item(world, start, SOUP_OF_TOMATO)._replace(
        facing=np.array([2, 3]), held=np.array([SOUP_OF_BOTH, 0])
    )
    lines = text(world.kitchen, state).splitlines()
    assert lines[:4] == ["XXT XsD XX", "XX0>. . P-", "XX. . 1<S", "XXXXO XXXX"]
    assert lines[-3:] == [
        "pot in row 1, column 4: empty",
        "agent 0 holds soup (1 onion, 1 tomato)",
        "agent 1 holds nothing",
    ]


@pytest.mark.parametrize(
    ("contents", "cooked", "mark", "note"),
    [
        (6, -1, "P+", "filling: 1 onion, 2 tomatoes"),
        (3, 1, "P~", "cooking: 3 tomatoes"),
        (8, 3, "P!", "ready: 2 onions"),
    ],
)
def test_text_shows_the_pot(
    world: Overcooked, start: State, contents: int, cooked: int, mark: str, note: str
) -> None:
    state = start._replace(contents=np.array([contents]), cooked=np.array([cooked]))
    lines = world.text(state).splitlines()
    assert lines[1].endswith(mark)
    assert lines[-3] == f"pot in row 1, column 4: {note}"
