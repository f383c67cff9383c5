"""Pictures of skirmishes: whatever the state says can be seen, in the image and in the text."""

from itertools import combinations

import numpy as np
import pytest
from skirmish_play import place, skirmish, start

from mace_marl.envs.skirmish.picture import Frame, image, text
from mace_marl.envs.skirmish.state import State

pytestmark = pytest.mark.usefixtures("hasty_compiler")


@pytest.fixture
def state() -> State:
    """Marine 0 shoots at the zealot, which is after marine 1."""
    world, state = skirmish("2m_vs_1z"), start("2m_vs_1z")
    return state._replace(
        allies=place(
            world, state.allies, [(12.5, 12.5), (19.5, 12.5)], target=np.array([[True], [False]])
        ),
        enemies=place(world, state.enemies, [(16.5, 14.5)], target=np.array([[False, True]])),
    )


def hurt(state: State, side: str, **fields: list[float]) -> State:
    units = getattr(state, side)
    arrays = {name: np.array(value, np.float32) for name, value in fields.items()}
    return state._replace(**{side: units._replace(**arrays)})


def changed_cells(one: State, other: State) -> set[tuple[int, int]]:
    """Where two images differ, by x and y."""
    scenario = skirmish("2m_vs_1z").scenario
    frame = Frame.of(scenario)
    differ = (image(scenario, one) != image(scenario, other)).any(axis=-1)
    return {
        (frame.left + int(column) // frame.cell, frame.top - int(row) // frame.cell)
        for row, column in np.argwhere(differ)
    }


def test_health_and_shield_are_bars_above_the_unit(state: State) -> None:
    less = hurt(state, "allies", health=[45, 10])
    assert changed_cells(state, less) <= {(19, 12), (19, 13), (20, 13), (18, 13)}
    less = hurt(state, "enemies", shield=[10])
    assert changed_cells(state, less) <= {(x, y) for x in (15, 16, 17) for y in (15, 16)}


def test_everything_that_matters_looks_different(state: State) -> None:
    nobody = np.array([[False], [False]])
    states = [
        state,
        hurt(state, "allies", health=[45, 20]),
        hurt(state, "allies", health=[45, 0]),
        hurt(state, "enemies", health=[50]),
        hurt(state, "enemies", shield=[20]),
        hurt(state, "enemies", health=[0]),
        state._replace(allies=state.allies._replace(target=nobody)),
        state._replace(enemies=state.enemies._replace(target=np.array([[True, False]]))),
        state._replace(allies=state.allies._replace(position=state.allies.position + 0.3)),
    ]
    pictures = [image(skirmish("2m_vs_1z").scenario, each) for each in states]
    for one, other in combinations(pictures, 2):
        assert (one != other).any(axis=-1).sum() > 20


@pytest.mark.parametrize(
    ("name", "cells"), [("2m_vs_1z", (22, 22)), ("3m", (34, 18)), ("3s_vs_5z", (34, 34))]
)
def test_size(name: str, cells: tuple[int, int]) -> None:
    """Open ground and a cell around it."""
    world = skirmish(name)
    picture = world.picture(start(name))
    assert picture.dtype == np.uint8
    cell = 640 // max(cells)
    assert picture.shape == (cells[1] * cell, cells[0] * cell, 3)


def test_ranges_are_drawn(state: State) -> None:
    """A circle of 5.375 around a marine: just there, the ground has another colour."""
    scenario = skirmish("2m_vs_1z").scenario
    frame, pixels = Frame.of(scenario), image(scenario, state)

    def colour(x: float, y: float) -> tuple[int, ...]:
        row, column = frame.place(x, y)
        at = [round((place + 0.5) * frame.cell) for place in (row, column)]
        return tuple(pixels[at[0], at[1]].tolist())

    ground = colour(10.1, 21.3)
    on_ring = {colour(12.5, 12.5 + 5.375 + shift) for shift in np.linspace(-0.05, 0.05, 5)}
    assert on_ring != {ground}
    assert colour(12.5, 12.5 + 5.0) == colour(12.5, 12.5 + 5.8) == ground


def test_text_draws_the_state(state: State) -> None:
    lines = skirmish("2m_vs_1z").text(hurt(state, "enemies", shield=[12.5])).splitlines()
    assert lines[0] == "#" * 20 + ". " * 12 + "#" * 20  # y = 25
    assert lines[25 - 14] == "#" * 12 + ". " * 10 + "a " + ". " * 9 + "#" * 12
    assert lines[25 - 12][12:52] == ". " * 6 + "0 " + ". " * 6 + "1 " + ". " * 6
    assert lines[-3:] == [
        "agent 0 (marine): health 45 of 45, after a",
        "agent 1 (marine): health 45 of 45",
        "enemy a (zealot): health 100 of 100, shield 12.5 of 50, after 1",
    ]


def test_text_shows_the_dead(state: State) -> None:
    lines = text(skirmish("2m_vs_1z").scenario, hurt(state, "allies", health=[0, 45])).splitlines()
    assert lines[25 - 12][12:52] == ". " * 6 + "x " + ". " * 6 + "1 " + ". " * 6
    assert lines[-3] == "agent 0 (marine): dead"
