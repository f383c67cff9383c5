"""Kitchen files: what the shipped ones say, and one clear sentence for all that can be wrong."""

from pathlib import Path

import pytest
from drawn_files import assert_one_sentence, replaced_once
from overcooked_games import LAYOUTS
from overcooked_oracle import PLANS

from mace_marl.envs.overcooked import Kitchen, parse_kitchen, read_kitchen
from mace_marl.errors import UserError
from mace_marl.tasks import get_task
from mace_marl.worlds import make_world

FILE = "my kitchens/galley.toml"

VALID = '''
name = "Galley"
description = "One counter, two cooks."
horizon = 50
reward = 5
tomatoes = 2
onions = 1
cooking_time = 4
repeated = true
kitchen = """
XTOXXX
X1 X D
S  X2P
XXXXXX
"""

[[sight]]
x = [0, 3]
y = [0, 4]

[[sight]]
x = [2, 6]
'''


def changed(old: str, new: str) -> str:
    """The valid kitchen with one thing changed."""
    return replaced_once(VALID, old, new)


def error_of(text: str) -> str:
    """The sentence that a broken kitchen gets."""
    with pytest.raises(UserError) as caught:
        parse_kitchen(text, FILE)
    return str(caught.value)


class TestGoodKitchens:
    @pytest.mark.parametrize("name", PLANS)
    def test_shipped_kitchens_are_the_papers(self, name: str) -> None:
        kitchen, plan = read_kitchen(LAYOUTS / f"{name}.toml"), PLANS[name]
        drawn = ["".join(row) for row in kitchen.cells]
        assert drawn == [row.replace("1", " ").replace("2", " ") for row in plan.rows]
        assert kitchen.starts == tuple((y, x) for c in "12" for x, y in plan.cells(c))
        assert tuple((sight.x, sight.y) for sight in kitchen.sight) == plan.sight
        assert (kitchen.horizon, kitchen.reward, kitchen.cooking_time) == (300, 100.0, 0)
        assert (kitchen.tomatoes, kitchen.onions, kitchen.repeated) == (1, 0, False)

    @pytest.mark.parametrize("path", sorted(LAYOUTS.glob("*.toml")), ids=lambda path: path.stem)
    def test_every_shipped_kitchen_can_be_read_again_from_its_source(self, path: Path) -> None:
        kitchen = read_kitchen(path)
        assert kitchen.source == path.read_text(encoding="utf-8")
        assert kitchen.description and kitchen.name.lower() == path.stem
        again = parse_kitchen(kitchen.source, str(path))
        assert (again.cells == kitchen.cells).all() and again.starts == kitchen.starts

    def test_a_small_kitchen(self) -> None:
        kitchen = parse_kitchen(VALID, FILE)
        assert (kitchen.name, kitchen.description) == ("Galley", "One counter, two cooks.")
        assert (kitchen.horizon, kitchen.reward) == (50, 5.0)
        assert (kitchen.tomatoes, kitchen.onions, kitchen.cooking_time) == (2, 1, 4)
        assert kitchen.repeated is True
        assert kitchen.starts == ((1, 1), (2, 4))
        assert [(sight.x, sight.y, sight.size) for sight in kitchen.sight] == [
            ((0, 3), (0, 4), (3, 4)),
            ((2, 6), (0, 4), (4, 4)),
        ]
        assert kitchen.stations[:3] == [(0, 1), (0, 2), (1, 5)], "dispensers, row by row"
        assert kitchen.stations[3:6] == [(0, 0), (0, 3), (0, 4)], "counters, row by row"
        assert kitchen.source == VALID

    def test_defaults(self) -> None:
        """A name from the file's, one tomato, ready at once, one serving, everything in sight."""
        kitchen = parse_kitchen('horizon = 3\nkitchen = "XTPX\\nD12S\\nXXXX"', FILE)
        assert (kitchen.name, kitchen.description, kitchen.reward) == ("galley", "", 100.0)
        assert (kitchen.tomatoes, kitchen.onions, kitchen.cooking_time) == (1, 0, 0)
        assert kitchen.repeated is False
        assert all((sight.x, sight.y) == ((0, 4), (0, 3)) for sight in kitchen.sight)

    def test_onions_alone(self) -> None:
        text = 'horizon = 3\nonions = 3\nkitchen = "XOPX\\nD12S\\nXXXX"'
        kitchen = parse_kitchen(text, FILE)
        assert (kitchen.tomatoes, kitchen.onions) == (0, 3)

    @pytest.mark.parametrize(
        ("old", "new"), [("\n", "\r\n"), ("\nX", "\n    X"), ("XX\n", "XX   \n")]
    )
    def test_white_space_around_the_drawing_does_not_matter(self, old: str, new: str) -> None:
        text = VALID.replace("\nS  X2P", "\n    S  X2P") if "    X" in new else VALID
        spaced = parse_kitchen(text.replace(old, new), FILE)
        assert (spaced.cells == parse_kitchen(VALID, FILE).cells).all()


