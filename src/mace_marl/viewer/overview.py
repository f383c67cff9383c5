"""The pictures of a run: its learning curve, its rewards and visits by place, a replay."""

from itertools import pairwise
from pathlib import Path

import numpy as np

from mace_marl.envs.gridworld import GridWorld
from mace_marl.envs.overcooked import Overcooked
from mace_marl.runs import Run
from mace_marl.runs.places import Places
from mace_marl.viewer.ground import ground_of
from mace_marl.viewer.heat_maps import Snapshot, reward_maps, visit_maps
from mace_marl.viewer.learning_curve import learning_curve
from mace_marl.viewer.watch import watch_gif


def draw_overview(run: Run) -> dict[str, Path]:
    """Draw into the run's directory; returns the paths, by what they show."""
    pictures = {"learning curve": run.directory / "learning_curve.png"}
    learning_curve(run.rows, _title(run), pictures["learning curve"])
    if isinstance(run.world, GridWorld | Overcooked):
        pictures["reward maps"] = run.directory / "reward_maps.png"
        draw_rewards(run, pictures["reward maps"])
    pictures["replay"] = watch_gif(run, run.directory / "replay.gif")
    return pictures


def draw_rewards(run: Run, path: Path, first: int = 0, last: int | None = None) -> None:
    """Draw both intrinsic rewards by place, between `first` and `last` updates done."""
    places = run.places
    sums, first, last = places.between(first, places.updates if last is None else last)
    title = f"{_title(run)}: updates {first} to {last}"
    reward_maps(sums, ground_of(run.world), title, path)


def draw_visits(run: Run, path: Path, count: int) -> None:
    """Draw where the agents were, in `count` snapshots of training one after the other."""
    visit_maps(snapshots(run.places, count), ground_of(run.world), _title(run), path)


def snapshots(places: Places, count: int) -> list[Snapshot]:
    """All of training in `count` stretches of whole blocks, or as many as there are blocks."""
    blocks = -(-places.updates // places.updates_per_block)
    edges = np.linspace(0, blocks, min(count, blocks) + 1).round().astype(int)
    edges = np.minimum(edges * places.updates_per_block, places.updates).tolist()
    shots = [places.between(first, last) for first, last in pairwise(edges)]
    return [Snapshot(sums[:, 2], first, last) for sums, first, last in shots]


def _title(run: Run) -> str:
    config = run.config
    return f"{config.method.name} on {config.task}, preset {config.preset}, seed {config.seed}"
