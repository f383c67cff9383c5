"""Scripted play: the tasks need what SMAC's tasks need, and can be won by it."""

import pytest
from skirmish_play import (
    alternate,
    at_random,
    focused,
    kite,
    play,
    scattered,
    skirmish,
    stand_and_shoot,
)

pytestmark = pytest.mark.usefixtures("hasty_compiler")


def test_2m_vs_1z_needs_alternating_fire() -> None:
    scripts = {"stand": stand_and_shoot, "random": at_random, "alternate": alternate}
    found = play(skirmish("2m_vs_1z"), scripts, 100)
    assert found["stand"].won.mean() <= 0.2
    assert found["random"].won.mean() <= 0.01
    assert found["alternate"].won.mean() >= 0.95
    assert found["alternate"].length.max() <= 75
    assert set(found["alternate"].returns.tolist()) <= {0.0, 200.0}


def test_mini_needs_alternating_fire_too() -> None:
    scripts = {"stand": stand_and_shoot, "random": at_random, "alternate": alternate}
    found = play(skirmish("mini"), scripts, 200)
    assert found["stand"].won.mean() <= 0.05
    assert found["random"].won.mean() <= 0.01
    assert found["alternate"].won.mean() >= 0.5
    assert found["alternate"].length.max() < skirmish("mini").horizon


@pytest.mark.parametrize(("name", "episodes", "least"), [("3m", 80, 0.2), ("8m", 12, 0.75)])
def test_focused_fire_beats_scattered_fire(name: str, episodes: int, least: float) -> None:
    scripts = {"focused": focused, "scattered": scattered, "random": at_random}
    found = play(skirmish(name), scripts, episodes)
    assert found["focused"].won.mean() >= least
    assert found["scattered"].won.mean() <= least / 4
    assert found["random"].won.mean() < 0.05
    marines = int(name[0])
    for outcome in found.values():
        assert (outcome.returns[outcome.won] == 200 + 10 * marines).all()
        assert (outcome.returns[~outcome.won] <= 10 * marines).all()


def test_3s_vs_5z_needs_kiting() -> None:
    scripts = {"stand": stand_and_shoot, "random": at_random, "kite": kite}
    found = play(skirmish("3s_vs_5z"), scripts, 12)
    assert found["stand"].won.mean() == 0
    assert found["random"].won.mean() == 0
    assert found["kite"].won.mean() >= 0.4
    assert (found["kite"].returns[found["kite"].won] >= 20 - 1e-3).all()  # shields grow again
