"""Worlds outside JAX by name: `pettingzoo:module`, `smac/map`, or `module:name` of a HostWorld."""

import importlib
from typing import Any

from mace_marl.errors import UserError
from mace_marl.host.api import HostWorld, WorldError, check_sizes

PETTINGZOO, SMAC = "pettingzoo:", "smac/"


def is_host(name: str) -> bool:
    """Whether a task is outside JAX by its spelling; `module:name` may be either kind."""
    return name.startswith((PETTINGZOO, SMAC))


def make_host(name: str, drawn: bool = False) -> HostWorld:
    """The world of a task; `drawn`: one whose picture will be asked for."""
    if name.startswith(PETTINGZOO):
        from mace_marl.host.pettingzoo import make_pettingzoo

        world = make_pettingzoo(name.removeprefix(PETTINGZOO), drawn)
    elif name.startswith(SMAC):
        from mace_marl.host.smac import make_smac

        world = make_smac(name.removeprefix(SMAC))
    else:
        world = as_host(name, import_attribute(name, name))
    try:
        check_sizes(world)
    except WorldError as error:
        raise WorldError(f"task '{name}': {error}") from None
    return world


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
