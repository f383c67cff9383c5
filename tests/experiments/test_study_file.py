"""Study files: those of the paper, those with mistakes, and the way there and back."""

from pathlib import Path

import pytest
from made_up import make_study

from mace_marl import UserError
from mace_marl.experiments.study import TaskPlan
from mace_marl.experiments.study_file import (
    as_toml,
    check_study,
    parse_study,
    read_study,
    shipped_studies,
)

PASS, SECRET, MULTI = (f"gridworld/{name}" for name in ("pass", "secretroom", "multiroom"))
GRIDWORLDS = {PASS: 5, SECRET: 8, MULTI: 8}
KITCHENS = {f"overcooked/{name}": 8 for name in ("base", "narrow", "large")}
PAPER = {  # what is compared, and on what with how many seeds
    "main": (["mace", "r_loc", "r_nov", "r_hin"], GRIDWORLDS),
    "ablation": (["mace", "mace_mi", "mace_z"], GRIDWORLDS),
    "sum_or_max": (["r_nov", "max_u"], {PASS: 5}),
    "window": (["w = 1", "w = 10", "w = 50"], GRIDWORLDS),
    "lambda": (["λ = 0.1", "λ = 0.01", "λ = 0.001"], GRIDWORLDS),
    "baselines": (["mace", "ippo", "mappo"], GRIDWORLDS),
    "scalability": (["mace", "mace_s", "r_hin", "r_hin_s"], {MULTI: 8}),
    "overcooked": (["mace", "r_loc", "r_nov", "r_hin"], KITCHENS),
    "skirmish": (
        ["mace", "r_loc", "r_nov", "r_hin"],
        {"skirmish/2m_vs_1z": 8, "skirmish/3m": 8},
    ),
    "skirmish_8m": (["mace_s", "r_loc", "r_nov", "r_hin_s"], {"skirmish/8m": 8}),
    "skirmish_baselines": (["mace", "mappo", "ippo"], {"skirmish/2m_vs_1z": 8}),
    "skirmish_dense": (["mace", "r_nov", "ippo"], {"skirmish/3s_vs_5z": 8}),
}

STEPS_PER_SECOND = {  # about, on one core, as the quick forms are set
    "gridworld/minipass": 24_000,
    "gridworld/minisecret": 24_000,
    "gridworld/minimulti": 16_000,
    "overcooked/mini": 3_300,
    "skirmish/mini": 12_000,
    "skirmish/3s_vs_5z": 1_000,
}

GOOD = """
title = "Good"
methods = ["mace", "ippo"]
tasks = ["gridworld/minipass"]
seeds = 2
"""


def shipped_text(name: str) -> str:
    import mace_marl.experiments

    folder = Path(mace_marl.experiments.__file__).parent / "studies"
    return (folder / f"{name}.toml").read_text("utf-8")


def test_every_study_of_the_paper_is_there() -> None:
    assert shipped_studies() == sorted(PAPER)


@pytest.mark.parametrize("name", PAPER)
def test_studies_are_those_of_the_paper(name: str) -> None:
    labels, tasks = PAPER[name]
    study = parse_study(shipped_text(name), name)
    assert study.labels == labels
    assert study.presets == ("paper",)
    assert study.until_success is None
    assert study.tasks == {task: TaskPlan(tuple(range(seeds))) for task, seeds in tasks.items()}
    assert len(study.runs()) == len(labels) * sum(tasks.values())


@pytest.mark.parametrize("name", PAPER)
def test_quick_forms_are_short(name: str) -> None:
    """Half an hour on two cores, with 10 seconds to start each run; and but for Overcooked, whose
    Mini takes its own settings, under a minute for each, with networks of half the usual width."""
    study = parse_study(shipped_text(name), name, quick=True)
    assert study.labels == PAPER[name][0]
    kinds = {task.split("/")[0] for task in PAPER[name][1]}
    assert {task.split("/")[0] for task in study.tasks} == kinds
    seconds = [(run.steps or 10**9) / STEPS_PER_SECOND[run.task] + 10 for run in study.runs()]
    if kinds != {"overcooked"}:
        assert max(seconds) < 60
    if name != "skirmish_dense":  # there is no small task with dense rewards: the real one, cut off
        assert all(task.split("/")[1].startswith("mini") for task in study.tasks)
        assert kinds == {"overcooked"} or study.overrides["hidden_size"] == 32
    assert sum(seconds) / 2 < 30 * 60


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("name", PAPER)
def test_shipped_studies_can_be_run(name: str, quick: bool) -> None:
    study = parse_study(shipped_text(name), name, quick)
    assert read_study(name, quick) == (f"{name}-quick" if quick else name, study)


def test_sweeps_change_the_setting_they_name() -> None:
    for name, setting in (("window", "window"), ("lambda", "hindsight_weight")):
        runs = parse_study(shipped_text(name), name).runs()
        for run in runs:
            assert run.config()["settings"][setting] == float(run.label.split("=")[1])


