"""Skirmishes: a simulation of SMAC's tasks. One engine (`rules`), scenarios and units as data."""

from mace_marl.envs.skirmish.rules import Skirmish
from mace_marl.envs.skirmish.scenariofile import Scenario, parse_scenario, read_scenario

__all__ = ["Scenario", "Skirmish", "parse_scenario", "read_scenario"]
