"""Whole steps: orders, collisions, rewards, ends; symmetry; and what must hold in every battle."""

from functools import cache
from itertools import pairwise
from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from skirmish_play import ATTACK, EAST, NORTH, NOTHING, SOUTH, STOP, WEST, place, skirmish, start

from mace_marl.envs import Step
from mace_marl.envs.skirmish.rules import Skirmish
from mace_marl.envs.skirmish.state import State, Units

pytestmark = pytest.mark.usefixtures("hasty_compiler")


@cache
def stepper(name: str, chance: bool = False) -> Any:
    return jax.jit(skirmish(name, chance).step)


def step(name: str, state: State, actions: list[int], key: int = 0) -> tuple[State, Step]:
    """One step without chance, as NumPy arrays."""
    after = stepper(name)(jax.random.key(key), state, np.array(actions))
    return jax.tree.map(np.asarray, after)


def apart(name: str) -> State:
    """A state in which nobody sees anybody, and the enemies stay where they are."""
    world, state = skirmish(name, chance=False), start(name)
    allies = place(world, state.allies, [(8.0, 12.0 + 3 * i) for i in range(world.num_agents)])
    enemies = place(
        world, state.enemies, [(24.0, 11.0 + 2.5 * i) for i in range(len(world.enemies))]
    )
    return state._replace(allies=allies, enemies=enemies, goal=enemies.position)


class TestOrders:
    @pytest.mark.parametrize(
        ("action", "way"),
        [(STOP, (0, 0)), (NORTH, (0, 1)), (SOUTH, (0, -1)), (EAST, (1, 0)), (WEST, (-1, 0))],
    )
    def test_moves(self, action: int, way: tuple[int, int]) -> None:
        """8 loops of 2.25 / 16 cells."""
        before = apart("3m")
        after, _ = step("3m", before, [action, STOP, STOP])
        moved = after.allies.position - before.allies.position
        expected = np.outer([1.125, 0, 0], way)
        np.testing.assert_allclose(moved, expected, atol=1e-5)

    def test_nobody_fires_without_orders(self) -> None:
        world, state = skirmish("3m", chance=False), apart("3m")
        enemies = place(world, state.enemies, [(11.0, 12.0), (24.0, 13.0), (24.0, 16.0)])
        after, _ = step("3m", state._replace(enemies=enemies), [STOP, STOP, STOP])
        assert (after.enemies.health == 45).all()
        assert after.allies.health[0] == 39  # but the enemies fire

    def test_an_order_lasts_one_step_and_takes_the_attacker_near_enough(self) -> None:
        """5.95 apart it must walk 0.2 into a range of 5.75: two loops; then it fires."""
        world, state = skirmish("3m", chance=False), apart("3m")
        enemies = place(world, state.enemies, [(13.95, 12.0), (24.0, 13.0), (24.0, 16.0)])
        state = state._replace(enemies=enemies, goal=enemies.position)
        after, _ = step("3m", state, [ATTACK, STOP, STOP])
        assert after.enemies.health[0] == 39
        walked = after.allies.position[0, 0] - state.allies.position[0, 0]
        assert walked == pytest.approx(2 * 2.25 / 16, abs=1e-5)
        later, _ = step(
            "3m",
            after._replace(allies=after.allies._replace(cooldown=np.zeros(3, np.float32))),
            [STOP, STOP, STOP],
        )
        assert later.enemies.health[0] == 39

    def test_what_is_not_available_is_not_done(self) -> None:
        """An attack out of reach, a move off the ground, anything by the dead."""
        world, before = skirmish("3m", chance=False), apart("3m")
        at_edge = place(world, before.allies, [(8.0, 23.5), (8.0, 15.0), (8.0, 18.0)])
        dead = at_edge._replace(health=np.array([45, 45, 0], np.float32))
        before = before._replace(allies=dead)
        after, _ = step("3m", before, [NORTH, ATTACK, NORTH])
        np.testing.assert_array_equal(after.allies.position, before.allies.position)


