"""Can the agents of a map reach the target at all, each holding doors for the others?

Agents never block each other and may linger, so where an agent stands within a room does not
matter: only which *area* it is in. An area is a room (floor connected while all doors are shut) or
a single doorway cell. A search over the agents' areas is therefore small. It refuses no map that
can be solved; and it accepts one that cannot only if an agent would have to wait in a doorway with
floor on all four sides, for there is no action for staying: elsewhere it can walk into a wall.
"""

from collections.abc import Iterator
from functools import cache

import numpy as np

MOST_STATES = 200_000  # beyond this many, a map gets the benefit of the doubt


def target_is_reachable(
    starts: tuple[tuple[int, int], ...],
    walls: np.ndarray,  # (height, width) bool
    doors: np.ndarray,  # (height, width) int: door number, or 0
    target: np.ndarray,  # (height, width) bool
    opened_from: np.ndarray,  # (height, width, num_doors) bool
) -> bool:
    """Whether some play brings all agents onto target cells, however long it takes."""
    areas = _areas(walls, doors)
    bits = 1 << np.arange(opened_from.shape[-1])
    opened = opened_from @ bits if len(bits) else np.zeros(walls.shape, int)  # doors, as a bit mask
    in_target = {int(areas[cell]) for cell in zip(*np.nonzero(target), strict=True)}
    held_from = {
        area: {int(doors_held) for doors_held in np.unique(opened[areas == area])}
        for area in range(areas.max() + 1)
    }

    @cache
    def areas_reached(area: int, held: int) -> frozenset[int]:
        """Where an agent of this area can walk while others hold the doors in `held` open."""
        reached = set(zip(*np.nonzero(areas == area), strict=True))
        frontier = list(reached)
        while frontier:
            row, column = frontier.pop()
            open_doors = held | int(opened[row, column])
            for cell in _neighbours(row, column, walls.shape):
                closed = doors[cell] and not open_doors >> (int(doors[cell]) - 1) & 1
                if cell not in reached and not walls[cell] and not closed:
                    reached.add(cell)
                    frontier.append(cell)
        return frozenset(int(areas[cell]) for cell in reached)

    @cache
    def holdings(others: tuple[int, ...]) -> frozenset[int]:
        """Every set of doors that agents in these areas can hold open together."""
        together = {0}
        for area in others:
            together = {one | other for one in together for other in held_from[area]}
        return frozenset(together)

    @cache
    def gate_moves(area: int) -> frozenset[tuple[int, int, int]]:
        """Moves into a doorway that let go of a switch: (doors held before, door needed, area)."""
        return frozenset(
            (int(opened[row, column]), 1 << int(doors[cell]) - 1, int(areas[cell]))
            for row, column in zip(*np.nonzero((areas == area) & (opened > 0)), strict=True)
            for cell in _neighbours(row, column, walls.shape)
            if doors[cell]
        )

    def successors(state: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        for area in set(state):
            agent = state.index(area)
            others = state[:agent] + state[agent + 1 :]
            for held in holdings(others):
                for reached in areas_reached(area, held):
                    yield (*others, reached)
        # Agents that hold doors for each other can also slip through in one and the same step. For
        # that, no more of them are needed than there are doors: the rest may go before.
        joint = {((), (), 0, 0)}  # areas of those who wait and of those who slip; held, needed
        for area in state:
            joint = {((*waiting, area), slipped, *bits) for waiting, slipped, *bits in joint} | {
                (waiting, tuple(sorted((*slipped, reached))), held | holds, needed | door)
                for waiting, slipped, held, needed in joint
                if len(slipped) < opened_from.shape[-1]
                for holds, door, reached in gate_moves(area)
            }
        for waiting, slipped, held, needed in joint:
            if len(slipped) > 1 and any(not needed & ~(held | d) for d in holdings(waiting)):
                yield (*waiting, *slipped)

    first = tuple(sorted(int(areas[start]) for start in starts))
    seen, frontier = {first}, [first]
    while frontier and len(seen) < MOST_STATES:
        state = frontier.pop()
        if all(area in in_target for area in state):
            return True
        for reached in successors(state):
            successor = tuple(sorted(reached))
            if successor not in seen:
                seen.add(successor)
                frontier.append(successor)
    return bool(frontier)


def _areas(walls: np.ndarray, doors: np.ndarray) -> np.ndarray:  # (height, width) int, walls −1
    areas = np.full(walls.shape, -1)
    next_area = 0
    for row, column in zip(*np.nonzero(~walls), strict=True):
        if areas[row, column] >= 0:
            continue
        frontier = [(int(row), int(column))]
        while frontier:
            cell = frontier.pop()
            areas[cell] = next_area
            if doors[cell]:
                continue
            frontier += [
                near
                for near in _neighbours(*cell, walls.shape)
                if not walls[near] and not doors[near] and areas[near] < 0
            ]
        next_area += 1
    return areas


def _neighbours(row: int, column: int, shape: tuple[int, ...]) -> Iterator[tuple[int, int]]:
    for near in ((row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)):
        if 0 <= near[0] < shape[0] and 0 <= near[1] < shape[1]:
            yield near
