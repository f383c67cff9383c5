"""Map files: what the shipped ones say, and one clear sentence for everything that can be wrong."""

import re
import time
from pathlib import Path

import gridworld_oracle as oracle
import numpy as np
import pytest
from gridworld_drawings import MAPS, Drawing, drawings
from gridworld_oracle import Cell, Layout
from hypothesis import example, given, reject, settings
from hypothesis import strategies as st

from mace_marl.envs.gridworld import Map, parse_map, read_map
from mace_marl.errors import UserError

FILE = "my maps/rooms.toml"

VALID = '''
name = "Rooms"
description = "Two agents, two doors."
horizon = 50
reward = 5
starts = [[0, 0], [2, 1]]
grid = """
..a#..C
...1.#.
..b2.**
####.**
"""

[switches]
a = [1]
b = [1, 2]
c = [2]
'''


def changed(old: str, new: str) -> str:
    """The valid map with one thing changed."""
    assert VALID.count(old) == 1, f"{old!r} must occur once in the valid map"
    return VALID.replace(old, new)


def error_of(text: str) -> str:
    """The sentence that a broken map gets."""
    with pytest.raises(UserError) as caught:
        parse_map(text, FILE)
    return str(caught.value)


def assert_one_sentence(message: str, file: str = FILE) -> None:
    """One line that begins with the file's name, and one full stop, at its end."""
    assert message.startswith(f"{file}: ")
    assert message.isprintable(), "line breaks or control characters in a message"
    assert message.endswith(".") and not message.endswith("..")
    assert not re.search(r"\. [A-Z]", message), "more than one sentence"


def cells_where(array: np.ndarray) -> set[Cell]:
    return {(int(row), int(column)) for row, column in np.argwhere(array)}


def assert_matches(map: Map, layout: Layout) -> None:
    """The map says exactly what the layout says."""
    assert map.walls.shape == (layout.height, layout.width)
    assert map.horizon == layout.horizon and map.reward == layout.reward
    assert map.starts == layout.starts
    assert cells_where(map.walls) == layout.walls
    assert cells_where(map.target) == layout.target
    assert map.num_doors == layout.num_doors
    for door in range(1, layout.num_doors + 1):
        doorway = {cell for cell, number in layout.doorways.items() if number == door}
        assert cells_where(map.doors == door) == doorway
    drawn = {(map.switches[letter], frozenset(map.opens[letter])) for letter in map.switches}
    assert drawn == {(switch.cell, frozenset(switch.opens)) for switch in layout.switches}
    for cell in layout.cells():
        opened = list(oracle.doors_held_open(layout, [cell]))
        assert map.opened_from[cell].tolist() == opened


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
        begun = time.perf_counter()
        map = parse_map(text.replace("[[4, 4], [3, 3]]", str(starts)), FILE)
        assert len(map.starts) == 16
        assert time.perf_counter() - begun < 15

    @settings(max_examples=150, deadline=None)
    @given(drawing=drawings(max_agents=3))
    def test_random_maps_are_read_as_drawn(self, drawing: Drawing):
        """What is read is what was drawn."""
        try:
            map = parse_map(drawing.toml(), FILE)
        except UserError:
            reject()
        assert_matches(map, drawing.layout())


SWITCHES = "\n[switches]\na = [1]\nb = [1, 2]\nc = [2]\n"