# What is changed in the valid kitchen, and what the sentence must name: place, then problem.
BROKEN: dict[str, tuple[str, str, str, str]] = {
    # the drawing
    "unknown character": ("X1 X D", "X1?X D", "kitchen row 1", "character '?' in column 2"),
    "third player": ("X1 X D", "X13X D", "kitchen row 1", "unknown character '3'"),
    "small letter": ("XTOXXX", "XtOXXX", "kitchen row 0", "unknown character 't' in column 1"),
    "tab": ("X1 X D", "X1\tX D", "kitchen row 1", "unknown character '\\t'"),
    "short row": ("X1 X D", "X1 XD", "kitchen row 1", "has 5 cells, but row 0 has 6"),
    "long row": ("S  X2P", "S  X2PX", "kitchen row 2", "has 7 cells, but row 0 has 6"),
    "empty row": ("X1 X D\n", "\n", "kitchen row 1", "has 0 cells"),
    "no start of player 1": ("X1 X D", "X  X D", "key 'kitchen'", "no start of player 1"),
    "no start of player 2": ("S  X2P", "S  X P", "key 'kitchen'", "no start of player 2"),
    "two starts of player 1": ("S  X2P", "S1 X2P", "kitchen row 2", "player 1 starts here a sec"),
    "two starts of player 2": ("X1 X D", "X1 X2D", "kitchen row 2", "player 2 starts here a sec"),
    "no pot": ("S  X2P", "S  X2X", "key 'kitchen'", "no pot: draw it as 'P'"),
    "no serving area": ("S  X2P", "X  X2P", "key 'kitchen'", "no serving area"),
    "no dishes": ("X1 X D", "X1 X X", "key 'kitchen'", "no dish dispenser"),
    "no tomatoes": ("XTOXXX", "XXOXXX", "key 'kitchen'", "no tomato dispenser"),
    "no onions": ("XTOXXX", "XTXXXX", "key 'kitchen'", "no onion dispenser"),
    "open on the left": ("S  X2P", "   X2P", "kitchen row 2", "border is open in column 0"),
    "open on the right": ("X1 X D", "X1 X  ", "kitchen row 1", "border is open in column 5"),
    "open at the top": ("XTOXXX", "XTO XX", "kitchen row 0", "border is open in column 3"),
    "open at the bottom": ("XXXXXX\n", "XX1XXX\n", "kitchen row 3", "open in column 2"),
    "start on the border": ("S  X2P", "S  X22", "kitchen row 2", "border is open in column 5"),
    "dishes out of reach": ("X1 X D", "X1 XXD", "key 'kitchen'", "cannot be reached"),
    "onions nobody reaches": ("XTOXXX", "OTXXXX", "key 'kitchen'", "cannot be reached"),
    "too wide": (
        "XTOXXX\nX1 X D\nS  X2P\nXXXXXX",
        "\n".join(row + "X" * 45 for row in ("XTOXXX", "X1 X D", "S  X2P", "XXXXXX")),
        "key 'kitchen'",
        "wider or higher than 50",
    ),
    # sight
    "range beyond the grid": ("x = [0, 3]", "x = [0, 7]", "agent 0, x", "from 0 to 6"),
    "range before the grid": ("x = [0, 3]", "x = [-1, 3]", "agent 0, x", "from 0 to 6"),
    "range backwards": ("x = [2, 6]", "x = [6, 2]", "agent 1, x", "the first the smaller"),
    "range of one column": ("x = [2, 6]", "x = [2, 2]", "agent 1, x", "the first the smaller"),
    "range too high": ("y = [0, 4]", "y = [0, 5]", "agent 0, y", "from 0 to 4"),
    "range of one number": ("y = [0, 4]", "y = [4]", "agent 0, y", "[first, last]"),
    "range with a fraction": ("y = [0, 4]", "y = [0, 4.0]", "agent 0, y", "whole numbers"),
    "range with a truth": ("y = [0, 4]", "y = [false, true]", "agent 0, y", "whole numbers"),
    "range a number": ("y = [0, 4]", "y = 4", "agent 0, y", "[first, last]"),
    "range unknown": ("y = [0, 4]", "z = [0, 4]", "key 'sight', agent 0", "unknown key 'z'"),
    "sight of one agent": ("[[sight]]\nx = [2, 6]", "", "key 'sight'", "two tables"),
    "sight of three": ("x = [2, 6]", "x = [2, 6]\n[[sight]]", "key 'sight'", "two tables"),
    # other keys
    "horizon missing": ("horizon = 50", "", "key 'horizon'", "whole number of steps"),
    "horizon zero": ("horizon = 50", "horizon = 0", "key 'horizon'", "at least 1"),
    "horizon a text": ("horizon = 50", 'horizon = "50"', "key 'horizon'", "whole number"),
    "reward zero": ("reward = 5", "reward = 0", "key 'reward'", "above 0"),
    "reward a truth": ("reward = 5", "reward = true", "key 'reward'", "number"),
    "tomatoes too many": ("tomatoes = 2", "tomatoes = 4", "key 'tomatoes'", "from 0 to 3"),
    "tomatoes negative": ("tomatoes = 2", "tomatoes = -1", "key 'tomatoes'", "from 0 to 3"),
    "tomatoes a fraction": ("tomatoes = 2", "tomatoes = 2.0", "key 'tomatoes'", "whole number"),
    "soup too large": ("tomatoes = 2", "tomatoes = 3", "key 'tomatoes'", "cannot be made"),
    "soup of nothing": (
        "tomatoes = 2\nonions = 1",
        "tomatoes = 0\nonions = 0",
        "key 'tomatoes'",
        "cannot be made",
    ),
    "onions a text": ("onions = 1", 'onions = "1"', "key 'onions'", "whole number"),
    "cooking negative": ("cooking_time = 4", "cooking_time = -1", "key 'cooking_time'", "from 0"),
    "cooking a truth": ("cooking_time = 4", "cooking_time = true", "key 'cooking_time'", "whole"),
    "repeated a number": ("repeated = true", "repeated = 1", "key 'repeated'", "true or false"),
    "name a number": ('name = "Galley"', "name = 1", "key 'name'", "must be a text, not 1"),
    "unknown key": ("reward = 5", "reward = 5\ncolour = 3", "key 'colour'", "unknown; the keys"),
    "a map's key": ("reward = 5", "reward = 5\nstarts = [[1, 1]]", "key 'starts'", "unknown"),
    "not TOML": ("horizon = 50", "horizon 50", "not valid TOML", "at line 4"),
}


