"""What all this is for: MACE learns the task, and plain PPO does not."""

import json
from pathlib import Path
from typing import Any

import pytest
from commands import start_mace

from mace_marl.statistics import reached
from mace_marl.tasks import get_task

WANTED = 0.9
SEEDS = (0, 1)
# As in the quick studies, a third of the time: smaller networks, larger steps.
QUICK = {
    "--hidden-size": "32",
    "--actor-learning-rate": "1.5e-3",
    "--critic-learning-rate": "1.5e-3",
}
TASKS: dict[str, dict[str, str]] = {
    "gridworld/minipass": QUICK,
    "overcooked/mini": {},
    "skirmish/mini": QUICK,
}

Rows = list[dict[str, Any]]


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
def test_mace_solves_small_tasks_and_ippo_does_not(tmp_path: Path, task: str) -> None:
    """MACE within the task's budget; PPO not with half as many steps again as MACE needed."""
    budget = get_task(task).budget
    mace = train(tmp_path, task, "mace", budget)
    needed = max(rows[-1]["env_steps"] for rows in mace)
    assert all(reached(rows, WANTED) for rows in mace)
    assert needed <= budget
    for rows in train(tmp_path, task, "ippo", needed * 3 // 2):
        assert not reached(rows, WANTED)
        assert rows[-1]["env_steps"] >= needed * 3 // 2


def train(directory: Path, task: str, method: str, steps: int) -> list[Rows]:
    """The metrics of all seeds, trained at the same time on one core each."""
    run_dirs = [directory / f"{method}{seed}" for seed in SEEDS]
    processes = [
        start_mace(
            *("train", task, "--method", method, "--seed", str(seed), "--steps", str(steps)),
            *("--devices", "1", "--until-success", str(WANTED), "--run-dir", run_dir),
            *(word for option in TASKS[task].items() for word in option),
            hasty=False,
        )
        for seed, run_dir in zip(SEEDS, run_dirs, strict=True)
    ]
    assert {process.wait() for process in processes} == {0}
    lines = [(run_dir / "metrics.jsonl").read_text().splitlines() for run_dir in run_dirs]
    return [[json.loads(line) for line in each] for each in lines]
