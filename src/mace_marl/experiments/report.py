"""The tables of a study: Markdown to read, CSV to compute with."""

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mace_marl.experiments.outcome import Outcome
from mace_marl.experiments.results import Finished
from mace_marl.experiments.statistics import (
    confidence_interval,
    interquartile_mean,
    mean_and_error,
    probability_of_improvement,
    recent,
    typical_steps,
)
from mace_marl.runs.files import write_atomically

SHARES = (0.5, 0.9)  # of success, until which steps are counted
ALL_TASKS = "all tasks"
NOTES = """\
Return and success rate are those of the last 1,000 training episodes: mean ± standard error over
runs, and the interquartile mean (IQM) of the success rate, which is the mean of the middle half of
the runs. Steps are those until the last 1,000 training episodes succeeded that often: by when half
of the runs had got there, and how many got there at all; "> 1.00 M" says that fewer than half did
within 1.00 M steps. The probability of improvement is that a run of the row's method does better
than one of the column's, a tie counting half; over all tasks it is the mean of theirs. [Limits] are
95 % intervals by the stratified bootstrap: 2,000 times, runs are drawn anew within each task.
"""

Record = dict[str, Any]


@dataclass(frozen=True)
class Group:
    """What the finished runs of one method on one task came to."""

    returns: np.ndarray  # (runs,)
    success: np.ndarray  # (runs,)
    until: Mapping[float, np.ndarray]  # by share of success, each (runs,): steps, inf for never
    env_steps: float  # of the longest run

    @classmethod
    def of(cls, runs: Sequence[Finished]) -> "Group":
        known = [recent(run.rows) for run in runs]
        return cls(
            returns=np.array([one.returns[-1] for one in known]),
            success=np.array([one.success[-1] for one in known]),
            until={s: np.array([one.steps_until(s) for one in known]) for s in SHARES},
            env_steps=max(run.env_steps for run in runs),
        )


def write_report(outcome: Outcome, folder: Path) -> list[Path]:
    """Write report.md and report.csv."""
    records = summarise(outcome)
    paths = [folder / "report.md", folder / "report.csv"]
    head = f"{len(outcome.finished)} of {outcome.planned} runs are finished."
    if outcome.until_success is not None:
        share = 100 * outcome.until_success
        head += f" A run ended early once its success rate was {share:g} %."
    sections = [f"# {outcome.title}", head]
    for task in dict.fromkeys(record["task"] for record in records):
        sections += _section(task, [record for record in records if record["task"] == task])
    write_atomically(paths[0], "\n\n".join([*sections, NOTES]).encode())
    text = io.StringIO()
    writer = csv.DictWriter(text, list(dict.fromkeys(key for row in records for key in row)))
    writer.writeheader()
    for record in records:
        writer.writerow({key: "" if _is_nan(value) else value for key, value in record.items()})
    write_atomically(paths[1], text.getvalue().encode())
    return paths


def summarise(outcome: Outcome) -> list[Record]:
    """A record for each task and label, and for all tasks together if there are several."""
    # A run that ended at a lower rate was given no chance to reach a higher one.
    shares = [share for share in SHARES if share <= (outcome.until_success or 1.0)]
    groups: dict[str, dict[str, Group]] = {}
    for task in outcome.tasks:
        for label in outcome.labels:
            wanted = (task, label)
            runs = [
                run for run in outcome.finished if (run.planned.task, run.planned.label) == wanted
            ]
            if runs:
                groups.setdefault(task, {})[label] = Group.of(runs)
    records = []
    for task, by_label in groups.items():
        alone = {label: [group] for label, group in by_label.items()}
        records += [_record(task, label, alone, shares) for label in by_label]
    if len(groups) > 1:
        everywhere = {
            label: [by_label[label] for by_label in groups.values()]
            for label in outcome.labels
            if all(label in by_label for by_label in groups.values())
        }
        records += [_record(ALL_TASKS, label, everywhere, shares) for label in everywhere]
    return records