# What is changed in the valid map, and what the sentence must name: place, then problem.
BROKEN: dict[str, tuple[str, str, str, str]] = {
    # the grid
    "unknown character": ("...1.#.", "..?1.#.", "grid row 1", "unknown character '?' in column 2"),
    "zero is no door": ("...1.#.", "...0.#.", "grid row 1", "unknown character '0' in column 3"),
    "blank inside a row": ("...1.#.", ".. 1.#.", "grid row 1", "unknown character ' '"),
    "digit that is no digit": ("...1.#.", "..²1.#.", "grid row 1", "unknown character '²'"),
    "letter without switch": ("...1.#.", "..d1.#.", "grid row 1", "'d' in column 2 (it has no"),
    "capital without switch": ("..b2.**", "..b2.D*", "grid row 2", "'D' in column 5 (it has no"),
    "short row": ("...1.#.", "...1.#", "grid row 1", "has 6 cells, but row 0 has 7"),
    "long row": ("####.**", "####.***", "grid row 3", "has 8 cells, but row 0 has 7"),
    "empty row": ("...1.#.", "", "grid row 1", "has 0 cells"),
    "no target": ("..a#..C\n...1.#.\n..b2.**\n####.**", "..a1.2b\n...c...", "key 'grid'", "target"),
    "switch drawn twice": ("...1.#.", "..a1.#.", "grid row 1", "'a' is drawn a second time"),
    "switch drawn twice, once in the target": ("..b2.**", "..b2.A*", "grid row 2", "'a' is drawn"),
    "gap in door numbers": ("..b2.**", "..b3.**", "key 'grid'", "door 2 is missing"),
    "no door 1": ("...1.#.", "...2.#.", "key 'grid'", "door 1 is missing"),
    # switches
    "switch opens nothing": ("a = [1]", "a = []", "key 'switches.a'", "opens no door"),
    "switch opens no drawn door": ("a = [1]", "a = [7]", "key 'switches.a'", "has no door 7"),
    "switch opens door 0": ("a = [1]", "a = [0]", "key 'switches.a'", "door 0"),
    "switch opens a negative door": ("a = [1]", "a = [-1]", "key 'switches.a'", "door -1"),
    "switch not drawn": ("c = [2]", "c = [2]\nd = [1]", "key 'switches.d'", "not drawn"),
    "switch is a number": ("a = [1]", "a = 1", "key 'switches.a'", "must list the doors"),
    "switch opens a text": ("a = [1]", 'a = ["1"]', "key 'switches.a'", "must list the doors"),
    "switch opens a truth": ("a = [1]", "a = [true]", "key 'switches.a'", "must list the doors"),
    "switch opens a fraction": ("a = [1]", "a = [1.0]", "key 'switches.a'", "must list the doors"),
    "switch opens a list": ("a = [1]", "a = [[1]]", "key 'switches.a'", "must list the doors"),
    "switch is a table": ("a = [1]", "a = {b = 1}", "key 'switches.a'", "must list the doors"),
    "switch of two letters": ("a = [1]", "aa = [1]", "key 'switches.aa'", "one letter from a to z"),
    "switch in capitals": ("a = [1]", "A = [1]", "key 'switches.A'", "one letter from a to z"),
    "switch named by a digit": ("a = [1]", "1 = [1]", "key 'switches.1'", "one letter from a to z"),
    "switch with an accent": ("a = [1]", '"é" = [1]', "key 'switches.é'", "one letter from a to z"),
    "switch without a name": ("a = [1]", '"" = [1]', "key 'switches.'", "one letter from a to z"),
    "switches are a number": (SWITCHES, "\nswitches = 3", "key 'switches'", "must be a table"),
    "switches are a list": (SWITCHES, "\nswitches = [1]", "key 'switches'", "must be a table"),
    "no switches at all": (SWITCHES, "", "grid row 0", "'a' in column 2 (it has no entry"),
    # starts
    "start in a wall": ("[2, 1]", "[3, 1]", "key 'starts', agent 1", "[3, 1] is inside a wall"),
    "start in a doorway": ("[0, 0]", "[1, 3]", "key 'starts', agent 0", "[1, 3] is inside a wall"),
    "start below the grid": ("[2, 1]", "[4, 1]", "key 'starts', agent 1", "[4, 1] is outside"),
    "start right of the grid": ("[2, 1]", "[2, 7]", "key 'starts', agent 1", "[2, 7] is outside"),
    "start above the grid": ("[2, 1]", "[-1, 1]", "key 'starts', agent 1", "[-1, 1] is outside"),
    "start with one number": ("[2, 1]", "[2]", "key 'starts'", "must list a [row, column]"),
    "start with three numbers": ("[2, 1]", "[2, 1, 0]", "key 'starts'", "must list a [row"),
    "start with a fraction": ("[2, 1]", "[2.0, 1]", "key 'starts'", "must list a [row, column]"),
    "start with a truth": ("[2, 1]", "[true, 1]", "key 'starts'", "must list a [row, column]"),
    "start is a text": ("[2, 1]", '"21"', "key 'starts'", "must list a [row, column]"),
    "starts empty": ("[[0, 0], [2, 1]]", "[]", "key 'starts'", "must list a [row, column]"),
    "starts is a number": ("[[0, 0], [2, 1]]", "4", "key 'starts'", "must list a [row, column]"),
    "starts is a text": ("[[0, 0], [2, 1]]", '"ab"', "key 'starts'", "must list a [row, column]"),
    "starts is one pair": ("[[0, 0], [2, 1]]", "[0, 0]", "key 'starts'", "must list a [row"),
    "starts is a table": ("[[0, 0], [2, 1]]", "{a = 1}", "key 'starts'", "must list a [row"),
    "starts missing": ("starts = [[0, 0], [2, 1]]", "", "key 'starts'", "must list a [row"),
    # other keys
    "horizon missing": ("horizon = 50", "", "key 'horizon'", "whole number of steps"),
    "horizon zero": ("horizon = 50", "horizon = 0", "key 'horizon'", "at least 1"),
    "horizon negative": ("horizon = 50", "horizon = -5", "key 'horizon'", "at least 1"),
    "horizon a fraction": ("horizon = 50", "horizon = 50.0", "key 'horizon'", "whole number"),
    "horizon a truth": ("horizon = 50", "horizon = true", "key 'horizon'", "whole number"),
    "horizon a text": ("horizon = 50", 'horizon = "50"', "key 'horizon'", "whole number"),
    "horizon a list": ("horizon = 50", "horizon = [50]", "key 'horizon'", "whole number"),
    "horizon beyond counting": ("horizon = 50", "horizon = 3_000_000_000", "key 'horizon'", ""),
    "reward nan": ("reward = 5", "reward = nan", "key 'reward'", "number above 0"),
    "reward infinite": ("reward = 5", "reward = inf", "key 'reward'", "number above 0"),
    "reward negative": ("reward = 5", "reward = -5.0", "key 'reward'", "number above 0"),
    "reward zero": ("reward = 5", "reward = 0", "key 'reward'", "number above 0"),
    "reward a truth": ("reward = 5", "reward = true", "key 'reward'", "number above 0"),
    "reward a text": ("reward = 5", 'reward = "5"', "key 'reward'", "number above 0"),
    "reward a list": ("reward = 5", "reward = [5]", "key 'reward'", "number above 0"),
    "reward a date": ("reward = 5", "reward = 2024-01-01", "key 'reward'", "number above 0"),
    "reward infinite in float32": ("reward = 5", "reward = 1e39", "key 'reward'", "number"),
    "reward zero in float32": ("reward = 5", "reward = 1e-60", "key 'reward'", "number"),
    "reward of 401 digits": ("reward = 5", f"reward = 1{'0' * 400}", "key 'reward'", "number"),
    "name a number": ('name = "Rooms"', "name = 1", "key 'name'", "must be a text, not 1"),
    "name a table": ('name = "Rooms"', "name = {a = 1}", "key 'name'", "must be a text"),
    "description a list": (
        '"Two agents, two doors."',
        "[1]",
        "key 'description'",
        "must be a text",
    ),
    "unknown key": ("horizon = 50", "horizon = 50\ncolour = 3", "key 'colour'", "unknown"),
    "misspelt key": ("reward = 5", "rewards = 5", "key 'rewards'", "unknown"),
    "unknown table": ("[switches]", "[doors]\n[switches]", "key 'doors'", "unknown"),
    "key with a line break": ("horizon = 50", 'horizon = 50\n"a\\nb" = 3', "a\\nb", "unknown"),
    "switch with a line break": ("a = [1]", '"a\\nb" = [1]', "a\\nb", "one letter from a to z"),
    "control character": ("...1.#.", "..\\u001b1.#.", "grid row 1", "unknown character"),
    # TOML itself
    "not TOML": ("horizon = 50", "horizon 50", "not valid TOML", "at line 4"),
    "key given twice": ("reward = 5", "reward = 5\nreward = 6", "not valid TOML", "at line 6"),
    "switch given twice": ("a = [1]", "a = [1]\na = [2]", "not valid TOML", "at line 16"),
    "text without an end": ('"Rooms"', '"Rooms', "not valid TOML", "at line 2"),
    "number too long to read": ("reward = 5", f"reward = 1{'0' * 5000}", "TOML", ""),
    "lists nested too deeply": ("reward = 5", f"reward = {'[' * 5000}", "TOML", ""),
}


