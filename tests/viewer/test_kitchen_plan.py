"""Plans of kitchens: everything stands where it is, and boxes surround what cooks see."""

from pathlib import Path

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Rectangle
from pictures import size

import mace_marl
from mace_marl.envs.overcooked import Kitchen, Overcooked, parse_kitchen
from mace_marl.viewer import agent_colour
from mace_marl.viewer.kitchen_plan import kitchen_plan

OWN = """
name = "Own"
horizon = 50
tomatoes = 2
onions = 1
kitchen = '''
XTXDXX
X1   P
S  2 P
XXOXXX
'''
[[sight]]
x = [1, 4]
y = [2, 3]
[[sight]]
x = [0, 6]
y = [0, 4]
"""
SHIPPED = ("overcooked/base", "overcooked/narrow", "overcooked/large", "overcooked/mini")
SEEN = {  # columns and rows of the cells whose things each agent sees, first and last
    "overcooked/base": [(0, 6, 0, 6), (6, 12, 0, 6)],
    "overcooked/narrow": [(0, 6, 0, 6), (6, 12, 0, 6)],
    "overcooked/large": [(0, 22, 0, 11), (0, 22, 0, 11)],
    "overcooked/mini": [(0, 3, 0, 4), (3, 6, 0, 4)],
    "own": [(1, 4, 2, 3), (0, 5, 0, 3)],
}


def kitchen_of(task: str) -> Kitchen:
    if task == "own":
        return parse_kitchen(OWN, "own.toml")
    world = mace_marl.make(task)
    assert isinstance(world, Overcooked)
    return world.kitchen


def drawing_of(kitchen: Kitchen) -> list[str]:
    """The lines of the kitchen in its file."""
    return kitchen.source.replace("'''", '"""').split('"""')[1].strip("\n").split("\n")


@pytest.mark.parametrize("task", [*SHIPPED, "own"])
def test_everything_is_where_it_is(tmp_path: Path, drawn: list[Figure], task: str) -> None:
    kitchen = kitchen_of(task)
    kitchen_plan(kitchen, kitchen.name, tmp_path / "map.png")
    size(tmp_path / "map.png")
    (panel,) = drawn[0].axes
    written = {(note.get_text(), note.get_position()) for note in panel.texts}
    discs = {patch.center for patch in panel.patches if isinstance(patch, Circle)}
    agents = {"1": "0", "2": "1"}  # players are counted from one, agents from zero
    expected = {
        (agents.get(character, character), (column, row))
        for row, line in enumerate(drawing_of(kitchen))
        for column, character in enumerate(line)
        if character not in "X "
    }
    assert written == expected
    assert discs == {place for text, place in expected if text != "S"}


@pytest.mark.parametrize("task", [*SHIPPED, "own"])
def test_cells_that_differ_have_different_colours(
    tmp_path: Path, drawn: list[Figure], task: str
) -> None:
    kitchen = kitchen_of(task)
    kitchen_plan(kitchen, kitchen.name, tmp_path / "map.png")
    image = drawn[0].axes[0].images[0]
    pixels = np.asarray(image.cmap(image.norm(np.asarray(image.get_array()))))  # (height, width, 4)
    dispensers = str.maketrans("OTD", "___")
    kinds = {
        (cell.translate(dispensers), tuple(pixels[place].tolist()))
        for place, cell in np.ndenumerate(kitchen.cells)
    }
    assert len(kinds) == len(dict(kinds)) == len({colour for _, colour in kinds}) == 5


@pytest.mark.parametrize("task", SEEN)
def test_a_box_surrounds_the_cells_an_agent_sees(
    tmp_path: Path, drawn: list[Figure], task: str
) -> None:
    """And no other cell's middle; the boxes of two agents never lie on each other."""
    kitchen = kitchen_of(task)
    kitchen_plan(kitchen, kitchen.name, tmp_path / "map.png")
    boxes = [patch for patch in drawn[0].axes[0].patches if isinstance(patch, Rectangle)]
    for agent, (box, (left, right, top, bottom)) in enumerate(zip(boxes, SEEN[task], strict=True)):
        assert to_hex(box.get_edgecolor()) == agent_colour(agent)
        assert not box.get_fill()
        assert left - 1 < box.get_x() < left - 0.5
        assert right + 0.5 < box.get_x() + box.get_width() < right + 1
        assert top - 1 < box.get_y() < top - 0.5
        assert bottom + 0.5 < box.get_y() + box.get_height() < bottom + 1
    one, other = (box.get_bbox() for box in boxes)
    assert not set(one.intervalx) & set(other.intervalx)
    assert not set(one.intervaly) & set(other.intervaly)


def test_boxes_are_within_the_picture(tmp_path: Path, drawn: list[Figure]) -> None:
    for task in SHIPPED:
        kitchen_plan(kitchen_of(task), task, tmp_path / "map.png")
        figure = drawn[-1]
        for patch in figure.axes[0].patches:
            extent = patch.get_window_extent()
            assert figure.bbox.x0 < extent.x0 and extent.x1 < figure.bbox.x1
            assert figure.bbox.y0 < extent.y0 and extent.y1 < figure.bbox.y1


def test_the_key_names_what_there_is(tmp_path: Path, drawn: list[Figure]) -> None:
    always = {"start", "agent 0 sees", "agent 1 sees"}
    always |= {"counter", "serving", "pot", "dishes", "tomatoes"}
    for task, more in (("overcooked/base", set()), ("own", {"onions"})):
        kitchen_plan(kitchen_of(task), task, tmp_path / "map.svg")
        legend = drawn[-1].axes[0].get_legend()
        assert legend is not None
        assert {entry.get_text() for entry in legend.get_texts()} == always | more


def test_the_wanted_soup_is_said(tmp_path: Path, drawn: list[Figure]) -> None:
    for task in ("overcooked/base", "own"):
        kitchen_plan(kitchen_of(task), task, tmp_path / "map.pdf")
    assert [figure.get_supxlabel() for figure in drawn] == [
        "wanted: a soup of 1 tomato",
        "wanted: a soup of 1 onion, 2 tomatoes",
    ]
