"""Broken map files: one clear sentence for everything that can be wrong."""

import pytest
from drawn_files import assert_one_sentence
from gridworld_drawings import Drawing
from gridworld_files import (
    FILE,
    VALID,
    assert_matches,
    changed,
    error_of,
)
from gridworld_oracle import Cell
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mace_marl.envs.gridworld import parse_map
from mace_marl.errors import UserError

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
        assert_one_sentence(message, FILE)
        assert where in message and problem in message, message

    @pytest.mark.parametrize(
        "grid", ['grid = ""', 'grid = " \\n \\n"', "grid = 5", 'grid = [".*"]', "", "grid = true"]
    )
    def test_grid_that_is_no_drawing(self, grid: str):
        message = error_of(f"horizon = 3\nstarts = [[0, 0]]\n{grid}")
        assert_one_sentence(message, FILE)
        assert "key 'grid'" in message

    @pytest.mark.parametrize("text", ["", "\n\n", "# only a comment\n"])
    def test_empty_file(self, text: str):
        assert_one_sentence(error_of(text), FILE)

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
        assert_one_sentence(message, FILE)
        assert "no sequence of switches lets all agents into the target" in message

    def test_the_last_agent_gets_in_once_there_is_a_switch_inside(self):
        """The repaired twin of the map above, so that the refusal is about the switch alone."""
        drawing = Drawing(("a..1.B",), {"a": (1,), "b": (1,)}, ((0, 0), (0, 1)))
        assert_matches(parse_map(drawing.toml(), FILE), drawing.layout())


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