class TestCollisions:
    def test_units_that_overlap_part(self) -> None:
        world, state = skirmish("3m", chance=False), apart("3m")
        allies = place(world, state.allies, [(8.0, 12.0), (8.3, 12.0), (8.0, 18.0)])
        after, _ = step("3m", state._replace(allies=allies), [STOP] * 3)
        gap = after.allies.position[1] - after.allies.position[0]
        np.testing.assert_allclose(gap, (0.75, 0), atol=1e-4)
        middle = (after.allies.position[0] + after.allies.position[1]) / 2
        np.testing.assert_allclose(middle + world.ground.middle, (8.15, 12), atol=1e-4)

    def test_even_on_the_same_spot(self) -> None:
        world, state = skirmish("3m", chance=False), apart("3m")
        allies = place(world, state.allies, [(8.0, 12.0), (8.0, 12.0), (8.0, 18.0)])
        after, _ = step("3m", state._replace(allies=allies), [STOP] * 3)
        assert np.linalg.norm(after.allies.position[0] - after.allies.position[1]) > 0.74

    def test_the_dead_are_in_nobodys_way(self) -> None:
        world, state = skirmish("3m", chance=False), apart("3m")
        allies = place(
            world,
            state.allies,
            [(8.0, 12.0), (8.5, 12.0), (8.0, 18.0)],
            health=np.array([45, 0, 45], np.float32),
        )
        after, _ = step("3m", state._replace(allies=allies), [EAST, NOTHING, STOP])
        moved = after.allies.position - allies.position
        np.testing.assert_allclose(moved, [(1.125, 0), (0, 0), (0, 0)], atol=1e-5)

    def test_edges_are_slid_along(self) -> None:
        """A way to the north-west that the northern edge cuts off still leads west."""
        world, state = skirmish("3m", chance=False), apart("3m")
        enemies = place(world, state.enemies, [(24.0, 23.95), (24.0, 13.5), (24.0, 16.0)])
        goal = np.array(enemies.position)
        goal[0] += (-3, 3)
        after, _ = step("3m", state._replace(enemies=enemies, goal=goal), [STOP] * 3)
        moved = after.enemies.position[0] - enemies.position[0]
        assert moved[0] < -0.7 and 0 <= moved[1] < 0.05


class TestEnd:
    def state(self, name: str, allies: list[float], enemies: list[float]) -> State:
        """All at rest and ready to fire, ally 0 and enemy 0 within reach of each other."""
        state = apart(name)
        position = np.array(state.enemies.position)
        position[0] = np.asarray(state.allies.position[0]) + np.array([0.9, 0])
        return state._replace(
            allies=state.allies._replace(health=np.array(allies, np.float32)),
            enemies=state.enemies._replace(
                position=position,
                health=np.array(enemies, np.float32),
                shield=np.zeros(len(enemies), np.float32),
                cooldown=np.full(len(enemies), 9, np.float32),
            ),
        )

    @pytest.mark.parametrize(
        ("name", "allies", "enemies", "reward", "won"),
        [
            ("2m_vs_1z", [45, 45], [5], 200, True),
            ("2m_vs_1z", [45, 0], [5], 200, True),
            ("3m", [45, 45, 45], [6, 0, 0], 210, True),
            ("3m", [45, 45, 45], [6, 45, 0], 10, False),
        ],
    )
    def test_sparse(
        self, name: str, allies: list[float], enemies: list[float], reward: float, won: bool
    ) -> None:
        actions = [ATTACK] + [STOP if health else NOTHING for health in allies[1:]]
        _, now = step(name, self.state(name, allies, enemies), actions)
        assert now.reward.tolist() == [reward] * len(allies)
        assert bool(now.terminated) == won and not now.truncated
        assert bool(skirmish(name).success(now)) == won

    def test_dense(self) -> None:
        """9 damage on the last 9 of health, a kill and the win, of 5 · 150 + 5 · 10 + 200 = 20."""
        state = self.state("3s_vs_5z", [80] * 3, [9, 0, 0, 0, 0])
        _, now = step("3s_vs_5z", state, [ATTACK, STOP, STOP])
        np.testing.assert_allclose(now.reward, (9 + 10 + 200) * 20 / 1000, rtol=1e-6)
        state = self.state("3s_vs_5z", [80] * 3, [50, 0, 20, 0, 0])
        _, now = step("3s_vs_5z", state, [ATTACK, STOP, STOP])
        np.testing.assert_allclose(now.reward, 9 * 20 / 1000, rtol=1e-6)
        assert not now.terminated

    def test_a_defeat_with_a_kill_is_no_success(self) -> None:
        state = self.state("3m", [1, 0, 0], [6, 45, 0])
        ready = state.enemies._replace(
            cooldown=np.zeros(3, np.float32), target=np.eye(3, dtype=bool)
        )
        position = np.array(ready.position)
        position[1] = position[0] + (0.8, 0)
        state = state._replace(
            enemies=ready._replace(position=position, target=np.eye(3, dtype=bool)[[0, 0, 0]])
        )
        _, now = step("3m", state, [ATTACK, NOTHING, NOTHING])
        assert now.reward.tolist() == [10.0] * 3
        assert now.terminated and not skirmish("3m").success(now)

    def test_when_all_die_at_once_nobody_has_won(self) -> None:
        state = self.state("3m", [1, 0, 0], [6, 0, 0])
        state = state._replace(
            enemies=state.enemies._replace(
                cooldown=np.zeros(3, np.float32), target=np.eye(3, dtype=bool)[[0, 0, 0]]
            )
        )
        _, now = step("3m", state, [ATTACK, NOTHING, NOTHING])
        assert now.reward.tolist() == [10.0] * 3
        assert now.terminated and not now.alive.any() and not skirmish("3m").success(now)

    def test_the_limit_truncates(self) -> None:
        late = apart("3m")._replace(time=np.int32(59))
        _, now = step("3m", late, [STOP] * 3)
        assert now.truncated and not now.terminated
        assert not skirmish("3m").success(now)


