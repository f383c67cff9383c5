"""Measures of novelty: how new an observation is to this agent."""

from mace_marl.agent.novelty.count import CountNovelty

__all__ = ["CountNovelty"]