def _record(
    task: str, label: str, groups: Mapping[str, Sequence[Group]], shares: Sequence[float]
) -> Record:
    """The figures of a label, by name; `groups` holds every label's runs, task by task."""
    ours = groups[label]
    success = [group.success for group in ours]
    record: Record = {"task": task, "label": label, "runs": sum(map(len, success))}
    if len(ours) == 1:
        for name in ("returns", "success"):
            mean, error = mean_and_error(getattr(ours[0], name))
            record |= {f"{name}_mean": float(mean), f"{name}_error": float(error)}
        for share in shares:
            record |= _until(ours[0], share)
    record |= _with_limits("success_iqm", interquartile_mean, success)
    for other, theirs in groups.items():
        scores = {"return": [group.returns for group in (*ours, *theirs)]}
        if shares:
            name = _key(shares[-1])
            scores[name] = [-group.until[shares[-1]] for group in (*ours, *theirs)]
        for name, strata in scores.items():
            key = f"better_{name}_than_{other}"
            strata = strata if other != label else []  # nothing is better than itself
            record |= _with_limits(key, probability_of_improvement, strata)
    return record


def _key(share: float) -> str:
    return f"steps_to_{100 * share:.0f}_percent"


def _until(group: Group, share: float) -> Record:
    steps = typical_steps(group.until[share])
    key = _key(share)
    return {
        key: min(steps, group.env_steps),
        f"{key}_censored": math.isinf(steps),
        f"{key}_reached": int(np.isfinite(group.until[share]).sum()),
    }


def _with_limits(name: str, statistic: Any, strata: Sequence[np.ndarray]) -> Record:
    """A statistic and its 95 % limits; NaN of nothing, or if some run has no episodes."""
    value, low, high = math.nan, math.nan, math.nan
    if strata and not any(np.isnan(stratum).any() for stratum in strata):
        value = float(statistic(*strata))
        low, high = map(float, confidence_interval(statistic, *strata))
    return {name: value, f"{name}_low": low, f"{name}_high": high}


def _section(task: str, records: Sequence[Record]) -> list[str]:
    """The Markdown of one task: what each method came to, and each against each."""
    columns = {"runs": lambda r: str(r["runs"])}
    if "returns_mean" in records[0]:
        columns["final return"] = lambda r: _mean(r, "returns", 1, "")
        columns["success rate"] = lambda r: _mean(r, "success", 100, " %")
    columns["IQM of success"] = lambda r: _limited(r, "success_iqm", 100, 1, " %")
    for share in SHARES:
        key = _key(share)
        if key in records[0]:
            columns[f"steps to {100 * share:.0f} %"] = lambda r, key=key: _steps(r, key)
    labels = [record["label"] for record in records]
    parts = [
        f"## {task}",
        _table(
            ["", *columns],
            [[record["label"], *(show(record) for show in columns.values())] for record in records],
        ),
    ]
    kinds = [("return", "final return")]
    kinds += [(_key(s), f"steps to {100 * s:.0f} %") for s in SHARES]
    for kind, name in kinds:
        keys = [f"better_{kind}_than_{label}" for label in labels]
        if len(records) == 1 or not any(key in record for key in keys for record in records):
            continue
        parts += [
            f"Probability of improvement, by {name}:",
            _table(
                ["", *(f"over {label}" for label in labels)],
                [
                    [record["label"], *(_limited(record, key, 1, 2, "") for key in keys)]
                    for record in records
                ],
            ),
        ]
    return parts


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    escaped = ([cell.replace("|", r"\|") for cell in line] for line in lines)
    return "\n".join(f"| {' | '.join(line)} |" for line in escaped)


def _mean(record: Record, name: str, scale: float, unit: str) -> str:
    mean, error = scale * record[f"{name}_mean"], scale * record[f"{name}_error"]
    if _is_nan(mean):
        return "–"
    return f"{mean:.1f}{unit}" if _is_nan(error) else f"{mean:.1f} ± {error:.1f}{unit}"


def _limited(record: Record, key: str, scale: float, digits: int, unit: str) -> str:
    value, low, high = (
        scale * record.get(name, math.nan) for name in (key, f"{key}_low", f"{key}_high")
    )
    if _is_nan(value):
        return "–"
    limits = "" if _is_nan(low) else f" [{low:.{digits}f}, {high:.{digits}f}]"
    return f"{value:.{digits}f}{unit}{limits}"


def _steps(record: Record, key: str) -> str:
    steps = record[key]
    shown = f"{steps / 1e6:.2f} M" if steps >= 1e6 else f"{steps / 1e3:.0f} k"
    sign = "> " if record[f"{key}_censored"] else ""
    return f"{sign}{shown} ({record[f'{key}_reached']} of {record['runs']})"


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)
