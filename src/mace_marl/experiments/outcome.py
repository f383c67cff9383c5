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

    What has one configuration is one thing to compare, whatever each study calls it; what has two
    in one task is not, even if it is called the same. A run that is in two folders counts once. All
    runs of a task end where the shortest of them was to end.
    """
    if not folders:
        raise UserError("name a folder of results; `mace experiment` makes them.")
    studies = [open_results(folder) for folder in folders]
    title = title or "; ".join(study.title for study, _ in studies)
    if len(studies) == 1:
        return replace(Outcome.of(*studies[0]), title=title)
    arms: list[_Arm] = []
    runs: dict[tuple[str, int], Finished] = {}  # by configuration and seed
    steps: dict[str, int] = {}  # the fewest that any run of a task was to go
    planned = 0
    for folder, (study, finished) in zip(folders, studies, strict=True):
        planned += len(study.runs())
        new = {label: _Arm(label, folder, {}) for label in study.labels}
        for run in finished:
            made_from = read_made_from(Results(folder).run_dir(run.planned))
            task, configuration = run.planned.task, _same_for_all_seeds(made_from)
            new[run.planned.label].configurations[task] = configuration
            steps[task] = min(steps.get(task, made_from["steps"]), made_from["steps"])
            planned -= (configuration, run.planned.seed) in runs
            runs.setdefault((configuration, run.planned.seed), run)
        for arm in new.values():
            arms = _join(arms, arm)
    label_of: dict[str, str] = {}  # by configuration
    labels: list[str] = []
    for arm in arms:
        labels.append(f"{arm.label} ({arm.folder.name})" if arm.label in labels else arm.label)
        label_of |= dict.fromkeys(arm.configurations.values(), labels[-1])
    shares = [study.until_success for study, _ in studies if study.until_success is not None]
    return Outcome(
        title=title,
        labels=labels,
        planned=planned,
        until_success=min(shares, default=None),
        finished=[
            _cut(_call(run, label_of[configuration]), steps[run.planned.task])
            for (configuration, _), run in runs.items()
        ],
    )


@dataclass(frozen=True)
class _Arm:
    """One thing that is compared, in one study or several."""

    label: str  # of the first study that has it
    folder: Path
    configurations: dict[str, str]  # by task

    def is_also(self, other: "_Arm") -> bool:
        """Whether some task has the same configuration in both."""
        return bool(self.configurations.items() & other.configurations.items())

    def fits(self, other: "_Arm") -> bool:
        """Whether no task has two configurations."""
        return (self.configurations | other.configurations).items() >= self.configurations.items()


def _join(arms: Sequence[_Arm], new: _Arm) -> list[_Arm]:
    """The arms with one more, which may be one of them, or show that some of them are one."""
    same = []
    for arm in sorted(arms, key=lambda arm: not arm.is_also(new)):  # labels count for less
        if (arm.is_also(new) or arm.label == new.label) and arm.fits(new):
            same.append(arm)
            new = replace(new, configurations=arm.configurations | new.configurations)
    if not same:
        return [*arms, new]
    first = min(same, key=arms.index)
    whole = replace(first, configurations=new.configurations)
    return [whole if arm is first else arm for arm in arms if arm is first or arm not in same]


def _same_for_all_seeds(made_from: dict[str, Any]) -> str:
    return repr(sorted((key, made_from[key]) for key in made_from.keys() - set(ONE_OF_MANY)))


def _call(run: Finished, label: str) -> Finished:
    return replace(run, planned=replace(run.planned, label=label))


def _cut(run: Finished, steps: int) -> Finished:
    """The run as if it had been asked for so many steps."""
    enough = [place for place, row in enumerate(run.rows) if row["env_steps"] >= steps]
    return replace(run, rows=run.rows[: enough[0] + 1]) if enough else run
