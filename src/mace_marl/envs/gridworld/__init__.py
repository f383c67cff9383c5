"""GridWorld: rooms, doors and switches. One engine (`rules`), maps as data (`maps/*.toml`)."""

from mace_marl.envs.gridworld.mapfile import Map, parse_map, read_map
from mace_marl.envs.gridworld.rules import GridWorld

__all__ = ["GridWorld", "Map", "parse_map", "read_map"]
