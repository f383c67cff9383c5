"""Scenario files: what the shipped ones say, units of one's own, and one sentence for mistakes."""

from pathlib import Path

import numpy as np
import pytest
from drawn_files import assert_one_sentence, replaced_once
from skirmish_play import SCENARIOS

from mace_marl import UserError
from mace_marl.envs.skirmish import Skirmish, parse_scenario, read_scenario
from mace_marl.envs.skirmish.scenariofile import hexagons
from mace_marl.envs.skirmish.units import UnitType, find_type, shipped_types
from mace_marl.tasks import get_task
from mace_marl.worlds import make_world

VALID = '''
name = "Ford"
description = "Two against one."
horizon = 50

ground = """
##########
#........#
#........#
#........#
##########
"""

[reward]
win = 100
kill = 5

[[allies]]
unit = "marine"
count = 2
at = [3, 2.5]
spread = 0.1

[[enemies]]
unit = "ogre"
at = [7, 2.5]
attack = [3, 2.5]

[units.ogre]
health = 60
armour = 2
damage = 9
hits = 2
hit_delay = 0.25
period = 1.0
range = 0.2
speed = 1.5
radius = 0.5
attributes = ["armoured"]
bonus = { light = 3 }
'''


def changed(old: str, new: str) -> str:
    return replaced_once(VALID, old, new)


GROUND = {  # open columns of rows, from the south up: first row, last row, first and last column
    "2m_vs_1z": [(6, 7, 10, 21), (8, 9, 8, 23), (10, 21, 6, 25), (22, 23, 8, 23), (24, 25, 10, 21)],
    "3m": [(8, 23, 0, 31)],
    "8m": [(8, 23, 0, 31)],
    "3s_vs_5z": [(0, 31, 0, 31)],
}
GROUPS = {  # unit, count, at, attack
    "2m_vs_1z": (
        [("marine", 1, (13, 12), None), ("marine", 1, (19, 12), None)],
        [("zealot", 1, (16, 19), ((13, 12), (19, 12)))],
    ),
    "3m": ([("marine", 3, (9, 16), None)], [("marine", 3, (23, 16), ((9, 16),) * 2)]),
    "8m": ([("marine", 8, (9, 16), None)], [("marine", 8, (23, 16), ((9, 16),) * 2)]),
    "3s_vs_5z": ([("stalker", 3, (9, 16), None)], [("zealot", 5, (23, 16), ((9, 16),) * 2)]),
}
PRIZES = {  # win, kill, damage, scaled to
    "2m_vs_1z": (200, 0, 0, None),
    "3m": (200, 10, 0, None),
    "8m": (200, 10, 0, None),
    "3s_vs_5z": (200, 10, 1, 20),
}
TYPES = {  # health, shield, armour, damage, hits, hit delay, period, range, speed, radius
    "marine": (45, 0, 0, 6, 1, 0, 0.8608, 5, 2.25, 0.375),
    "zealot": (100, 50, 1, 8, 2, 0.28, 1.2, 0.1, 2.25, 0.5),
    "stalker": (80, 80, 1, 10, 1, 0, 1.44, 6, 2.9531, 0.625),
}


@pytest.mark.parametrize("name", GROUND)
def test_shipped_scenarios(name: str) -> None:
    scenario = read_scenario(SCENARIOS / f"{name}.toml")
    ground = np.zeros((32, 32), bool)
    for bottom, top, left, right in GROUND[name]:
        ground[left : right + 1, bottom : top + 1] = True
    np.testing.assert_array_equal(scenario.ground, ground)
    for groups, wanted in zip((scenario.allies, scenario.enemies), GROUPS[name], strict=True):
        assert [
            (group.unit.name, group.count, group.at, group.attack) for group in groups
        ] == wanted
    prize = scenario.prize
    assert (prize.win, prize.kill, prize.damage, prize.scaled_to) == PRIZES[name]
    assert scenario.observation == "authors"


