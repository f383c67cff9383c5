"""What came out of a study, or of several taken together."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mace_marl.errors import UserError
from mace_marl.experiments.results import Finished, Results, open_results, read_made_from
from mace_marl.experiments.study import Study

ONE_OF_MANY = ("seed", "steps", "until_success")  # in which runs of the same thing may differ


@dataclass(frozen=True)
class Outcome:
    title: str
    labels: Sequence[str]
    """What is compared, finished or not."""
    planned: int
    """So many runs were asked for."""
    until_success: float | None
    finished: Sequence[Finished]

    @classmethod
    def of(cls, study: Study, finished: Sequence[Finished]) -> "Outcome":
        return cls(study.title, study.labels, len(study.runs()), study.until_success, finished)

    @property
    def tasks(self) -> list[str]:
        return list(dict.fromkeys(run.planned.task for run in self.finished))


def open_outcome(folders: Sequence[Path], title: str | None = None) -> Outcome:
    """Of the studies in these folders, under this title or their own.

    Runs of one configuration are one thing to compare, whatever each study calls them; runs of two
    configurations in one task are not, even if they are called the same. A run that is in two
    folders counts once. All runs of a task end where the shortest of them was to end.
    """
    if not folders:
        raise UserError("name a folder of results; `mace experiment` makes them.")
    studies = [open_results(folder) for folder in folders]
    title = title or "; ".join(study.title for study, _ in studies)
    if len(studies) == 1:
        return replace(Outcome.of(*studies[0]), title=title)
    labels: list[str] = []
    label_of: dict[str, str] = {}  # by configuration
    taken: set[tuple[str, str]] = set()  # tasks and labels
    runs: dict[tuple[str, int], Finished] = {}  # by configuration and seed
    steps: dict[str, int] = {}  # the fewest that any run of a task was to go
    planned = 0
    for folder, (study, finished) in zip(folders, studies, strict=True):
        planned += len(study.runs())
        made_from = [read_made_from(Results(folder).run_dir(run.planned)) for run in finished]
        same = [_same_for_all_seeds(table) for table in made_from]
        for label in study.labels:
            ours = [place for place, run in enumerate(finished) if run.planned.label == label]
            known = {label_of[same[place]] for place in ours if same[place] in label_of}
            tasks = {finished[place].planned.task for place in ours}
            if len(known) == 1:
                name = known.pop()
            else:  # of something else than the other studies' of that label?
                other = any((task, label) in taken for task in tasks)
                name = f"{label} ({folder.name})" if other else label
            taken |= {(task, name) for task in tasks}
            if name not in labels:
                labels.append(name)
            for place in ours:
                run, key = finished[place], (same[place], finished[place].planned.seed)
                task, budget = run.planned.task, made_from[place]["steps"]
                steps[task] = min(steps.get(task, budget), budget)
                planned -= key in runs
                label_of.setdefault(same[place], name)
                runs.setdefault(key, replace(run, planned=replace(run.planned, label=name)))
    shares = [study.until_success for study, _ in studies if study.until_success is not None]
    return Outcome(
        title=title,
        labels=labels,
        planned=planned,
        until_success=min(shares, default=None),
        finished=[_cut(run, steps[run.planned.task]) for run in runs.values()],
    )


def _same_for_all_seeds(made_from: dict[str, Any]) -> str:
    return repr(sorted((key, made_from[key]) for key in made_from.keys() - set(ONE_OF_MANY)))


def _cut(run: Finished, steps: int) -> Finished:
    """The run as if it had been asked for so many steps."""
    enough = [place for place, row in enumerate(run.rows) if row["env_steps"] >= steps]
    return replace(run, rows=run.rows[: enough[0] + 1]) if enough else run
