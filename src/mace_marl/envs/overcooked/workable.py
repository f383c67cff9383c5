"""Can a soup be made and served in a kitchen at all, by one cook or by two handing things over?

Two cooks who share floor or a counter can bring any item anywhere that either of them reaches;
otherwise the pot is the only thing that may join them: it takes ingredients from one side and
gives soup to the other. That cooks may be in each other's way is not looked at.
"""

import numpy as np

from mace_marl.envs.overcooked.items import COUNTER, DISHES, FLOOR, POT, SERVING


def missing(
    cells: np.ndarray,  # (height, width) of characters
    starts: tuple[tuple[int, int], ...],
    ingredients: str,  # characters of the dispensers that are needed
) -> str:
    """What keeps the cooks from ever serving a soup, or nothing."""
    reaches = [_reach(cells, start) for start in starts]
    if any(cells[place] in (FLOOR, COUNTER) for place in reaches[0] & reaches[1]):
        reaches = [reaches[0] | reaches[1]]
    for row, column in np.argwhere(cells == POT):
        touching = [reach for reach in reaches if (int(row), int(column)) in reach]
        drawn = [{str(cells[place]) for place in reach} for reach in touching]
        if all(any(i in one for one in drawn) for i in ingredients) and any(
            {DISHES, SERVING} <= one for one in drawn
        ):
            return ""
    return (
        "nobody can make and serve a soup here: some dispenser, pot or serving area cannot be"
        " reached, and no counter joins the cooks"
    )


def _reach(cells: np.ndarray, start: tuple[int, int]) -> set[tuple[int, int]]:
    """The floor that a cook can walk on, and everything beside it."""
    reached, frontier = {start}, [start]
    while frontier:
        row, column = frontier.pop()
        for place in ((row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)):
            if place not in reached:
                reached.add(place)
                if cells[place] == FLOOR:
                    frontier.append(place)
    return reached
