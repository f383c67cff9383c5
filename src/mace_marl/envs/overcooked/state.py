"""The state of a kitchen."""

from typing import NamedTuple

from jax import Array


class State(NamedTuple):
    """A kitchen at one moment; what a station is says `Kitchen.stations`."""

    position: Array  # (num_agents, 2) int32: row, column
    facing: Array  # (num_agents,) int32: north, south, east, west
    held: Array  # (num_agents,) int32: an item
    items: Array  # (stations,) int32: the item on it; a dispenser's never runs out
    order: Array  # (stations,) int32: 1 for the item put on a counter first, …; 0 elsewhere
    contents: Array  # (pots,) int32
    cooked: Array  # (pots,) int32: steps since cooking began; −1 before
    time: Array  # () int32
