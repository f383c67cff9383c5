"""`mace figure …`. As in `cli.py`, what takes long to import is imported when it is needed."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import OmitSubcommandPrefixes, Positional, arg, subcommand

from mace_marl.errors import UserError

FORMATS = (".png", ".pdf", ".svg")


@dataclass(frozen=True)
class Illustration:
    """The paper's first figure: mutual information, plain and weighted, of two states."""

    out: Path = Path("illustration.png")
    """The file to write: .png, .pdf or .svg."""

    def draw(self) -> Path:
        path = _writable(self.out)
        from mace_marl.viewer.illustration import illustration

        illustration(path)
        return path


@dataclass(frozen=True)
class MapOf:
    """A task's map, kitchen or scenario. Other worlds show their picture."""

    task: Positional[str]
    """A name from `mace tasks`, a path to a map, kitchen or scenario (….toml), a world in Python
    (module:name), or one outside JAX (pettingzoo:module)."""
    out: Path | None = None
    """The file to write: .png, .pdf or .svg; unset for map_….png in this directory."""

    def draw(self) -> Path:
        name = Path(self.task.split(":")[-1]).stem
        path = _writable(self.out or Path(f"map_{name}.png"))
        import mace_marl
        from mace_marl.envs.gridworld import GridWorld
        from mace_marl.envs.overcooked import Overcooked
        from mace_marl.envs.skirmish import Skirmish
        from mace_marl.viewer.floor_plan import floor_plan, own_picture
        from mace_marl.viewer.kitchen_plan import kitchen_plan
        from mace_marl.viewer.scenario_plan import scenario_plan

        world = mace_marl.make(self.task)
        if isinstance(world, GridWorld):
            floor_plan(world.map, world.map.name, path)
        elif isinstance(world, Overcooked):
            kitchen_plan(world.kitchen, world.kitchen.name, path)
        elif isinstance(world, Skirmish):
            scenario_plan(world.scenario, world.scenario.name, path)
        else:
            own_picture(world, path)
        return path


@dataclass(frozen=True)
class Rewards:
    """Heat maps of the novelty-based and the hindsight-based reward of every agent of a run."""

    run_dir: Positional[Path]
    """The run's directory."""
    updates: str = ""
    """From how many updates to how many, e.g. 700:1000; unset for the whole run."""
    out: Path | None = None
    """The file to write: .png, .pdf or .svg; unset for reward_maps.png in the run's directory."""

    def draw(self) -> Path:
        first, last = _range(self.updates) if self.updates else (0, None)
        from mace_marl.runs import open_run
        from mace_marl.viewer.overview import draw_rewards

        run = open_run(self.run_dir)
        path = _writable(self.out or self.run_dir / "reward_maps.png")
        draw_rewards(run, path, first, last)
        return path


@dataclass(frozen=True)
class Visits:
    """Heat maps of where every agent of a run was, in a row of snapshots of training."""

    run_dir: Positional[Path]
    """The run's directory."""
    snapshots: int = 5
    """Stretches into which training is cut."""
    out: Path | None = None
    """The file to write: .png, .pdf or .svg; unset for visits.png in the run's directory."""

    def draw(self) -> Path:
        if self.snapshots < 1:
            raise UserError(f"snapshots must be at least 1, not {self.snapshots}.")
        from mace_marl.runs import open_run
        from mace_marl.viewer.overview import draw_visits

        run = open_run(self.run_dir)
        path = _writable(self.out or self.run_dir / "visits.png")
        draw_visits(run, path, self.snapshots)
        return path


@dataclass(frozen=True)
class Figure:
    """Draw a figure: of the method, of a task, or of a run."""

    what: Annotated[
        OmitSubcommandPrefixes[
            Annotated[Illustration, subcommand("illustration")]
            | Annotated[MapOf, subcommand("map")]
            | Annotated[Rewards, subcommand("rewards")]
            | Annotated[Visits, subcommand("visits")]
        ],
        arg(name=""),
    ]

    def __call__(self) -> None:
        try:
            path = self.what.draw()
        except OSError as error:
            raise UserError(
                f"the figure cannot be written ({error}); give another --out."
            ) from None
        print(path)


def _writable(path: Path) -> Path:
    """The path if a figure can be written there: asked before anything is computed."""
    if path.suffix not in FORMATS:
        raise UserError(f"--out {path} must end in {', '.join(FORMATS[:-1])} or {FORMATS[-1]}.")
    if not path.parent.is_dir():
        raise UserError(f"{path.parent} is not a directory; give another --out.")
    if path.is_dir():
        raise UserError(f"{path} is a directory; give another --out.")
    return path


def _range(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d{1,9}):(\d{1,9})", text, re.ASCII)
    if found is None:
        raise UserError(f"--updates must be two whole numbers like 700:1000, not '{text}'.")
    return int(found[1]), int(found[2])
