"""What agents see and may do, against loops written after SMAC's description."""

import dataclasses
import math

import jax
import numpy as np
import pytest
from skirmish_play import ATTACK, NOTHING, STOP, place, skirmish, start

from mace_marl.envs.skirmish import Skirmish, parse_scenario
from mace_marl.envs.skirmish.state import State, Units

pytestmark = pytest.mark.usefixtures("hasty_compiler")

SIZES = {  # agents, actions, numbers in the authors' order, numbers in stock SMAC's, horizon
    "2m_vs_1z": (2, 7, 20, 16, 150),
    "3m": (3, 9, 34, 30, 60),
    "8m": (8, 14, 84, 80, 120),
    "3s_vs_5z": (3, 11, 52, 48, 250),
}


def stock(world: Skirmish) -> Skirmish:
    return Skirmish(dataclasses.replace(world.scenario, observation="stock"), world.chance)


@pytest.mark.parametrize("name", SIZES)
def test_sizes_are_smacs(name: str) -> None:
    world = skirmish(name)
    assert SIZES[name] == (
        world.num_agents,
        world.num_actions,
        world.observation_size,
        stock(world).observation_size,
        world.horizon,
    )


def plain_available(world: Skirmish, state: State, agent: int) -> list[bool]:
    """By the description: int() cuts decimals off, a cell outside the map cannot be walked on."""
    if state.allies.health[agent] <= 0:
        return [True] + [False] * (world.num_actions - 1)
    x, y = (state.allies.position[agent] + world.ground.middle).tolist()
    ground = world.scenario.ground
    ways = []
    for dx, dy in ((0, 1), (0, -1), (1, 0), (-1, 0)):
        column, row = int(x + dx), int(y + dy)
        inside = 0 <= column < ground.shape[0] and 0 <= row < ground.shape[1]
        ways.append(inside and bool(ground[column, row]))
    attacks = [
        bool(state.enemies.health[enemy] > 0)
        and math.dist(state.allies.position[agent], state.enemies.position[enemy]) <= 6
        for enemy in range(len(world.enemies))
    ]
    return [False, True, *ways, *attacks]


def plain_obs(world: Skirmish, state: State, agent: int, order: str) -> list[float]:
    available = plain_available(world, state, agent)
    if state.allies.health[agent] <= 0:
        return [0.0] * (world.observation_size - (4 if order == "stock" else 0))

    def condition(side: str, one: int) -> list[float]:
        units, kind = getattr(state, side), getattr(world, side).types[one]
        shield = [float(units.shield[one]) / kind.shield] if kind.shield else []
        return [float(units.health[one]) / kind.health, *shield]

    def seen(side: str, one: int, first: float) -> list[float]:
        here, there = state.allies.position[agent], getattr(state, side).position[one]
        distance = math.dist(here, there)
        numbers = [first, distance / 9, *((there - here) / 9).tolist(), *condition(side, one)]
        if getattr(state, side).health[one] > 0 and distance < 9:
            return numbers
        return [0.0] * len(numbers)

    allies = [seen("allies", one, 1.0) for one in range(len(world.allies)) if one != agent]
    enemies = [
        seen("enemies", one, float(available[ATTACK + one])) for one in range(len(world.enemies))
    ]
    moves, own = [[float(way) for way in available[2:6]]], [condition("allies", agent)]
    if order == "stock":
        parts = [*moves, *enemies, *allies, *own]
    else:
        parts = [*allies, *enemies, *moves, [1.0, 0.0, 0.0, 0.0], *own]
    return [number for part in parts for number in part]


