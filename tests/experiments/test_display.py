"""What is said of a study that is running: how long it may still take."""

import pytest
from made_up import make_study

from mace_marl.experiments import display
from mace_marl.experiments.display import Display, Status


def test_time_left_goes_by_the_steps_made_since_the_command_began(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Four runs of 1,000 steps. One was finished before, one half; then both of the first ended
    and the third is at 100: 600 steps in 60 seconds, so the missing 1,900 take 190."""
    now = 0.0
    monkeypatch.setattr(display.time, "monotonic", lambda: now)
    one, two, three, four = make_study(seeds=2).runs()
    before = {one: Status("done", 1000), two: Status("waiting", 500)}
    before |= dict.fromkeys((three, four), Status())
    shown = Display("Made up", dict.fromkeys(before, 1000), before)
    assert shown.summary(before) == "1 of 4 runs done"
    now = 60.0
    after = before | {two: Status("done", 1000), three: Status("running", 100)}
    assert shown.summary(after) == "2 of 4 runs done, about 0:03:10 left"


def test_runs_that_end_early_or_fail_have_no_steps_left(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(display.time, "monotonic", lambda: now)
    one, two, three = list(make_study(seeds=2).runs())[:3]
    before = dict.fromkeys((one, two, three), Status())
    shown = Display("Made up", dict.fromkeys(before, 1000), before)
    now = 10.0
    after = before | {one: Status("done", 300), two: Status("failed", reason="so")}
    assert shown.summary(after) == "1 of 3 runs done, 1 failed, about 0:00:05 left"
