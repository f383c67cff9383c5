"""Fighting against hand calculation: damage, armour, shields, cooldown, double hits, ranges."""

from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from skirmish_play import place, skirmish, start

from mace_marl.envs.skirmish import combat
from mace_marl.envs.skirmish.rules import Skirmish
from mace_marl.envs.skirmish.side import Side
from mace_marl.envs.skirmish.state import State, Units

pytestmark = pytest.mark.usefixtures("hasty_compiler")

attack, suffer, regenerate, choose_targets = (
    partial(jax.jit, static_argnums=0)(function)
    for function in (combat.attack, combat.suffer, combat.regenerate, combat.choose_targets)
)
game_loop_of = partial(jax.jit, static_argnums=0)(Skirmish.game_loop)

NOBODY = np.zeros((1, 1), bool)
AIMS = np.ones((1, 1), bool)


@cache
def duel(name: str, ally: int = 0, enemy: int = 0) -> tuple[Skirmish, Units, Units, Side, Side]:
    """One ally and one enemy of a scenario, as if there were no others."""
    world, state = skirmish(name, chance=False), start(name)

    def only(units: Units, one: int) -> Units:
        picked = Units(*(x[one : one + 1] for x in units))
        return picked._replace(target=NOBODY, struck=NOBODY)

    def side(side: Side, one: int, other: int) -> Side:
        arrays = {key: value[one : one + 1] for key, value in vars(side).items() if key != "types"}
        arrays["blow"] = side.blow[one : one + 1, other : other + 1]
        return Side(types=side.types[one : one + 1], **arrays)

    return (
        world,
        only(state.allies, ally),
        only(state.enemies, enemy),
        side(world.allies, ally, enemy),
        side(world.enemies, enemy, ally),
    )


def after_hits(side: Side, units: Units, blow: np.ndarray, hits: int) -> tuple[float, float]:
    """Health and shield after so many hits, one per loop."""
    for _ in range(hits):
        units = suffer(side, units, AIMS, blow)
    return float(units.health[0]), float(units.shield[0])


class TestDamage:
    def test_marine_on_zealot(self) -> None:
        """8 hits of 6 leave 2 of 50 shield; the ninth takes those and 4 − 1 armour of health."""
        _, _, zealot, marines, zealots = duel("2m_vs_1z")
        assert after_hits(zealots, zealot, marines.blow, 8) == (100.0, 2.0)
        assert after_hits(zealots, zealot, marines.blow, 9) == (97.0, 0.0)
        assert after_hits(zealots, zealot, marines.blow, 28) == (2.0, 0.0)
        assert after_hits(zealots, zealot, marines.blow, 29) == (0.0, 0.0)  # none below

    def test_zealot_on_marine(self) -> None:
        """No armour: 45 − 8 · 5 = 5."""
        _, marine, _, marines, zealots = duel("2m_vs_1z")
        assert after_hits(marines, marine, zealots.blow, 5) == (5.0, 0.0)
        assert after_hits(marines, marine, zealots.blow, 6) == (0.0, 0.0)

    def test_stalker_on_zealot_has_no_bonus(self) -> None:
        """Zealots are not armoured: 10 a hit; 9 to health, once the shield is gone."""
        _, _, zealot, stalkers, zealots = duel("3s_vs_5z")
        assert after_hits(zealots, zealot, stalkers.blow, 5) == (100.0, 0.0)
        assert after_hits(zealots, zealot, stalkers.blow, 7) == (82.0, 0.0)

    def test_stalker_on_stalker_has_its_bonus(self) -> None:
        stalker, marine = (skirmish(name).allies.types[0] for name in ("3s_vs_5z", "3m"))
        assert stalker.damage_to(stalker) == 14
        assert stalker.damage_to(marine) == 10
        assert marine.damage_to(stalker) == 6

    def test_zealot_on_stalker(self) -> None:
        """10 hits of 8 for the shield, then 8 − 1."""
        _, stalker, _, stalkers, zealots = duel("3s_vs_5z")
        assert after_hits(stalkers, stalker, zealots.blow, 10) == (80.0, 0.0)
        assert after_hits(stalkers, stalker, zealots.blow, 12) == (66.0, 0.0)

    def test_hits_of_one_loop_land_one_after_the_other(self) -> None:
        """Three hits of 10 on 15 of shield: 10, then 5 and 5 − 1, then 10 − 1."""
        world, state = skirmish("3s_vs_5z"), start("3s_vs_5z")
        enemies = state.enemies._replace(shield=np.full(5, 15, np.float32))
        hits = np.zeros((3, 5), bool)
        hits[:, 2] = True
        after = suffer(world.enemies, enemies, hits, world.allies.blow)
        assert after.health.tolist() == [100, 100, 87, 100, 100]
        assert after.shield.tolist() == [15, 15, 0, 15, 15]

    def test_armour_never_stops_a_hit_altogether(self) -> None:
        _, _, zealot, marines, zealots = duel("2m_vs_1z")
        bare = zealot._replace(shield=np.zeros(1, np.float32))
        weak = marines.blow * 0 + 1  # as much as the armour
        assert after_hits(zealots, bare, weak, 2) == (99.0, 0.0)


