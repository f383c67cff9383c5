"""Estimates of p(a | o, z): which action tends to precede an accumulated novelty."""

from mace_marl.agent.posterior.table import TablePosterior

__all__ = ["TablePosterior"]