@pytest.mark.parametrize("name", TYPES)
def test_shipped_units(name: str) -> None:
    kind = find_type(name, Path("nowhere"))
    assert isinstance(kind, UnitType)
    numbers = (kind.health, kind.shield, kind.armour, kind.damage, kind.hits, kind.hit_delay)
    assert (*numbers, kind.period, kind.range, kind.speed, kind.radius) == TYPES[name]
    assert name in shipped_types()


def test_groups_begin_apart_around_their_point() -> None:
    lattice = hexagons(7)
    assert lattice[0].tolist() == [0, 0]
    assert np.allclose(np.linalg.norm(lattice[1:], axis=1), 1)
    apart = np.linalg.norm(lattice[:, None] - lattice, axis=-1)
    assert apart[~np.eye(7, dtype=bool)].min() == pytest.approx(1)
    for group in read_scenario(SCENARIOS / "8m.toml").allies:
        apart = np.linalg.norm(group.places[:, None] - group.places, axis=-1)
        least = apart[~np.eye(8, dtype=bool)].min() - 2 * 2**0.5 * group.spread
        assert least == pytest.approx(2 * group.unit.radius)


class TestOwn:
    def test_everything_is_read(self) -> None:
        scenario = parse_scenario(VALID, "ford.toml")
        assert (scenario.name, scenario.description, scenario.horizon) == (
            "Ford",
            "Two against one.",
            50,
        )
        assert scenario.ground.shape == (10, 5)
        ogre = scenario.enemies[0].unit
        assert (ogre.health, ogre.hits, ogre.bonus) == (60, 2, {"light": 3})
        assert ogre.damage_to(scenario.allies[0].unit) == 12

    def test_a_run_needs_no_file(self, tmp_path: Path) -> None:
        """The text that goes with a run holds the units; it reads the same anywhere."""
        (tmp_path / "ogre.toml").write_text(VALID.split("[units.ogre]\n")[1])
        path = tmp_path / "ford.toml"
        path.write_text(VALID.split("[units.ogre]")[0])
        task = get_task(str(path))
        assert task.sentence == "Two against one."
        assert task.overrides["rollout_length"] == 600
        assert (task.overrides["novelty"], task.overrides["posterior"]) == ("rnd", "network")
        (tmp_path / "ogre.toml").unlink()
        world = make_world(str(path), task.map)
        assert isinstance(world, Skirmish)
        assert [kind.name for kind in world.allies.types] == ["marine", "marine"]
        inline = parse_scenario(VALID, "ford.toml")
        assert world.scenario.enemies == inline.enemies
        assert world.scenario.allies == inline.allies
        assert '[units."marine"]' in task.map

    def test_shipped_tasks_carry_their_units(self) -> None:
        task = get_task("skirmish/3s_vs_5z")
        assert '[units."stalker"]' in task.map and '[units."zealot"]' in task.map
        again = parse_scenario(task.map, "elsewhere/again.toml")
        assert again.source == task.map
        assert again.allies == read_scenario(SCENARIOS / "3s_vs_5z.toml").allies

    def test_own_numbers_come_before_shipped_ones(self) -> None:
        stronger = VALID + "[units.marine]" + VALID.split("[units.ogre]")[1]
        assert parse_scenario(stronger, "ford.toml").allies[0].unit.health == 60