def random_state(world: Skirmish, state: State, rng: np.random.Generator) -> State:
    """Units anywhere on the ground, some near each other, some hurt, some dead."""
    cells = np.argwhere(world.scenario.ground)

    def scatter(units: Units) -> Units:
        count = len(units.health)
        spots = cells[rng.integers(len(cells), size=count)] + rng.random((count, 2))
        near = cells[len(cells) // 2] + 8 * (rng.random((count, 2)) - 0.5)
        spots = np.where(rng.random((count, 1)) < 0.5, spots, near).astype(np.float32)
        alive = rng.random(count) < 0.7
        share = rng.random((2, count)).astype(np.float32)
        return units._replace(
            position=spots - world.ground.middle,
            health=units.health * share[0] * alive,
            shield=units.shield * share[1] * alive,
        )

    return state._replace(allies=scatter(state.allies), enemies=scatter(state.enemies))


@pytest.mark.parametrize("name", ["2m_vs_1z", "3m", "3s_vs_5z"])
def test_every_number_and_every_bit(name: str) -> None:
    world, rng = skirmish(name), np.random.default_rng(3)
    made = [random_state(world, start(name), rng) for _ in range(60)]
    together = jax.tree.map(lambda *x: np.stack(x), *made)
    for order, of_order in (("authors", world), ("stock", stock(world))):
        obs, available = jax.jit(jax.vmap(of_order.observer.see))(together)
        for number, state in enumerate(made):
            for agent in range(world.num_agents):
                assert available[number, agent].tolist() == plain_available(world, state, agent)
                wanted = plain_obs(world, state, agent, order)
                np.testing.assert_allclose(obs[number, agent], wanted, atol=1e-6)


jitted_see = jax.jit(lambda world, state: world.observer.see(state), static_argnums=0)


def see(world: Skirmish, state: State) -> tuple[np.ndarray, np.ndarray]:
    obs, available = jitted_see(world, state)
    return np.asarray(obs), np.asarray(available)


def test_an_example_by_hand() -> None:
    """Marine 0 at (13, 12) with 30 health, marine 1 4 east of it, the zealot 3 north of marine 0
    with half its shield."""
    world, state = skirmish("2m_vs_1z"), start("2m_vs_1z")
    state = state._replace(
        allies=place(
            world, state.allies, [(13, 12), (17, 12)], health=np.array([30, 45], np.float32)
        ),
        enemies=place(world, state.enemies, [(13, 15)], shield=np.array([25], np.float32)),
    )
    obs, available = see(world, state)
    marine_1, zealot = [1, 4 / 9, 4 / 9, 0, 1], [1, 3 / 9, 0, 3 / 9, 1, 0.5]
    own = [1, 0, 0, 0, 30 / 45]
    np.testing.assert_allclose(obs[0], [*marine_1, *zealot, 1, 1, 1, 1, *own], atol=1e-6)
    assert available[0].tolist() == [False, True, True, True, True, True, True]
    np.testing.assert_allclose(obs[1, :5], [1, 4 / 9, -4 / 9, 0, 30 / 45], atol=1e-6)
    np.testing.assert_allclose(obs[1, 5:11], [1, 5 / 9, -4 / 9, 3 / 9, 1, 0.5], atol=1e-6)


def test_the_dead_see_and_do_nothing_and_are_not_seen() -> None:
    world, state = skirmish("2m_vs_1z"), start("2m_vs_1z")
    dead = state.allies._replace(health=np.array([0, 45], np.float32))
    obs, available = see(world, state._replace(allies=dead))
    assert not obs[0].any()
    assert available[0].tolist() == [action == NOTHING for action in range(7)]
    assert not obs[1, :5].any()
    assert not available[1, NOTHING] and available[1, STOP]


@pytest.mark.parametrize(
    ("point", "ways"),  # north, south, east, west
    [
        ((16.0, 16.0), (1, 1, 1, 1)),
        ((16.0, 22.99), (1, 1, 1, 1)),  # int(23.99) is 23, the last open row
        ((16.0, 23.0), (0, 1, 1, 1)),
        ((16.0, 9.0), (1, 1, 1, 1)),
        ((16.0, 8.99), (1, 0, 1, 1)),
        ((30.99, 16.0), (1, 1, 1, 1)),
        ((31.0, 16.0), (1, 1, 0, 1)),
        ((1.0, 16.0), (1, 1, 1, 1)),
        ((0.5, 16.0), (1, 1, 1, 1)),  # int(−0.5) is 0: the cell it stands on
        ((0.0, 16.0), (1, 1, 1, 0)),  # int(−1.0) is −1
    ],
)
def test_moves_at_the_edges_of_3m(point: tuple[float, float], ways: tuple[int, ...]) -> None:
    world, state = skirmish("3m"), start("3m")
    allies = place(world, state.allies, [point, (9, 12), (9, 20)])
    _, available = see(world, state._replace(allies=allies))
    assert available[0, 2:6].tolist() == [bool(way) for way in ways]


def test_types_are_shown_where_there_are_several() -> None:
    """And shields only of sides where any has one."""
    text = """
    horizon = 10
    ground = '''
    ........
    ........
    ........
    '''
    [[allies]]
    unit = "marine"
    at = [1, 1.5]
    [[allies]]
    unit = "stalker"
    at = [3, 1.5]
    [[enemies]]
    unit = "marine"
    at = [6, 1.5]
    """
    world = Skirmish(parse_scenario(text, "mixed.toml"), chance=False)
    assert world.observation_size == (4 + 4) + (4 + 1) + 4 + (4 + 4)
    _, step = jax.jit(world.reset)(jax.random.key(0))
    np.testing.assert_allclose(step.obs[0, :8], [1, 2 / 9, 2 / 9, 0, 1, 1, 0, 1], atol=1e-6)
    np.testing.assert_allclose(step.obs[0, -4:], [1, 0, 1, 0], atol=1e-6)  # has no shield
    np.testing.assert_allclose(step.obs[1, -4:], [1, 1, 0, 1], atol=1e-6)