def test_runs_are_the_whole_grid_with_the_first_seeds_first() -> None:
    text = """
    title = "Grid"
    methods = ["mace", "ippo"]
    presets = ["paper", "authors"]
    seeds = 2
    steps = 1000
    [tasks]
    "gridworld/minipass" = { seeds = [7] }
    "gridworld/pass" = { steps = 9 }
    [overrides]
    gamma = 0.9
    window = 3
    [variants]
    "short" = { window = 1 }
    "w = 2" = { window = 2 }
    """
    study = parse_study(text, "grid.toml")
    check_study(study, "grid.toml")
    runs = study.runs()
    assert len(runs) == 2 * 2 * 2 * (1 + 2)
    assert len({run.name for run in runs}) == len(runs)
    assert {run.seed for run in runs[:16]} == {7, 0}
    assert runs[0].name == "gridworld-minipass/mace-paper-short/seed-7"
    assert runs[-1].name == "gridworld-pass/ippo-authors-w=2/seed-1"
    assert (runs[0].steps, runs[-1].steps) == (1000, 9)
    config = runs[-1].config()
    assert (config["preset"], config["steps"]) == ("authors", 9)
    assert (config["settings"]["window"], config["settings"]["gamma"]) == (2, 0.9)
    assert config["settings"]["activation"] == "tanh"


@pytest.mark.parametrize(
    "study",
    [
        make_study(),
        make_study(until_success=0.9, variants={'λ = "0.1"': {"gamma": 0.5, "one_hot": True}}),
        make_study(
            tasks=("a/b", "maps\\my.toml", "module:World"), overrides={"activation": "tanh"}
        ),
    ],
)
def test_there_and_back(study) -> None:
    assert parse_study(as_toml(study), "there") == study


@pytest.mark.parametrize(
    ("change", "mentions"),
    [
        ("seeds = ", ["not valid TOML"]),
        ("color = 1", ["unknown key 'color'"]),
        ("quick = 1", ["quick", "a table"]),
        ("[quick]\nseed = 3", ["quick", "unknown key 'seed'"]),
        ("title = 3", ["title", "3"]),
        ('title = "two\\nlines"', ["title"]),
        ('methods = "mace"', ["methods", "list"]),
        ("methods = []", ["methods", "at least one"]),
        ('methods = ["mace", "mace"]', ["methods", "repetitions"]),
        ('methods = ["mac"]', ["methods", "did you mean 'mace'"]),
        ('presets = ["papyrus"]', ["presets", "papyrus"]),
        ('tasks = ["gridworld/pas"]', ["tasks", "did you mean 'gridworld/pass'"]),
        ("tasks = [1]", ["tasks", "1"]),
        ("tasks = {}", ["tasks", "at least one"]),
        ('tasks = { "gridworld/pass" = 5 }', ["tasks.gridworld/pass", "a table"]),
        ('tasks = { "gridworld/pass" = { seed = 5 } }', ["tasks.gridworld/pass", "'seed'"]),
        ('tasks = { "gridworld/pass" = { steps = 0 } }', ["tasks.gridworld/pass.steps", "0"]),
        ("seeds = 0", ["seeds", "0"]),
        ("seeds = true", ["seeds", "True"]),
        ("seeds = [1, 1]", ["seeds", "distinct"]),
        ("seeds = [-1]", ["seeds", "-1"]),
        ("seeds = []", ["seeds"]),
        ("seeds = 1e3", ["seeds", "1000.0"]),
        ("seeds = 1000000000000", ["seeds", "10,000"]),
        ("steps = 0.5", ["steps", "0.5"]),
        ("until_success = 0", ["until_success", "0"]),
        ("until_success = 95", ["until_success", "95"]),
        ("until_success = nan", ["until_success", "nan"]),
        ("overrides = 1", ["overrides", "a table"]),
        ("overrides = { gama = 1 }", ["did you mean 'gamma'"]),
        ("overrides = { gamma = 2 }", ["mace on gridworld/minipass", "gamma", "2"]),
        ('overrides = { window = "3" }', ["window", "'3'"]),
        ('variants = { "a" = 3 }', ["variants.a", "a table"]),
        ('variants = { "" = {} }', ["variants", "one line"]),
        ('methods = ["mace"]\nvariants = { ".." = {} }', ["letters and digits"]),
        ('variants = { "a b" = {}, "a/b" = {} }', ["letters and digits", "a-b/seed-0"]),
        ('variants = { "w" = { window = 0 } }', ["w on gridworld/minipass", "window"]),
    ],
)
def test_mistakes_are_one_sentence_that_names_file_and_key(
    tmp_path: Path, change: str, mentions: list[str]
) -> None:
    path = tmp_path / "mine.toml"
    key = change.split(" =")[0]
    kept = [line for line in GOOD.splitlines() if not line.startswith(f"{key} =")]
    path.write_text("\n".join([*kept, change]))
    with pytest.raises(UserError) as caught:
        read_study(str(path))
    message = str(caught.value)
    assert "\n" not in message.removesuffix("\n")
    for mention in (str(path), *mentions):
        assert mention in message


@pytest.mark.parametrize("key", ["title", "methods", "tasks", "seeds"])
def test_what_is_missing_is_named(tmp_path: Path, key: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("\n".join(line for line in GOOD.splitlines() if not line.startswith(key)))
    with pytest.raises(UserError, match=key):
        read_study(str(path))


def test_unknown_names_list_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"'mian'; there are ablation, .*window"):
        read_study("mian")
    with pytest.raises(UserError, match="cannot be read"):
        read_study(str(tmp_path / "missing.toml"))
    (tmp_path / "mine.toml").write_text(GOOD)
    with pytest.raises(UserError, match="no quick form"):
        read_study(str(tmp_path / "mine.toml"), quick=True)