class TestBrokenKitchens:
    @pytest.mark.parametrize(("old", "new", "where", "problem"), BROKEN.values(), ids=list(BROKEN))
    def test_message_names_place_and_problem(
        self, old: str, new: str, where: str, problem: str
    ) -> None:
        message = error_of(changed(old, new))
        assert_one_sentence(message, FILE)
        assert where in message and problem in message, message

    @pytest.mark.parametrize("drawn", ['kitchen = ""', 'kitchen = " \\n"', "kitchen = 5", ""])
    def test_kitchen_that_is_no_drawing(self, drawn: str) -> None:
        message = error_of(f"horizon = 3\n{drawn}")
        assert_one_sentence(message, FILE)
        assert "key 'kitchen'" in message

    @pytest.mark.parametrize("sight", ["sight = 3", "sight = [1, 2]", 'sight = "all"', "[sight]"])
    def test_sight_that_is_no_list_of_tables(self, sight: str) -> None:
        text = VALID[: VALID.index("[[sight]]")] + sight
        assert_one_sentence(error_of(text), FILE)
        assert "two tables" in error_of(text)


class TestWorkable:
    """Which kitchens are refused because no soup can ever be served."""

    def kitchen(self, *rows: str) -> Kitchen:
        drawn = "\\n".join(rows)
        return parse_kitchen(f'horizon = 3\nkitchen = "{drawn}"', FILE)

    @pytest.mark.parametrize(
        "rows",
        [
            ("XTPDX", "X1XSX", "XXX2X", "XXXXX"),  # the pot joins nobody: it is beside cook 0 only
            ("XTXXDX", "X1XX2X", "XSXXPX", "XXXXXX"),  # two counters thick
            ("XTXXX", "X1P2X", "XSXDX"),  # ingredients come through the pot, but no soup back
        ],
    )
    def test_refused(self, rows: tuple[str, ...]) -> None:
        with pytest.raises(UserError, match="nobody can make and serve a soup"):
            self.kitchen(*rows)

    @pytest.mark.parametrize(
        "rows",
        [
            ("XTXDX", "X1X2X", "XSXPX"),  # over a counter
            ("XTXDX", "X1P2X", "XXXSX"),  # through the pot
            ("XTPDX", "X1 2X", "XXSXX"),  # on one floor
            ("XTPXXXX", "D1 SX2X", "XXXXXXX"),  # one cook does it all
        ],
    )
    def test_accepted(self, rows: tuple[str, ...]) -> None:
        floor = str.maketrans("12", "  ")
        cells = self.kitchen(*rows).cells
        assert ["".join(row) for row in cells] == [row.translate(floor) for row in rows]


class TestTasks:
    def test_a_path_to_a_kitchen_is_a_task(self, tmp_path: Path) -> None:
        path = tmp_path / "galley.toml"
        path.write_text(VALID)
        task = get_task(str(path))
        assert task.sentence == "One counter, two cooks."
        assert task.overrides["rollout_length"] == 50
        assert (task.overrides["novelty"], task.overrides["posterior"]) == ("rnd", "network")
        world = make_world(task.name, task.map)
        assert (world.num_agents, world.num_actions, world.observation_size) == (2, 6, 38)

    def test_a_broken_kitchen_is_not_taken_for_a_map(self, tmp_path: Path) -> None:
        path = tmp_path / "galley.toml"
        path.write_text(changed("S  X2P", "S  X2X"))
        with pytest.raises(UserError, match="no pot"):
            get_task(str(path))

    def test_missing_file(self, tmp_path: Path) -> None:
        with pytest.raises(UserError, match="cannot be read"):
            read_kitchen(tmp_path / "nowhere.toml")