class TestShields:
    def test_they_grow_after_ten_seconds_without_a_hit(self) -> None:
        """2 a second from the 160th loop on, up to what the type has."""
        _, _, zealot, marines, zealots = duel("2m_vs_1z")
        units = suffer(zealots, zealot, AIMS, marines.blow)
        shields = []
        for _ in range(260):
            units = regenerate(zealots, suffer(zealots, units, NOBODY, marines.blow))
            shields.append(float(units.shield[0]))
        assert shields[:159] == [44.0] * 159
        assert shields[159:] == [min(44 + 0.125 * (n + 1), 50) for n in range(101)]

    def test_the_dead_do_not_heal(self) -> None:
        _, _, zealot, _, zealots = duel("2m_vs_1z")
        dead = zealot._replace(
            health=np.zeros(1, np.float32),
            shield=np.zeros(1, np.float32),
            unhurt=np.array([500], np.int32),
        )
        assert float(regenerate(zealots, dead).shield[0]) == 0


def loops_of_hits(side: Side, units: Units, gap: float, loops: int, jitter: float) -> list[int]:
    """The game loops in which a unit after somebody at this distance hits."""
    found = []
    units = units._replace(target=AIMS)
    for loop in range(loops):
        units, hits = attack(
            side, units, np.ones(1, bool), jnp.full((1, 1), gap), jnp.full(1, jitter)
        )
        found += [loop] if bool(hits.any()) else []
    return found


class TestTiming:
    @pytest.mark.parametrize(("jitter", "period"), [(0.0, 14), (-1.0, 13), (2.0, 16), (1.2, 15)])
    def test_marine(self, jitter: float, period: int) -> None:
        """0.8608 s are 13.77 loops, rounded up to whole ones after chance is added."""
        _, marine, _, marines, _ = duel("2m_vs_1z")
        assert loops_of_hits(marines, marine, 1.0, 50, jitter) == [*range(0, 50, period)]

    def test_zealot_hits_twice(self) -> None:
        """0.28 s are 4.48 loops, 1.2 s are 19.2."""
        _, _, zealot, _, zealots = duel("2m_vs_1z")
        assert loops_of_hits(zealots, zealot, 0.0, 50, 0.0) == [0, 5, 20, 25, 40, 45]

    def test_stalker(self) -> None:
        _, stalker, _, stalkers, _ = duel("3s_vs_5z")
        assert loops_of_hits(stalkers, stalker, 6.0, 50, 0.0) == [0, 24, 48]

    def test_the_second_hit_meets_whom_the_first_met(self) -> None:
        """Also if it has run, or another is the target by now; not if it is dead."""
        world, state = skirmish("2m_vs_1z"), start("2m_vs_1z")
        zealot = state.enemies._replace(target=np.array([[True, False]]))
        both, near = np.ones(2, bool), np.zeros((1, 2), np.float32)
        zealot, first = attack(world.enemies, zealot, both, near, np.zeros(1, np.float32))
        assert first.tolist() == [[True, False]]
        zealot = zealot._replace(target=np.array([[False, True]]))
        for _ in range(4):
            zealot, hits = attack(world.enemies, zealot, both, near + 3, np.zeros(1, np.float32))
            assert not hits.any()
        _, again = attack(world.enemies, zealot, both, near + 3, np.zeros(1, np.float32))
        assert again.tolist() == [[True, False]]
        _, late = attack(world.enemies, zealot, ~first[0], near, np.zeros(1, np.float32))
        assert not late.any()


