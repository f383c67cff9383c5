"""The rules and features of Overcooked, step for step against overcooked-ai and plain Python."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, reject, settings
from overcooked_games import (
    EPISODES,
    LAYOUTS,
    SHORT,
    Play,
    assert_same,
    deliver,
    plans,
    player,
    wander,
)
from overcooked_oracle import EAST, INTERACT, PLANS, SOUTH, STAY, WEST, Game, Plan

from mace_marl.envs.overcooked import Overcooked, parse_kitchen, read_kitchen
from mace_marl.errors import UserError


@cache
def shipped(name: str) -> tuple[Overcooked, Play]:
    world = Overcooked(read_kitchen(LAYOUTS / f"{name}.toml"))
    return world, player(world)


@pytest.mark.parametrize("name", PLANS)
def test_random_episodes(name: str) -> None:
    """Three thousand steps of every shipped kitchen, beyond what ends an episode."""
    plan = PLANS[name]
    games = [wander(plan, plan.horizon, seed) for seed in range(EPISODES)]
    assert_same(plan, *shipped(name), games)
    everything = [moment for game in games for moment in game.moments]
    held = {item[0] for moment in everything for item in moment.held}
    lying = {item[0] for moment in everything for _, item in moment.counters}
    assert {"tomato", "dish"} <= held & lying, "nothing happened"


@pytest.mark.parametrize("name", PLANS)
def test_deliveries(name: str) -> None:
    """A soup of one tomato is rewarded and ends the episode; others are gone for nothing."""
    games = [deliver(PLANS[name], tomatoes) for tomatoes in (1, 2, 3)]
    for tomatoes, game in enumerate(games, start=1):
        assert game.rewards[:-1] == [0.0] * (len(game.rewards) - 1)
        assert game.rewards[-1] == (100.0 if tomatoes == 1 else 0.0)
        assert game.moments[-1].held == (("nothing",), ("nothing",))
    assert_same(PLANS[name], *shipped(name), games)


@settings(max_examples=8)
@given(plan=plans())
def test_random_kitchens(plan: Plan) -> None:
    """Cooks meet, swap, compete for counters and pots, with any recipe, cooking time and sight."""
    try:
        world = Overcooked(parse_kitchen(plan.toml(), "random.toml"))
    except UserError:
        reject()
    games = [wander(plan, SHORT, seed) for seed in range(EPISODES)]
    assert_same(plan, world, player(world, quick=True), games)


ALL = ((0, 4), (0, 3))
APART = Plan(("XTXDX", "X1X2X", "XSXPX"), sight=(ALL, ALL), cooking_time=1)
BETWEEN = Plan(("XTXDX", "X1P2X", "XSXSX"), sight=(ALL, ALL), cooking_time=1)
FILLED = [(INTERACT, INTERACT), (EAST, WEST), (INTERACT, STAY)]  # a tomato in the pot, a dish ready


@cache
def small(plan: Plan) -> tuple[Overcooked, Play]:
    world = Overcooked(parse_kitchen(plan.toml(), "small.toml"))
    return world, player(world, quick=True)


def play(plan: Plan, *actions: tuple[int, int]) -> Game:
    """These actions, in both worlds."""
    game = Game(plan)
    for joint in actions:
        game.step(joint)
    assert_same(plan, *small(plan), [game])
    return game


def test_cooks_who_want_the_same_cell_stay() -> None:
    game = play(replace(APART, rows=("XTXXX", "X1 2X", "XSPDX")), (EAST, WEST))
    assert game.moments[-1].positions == ((1, 1), (3, 1))
    assert game.moments[-1].facing == (EAST, WEST)


def test_cooks_who_would_swap_stay_and_who_follow_move() -> None:
    plan = replace(APART, rows=("XTXXX", "X12 X", "XSPDX"))
    assert play(plan, (EAST, WEST)).moments[-1].positions == ((1, 1), (2, 1))
    assert play(plan, (EAST, EAST)).moments[-1].positions == ((2, 1), (3, 1))
    assert play(plan, (EAST, STAY)).moments[-1].positions == ((1, 1), (2, 1))


def test_a_hand_over_within_one_step_works_from_cook_0_to_cook_1() -> None:
    game = play(APART, (INTERACT, STAY), (EAST, WEST), (INTERACT, INTERACT))
    assert game.moments[-1].held == (("nothing",), ("tomato",))


def test_a_hand_over_from_cook_1_to_cook_0_takes_two_steps() -> None:
    plan = replace(APART, rows=("XTXDX", "X2X1X", "XSXPX"))
    game = play(plan, (STAY, INTERACT), (WEST, EAST), (INTERACT, INTERACT), (INTERACT, STAY))
    assert game.moments[-2].held == (("nothing",), ("nothing",))
    assert game.moments[-1].held == (("tomato",), ("nothing",))


def test_the_second_to_want_a_thing_finds_it_gone() -> None:
    game = Game(APART)
    game.use(0, (1, 0))
    game.use(0, (2, 1))
    game = play(APART, *game.actions, (STAY, WEST), (INTERACT, INTERACT))
    assert game.moments[-1].held == (("tomato",), ("nothing",))


@pytest.mark.parametrize("cooking_time", [0, 1, 3])
def test_when_a_soup_is_ready(cooking_time: int) -> None:
    """At once: cook 1 takes within the step what cook 0 begins to cook. Else n steps later."""
    _, play = small(replace(BETWEEN, cooking_time=cooking_time))
    actions = [*FILLED, (INTERACT, INTERACT), *[(STAY, INTERACT)] * 4]
    states, _ = play(np.array([actions]))
    soup_of_one_tomato = 5
    taken = states.held[0, :, 1] == soup_of_one_tomato
    assert np.argmax(taken) == len(FILLED) + 1 + cooking_time


def test_serving_may_go_on() -> None:
    """In a repeated kitchen every right soup is rewarded, and only the horizon is the end."""
    served = [*FILLED, (INTERACT, STAY), (WEST, INTERACT), (STAY, SOUTH), (STAY, INTERACT)]
    again = [(0, 0), *served]  # both turn north to their dispensers first
    plan = replace(BETWEEN, repeated=True, horizon=len(served + again))
    game = play(plan, *served, *again)
    assert [time for time, reward in enumerate(game.rewards, 1) if reward] == [
        len(served),
        len(served + again),
    ]
