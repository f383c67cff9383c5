"""Can the agents of a map reach the target at all, each holding doors for the others?

Agents never block each other and may linger, so where an agent stands within a room does not
matter: only which *area* it is in. An area is a room (floor connected while all doors are shut) or
a single doorway cell. A search over the agents' areas is therefore small. It refuses no map that
can be solved; and it accepts one that cannot only if an agent would have to wait in a doorway with
floor on all four sides, for there is no action for staying: elsewhere it can walk into a wall.
"""

from collections.abc import Iterator
from functools import cache
from itertools import chain

import numpy as np

MOST_STATES = 200_000  # beyond this many, a map gets the benefit of the doubt


Areas = tuple[int, ...]  # of all agents, in rising order: which agent is where does not matter


def target_is_reachable(
    starts: tuple[tuple[int, int], ...],
    walls: np.ndarray,  # (height, width) bool
    doors: np.ndarray,  # (height, width) int: door number, or 0
    target: np.ndarray,  # (height, width) bool
    opened_from: np.ndarray,  # (height, width, num_doors) bool
) -> bool:
    """Whether some play brings all agents onto target cells, however long it takes."""
    house = _House(walls, doors, opened_from)
    in_target = set(house.areas[target].tolist())
    first = tuple(sorted(int(house.areas[start]) for start in starts))
    seen, frontier = {first}, [first]
    while frontier and len(seen) < MOST_STATES:
        state = frontier.pop()
        if in_target.issuperset(state):
            return True
        for reached in chain(house.one_walks(state), house.several_slip(state)):
            successor = tuple(sorted(reached))
            if successor not in seen:
                seen.add(successor)
                frontier.append(successor)
    return bool(frontier)


class _House:
    """The areas of a map, and how agents get from one to another. Sets of doors are bit masks."""

    def __init__(self, walls: np.ndarray, doors: np.ndarray, opened_from: np.ndarray) -> None:
        self.walls, self.doors = walls, doors
        self.num_doors = opened_from.shape[-1]
        self.areas = _areas(walls, doors)  # (height, width) int
        self.opened = (opened_from << np.arange(self.num_doors)).sum(axis=-1)  # (height, width) int
        numbers = range(self.areas.max() + 1)
        self.held_from = [set(self.opened[self.areas == area].tolist()) for area in numbers]
        # The search asks for the same again and again.
        self.reached_from = cache(self._reached_from)
        self.held_together = cache(self._held_together)
        self.doorways_from = cache(self._doorways_from)

    def one_walks(self, state: Areas) -> Iterator[Areas]:
        """One agent goes somewhere while the others, where they are, hold doors for it."""
        for area in set(state):
            agent = state.index(area)
            others = state[:agent] + state[agent + 1 :]
            for held in self.held_together(others):
                for reached in self.reached_from(area, held):
                    yield (*others, reached)

    def several_slip(self, state: Areas) -> Iterator[Areas]:
        """Agents that hold doors for each other go through them in one and the same step.

        For that, no more of them are needed than there are doors: the rest may go before.
        """
        joint = {((), (), 0, 0)}  # areas of those who wait and of those who slip; held, needed
        for area in state:
            joint = {((*waiting, area), slipped, *bits) for waiting, slipped, *bits in joint} | {
                (waiting, tuple(sorted((*slipped, reached))), held | holds, needed | door)
                for waiting, slipped, held, needed in joint
                if len(slipped) < self.num_doors
                for holds, door, reached in self.doorways_from(area)
            }
        for waiting, slipped, held, needed in joint:
            more = self.held_together(waiting) if len(slipped) > 1 else ()
            if any(not needed & ~(held | others) for others in more):
                yield (*waiting, *slipped)

    def _reached_from(self, area: int, held: int) -> frozenset[int]:
        """Where an agent of this area can walk while others hold the doors in `held` open."""
        reached = set(self._cells(self.areas == area))
        frontier = list(reached)
        while frontier:
            row, column = frontier.pop()
            open_doors = held | int(self.opened[row, column])
            for cell in _neighbours(row, column, self.walls.shape):
                door = int(self.doors[cell])
                closed = door and not open_doors >> (door - 1) & 1
                if cell not in reached and not self.walls[cell] and not closed:
                    reached.add(cell)
                    frontier.append(cell)
        return frozenset(int(self.areas[cell]) for cell in reached)

    def _held_together(self, areas: Areas) -> frozenset[int]:
        """Every set of doors that agents in these areas can hold open together."""
        together = {0}
        for area in areas:
            together = {one | other for one in together for other in self.held_from[area]}
        return frozenset(together)

    def _doorways_from(self, area: int) -> frozenset[tuple[int, int, int]]:
        """Moves into a doorway that let go of a switch: (doors held before, door needed, area)."""
        return frozenset(
            (int(self.opened[row, column]), 1 << int(self.doors[cell]) - 1, int(self.areas[cell]))
            for row, column in self._cells((self.areas == area) & (self.opened > 0))
            for cell in _neighbours(row, column, self.walls.shape)
            if self.doors[cell]
        )

    @staticmethod
    def _cells(where: np.ndarray) -> Iterator[tuple[int, int]]:
        return ((int(row), int(column)) for row, column in np.argwhere(where))


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
