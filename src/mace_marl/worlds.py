"""A task's world: drawn in a file, or written in Python.

Nothing that needs JAX is imported before a world is wanted.
"""

from typing import TYPE_CHECKING

from mace_marl.errors import UserError

if TYPE_CHECKING:
    from mace_marl.envs.api import World
    from mace_marl.envs.gridworld import Map
    from mace_marl.envs.overcooked import Kitchen
    from mace_marl.envs.skirmish import Scenario


def make_world(name: str, map: str = "") -> "World":
    """The world of a task; a run passes the map it was started with, and needs no file."""
    if map:
        from mace_marl.envs.gridworld import GridWorld
        from mace_marl.envs.overcooked import Kitchen, Overcooked
        from mace_marl.envs.skirmish import Scenario, Skirmish

        drawn = read_drawing(map, name)
        if isinstance(drawn, Scenario):
            return Skirmish(drawn)
        return Overcooked(drawn) if isinstance(drawn, Kitchen) else GridWorld(drawn)
    return import_world(name)


def is_outside_jax(name: str, map: str = "") -> bool:
    """Whether a task's world is; found out without starting JAX, where that is possible."""
    from mace_marl.host.world import Hosted

    return not map and isinstance(import_world(name), Hosted)


def read_drawing(text: str, file: str) -> "Map | Kitchen | Scenario":
    """With a `kitchen` it is one, with `ground` a scenario; all else is meant to be a map."""
    from mace_marl.envs.drawing import parse_toml
    from mace_marl.envs.gridworld import parse_map
    from mace_marl.envs.overcooked import parse_kitchen
    from mace_marl.envs.skirmish import parse_scenario

    table = parse_toml(text, file)
    if "ground" in table or "allies" in table:
        return parse_scenario(text, file)
    return (parse_kitchen if "kitchen" in table else parse_map)(text, file)


def import_world(name: str) -> "World":
    """A world that is not drawn: in `module:name`, a World or a HostWorld, or a subclass of either
    that is made without arguments, or a function that makes one."""
    from mace_marl.envs.api import World
    from mace_marl.host.api import HostWorld
    from mace_marl.host.share import failure
    from mace_marl.host.world import Hosted
    from mace_marl.host.worlds import import_attribute, is_host

    if is_host(name):
        return Hosted(name)
    found = import_attribute(name, name)
    if isinstance(found, HostWorld) or (isinstance(found, type) and issubclass(found, HostWorld)):
        return Hosted(name)
    try:
        world = found() if callable(found) and not isinstance(found, World) else found
    except Exception as error:
        raise UserError(
            f"task '{name}' cannot be made by calling it without arguments: {failure(error)}."
        ) from error
    if isinstance(world, HostWorld):
        world.close()
        return Hosted(name)
    if not isinstance(world, World):
        raise UserError(
            f"task '{name}' is neither a mace_marl.envs.World nor a mace_marl.host.HostWorld, nor"
            " a subclass of one (docs/worlds.md, docs/your-world.md)."
        )
    return world
