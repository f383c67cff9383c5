"""What all this is for: MACE learns the task, and plain PPO does not."""

import json
from pathlib import Path
from typing import Any

import pytest
from commands import mace

from mace_marl.statistics import reached
from mace_marl.tasks import get_task

WANTED = 0.9
# As in the quick studies, a third of the time: smaller networks, larger steps.
QUICK = [
    *("--hidden-size", "32"),
    *("--actor-learning-rate", "1.5e-3", "--critic-learning-rate", "1.5e-3"),
]
TASKS = {"gridworld/minipass": QUICK, "overcooked/mini": [], "skirmish/mini": QUICK}


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
def test_mace_solves_small_tasks_and_ippo_does_not(tmp_path: Path, task: str) -> None:
    """MACE within the task's budget; PPO not with half as many steps again as MACE needed."""
    budget = get_task(task).budget
    learned = train(tmp_path / "mace", task, "mace", budget)
    assert reached(learned, WANTED)
    needed = learned[-1]["env_steps"]
    assert needed <= budget
    failed = train(tmp_path / "ippo", task, "ippo", needed * 3 // 2)
    assert not reached(failed, WANTED)
    assert failed[-1]["env_steps"] >= needed * 3 // 2


def train(run_dir: Path, task: str, method: str, steps: int) -> list[dict[str, Any]]:
    """The metrics of a run on one core, which ends where it succeeds."""
    result = mace(
        *("train", task, "--method", method, "--steps", str(steps), "--run-dir", run_dir),
        *("--devices", "1", "--until-success", str(WANTED), *TASKS[task]),
        hasty=False,
        timeout=1800,
    )
    assert result.returncode == 0, result.stderr
    return [json.loads(line) for line in (run_dir / "metrics.jsonl").read_text().splitlines()]
