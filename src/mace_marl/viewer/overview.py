"""The pictures of a finished run: its learning curve, its rewards by place, a replay."""

from pathlib import Path

from mace_marl.envs.gridworld import GridWorld
from mace_marl.envs.overcooked import Overcooked
from mace_marl.runs import Run
from mace_marl.viewer.figures import learning_curve, reward_maps
from mace_marl.viewer.watch import watch_gif


def draw_overview(run: Run) -> dict[str, Path]:
    """Draw into the run's directory; returns the paths, by what they show."""
    title = f"{run.config.method.name} on {run.config.task}, seed {run.config.seed}"
    pictures = {"learning curve": run.directory / "learning_curve.png"}
    learning_curve(run.rows, title, pictures["learning curve"])
    world = run.world
    path = run.directory / "reward_maps.png"
    if isinstance(world, GridWorld):
        reward_maps(
            run.rewards_by_place(),
            world.map.walls.shape,
            title,
            path,
            walls=world.map.walls,
            doors=world.map.doors,
            switches=world.map.switches,
        )
        pictures["reward maps"] = path
    elif isinstance(world, Overcooked):
        counters = ~world.kitchen.floor
        reward_maps(run.rewards_by_place(), counters.shape, title, path, walls=counters)
        pictures["reward maps"] = path
    pictures["replay"] = watch_gif(run, run.directory / "replay.gif")
    return pictures
