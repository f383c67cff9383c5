"""Map files: what the shipped ones say, what may be written, and files that cannot be read."""

import time
from pathlib import Path

import gridworld_oracle as oracle
import numpy as np
import pytest
from drawn_files import assert_one_sentence
from gridworld_drawings import MAPS, Drawing, drawings
from gridworld_files import (
    FILE,
    VALID,
    assert_matches,
    cells_where,
    changed,
)
from hypothesis import given, reject, settings

from mace_marl.envs.gridworld import parse_map, read_map
from mace_marl.errors import UserError


class TestGoodMaps:
    @pytest.mark.parametrize("name", list(oracle.LAYOUTS))
    def test_shipped_maps_are_the_papers(self, name: str):
        """Walls, doors, switches, starts, target, horizon and reward, one by one."""
        map = read_map(MAPS / f"{name}.toml")
        assert_matches(map, oracle.LAYOUTS[name])
        assert map.name.lower() == name

    @pytest.mark.parametrize("path", sorted(MAPS.glob("*.toml")), ids=lambda path: path.stem)
    def test_every_shipped_map_can_be_read_again_from_its_source(self, path: Path):
        map = read_map(path)
        again = parse_map(map.source, str(path))
        assert map.source == path.read_text(encoding="utf-8")
        assert map.description
        np.testing.assert_array_equal(map.doors, again.doors)
        assert (map.starts, map.switches, map.opens) == (again.starts, again.switches, again.opens)

    def test_a_small_map(self):
        map = parse_map(VALID, FILE)
        assert (map.name, map.description) == ("Rooms", "Two agents, two doors.")
        assert (map.horizon, map.reward, map.starts) == (50, 5.0, ((0, 0), (2, 1)))
        assert map.switches == {"a": (0, 2), "b": (2, 2), "c": (0, 6)}
        assert map.opens == {"a": (1,), "b": (1, 2), "c": (2,)}
        assert cells_where(map.target) == {(0, 6), (2, 5), (2, 6), (3, 5), (3, 6)}
        assert cells_where(map.doors == 1) == {(1, 3)} and cells_where(map.doors == 2) == {(2, 3)}
        assert map.source == VALID

    def test_defaults(self):
        """A name from the file's, no description, +100; doors and switches are not needed."""
        map = parse_map('horizon = 3\nstarts = [[0, 0]]\ngrid = ".*"', FILE)
        assert (map.name, map.description, map.reward) == ("rooms", "", 100.0)
        assert map.num_doors == 0 and map.switches == {}
        assert map.opened_from.shape == (1, 2, 0)

    def test_white_space_around_the_drawing_does_not_matter(self):
        indented = VALID.replace("\n.", "\n    .").replace("\n#", "  \n    #").replace("\n", "\r\n")
        np.testing.assert_array_equal(parse_map(indented, FILE).doors, parse_map(VALID, FILE).doors)

    def test_one_agent(self):
        """Alone, and with a door in its way that it can hold for itself."""
        text = 'horizon = 9\nstarts = [[0, 0]]\ngrid = ".a1*"\n[switches]\na = [1]'
        assert parse_map(text, FILE).starts == ((0, 0),)

    def test_a_start_may_be_on_a_switch_or_in_the_target(self):
        for starts in (((0, 2), (2, 1)), ((0, 6), (2, 6))):
            drawn = str([list(start) for start in starts])
            assert parse_map(changed("[[0, 0], [2, 1]]", drawn), FILE).starts == starts

    def test_many_agents_do_not_take_long(self):
        """Seconds at most: the check for a way to the target must not try all combinations."""
        text = (MAPS / "pass.toml").read_text(encoding="utf-8")
        starts = [[row, column] for row in range(4) for column in range(4)]
        begun = time.process_time()  # which a busy machine does not change
        map = parse_map(text.replace("[[4, 4], [3, 3]]", str(starts)), FILE)
        assert len(map.starts) == 16
        assert time.process_time() - begun < 15

    @settings(max_examples=150, deadline=None)
    @given(drawing=drawings(max_agents=3))
    def test_random_maps_are_read_as_drawn(self, drawing: Drawing):
        """What is read is what was drawn."""
        try:
            map = parse_map(drawing.toml(), FILE)
        except UserError:
            reject()
        assert_matches(map, drawing.layout())


class TestFiles:
    def broken(self, path: Path) -> str:
        with pytest.raises(UserError) as caught:
            read_map(path)
        assert_one_sentence(str(caught.value), str(path))
        return str(caught.value)

    def test_missing_file(self, tmp_path: Path):
        assert "No such file" in self.broken(tmp_path / "nowhere.toml")

    def test_directory(self, tmp_path: Path):
        assert "directory" in self.broken(tmp_path)

    def test_file_as_directory(self, tmp_path: Path):
        (tmp_path / "map.toml").write_text(VALID)
        assert "Not a directory" in self.broken(tmp_path / "map.toml" / "inner.toml")

    @pytest.mark.parametrize("content", [b"\x89PNG\r\n\x1a\n\x00\xff", b"\xff\xfe", b"n = '\xe9'"])
    def test_binary_file(self, tmp_path: Path, content: bytes):
        path = tmp_path / "picture.toml"
        path.write_bytes(content)
        assert "not a text file in UTF-8" in self.broken(path)

    @pytest.mark.parametrize("content", [b"\x00\x01\x02", b"\x7fELF\x02\x01"])
    def test_binary_file_that_happens_to_be_text(self, tmp_path: Path, content: bytes):
        path = tmp_path / "program.toml"
        path.write_bytes(content)
        assert "not valid TOML" in self.broken(path)

    def test_broken_map_is_named_by_its_path(self, tmp_path: Path):
        path = tmp_path / "wild.toml"
        path.write_text(changed("a = [1]", "a = []"))
        assert "key 'switches.a'" in self.broken(path)

    def test_good_file(self, tmp_path: Path):
        path = tmp_path / "rooms.toml"
        path.write_text(VALID.replace('name = "Rooms"', ""), encoding="utf-8")
        assert read_map(path).name == "rooms"
