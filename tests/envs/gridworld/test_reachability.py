"""Whether a map can be solved: the quick search over rooms against an exact one over cells."""

from itertools import product

import gridworld_oracle as oracle
import numpy as np
import pytest
from gridworld_drawings import Drawing, drawings
from gridworld_oracle import MOVES, Cell, Layout
from hypothesis import example, given, settings

from mace_marl.envs.gridworld.reachability import target_is_reachable


def quick(layout: Layout) -> bool:
    """The package's answer."""
    shape = (layout.height, layout.width)
    walls, target = np.zeros(shape, bool), np.zeros(shape, bool)
    doors = np.zeros(shape, np.int32)
    opened_from = np.zeros((*shape, layout.num_doors), bool)
    for cell in layout.cells():
        walls[cell] = cell in layout.walls
        target[cell] = cell in layout.target
        doors[cell] = layout.doorways.get(cell, 0)
        opened_from[cell] = oracle.doors_held_open(layout, [cell])
    return target_is_reachable(layout.starts, walls, doors, target, opened_from)


def exact(layout: Layout) -> bool:
    """The true answer: every joint position that can be reached, by the rules as they are."""
    reached: dict[tuple[Cell, tuple[bool, ...]], set[Cell]] = {}
    for cell in layout.open_ground():
        for doors in product((False, True), repeat=layout.num_doors):
            reached[cell, doors] = {oracle.move(layout, cell, doors, action) for action in MOVES}
    first = (layout.starts, (False,) * layout.num_doors)
    seen, frontier = {first}, [first]
    while frontier:
        positions, doors = frontier.pop()
        for joint in product(*(reached[cell, doors] for cell in positions)):
            if all(cell in layout.target for cell in joint):
                return True
            successor = (joint, oracle.doors_held_open(layout, joint))
            if successor not in seen:
                seen.add(successor)
                frontier.append(successor)
    return False


def one_can_wait_in_all_doorways(layout: Layout) -> bool:
    """Whether every doorway has a wall or the border beside it, to walk against.

    There is no action for staying. In a doorway with free cells all around an agent cannot wait,
    and once out of it, it may find the door closed.
    """
    return all(
        any(
            not 0 <= row + down < layout.height
            or not 0 <= column + right < layout.width
            or (row + down, column + right) in layout.walls
            for down, right in MOVES.values()
        )
        for row, column in layout.doorways
    )


# Agents that hold doors for each other, and can only get through in one and the same step.
TOGETHER = [
    Drawing(("a.1*", "####", "b.2*"), {"a": (2,), "b": (1,)}, ((0, 0), (2, 0))),
    Drawing(("1.*1", "#2#2", "b.#a"), {"a": (2,), "b": (1,)}, ((2, 3), (2, 1))),
    Drawing(("#b.1*", "#a###", ".22*."), {"a": (1,), "b": (2,)}, ((0, 4), (0, 2))),
    Drawing(("1a.", "b#1", "12*"), {"a": (2,), "b": (1,)}, ((1, 0), (2, 2))),
    Drawing(("22.a.", "##2##", "C*1.B"), {"a": (1,), "b": (1,), "c": (2,)}, ((2, 3), (0, 2))),
]

# One agent gets past doors alone as long as it is within reach of the switch.
ALONE = [
    (Drawing(("a.1*",), {"a": (1,)}, ((0, 0),)), True),
    (Drawing(("a..1*",), {"a": (1,)}, ((0, 0),)), False),
    (Drawing(("a11*",), {"a": (1,)}, ((0, 0),)), True),  # a deep doorway
    (Drawing(("a111*",), {"a": (1,)}, ((0, 0),)), False),
    (Drawing(("a1.b1*",), {"a": (1,), "b": (1,)}, ((0, 0),)), True),  # from switch to switch
    (Drawing((".#*",), {}, ((0, 0),)), False),
]


@pytest.mark.parametrize(
    ("drawing", "solvable"),
    [*ALONE, *((drawing, True) for drawing in TOGETHER)],
    ids=lambda value: "/".join(value.rows) if isinstance(value, Drawing) else "",
)
def test_special_maps(drawing: Drawing, solvable: bool):
    """One agent alone, and agents that must move in the same step."""
    assert exact(drawing.layout()) == solvable, "the test's own search is wrong"
    assert quick(drawing.layout()) == solvable


@settings(max_examples=500, deadline=None)
@given(drawing=drawings())
@example(Drawing(("a.1.B",), {"a": (1,), "b": (1,)}, ((0, 0), (0, 1))))  # one holds for the other
@example(Drawing(("a.1.*",), {"a": (1,)}, ((0, 0), (0, 1))))  # nobody holds for the last
def test_agrees_with_an_exact_search(drawing: Drawing):
    """On tiny random maps: no solvable map is refused, and no unsolvable one accepted."""
    layout = drawing.layout()
    solvable, answer = exact(layout), quick(layout)
    if one_can_wait_in_all_doorways(layout):
        assert answer == solvable
    else:
        assert answer or not solvable, "a map that can be solved must never be refused"


def test_in_doubt_a_map_is_accepted():
    """The one case the quick search does not see: an agent that would have to wait where it cannot.

    The agent in the doorway of door 1 holds door 2 for the other one, who is too far away to use
    the only moment before the first must leave (free cells on all four sides of the doorway).
    """
    rows = ("#.####", "a1*###", "#.####", "######", "b...2*")
    layout = Drawing(rows, {"a": (2,), "b": (1,)}, ((1, 0), (4, 0))).layout()
    assert not one_can_wait_in_all_doorways(layout)
    assert not exact(layout)
    assert quick(layout)


@pytest.mark.parametrize("name", list(oracle.LAYOUTS))
def test_maps_of_the_paper(name: str):
    """They can be solved; and no longer, once any switch that a plan needs is taken away."""
    layout = oracle.LAYOUTS[name]
    assert quick(layout)
    needed = {"pass": (0, 1), "secretroom": (0, 1), "multiroom": (0, 1, 2, 3)}[name]
    for index, switch in enumerate(layout.switches):
        without = tuple(other for other in layout.switches if other != switch)
        lesser = Layout(**{**vars(layout), "switches": without})
        assert quick(lesser) == (index not in needed), switch


def test_one_agent_fewer_cannot_do_multiroom():
    """Three agents are needed: two cannot hold all the doors that one has to pass."""
    layout = oracle.MULTIROOM
    assert not quick(Layout(**{**vars(layout), "starts": layout.starts[:2]}))
