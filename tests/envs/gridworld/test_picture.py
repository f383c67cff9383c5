"""Pictures of GridWorld: whatever the state says can be seen, in the image and in the text."""

import re

import numpy as np
import pytest
from PIL import ImageColor

from mace_marl.envs.gridworld import Map, parse_map
from mace_marl.envs.gridworld.picture import cell_pixels, held_switches, image, text
from mace_marl.viewer import AGENT_COLOURS, agent_colour

SMALL = """
horizon = 50
starts = [[0, 0], [1, 1]]
grid = '''
.....#***
.....1***
a....1*B*
.....#***
##22##***
.........
'''
[switches]
a = [1, 2]
b = [1]
"""
SHUT = np.array([False, False])
APART = np.array([[0, 1], [2, 3]])  # not beside a switch, a door or each other


@pytest.fixture
def small() -> Map:
    return parse_map(SMALL, "small.toml")


def empty_map(height: int, width: int) -> Map:
    row = "." * (width - 1) + "*"
    grid = "\n".join([row] * height)
    return parse_map(f"horizon = 9\nstarts = [[0, 0]]\ngrid = '''\n{grid}\n'''", "empty.toml")


def cell_box(map: Map, row: int, column: int) -> tuple[slice, slice]:
    """Where a cell is in the image: its rows and its columns of pixels."""
    size = cell_pixels(map)
    top, left = (size // 2 + index * size for index in (row, column))
    return slice(top, top + size), slice(left, left + size)


def cell(picture: np.ndarray, map: Map, row: int, column: int) -> np.ndarray:
    """The pixels of one cell  # (pixels, 3)."""
    rows, columns = cell_box(map, row, column)
    return picture[rows, columns].reshape(-1, 3)


def main_colour(pixels: np.ndarray) -> np.ndarray:
    colours, counts = np.unique(pixels, axis=0, return_counts=True)
    return colours[counts.argmax()].astype(int)


def count(pixels: np.ndarray, agent: int) -> int:
    return int((pixels == ImageColor.getrgb(agent_colour(agent))).all(axis=-1).sum())


def test_kinds_of_cells_look_different(small: Map) -> None:
    picture = image(small, APART, np.array([True, False]))
    places = {"wall": (0, 5), "floor": (5, 0), "target": (0, 8), "open": (1, 5), "shut": (4, 2)}
    colours = {kind: main_colour(cell(picture, small, *at)) for kind, at in places.items()}
    for one in colours:
        for other in colours:
            assert one == other or np.abs(colours[one] - colours[other]).sum() > 40, (one, other)
    assert colours["wall"].sum() < colours["floor"].sum() - 400


@pytest.mark.parametrize("door", [1, 2])
def test_a_door_changes_in_its_own_cells_and_nowhere_else(small: Map, door: int) -> None:
    doors = SHUT.copy()
    doors[door - 1] = True
    before, after = image(small, APART, SHUT), image(small, APART, doors)
    changed = (before != after).any(axis=-1)
    elsewhere = changed.copy()
    for row, column in np.argwhere(small.doors == door):
        assert changed[cell_box(small, row, column)].mean() > 0.95
        elsewhere[cell_box(small, row, column)] = False
    assert not elsewhere.any()


def test_agents_are_where_they_stand(small: Map) -> None:
    picture = image(small, APART, SHUT)
    for agent, (row, column) in enumerate(APART):
        there = count(cell(picture, small, row, column), agent)
        assert there > 0.3 * cell_pixels(small) ** 2
        assert count(picture, agent) <= 1.2 * there


def test_two_agents_on_one_cell_are_both_visible(small: Map) -> None:
    picture = image(small, np.array([[3, 3], [3, 3]]), SHUT)
    areas = [count(picture, agent) for agent in (0, 1)]
    assert min(areas) > 0.2 * cell_pixels(small) ** 2
    assert max(areas) < 1.3 * min(areas)


def test_every_agent_of_a_crowd_is_visible() -> None:
    map = empty_map(30, 30)
    crowd = np.full((len(AGENT_COLOURS), 2), 15)
    picture = image(map, crowd, np.zeros(0, bool))
    assert all(count(picture, agent) >= 8 for agent in range(len(crowd)))


def test_the_palette_has_eight_different_colours() -> None:
    assert len(set(AGENT_COLOURS)) == len(AGENT_COLOURS) >= 8
    assert agent_colour(len(AGENT_COLOURS) + 1) == agent_colour(1)


@pytest.mark.parametrize(
    ("place", "held"),
    [((2, 0), {"a"}), ((1, 0), {"a"}), ((2, 1), {"a"}), ((1, 1), set()), ((2, 2), set())],
)
def test_a_switch_is_occupied_from_on_it_and_beside_it(
    small: Map, place: tuple[int, int], held: set[str]
) -> None:
    position = np.array([place, (5, 5)])
    assert held_switches(small, position) == held
    free, now = image(small, APART, SHUT), image(small, position, SHUT)
    beside = cell_box(small, 3, 0)  # in the switch's reach, and no agent there
    highlighted = (free[beside] != now[beside]).any(axis=-1).mean() > 0.5
    assert highlighted == bool(held)


@pytest.mark.parametrize(("size", "cell_side"), [(30, 16), (5, 48), (200, 8)])
def test_cells_are_larger_in_small_maps(size: int, cell_side: int) -> None:
    map = empty_map(size, size)
    picture = image(map, np.array([[0, 0]]), np.zeros(0, bool))
    assert cell_pixels(map) == cell_side
    assert picture.dtype == np.uint8
    assert picture.shape == ((size + 1) * cell_side, (size + 1) * cell_side, 3)


def test_the_image_of_an_oblong_map_is_oblong() -> None:
    map = empty_map(10, 30)
    height, width, _ = image(map, np.array([[9, 29]]), np.zeros(0, bool)).shape
    assert (height, width) == (11 * 16, 31 * 16)


def test_text_draws_the_state(small: Map) -> None:
    lines = text(small, np.array([[3, 0], [5, 8]]), np.array([True, False])).splitlines()
    assert lines[:6] == [
        ". . . . . ##: : :",
        ". . . . . ' : : :",
        "A . . . . ' : b :",
        "0 . . . . ##: : :",
        "####====####: : :",
        ". . . . . . . . 1",
    ]
    assert "doors open: 1 " in lines[-1]
    assert "switches occupied: a" in lines[-1]


def test_text_shows_shut_doors_by_their_direction(small: Map) -> None:
    lines = text(small, APART, SHUT).splitlines()
    assert lines[1][10:12] == "||"
    assert lines[4][4:8] == "===="
    assert "doors open: none" in lines[-1]


def test_text_shows_company(small: Map) -> None:
    together = np.array([[5, 5], [5, 5]])
    assert text(small, together, SHUT).splitlines()[5] == ". . . . . 01. . ."


def test_text_shows_an_agent_on_a_switch_with_its_letter(small: Map) -> None:
    assert text(small, np.array([[2, 0], [5, 5]]), SHUT).splitlines()[2].startswith("0A.")


def test_text_names_everyone_in_a_crowd(small: Map) -> None:
    three = text(small, np.array([[5, 5]] * 3), SHUT)
    assert three.splitlines()[5][10:12] == "++"
    assert three.splitlines()[-1] == "++ in row 5, column 5: agents 0, 1, 2"
    # With a twelfth agent, "11" would be unclear.
    many = np.array([[5, column] for column in (0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 6)])
    drawn = text(small, many, SHUT).splitlines()[5]
    assert drawn.startswith("++++++++++1011")


def test_colour_only_adds_escapes_to_the_same_characters(small: Map) -> None:
    position, doors = np.array([[2, 0], [5, 5]]), np.array([True, False])
    coloured = text(small, position, doors, colour=True)
    plain = re.sub(r"\x1b\[[0-9;]*m", "", coloured)
    assert coloured != plain
    assert [line.rstrip() for line in plain.splitlines()] == text(
        small, position, doors
    ).splitlines()
