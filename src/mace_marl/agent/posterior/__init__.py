"""Estimates of p(a | o, z): which action tends to precede an accumulated novelty."""

from mace_marl.agent.posterior.api import Accumulated, Estimate, Posterior
from mace_marl.agent.posterior.network import NetworkPosterior
from mace_marl.agent.posterior.table import TablePosterior

POSTERIORS: dict[str, type[Posterior]] = {"table": TablePosterior, "network": NetworkPosterior}
"""By the name that the setting `posterior` gives them."""

__all__ = [
    "POSTERIORS",
    "Accumulated",
    "Estimate",
    "NetworkPosterior",
    "Posterior",
    "TablePosterior",
]