class TestRange:
    @pytest.mark.parametrize(
        ("name", "apart", "ally_hits", "enemy_hits"),
        [
            ("2m_vs_1z", 5.874, True, False),  # 5 + 0.375 + 0.5
            ("2m_vs_1z", 5.876, False, False),
            ("2m_vs_1z", 0.974, True, True),  # 0.1 + 0.375 + 0.5
            ("2m_vs_1z", 0.976, True, False),
            ("3m", 5.749, True, True),  # 5 + 2 · 0.375
            ("3m", 5.751, False, False),
            ("3s_vs_5z", 7.124, True, False),  # 6 + 0.625 + 0.5
            ("3s_vs_5z", 7.126, False, False),
        ],
    )
    def test_it_is_between_edges(
        self, name: str, apart: float, ally_hits: bool, enemy_hits: bool
    ) -> None:
        """One ally and one enemy are so far apart, all others far away."""
        world, state = skirmish(name, chance=False), start(name)
        allies = [(12.0, 16.0)] + [(1.0 + 2 * i, 9.0) for i in range(len(world.allies) - 1)]
        enemies = [(12.0 + apart, 16.0)] + [
            (23.0 + 2 * i, 23.0) for i in range(len(world.enemies) - 1)
        ]
        state = State(
            place(world, state.allies, allies, target=first_only(state.allies.target)),
            place(world, state.enemies, enemies, target=first_only(state.enemies.target)),
            state.goal,
            state.time,
        )
        after, dealt = game_loop(world, state)
        assert (dealt > 0) == ally_hits
        assert (after.allies.health[0] + after.allies.shield[0] < full(world.allies)) == enemy_hits
        # Whoever cannot reach its target walks to it, whoever can stands.
        step_of_ally = after.allies.position[0] - state.allies.position[0]
        assert step_of_ally[1] == 0
        speed = 0.0 if ally_hits else world.allies.speed[0]
        assert step_of_ally[0] == pytest.approx(speed, abs=1e-5)
        step_of_enemy = after.enemies.position[0, 0] - state.enemies.position[0, 0]
        assert step_of_enemy == pytest.approx(
            0.0 if enemy_hits else -world.enemies.speed[0], abs=1e-5
        )


def first_only(target: Any) -> np.ndarray:
    aims = np.zeros_like(target)
    aims[0, 0] = True
    return aims


def full(side: Side) -> float:
    return float(side.health[0] + side.shield[0])


def game_loop(world: Skirmish, state: State) -> tuple[State, Any]:
    """One game loop without orders."""
    moving = np.zeros(len(world.allies), bool)
    jitter = np.zeros(len(world.allies) + len(world.enemies), np.float32)
    return game_loop_of(world, state, moving, state.allies.position, jitter)


class TestTargets:
    """The rule: to whoever hit it last, unless its target is in reach; else to the nearest."""

    @pytest.mark.parametrize(
        ("target", "gap", "hit_by", "alive", "chosen"),
        [
            ((0, 0), (6.0, 5.1), (0, 0), (1, 1), (0, 0)),  # nobody within 5
            ((0, 0), (4.0, 3.0), (0, 0), (1, 1), (0, 1)),  # the nearest
            ((0, 0), (3.0, 3.0), (0, 0), (1, 1), (1, 0)),  # of two equally near the first
            ((0, 0), (4.0, 3.0), (0, 0), (1, 0), (1, 0)),  # … who lives
            ((1, 0), (4.0, 3.0), (0, 0), (1, 1), (1, 0)),  # stays with its target
            ((1, 0), (9.0, 3.0), (0, 0), (1, 1), (1, 0)),  # … however far
            ((1, 0), (4.0, 3.0), (0, 1), (1, 1), (0, 1)),  # turns on who hit it
            ((1, 0), (4.0, 8.0), (0, 1), (1, 1), (0, 1)),  # … however far
            ((1, 0), (0.1, 3.0), (0, 1), (1, 1), (1, 0)),  # unless at grips
            ((1, 0), (0.2, 3.0), (1, 1), (1, 1), (1, 0)),  # both hit: the nearer
            ((1, 0), (4.0, 3.0), (1, 1), (1, 1), (0, 1)),
            ((1, 0), (0.1, 3.0), (0, 0), (0, 1), (0, 1)),  # its target died
            ((1, 0), (0.1, 7.0), (0, 0), (0, 1), (0, 0)),
            ((1, 0), (4.0, 3.0), (0, 1), (1, 0), (1, 0)),  # who hit it has died since
        ],
    )
    def test_of_a_zealot(
        self,
        target: tuple[int, int],
        gap: tuple[float, float],
        hit_by: tuple[int, int],
        alive: tuple[int, int],
        chosen: tuple[int, int],
    ) -> None:
        world, state = skirmish("2m_vs_1z"), start("2m_vs_1z")
        zealot = state.enemies._replace(target=np.array([target], bool))
        found = choose_targets(
            world.enemies,
            zealot,
            np.array(alive, bool),
            np.array([gap], np.float32),
            np.array([hit_by], bool),
        )
        assert found.tolist() == [[bool(x) for x in chosen]]

    def test_a_marine_in_reach_is_not_left_either(self) -> None:
        """What being at grips is to a zealot is being in reach to whoever shoots."""
        world, state = skirmish("3m"), start("3m")
        enemies = state.enemies._replace(target=np.eye(3, dtype=bool)[[0, 0, 0]])
        gap = np.array([[5.0, 3, 3], [5.1, 3, 3], [5.1, 3, 3]], np.float32)
        hit_by = np.array([[0, 1, 0], [0, 1, 0], [0, 0, 0]], bool)
        found = choose_targets(world.enemies, enemies, np.ones(3, bool), gap, hit_by)
        assert found.argmax(axis=1).tolist() == [0, 1, 0]
        assert found.sum(axis=1).tolist() == [1, 1, 1]
