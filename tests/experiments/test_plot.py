"""Figures of studies: their curves by plain computation, and that they are drawn."""

from pathlib import Path

import numpy as np
import pytest
from made_up import finish, make_rows, make_study, rising
from matplotlib.image import imread

from mace_marl.experiments.outcome import Outcome
from mace_marl.experiments.plot import (
    POINTS,
    draw_curves,
    interquartile_band,
    line_style,
    mean_band,
)

TASKS = ("gridworld/minipass", "gridworld/pass")
COLOURS = (0x00, 0x72, 0xB2), (0xD5, 0x5E, 0x00)  # of mace and ippo


def test_bands_are_mean_and_error_and_interquartile_mean() -> None:
    curves = np.random.default_rng(0).random((POINTS, 8))
    band = mean_band(curves)
    np.testing.assert_allclose(band.middle, curves.mean(axis=1))
    np.testing.assert_allclose(band.high - band.low, 2 * curves.std(axis=1, ddof=1) / np.sqrt(8))
    middle = np.sort(curves, axis=1)[:, 2:6].mean(axis=1)
    band = interquartile_band(curves)
    np.testing.assert_allclose(band.middle, middle)
    assert (band.low <= middle).all()
    assert (middle <= band.high).all()
    curves[:3, 0] = np.nan
    band = interquartile_band(curves)
    assert np.isnan(band.middle[:3]).all()
    np.testing.assert_allclose(band.middle[3:], middle[3:])


@pytest.mark.parametrize("until_success", [None, 0.95])
@pytest.mark.parametrize("tasks", [TASKS, TASKS[:1]])
def test_figures_show_every_method_in_its_colour(
    tmp_path: Path, tasks: tuple[str, ...], until_success: float | None
) -> None:
    study = make_study(tasks=tasks, until_success=until_success)
    rows = {
        (task, label): [rising(30 + 5 * seed, begin + seed) for seed in range(3)]
        for task in tasks
        for label, begin in (("mace", 8), ("ippo", 20))
    }
    paths = draw_curves(Outcome.of(study, finish(study, rows)), tmp_path)
    assert [path.name for path in paths] == ["return_mean.png", "success_iqm.png"]
    for path in paths:
        for colour in COLOURS:
            assert pixels_of(colour, path) > 200, (path.name, colour)
    assert sorted(path.name for path in tmp_path.iterdir()) == [path.name for path in paths]


def test_what_has_no_finished_run_is_not_in_the_legend_either(tmp_path: Path) -> None:
    study = make_study(tasks=TASKS[:1])
    finished = finish(study, {(TASKS[0], "mace"): [rising(30, 8)]})
    for path in draw_curves(Outcome.of(study, finished), tmp_path):
        there, absent = (pixels_of(colour, path) for colour in COLOURS)
        assert there > 200
        assert absent == 0


def test_no_two_of_many_lines_look_alike() -> None:
    looks = [(line_style(place)["color"], line_style(place)["linestyle"]) for place in range(24)]
    assert len(set(looks)) == 24
    assert {dashes for _, dashes in looks[:8]} == {"-"}


def test_many_long_labels_stay_within_the_picture(tmp_path: Path) -> None:
    labels = [f"a setting of learning number {number}" for number in range(12)]
    variants = {label: {"gamma": number / 100} for number, label in enumerate(labels)}
    study = make_study(methods=("mace",), variants=variants)
    rows = {("gridworld/minipass", label): [rising(30, 8)] for label in study.labels}
    for path in draw_curves(Outcome.of(study, finish(study, rows)), tmp_path):
        picture = imread(path)[..., :3]
        border = (picture[:, :3], picture[:, -3:], picture[:3], picture[-3:])
        assert all((side == 1).all() for side in border), path.name


def pixels_of(colour: tuple[int, int, int], path: Path) -> int:
    picture = (255 * imread(path)[..., :3]).round().astype(int)
    return int((np.abs(picture - colour).sum(axis=-1) < 6).sum())


def test_single_runs_and_runs_without_episodes_are_drawn(tmp_path: Path) -> None:
    study = make_study()
    task = "gridworld/minipass"
    rows = {(task, "mace"): [rising(20, 5)], (task, "ippo"): [make_rows([0] * 20, episodes=0)]}
    for path in draw_curves(Outcome.of(study, finish(study, rows)), tmp_path):
        assert imread(path).std() > 0
