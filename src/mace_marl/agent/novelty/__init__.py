"""Measures of novelty: how new an observation is to this agent."""

from mace_marl.agent.novelty.api import Novelty
from mace_marl.agent.novelty.both import BothNovelties
from mace_marl.agent.novelty.count import CountNovelty
from mace_marl.agent.novelty.hash import HashNovelty
from mace_marl.agent.novelty.rnd import RandomNetworkDistillation

NOVELTIES: dict[str, type[Novelty]] = {
    "count": CountNovelty,
    "rnd": RandomNetworkDistillation,
    "hash": HashNovelty,
    "both": BothNovelties,
}
"""By the name that the setting `novelty` gives them."""

__all__ = [
    "NOVELTIES",
    "BothNovelties",
    "CountNovelty",
    "HashNovelty",
    "Novelty",
    "RandomNetworkDistillation",
]