@pytest.mark.parametrize(
    ("old", "new", "mentions"),
    [
        ("horizon = 50", "horizon = ", ["not valid TOML", "line 4"]),
        ("horizon = 50", "horizon = 0", ["line 4", "'horizon'", "whole number"]),
        ("horizon = 50", "color = 1", ["line 4", "key 'color'", "unknown"]),
        ("horizon = 50", "horizon = 50\nobservation = 'mine'", ["line 5", "authors, stock"]),
        ('#........#\n##########\n"', '#.......#\n##########\n"', ["line 10, ground row 3", "9 c"]),
        ("##########\n#", "###~######\n#", ["line 7, ground row 0", "'~' in column 3"]),
        ("win = 100", "win = 0", ["line 15", "reward", "'win'", "above 0"]),
        ("kill = 5", "kill = true", ["line 16", "'kill'"]),
        ("kill = 5", "death = 5", ["line 16", "reward", "'death'", "unknown"]),
        ("kill = 5", "scaled_to = -1", ["line 16", "'scaled_to'"]),
        ('unit = "marine"', 'unit = "murine"', ["line 19", "allies 0", "'murine'", "marine"]),
        ('unit = "marine"', "unit = 3", ["line 19", "allies 0", "must be a text"]),
        ("count = 2", "count = 2.5", ["line 20", "'count'", "2.5"]),
        ("count = 2", "count = 20", ["line 21", "nobody can walk"]),
        ("count = 2", "attack = [3, 3]", ["line 20", "allies 0", "'attack'", "unknown"]),
        ("at = [3, 2.5]\nspread", "at = [3]\nspread", ["line 21", "a point"]),
        ("at = [3, 2.5]\nspread", "at = [0.5, 2.5]\nspread", ["line 21", "nobody can walk"]),
        ("spread = 0.1", "spread = nan", ["line 22", "'spread'"]),
        ("attack = [3, 2.5]", "attack = [3, 0.5]", ["line 27", "enemies 0", "'attack'"]),
        ("attack = [3, 2.5]", "attack = [[3, 2.5]]", ["line 27", "two such points"]),
        ("health = 60", "health = -1", ["line 30", "units.ogre", "'health'", "-1"]),
        ("health = 60\n", "", ["line 29", "units.ogre", "'health'", "missing"]),
        ("armour = 2", "armor = 2", ["line 31", "units.ogre", "'armor'", "unknown"]),
        ("hit_delay = 0.25", "hit_delay = 0.9", ["line 34", "do not fit", "1 s"]),
        ("hit_delay = 0.25\n", "", ["'hit_delay'", "missing"]),
        ("period = 1.0", "period = 0.01", ["line 35", "'period'"]),
        ("speed = 1.5", "speed = 99", ["line 37", "'speed'"]),
        ('["armoured"]', '"armoured"', ["line 39", "'attributes'"]),
        ("{ light = 3 }", "{ light = true }", ["line 40", "'bonus'"]),
        ("[[enemies]]", "[[foes]]", ["'foes'", "unknown"]),
        ("[reward]", "[[reward]]", ["reward", "must be a table"]),
    ],
)
def test_mistakes_are_one_sentence(old: str, new: str, mentions: list[str]) -> None:
    with pytest.raises(UserError) as caught:
        parse_scenario(changed(old, new), "ford.toml")
    assert_one_sentence(str(caught.value), "ford.toml")
    for mention in mentions:
        assert mention in str(caught.value)


@pytest.mark.parametrize(
    ("table", "mention"),
    [("allies = 3", "[[allies]]"), ("", "[[allies]]"), ("allies = [1]", "must be a table")],
)
def test_groups_are_needed(table: str, mention: str) -> None:
    ground = VALID.split("[reward]")[0]
    with pytest.raises(UserError) as caught:
        parse_scenario(f"{table}\n{ground}", "ford.toml")
    assert_one_sentence(str(caught.value), "ford.toml")
    assert mention in str(caught.value)


def test_units_written_inline_are_asked_for_as_tables() -> None:
    text = "units = {}\n" + VALID.split("[units.ogre]")[0].replace("ogre", "zealot")
    with pytest.raises(UserError, match=r"\[units.name\]"):
        parse_scenario(text, "ford.toml")


def test_a_broken_unit_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "ogre.toml").write_text("health = 3\narmour = 'x'\ndamage = 1\n")
    path = tmp_path / "ford.toml"
    path.write_text(VALID.split("[units.ogre]")[0])
    with pytest.raises(UserError) as caught:
        get_task(str(path))
    assert_one_sentence(str(caught.value), str(tmp_path / "ogre.toml"))
    assert "line 2" in str(caught.value) and "'armour'" in str(caught.value)


def test_missing_ground_or_file(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="draw the ground"):
        parse_scenario("horizon = 3\n[[allies]]\nunit = 'marine'", "ford.toml")
    with pytest.raises(UserError, match="cannot be read"):
        read_scenario(tmp_path / "nowhere.toml")
