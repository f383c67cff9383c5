"""Metrics and studies made up by rule, to test what is computed from them."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mace_marl.experiments.results import Finished, Results
from mace_marl.experiments.study import Study, TaskPlan

STEPS_PER_UPDATE = 1000


def make_rows(successes: Sequence[int], episodes: int = 250) -> list[dict[str, Any]]:
    """An update for each number of successes among so many episodes; a success returns 100."""
    return [
        {
            "update": update,
            "env_steps": update * STEPS_PER_UPDATE,
            "episodes": episodes,
            "successes": solved,
            "success_rate": solved / episodes if episodes else None,
            "episode_return": 100 * solved / episodes if episodes else None,
        }
        for update, solved in enumerate(successes, start=1)
    ]


def rising(updates: int, solved_from: int, episodes: int = 250) -> list[dict[str, Any]]:
    """A run that fails every episode up to one update and solves all after it."""
    solved = [episodes * (update >= solved_from) for update in range(updates)]
    return make_rows(solved, episodes)


def make_study(
    methods: Sequence[str] = ("mace", "ippo"),
    tasks: Sequence[str] = ("gridworld/minipass",),
    seeds: int = 3,
    **more: Any,
) -> Study:
    plan = TaskPlan(tuple(range(seeds)), steps=40 * STEPS_PER_UPDATE)
    return Study("Made up", dict.fromkeys(tasks, plan), tuple(methods), **more)


def finish(
    study: Study, rows_of: dict[tuple[str, str], list[list[dict[str, Any]]]]
) -> list[Finished]:
    """Finished runs: by task and label, the rows of each seed."""
    return [
        Finished(planned, rows_of[planned.task, planned.label][planned.seed])
        for planned in study.runs()
        if len(rows_of.get((planned.task, planned.label), [])) > planned.seed
    ]


def write_results(directory: Path, study: Study, finished: Sequence[Finished]) -> None:
    """A folder as `mace experiment` leaves it."""
    results = Results(directory)
    results.make()
    results.begin(study)
    for run in finished:
        run_dir = results.run_dir(run.planned)
        run_dir.mkdir(parents=True)
        text = "".join(json.dumps(row) + "\n" for row in run.rows)
        (run_dir / "metrics.jsonl").write_text(text)
        (run_dir / "config.json").write_text(json.dumps(run.planned.config()))
