"""The worlds: the contract (`api`), a checker for it, and the worlds themselves."""

from mace_marl.envs.api import Feature, Step, World, auto_reset
from mace_marl.envs.checker import ContractError, check

__all__ = ["ContractError", "Feature", "Step", "World", "auto_reset", "check"]
