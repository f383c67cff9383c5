"""Worlds outside JAX: objects that step in Python, many of them at once in worker processes.

What a world is: `api`. Many of them: `board` (what processes share), `share` (one process's part),
`worker` and `pool`. The adapters: `pettingzoo` and `smac`. None of these import JAX, so that a
worker starts quickly; what meets the trainer does: `world`, `collect`, `trainer` and `play`.
"""

from mace_marl.host.api import HostWorld, Moment
from mace_marl.host.checker import check

__all__ = ["HostWorld", "Moment", "check"]