SWAPPED = {0: {EAST: WEST, WEST: EAST}, 1: {NORTH: SOUTH, SOUTH: NORTH}}


@pytest.mark.parametrize("axis", [0, 1])
def test_a_mirrored_battle_mirrors_its_trajectory(axis: int) -> None:
    """Without chance; the same units, everything on the other side of the middle."""

    def mirrored(units: Units) -> Units:
        position = units.position.copy()
        position[:, axis] *= -1
        return units._replace(position=position)

    state = start("3m")
    goal = state.goal.copy()
    goal[:, axis] *= -1
    other = State(mirrored(state.allies), mirrored(state.enemies), goal, state.time)
    rng = np.random.default_rng(1)
    fought = False
    for _ in range(40):
        actions = [
            ATTACK + int(rng.integers(3)) if rng.random() < 0.6 else int(rng.integers(STOP, 6))
            for _ in range(3)
        ]
        state, now = step("3m", state, actions)
        other, then = step("3m", other, [SWAPPED[axis].get(action, action) for action in actions])
        for one, two in ((state.allies, other.allies), (state.enemies, other.enemies)):
            expected = mirrored(one)
            np.testing.assert_allclose(two.position, expected.position, atol=1e-4)
            np.testing.assert_array_equal(two.health, expected.health)
            np.testing.assert_array_equal(two.target, expected.target)
        assert now.reward.tolist() == then.reward.tolist()
        fought |= bool((state.allies.health < 45).any() and (state.enemies.health < 45).any())
        if now.terminated:
            break
    assert fought


LENGTH = 40


@cache
def player(name: str) -> Any:
    """All states of a battle with these actions  # (LENGTH, agents)."""
    world: Skirmish = skirmish(name)

    @jax.jit
    def run(key: jax.Array, actions: jax.Array) -> tuple[State, Step]:
        first = world.reset(key)

        def advance(carry: tuple, action: jax.Array) -> tuple:
            state, _ = carry
            after = world.step(jax.random.fold_in(key, state.time), state, action)
            return after, after

        _, later = jax.lax.scan(advance, first, actions)
        return jax.tree.map(lambda a, b: jax.numpy.concatenate([a[None], b]), first, later)

    return run


@pytest.mark.parametrize("name", ["2m_vs_1z", "3m", "3s_vs_5z"])
@settings(max_examples=12)
@given(data=st.data())
def test_invariants(name: str, data: st.DataObject) -> None:
    """Nobody leaves the ground, health never rises, shields never beyond what they were, and the
    dead neither move nor strike nor come back."""
    world = skirmish(name)
    # Attacks are frequent, and everything may be tried, available or not.
    action = st.sampled_from([*range(world.num_actions), *[ATTACK] * 4, *[EAST] * 4])
    team = st.tuples(*[action] * world.num_agents)
    actions = np.array(data.draw(st.lists(team, min_size=LENGTH, max_size=LENGTH)))
    states, steps = player(name)(jax.random.key(data.draw(st.integers(0, 99))), actions)
    states, steps = jax.tree.map(np.asarray, (states, steps))
    moments = [jax.tree.map(lambda x, t=t: x[t], states) for t in range(LENGTH + 1)]
    for before, after in pairwise(moments):
        for side in ("allies", "enemies"):
            check_side(world, side, getattr(before, side), getattr(after, side))
    assert np.isfinite(steps.obs).all()
    assert (np.abs(steps.obs) <= 1 + 1e-5).all()
    lost = (steps.obs == 0).all(axis=2)
    np.testing.assert_array_equal(lost, ~steps.alive)


def check_side(world: Skirmish, side: str, before: Units, after: Units) -> None:
    cells = np.floor(after.position + world.ground.middle).astype(int)
    assert (cells >= 0).all() and (cells < world.scenario.ground.shape).all()
    assert world.scenario.ground[cells[:, 0], cells[:, 1]].all()
    assert (after.health <= before.health).all() and (after.health >= 0).all()
    assert (after.shield >= 0).all() and (after.shield <= getattr(world, side).shield).all()
    dead = before.health <= 0
    assert (after.health[dead] == 0).all()
    np.testing.assert_array_equal(after.position[dead], before.position[dead])
    np.testing.assert_array_equal(after.shield[dead], before.shield[dead])
    assert (after.cooldown[dead] <= before.cooldown[dead]).all()
    assert (after.target.sum(axis=1) <= 1).all()
