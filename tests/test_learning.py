"""What all this is for: MACE learns the task, and plain PPO does not."""

import json
from pathlib import Path

import pytest
from commands import start_mace

from mace_marl.statistics import reached
from mace_marl.tasks import get_task

WANTED = 0.9
SEEDS = {"gridworld/minipass": (0, 1), "overcooked/mini": (0, 1)}


@pytest.mark.slow
@pytest.mark.parametrize("task", SEEDS)
def test_mace_solves_small_tasks_and_ippo_does_not(tmp_path: Path, task: str) -> None:
    """Within the task's budget; the seeds at the same time, on one core each."""
    for method in ("mace", "ippo"):
        processes = [
            start_mace(
                *("train", task, "--method", method, "--seed", str(seed)),
                *("--devices", "1", "--until-success", str(WANTED)),
                *("--run-dir", tmp_path / f"{method}{seed}"),
            )
            for seed in SEEDS[task]
        ]
        assert {process.wait() for process in processes} == {0}
    budget = get_task(task).budget
    for seed in SEEDS[task]:
        mace, ippo = (rows(tmp_path / f"{method}{seed}") for method in ("mace", "ippo"))
        assert reached(mace, WANTED), f"seed {seed}"
        assert mace[-1]["env_steps"] <= budget
        assert not reached(ippo, WANTED), f"seed {seed}"
        assert ippo[-1]["env_steps"] >= budget


def rows(run_dir: Path) -> list[dict]:
    return [json.loads(line) for line in (run_dir / "metrics.jsonl").read_text().splitlines()]
