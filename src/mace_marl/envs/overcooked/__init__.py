"""Overcooked: two cooks, one soup. One engine (`rules`), kitchens as data (`layouts/*.toml`)."""

from mace_marl.envs.overcooked.kitchenfile import Kitchen, parse_kitchen, read_kitchen
from mace_marl.envs.overcooked.rules import Overcooked

__all__ = ["Kitchen", "Overcooked", "parse_kitchen", "read_kitchen"]
