"""Several studies taken together: what is compared with what, and up to which step."""

from pathlib import Path

import pytest
from made_up import finish, make_study, rising, write_results

from mace_marl.cli import main
from mace_marl.experiments.outcome import open_outcome
from mace_marl.experiments.report import summarise
from mace_marl.experiments.study import Study, TaskPlan

TASK = "gridworld/minipass"


@pytest.fixture
def folders(tmp_path: Path) -> list[Path]:
    """A study of one method, and one of variants of it, the first of which changes nothing.

    Seed 2 is in both; in the second, runs were to end after 20,000 steps.
    """
    plain = make_study(methods=("mace",), until_success=0.9)
    variants = {"as it is": {}, "mace": {"gamma": 0.9}}
    plan = {TASK: TaskPlan((2, 3), steps=20_000)}
    varied = Study("Varied", plan, ("mace",), variants=variants)
    late, early = rising(40, 30), rising(40, 5)
    seeds = {(TASK, "mace"): [early, late, early]}
    write_results(tmp_path / "plain", plain, finish(plain, seeds))
    seeds = {(TASK, "as it is"): [[]] * 2 + [early[:20], early[:20]]}
    seeds |= {(TASK, "mace"): [[]] * 2 + [late[:20], late[:20]]}
    write_results(tmp_path / "varied", varied, finish(varied, seeds))
    return [tmp_path / "plain", tmp_path / "varied"]


def test_one_configuration_is_one_label_and_one_run_counts_once(folders: list[Path]) -> None:
    outcome = open_outcome(folders)
    assert outcome.title == "Made up; Varied"
    assert outcome.labels == ["mace", "mace (varied)"]
    assert outcome.tasks == [TASK]
    assert outcome.planned == 3 + 4 - 1
    assert outcome.until_success == 0.9
    seeds = {(run.planned.label, run.planned.seed) for run in outcome.finished}
    assert seeds == {("mace", seed) for seed in range(4)} | {
        ("mace (varied)", seed) for seed in (2, 3)
    }


def test_a_label_may_go_over_tasks_of_several_studies(folders: list[Path], tmp_path: Path) -> None:
    elsewhere = make_study(methods=("mace",), tasks=("gridworld/pass",), seeds=1)
    seeds = {("gridworld/pass", "mace"): [rising(40, 5)]}
    write_results(tmp_path / "elsewhere", elsewhere, finish(elsewhere, seeds))
    outcome = open_outcome([folders[0], tmp_path / "elsewhere"])
    assert outcome.labels == ["mace"]
    assert outcome.tasks == [TASK, "gridworld/pass"]
    assert [record["runs"] for record in summarise(outcome)] == [3, 1, 4]


def test_a_study_may_show_that_two_labels_are_one(tmp_path: Path) -> None:
    tasks = (TASK, "gridworld/pass")
    folders = []
    for label, on in (("small", tasks[:1]), ("large", tasks[1:]), ("both", tasks)):
        study = make_study(
            ("mace",), on, seeds=1, variants={label: {}, f"{label}, γ 0": {"gamma": 0}}
        )
        seeds = {(task, label): [rising(40, 5)] for task in on for label in study.labels}
        folders.append(tmp_path / label)
        write_results(folders[-1], study, finish(study, seeds))
    outcome = open_outcome(folders)
    assert outcome.labels == ["small", "small, γ 0"]
    assert outcome.planned == len(outcome.finished) == 4  # all of the third are there already
    assert {run.planned.label for run in outcome.finished} == set(outcome.labels)


def test_all_end_where_the_shortest_was_to_end(folders: list[Path]) -> None:
    outcome = open_outcome(folders)
    assert {run.env_steps for run in outcome.finished} == {20_000}
    first, second = summarise(outcome)
    # Of seeds 0 to 3, only seed 1 solves nothing until then; of the others neither does.
    assert first["steps_to_90_percent_reached"] == 3
    assert first["better_steps_to_90_percent_than_mace (varied)"] == pytest.approx(0.875)
    assert second["steps_to_90_percent_reached"] == 0


def test_the_command(
    folders: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    for names, sentence in (
        ([], "name a folder of results; `mace experiment` makes them."),
        (folders, "say where to write what is of several studies: give --out."),
    ):
        with pytest.raises(SystemExit) as ended:
            main(["report", *map(str, names)])
        assert ended.value.code == 2
        assert capsys.readouterr().err == f"mace: {sentence}\n"
    both = tmp_path / "both"
    both.mkdir()
    for command in ("report", "plot"):
        with pytest.raises(SystemExit) as ended:
            main([command, *map(str, folders), "--out", str(both), "--title", "Together"])
        assert ended.value.code == 0
    assert {path.name for path in both.iterdir()} == {
        *("report.md", "report.csv", "return_mean.png", "success_iqm.png")
    }
    assert (both / "report.md").read_text().startswith("# Together\n\n6 of 6 runs are finished.")
    assert before == {path: path.read_bytes() for path in before}
