"""What all this is for: MACE learns the task, and plain PPO does not."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from commands import mace as run_mace

from mace_marl.experiments.runner import core_shares, on_cores
from mace_marl.statistics import reached
from mace_marl.tasks import get_task

WANTED = 0.9
OPTIONS: dict[str, dict[str, str]] = {
    "gridworld/minipass": {},
    "overcooked/mini": {},
    # As in its quick study, a third of the time: smaller networks, larger steps.
    "skirmish/mini": {
        "--hidden-size": "32",
        "--actor-learning-rate": "1.5e-3",
        "--critic-learning-rate": "1.5e-3",
    },
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "seed"),
    [
        ("gridworld/minipass", 0),
        ("gridworld/minipass", 1),
        ("overcooked/mini", 0),
        ("skirmish/mini", 0),
    ],
)
def test_mace_solves_small_tasks_and_ippo_does_not(tmp_path: Path, task: str, seed: int) -> None:
    """MACE within the task's budget; PPO not with half as many steps again as MACE needed."""
    budget = get_task(task).budget_with("tuned")
    mace = train(tmp_path, task, "mace", seed, budget)
    needed = mace[-1]["env_steps"]
    assert reached(mace, WANTED)
    assert needed <= budget
    ippo = train(tmp_path, task, "ippo", seed, needed * 3 // 2)
    assert not reached(ippo, WANTED)
    assert ippo[-1]["env_steps"] >= needed * 3 // 2


def train(directory: Path, task: str, method: str, seed: int, steps: int) -> list[dict[str, Any]]:
    """The metrics of a run, made on this test's share of the cores."""
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    shares = core_shares(int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")))
    run_dir = directory / method
    with on_cores(shares[worker]):
        run = run_mace(
            *("train", task, "--method", method, "--seed", str(seed), "--steps", str(steps)),
            *("--devices", "1", "--until-success", str(WANTED), "--run-dir", run_dir),
            *(word for option in OPTIONS[task].items() for word in option),
            hasty=False,
            timeout=3600,
        )
    assert run.returncode == 0, run.stderr
    return [json.loads(line) for line in (run_dir / "metrics.jsonl").read_text().splitlines()]
