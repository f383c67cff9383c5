"""Worlds outside JAX by name: `pettingzoo:module`, `smac/map`, or `module:name` of a HostWorld."""

import contextlib
import importlib
import sys
from typing import Any

from mace_marl.errors import UserError
from mace_marl.host.api import HostWorld, WorldError, check_sizes

PETTINGZOO, SMAC = "pettingzoo:", "smac/"


def is_host(name: str) -> bool:
    """Whether a task is outside JAX by its spelling; `module:name` may be either kind."""
    return name.startswith((PETTINGZOO, SMAC))


def make_host(name: str, drawn: bool = False) -> HostWorld:
    """The world of a task; `drawn`: one whose picture will be asked for.

    What it prints goes to standard error: standard output may be one JSON document.
    """
    with contextlib.redirect_stdout(sys.stderr):
        world = _make(name, drawn)
    try:
        check_sizes(world)
    except WorldError as error:
        raise WorldError(f"task '{name}': {error}") from None
    return world


def _make(name: str, drawn: bool) -> HostWorld:
    if name.startswith(PETTINGZOO):
        from mace_marl.host.pettingzoo import make_pettingzoo

        return make_pettingzoo(name.removeprefix(PETTINGZOO), drawn)
    if name.startswith(SMAC):
        from mace_marl.host.smac import make_smac

        return make_smac(name.removeprefix(SMAC))
    return as_host(name, import_attribute(name, name))


def as_host(name: str, found: Any) -> HostWorld:
    """A HostWorld from a subclass or a function, both called without arguments, or one itself."""
    world = found if isinstance(found, HostWorld) else found()
    if not isinstance(world, HostWorld):
        raise UserError(f"task '{name}' is not a mace_marl.host.HostWorld (docs/your-world.md).")
    return world


def import_attribute(spelling: str, task: str) -> Any:
    """What `module:name` names, or one sentence about why there is none."""
    module_name, _, attribute = spelling.partition(":")
    try:
        return getattr(importlib.import_module(module_name), attribute)
    except (ModuleNotFoundError, ValueError) as error:
        raise UserError(
            f"task '{task}' cannot be imported ({error}); is its directory on PYTHONPATH?"
        ) from None
    except AttributeError:
        raise UserError(f"task '{task}': module '{module_name}' has no '{attribute}'.") from None