class TestBrokenMaps:
    @pytest.mark.parametrize(("old", "new", "where", "problem"), BROKEN.values(), ids=list(BROKEN))
    def test_message_names_place_and_problem(self, old: str, new: str, where: str, problem: str):
        message = error_of(changed(old, new))
        assert_one_sentence(message)
        assert where in message and problem in message, message

    @pytest.mark.parametrize(
        "grid", ['grid = ""', 'grid = " \\n \\n"', "grid = 5", 'grid = [".*"]', "", "grid = true"]
    )
    def test_grid_that_is_no_drawing(self, grid: str):
        message = error_of(f"horizon = 3\nstarts = [[0, 0]]\n{grid}")
        assert_one_sentence(message)
        assert "key 'grid'" in message

    @pytest.mark.parametrize("text", ["", "\n\n", "# only a comment\n"])
    def test_empty_file(self, text: str):
        assert_one_sentence(error_of(text))

    @pytest.mark.parametrize(
        ("rows", "opens", "starts"),
        [
            (".#*", {}, ((0, 0),)),  # walled off
            (".1*a", {"a": (1,)}, ((0, 0),)),  # the switch is behind its own door
            ("a..1*", {"a": (1,)}, ((0, 0), (0, 1))),  # nobody holds the door for the last one
            ("a..1.2*b", {"a": (1,), "b": (1, 2)}, ((0, 0), (0, 1))),  # the second door
        ],
    )
    def test_target_that_no_play_reaches(
        self, rows: str, opens: dict[str, tuple[int, ...]], starts: tuple[Cell, ...]
    ):
        """Walls are fine, yet the logic of switches and doors keeps somebody out."""
        message = error_of(Drawing((rows,), opens, starts).toml())
        assert_one_sentence(message)
        assert "no sequence of switches lets all agents into the target" in message

    def test_the_last_agent_gets_in_once_there_is_a_switch_inside(self):
        """The repaired twin of the map above, so that the refusal is about the switch alone."""
        drawing = Drawing(("a..1.B",), {"a": (1,), "b": (1,)}, ((0, 0), (0, 1)))
        assert_matches(parse_map(drawing.toml(), FILE), drawing.layout())


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


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """The valid map with some characters replaced, removed or put in."""
    text = VALID
    characters = st.sampled_from(sorted(set(VALID) | set("9-+e'\\\t\r{}AZz?é\x00\x1b\u2028"))) | (
        st.characters(exclude_categories=["Cs"])
    )
    for _ in range(draw(st.integers(1, 6))):
        at = draw(st.integers(0, len(text) - 1))
        removed = draw(st.integers(0, 3))
        added = draw(st.text(characters, max_size=3))
        text = text[:at] + added + text[at + removed :]
    return text


@settings(max_examples=400, deadline=None)
@given(text=mutated())
@example(VALID.replace("\n", "\r"))
@example(VALID.replace(".", "\u2028", 1))
def test_no_text_brings_the_reader_down(text: str):
    """Whatever is in the file: a map, or one sentence."""
    try:
        map = parse_map(text, FILE)
    except UserError as error:
        message = str(error)
        assert message.startswith(FILE) and message.endswith(".")
        assert len(message.splitlines()) == 1
    else:
        assert map.target.any() and map.starts and map.horizon >= 1
