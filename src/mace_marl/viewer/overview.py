"""The pictures of a finished run: its learning curve, its rewards by place, a replay."""

from pathlib import Path

from mace_marl.envs.gridworld import GridWorld
from mace_marl.runs import Run
from mace_marl.viewer.figures import learning_curve, reward_maps
from mace_marl.viewer.watch import watch_gif


def draw_overview(run: Run) -> dict[str, Path]:
    """Draw into the run's directory; returns the paths, by what they show."""
    title = f"{run.config.method.name} on {run.config.task}, seed {run.config.seed}"
    pictures = {"learning curve": run.directory / "learning_curve.png"}
    learning_curve(run.rows, title, pictures["learning curve"])
    world = run.world
    if isinstance(world, GridWorld):
        pictures["reward maps"] = run.directory / "reward_maps.png"
        reward_maps(
            run.rewards_by_place(),
            world.map.walls.shape,
            title,
            pictures["reward maps"],
            walls=world.map.walls,
            doors=world.map.doors,
            switches=world.map.switches,
        )
    pictures["replay"] = watch_gif(run, run.directory / "replay.gif")
    return pictures
