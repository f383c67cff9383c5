"""Floor plans: everything of a map is drawn, where it is."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from jax import Array
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Rectangle
from pictures import size
from PIL import Image
from samples import Sheet

import mace_marl
from mace_marl import UserError
from mace_marl.envs import Step
from mace_marl.envs.gridworld import GridWorld, Map
from mace_marl.viewer.floor_plan import floor_plan, own_picture


class Painted(Sheet):
    """A world of another kind that shows itself."""

    pixels = np.random.default_rng(0).integers(0, 256, (50, 70, 3), np.uint8)

    def reset(self, key: Array) -> tuple[None, Step]:
        return None, Step(*[key] * 6)

    def picture(self, state: None) -> np.ndarray:
        return self.pixels


class Unseen(Painted):
    def picture(self, state: None) -> np.ndarray:
        raise NotImplementedError


def map_of(task: str) -> Map:
    world = mace_marl.make(task)
    assert isinstance(world, GridWorld)
    return world.map


@pytest.mark.parametrize("task", ["gridworld/multiroom", "gridworld/minisecret"])
def test_everything_is_where_it_is(tmp_path: Path, drawn: list[Figure], task: str) -> None:
    map = map_of(task)
    floor_plan(map, map.name, tmp_path / "map.png")
    size(tmp_path / "map.png")
    (panel,) = drawn[0].axes
    written = {(note.get_text(), note.get_position()) for note in panel.texts}
    for agent, (row, column) in enumerate(map.starts):
        assert (str(agent), (column, row)) in written
    for letter, (row, column) in map.switches.items():
        assert (letter, (column, row)) in written
    doorways = {
        (round(patch.get_y() + 0.5), round(patch.get_x() + 0.5))
        for patch in panel.patches
        if isinstance(patch, Rectangle)
    }
    assert doorways == {(int(row), int(column)) for row, column in np.argwhere(map.doors > 0)}
    for door in range(1, map.num_doors + 1):
        places = [(round(y), round(x)) for text, (x, y) in written if text == str(door)]
        assert door in [map.doors[place] for place in places]
    kinds = np.asarray(panel.images[0].get_array())
    np.testing.assert_array_equal(kinds == 3, map.walls)
    np.testing.assert_array_equal(kinds == 1, map.target & ~map.opened_from.any(axis=-1))


def test_what_switches_open_is_said(tmp_path: Path, drawn: list[Figure]) -> None:
    floor_plan(map_of("gridworld/secretroom"), "SecretRoom", tmp_path / "map.png")
    said = drawn[0].get_supxlabel()
    assert "a opens doors 1, 2 and 3" in said
    assert "c opens door 2" in said


def test_agents_that_start_together_are_side_by_side(tmp_path: Path, drawn: list[Figure]) -> None:
    map = replace(map_of("gridworld/minipass"), starts=((3, 3),) * 3, switches={})
    floor_plan(map, "crowd", tmp_path / "map.pdf")
    discs = [patch for patch in drawn[0].axes[0].patches if isinstance(patch, Circle)]
    spans = sorted((disc.center[0] - disc.radius, disc.center[0] + disc.radius) for disc in discs)
    assert len(spans) == 3
    assert spans[0][0] >= 2.5 and spans[-1][1] <= 3.5
    assert all(left[1] < right[0] for left, right in pairwise(spans))


def test_another_kind_of_world_shows_its_picture(tmp_path: Path) -> None:
    own_picture(Painted(), tmp_path / "map.png")
    with Image.open(tmp_path / "map.png") as picture:
        np.testing.assert_array_equal(np.asarray(picture.convert("RGB")), Painted.pixels)
    with pytest.raises(UserError, match="picture"):
        own_picture(Unseen(), tmp_path / "none.png")
    assert [path.name for path in tmp_path.iterdir()] == ["map.png"]
