"""The report of a study whose every number is known."""

import csv
from pathlib import Path

import pytest
from made_up import finish, make_study, rising

from mace_marl.experiments.outcome import Outcome
from mace_marl.experiments.report import summarise, write_report

TASKS = ("gridworld/minipass", "gridworld/pass")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """mace solves the first task, in two of three runs the second; ippo nothing, one unfinished."""
    study = make_study(tasks=TASKS)
    never = rising(40, 40)
    finished = finish(
        study,
        {
            (TASKS[0], "mace"): [rising(40, 10), rising(40, 12), rising(40, 20)],
            (TASKS[1], "mace"): [rising(40, 16), never, never],
            (TASKS[0], "ippo"): [never, never, never],
            (TASKS[1], "ippo"): [never, never],
        },
    )
    folder = tmp_path_factory.mktemp("report")
    assert [path.name for path in write_report(Outcome.of(study, finished), folder)] == [
        "report.md",
        "report.csv",
    ]
    return folder


def test_markdown(folder: Path) -> None:
    lines = (folder / "report.md").read_text().splitlines()
    assert lines[0] == "# Made up"
    assert lines[2] == "11 of 12 runs are finished."
    rows: dict[tuple[str, str], list[list[str]]] = {}
    task = ""
    for line in lines:
        if line.startswith("## "):
            task = line.removeprefix("## ")
        if line.startswith(("| mace", "| ippo")):
            label, *cells = (cell.strip() for cell in line.strip("| ").split("|"))
            rows.setdefault((task, label), []).append(cells)
    # Solved from the 11th, 13th and 21st update on; half and 90 % of 1,000 episodes 2 and 4 later.
    assert rows[TASKS[0], "mace"][0] == [
        *("3", "100.0 ± 0.0", "100.0 ± 0.0 %", "100.0 % [100.0, 100.0]"),
        *("14 k (3 of 3)", "16 k (3 of 3)"),
    ]
    assert rows[TASKS[1], "mace"][0] == [
        *("3", "33.3 ± 33.3", "33.3 ± 33.3 %", "33.3 % [0.0, 100.0]"),
        *("> 40 k (1 of 3)", "> 40 k (1 of 3)"),
    ]
    assert rows[TASKS[0], "ippo"][0][-1] == "> 40 k (0 of 3)"
    assert rows[TASKS[1], "ippo"][0][0] == "2"
    by_return, by_steps = rows[TASKS[0], "mace"][1:]
    assert by_return == by_steps == ["–", "1.00 [1.00, 1.00]"]
    # One run of three is better than both of ippo's, two tie: 1/3 + 2/3 · 1/2.
    assert rows[TASKS[1], "mace"][1] == ["–", "0.67 [0.50, 1.00]"]
    assert rows["all tasks", "mace"][1][1].startswith("0.83 [")
    # 1, 1, 1, 1, 0, 0 without the lowest and the highest.
    assert rows["all tasks", "mace"][0][:2] == ["6", "75.0 % [50.0, 100.0]"]


def test_csv(folder: Path) -> None:
    with (folder / "report.csv").open() as file:
        records = {(record["task"], record["label"]): record for record in csv.DictReader(file)}
    assert list(records) == [
        (task, label) for task in (*TASKS, "all tasks") for label in ("mace", "ippo")
    ]
    record = records[TASKS[1], "mace"]
    assert float(record["success_mean"]) == pytest.approx(1 / 3)
    assert record["steps_to_90_percent_censored"] == "True"
    assert float(record["steps_to_90_percent"]) == 40_000
    assert record["steps_to_90_percent_reached"] == "1"
    assert record["better_return_than_mace"] == ""
    assert float(record["better_return_than_ippo"]) == pytest.approx(2 / 3)
    assert records["all tasks", "mace"]["steps_to_90_percent"] == ""


def test_a_rate_that_runs_could_not_reach_is_not_reported() -> None:
    study = make_study(methods=("mace",), seeds=1, until_success=0.6)
    finished = finish(study, {("gridworld/minipass", "mace"): [rising(20, 10)]})
    (record,) = summarise(Outcome.of(study, finished))
    assert "steps_to_50_percent" in record
    assert "steps_to_90_percent" not in record


def test_runs_without_episodes_are_no_error(tmp_path: Path) -> None:
    study = make_study(seeds=2)
    nothing = rising(5, 2, episodes=0)
    by_label = {("gridworld/minipass", label): [nothing, nothing] for label in ("mace", "ippo")}
    write_report(Outcome.of(study, finish(study, by_label)), tmp_path)
    assert "| mace | 2 | – | – | – | > 5 k (0 of 2) |" in (tmp_path / "report.md").read_text()


def test_one_method_is_compared_with_nothing(tmp_path: Path) -> None:
    study = make_study(methods=("mace",))
    finished = finish(study, {("gridworld/minipass", "mace"): [rising(9, 2)]})
    write_report(Outcome.of(study, finished), tmp_path)
    assert "over mace" not in (tmp_path / "report.md").read_text()
