"""What each technique of the learner gives, and how its time grows: all measured in one run.

    python benchmarks/techniques.py [--task gridworld/pass]

Times are of the learner alone (PPO's epochs over one rollout, all agents), relative to what the
program chooses by itself. All variants take turns, and the shortest time of each counts.
"""

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import jax
from rich.console import Console
from rich.table import Table

from mace_marl.agent import linear
from mace_marl.agent.gru import GRU
from mace_marl.bench import best_seconds, stage_work
from mace_marl.machine import Layout, choose_layout
from mace_marl.methods import get_method
from mace_marl.settings import Settings
from mace_marl.tasks import get_task, task_settings
from mace_marl.trainer import Trainer
from mace_marl.worlds import make_world

Work = Callable[[], Any]


@contextmanager
def replaced(owner: Any, name: str, by: Any) -> Iterator[None]:
    before = getattr(owner, name)
    setattr(owner, name, by)
    try:
        yield
    finally:
        setattr(owner, name, before)


def learner(task: str, settings: Settings, layout: Layout) -> Work:
    """The learner's work on one rollout, compiled."""
    found = get_task(task)
    world = make_world(found.name, found.map)
    trainer = Trainer(world, get_method("mace"), settings, layout)
    work = stage_work(trainer, trainer.init(0))["learn"]
    jax.block_until_ready(work())
    return work


def techniques(task: str, settings: Settings) -> dict[str, Work]:
    """The learner as it is, and with one technique after the other left out."""
    chosen = choose_layout(settings)
    share = settings.steps_per_update // settings.chunk_length // chosen.devices
    alone, indistinct = replace(chosen, devices=1), replace(chosen, distinct=False)
    works = {
        "as chosen": learner(task, settings, chosen),
        "every sample through every layer": learner(task, settings, indistinct),
        "the whole batch at once": learner(task, settings, replace(chosen, micro_batch=share)),
        "all agents at once": learner(task, settings, replace(chosen, in_turn=False)),
        "one device, its threads left to XLA": learner(task, settings, alone),
    }
    with replaced(GRU, "over_time", GRU.over_time_plainly):
        works["JAX's own backward pass of the GRU"] = learner(task, settings, chosen)
    with replaced(linear, "product", lambda x, weight: x @ weight):
        works["JAX's own gradient of narrow layers"] = learner(task, settings, chosen)
        with replaced(GRU, "over_time", GRU.over_time_plainly):
            plain = Layout(1, share * chosen.devices, in_turn=False)
            works["none of these"] = learner(task, settings, plain)
    return works


def growth(settings: Settings) -> dict[str, tuple[Work, float]]:
    """Learners of other sizes, each with how many times the textbook work of Pass it has."""

    def sized(task: str, work: float, **changes: int) -> tuple[Work, float]:
        changed = replace(settings, **changes)
        return learner(task, changed, choose_layout(changed)), work

    return {
        "32 environments": sized("gridworld/pass", 1 / 4, num_envs=32),
        "512 environments": sized("gridworld/pass", 4, num_envs=512),
        "hidden size 32": sized("gridworld/pass", weights(32) / weights(64), hidden_size=32),
        "hidden size 128": sized("gridworld/pass", weights(128) / weights(64), hidden_size=128),
        "3 agents (MultiRoom)": sized("gridworld/multiroom", weights(64, 7) / weights(64) * 3 / 2),
    }


def weights(size: int, observation: int = 3, actions: int = 4) -> float:
    """Of an actor and a critic."""
    body = observation * size + size**2 + 2 * 3 * size**2
    return 2 * body + size * (actions + 1)


def main() -> None:
    parser = argparse.ArgumentParser(description="What each technique of the learner gives.")
    parser.add_argument("--task", default="gridworld/pass")
    task = parser.parse_args().task
    settings = task_settings(get_task(task), "paper")
    choose_layout(settings)  # starts JAX with its devices
    jax.config.update("jax_enable_compilation_cache", False)
    works = techniques(task, settings)
    seconds = best_seconds(works)
    base = seconds["as chosen"]
    table = Table("learner of " + task, "time, as chosen = 1")
    for name, time in seconds.items():
        table.add_row(name, f"{time / base:.2f}")
    console = Console()
    console.print(table)

    sizes = growth(task_settings(get_task("gridworld/pass"), "paper"))
    one = {"Pass": learner("gridworld/pass", settings, choose_layout(settings))}
    seconds = best_seconds(one | {name: work for name, (work, _) in sizes.items()})
    table = Table("against Pass as it is", "work", "time", "time per work")
    for name, (_, work) in sizes.items():
        time = seconds[name] / seconds["Pass"]
        table.add_row(name, f"{work:.2f}", f"{time:.2f}", f"{time / work:.2f}")
    console.print(table)


if __name__ == "__main__":
    main()
