"""Decentralised multi-agent reinforcement learning for sparse-reward cooperative tasks.

    import mace_marl
    run = mace_marl.train("gridworld/minipass", method="mace", run_dir="runs/first")
    print(run.evaluate(episodes=100))

JAX is imported when it is first needed, not here: `mace --help` answers at once.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from mace_marl.errors import UserError

if TYPE_CHECKING:
    from mace_marl.envs.api import World
    from mace_marl.runs.run import Run

__version__ = "0.1.0"
__all__ = ["UserError", "__version__", "load", "make", "train"]


def make(task: str) -> "World":
    """The world of a task: a name from `mace tasks`, a file that draws one, `module:name`, or one
    outside JAX (`pettingzoo:module`, `smac/map`)."""
    from mace_marl.tasks import get_task
    from mace_marl.worlds import make_world

    return make_world(task, get_task(task).map)


def train(
    task: str,
    *,
    method: str = "mace",
    preset: str = "tuned",
    seed: int = 0,
    steps: int | None = None,
    until_success: float | None = None,
    run_dir: str | Path | None = None,
    checkpoint_every: float = 60.0,
    devices: int | None = None,
    micro_batch: int | None = None,
    distinct: bool | None = None,
    progress: bool = True,
    **settings: Any,
) -> "Run":
    """Train and return the finished run. Keyword arguments beyond these change single settings."""
    from mace_marl.runs import start

    return start(
        task,
        method=method,
        preset=preset,
        seed=seed,
        steps=steps,
        until_success=until_success,
        run_dir=run_dir,
        checkpoint_every=checkpoint_every,
        devices=devices,
        micro_batch=micro_batch,
        distinct=distinct,
        progress=progress,
        overrides=settings,
    )


def load(run_dir: str | Path) -> "Run":
    """A run on disk, to evaluate, watch or resume."""
    from mace_marl.runs import open_run

    return open_run(run_dir)
