"""Games to compare: cooks who wander with a purpose, whole deliveries, random small kitchens."""

import random
from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import strategies as st
from overcooked_oracle import INTERACT, STAY, Cell, Game, Item, Plan, Pot

from mace_marl.envs.api import Step
from mace_marl.envs.overcooked import Overcooked
from mace_marl.envs.overcooked.state import State

LAYOUTS = Path(str(files("mace_marl.envs.overcooked") / "layouts"))
EPISODES, SHORT = 10, 60  # episodes played at a time, and steps of a short one
NAMES = ("nothing", "onion", "tomato", "dish")

Play = Callable[[np.ndarray], tuple[State, Step]]


def player(world: Overcooked, quick: bool = False) -> Play:
    """A compiled function from actions  # (episodes, time, 2) to all states and steps.

    `quick` compiles in half the time, for kitchens that are played in only once.
    """

    def episode(actions: jax.Array) -> tuple[State, Step]:
        def advance(state: State, joint: jax.Array) -> tuple[State, tuple[State, Step]]:
            state, step = world.step(jax.random.key(0), state, joint)
            return state, (state, step)

        first = world.reset(jax.random.key(0))
        later = jax.lax.scan(advance, first[0], actions)[1]
        return jax.tree.map(lambda x, xs: jnp.concatenate([x[None], xs]), first, later)

    options = {"xla_backend_optimization_level": 0} if quick else None
    program = jax.jit(jax.vmap(episode), compiler_options=options)
    return lambda actions: jax.tree.map(np.asarray, program(jnp.asarray(actions)))


def wander(plan: Plan, steps: int, seed: int) -> Game:
    """Cooks who walk to things and use them, often the ones that matter, and dither at times."""
    rng = random.Random(seed)
    game = Game(plan)
    reach = [list(game.reach(agent)) for agent in (0, 1)]
    shared = set(reach[0]) & set(reach[1])
    goals: list[Cell] = [rng.choice(cells) for cells in reach]
    for _ in range(steps):
        actions = []
        for agent in (0, 1):
            way = game.way(agent, goals[agent])
            actions.append(way[0] if way else INTERACT)
            if not way and rng.random() < 0.8:
                matter = [c for c in reach[agent] if plan.at(c) != "X" or c in shared]
                goals[agent] = rng.choice(matter if matter and rng.random() < 0.8 else reach[agent])
            if rng.random() < 0.15:
                actions[agent] = rng.randrange(6)
        game.step(actions)
    return game


def deliver(plan: Plan, tomatoes: int = 1) -> Game:
    """The shortest way to say it: cook 0 brings tomatoes and serves, cook 1 cooks."""
    game = Game(plan)
    (tomato,), (dish,), (pot,), (serving,) = (plan.cells(kind) for kind in "TDPS")
    counter = next(c for c in game.reach(0) if c in set(game.reach(1)))
    for _ in range(tomatoes):
        game.use(0, tomato)
        game.use(0, counter)
        game.use(1, counter)
        game.use(1, pot)
    game.use(1, pot)  # cook
    game.use(1, dish)
    game.use(1, pot)
    game.use(1, counter)
    game.use(0, counter)
    game.use(0, serving)
    return game


def assert_same(plan: Plan, world: Overcooked, play: Play, games: Sequence[Game]) -> None:
    """Play the games' actions, and hold every state, reward and observation against the games'."""
    # Few different shapes, for each is compiled anew.
    most = EPISODES if len(games) > 1 else 1
    longest = plan.horizon if any(len(game.actions) > SHORT for game in games) else SHORT
    actions = np.full((most, longest, 2), STAY)
    for episode, game in enumerate(games):
        actions[episode, : len(game.actions)] = game.actions
    states, steps = play(actions)
    for episode, game in enumerate(games):
        for time, moment in enumerate(game.moments):
            at = (episode, time)
            where = (*at, moment)
            state = State(*(leaf[at] for leaf in states))
            rows_and_columns = [[y, x] for x, y in moment.positions]
            assert state.position.tolist() == rows_and_columns, where
            assert state.facing.tolist() == list(moment.facing), where
            assert [as_item(code) for code in state.held] == list(moment.held), where
            assert counters(world, state) == moment.counters, where
            assert pots(world, state) == moment.pots, where
            assert state.time == time, where
            seen = np.array(moment.seen, np.float32)
            assert np.array_equal(steps.obs[at], seen), (*where, steps.obs[at] - seen)
            reward = game.rewards[time - 1] if time else 0.0
            assert steps.reward[at].tolist() == [reward, reward], where
            ended = reward > 0 and not plan.repeated
            assert bool(steps.terminated[at]) == ended, where
            assert bool(steps.truncated[at]) == (time >= plan.horizon and not ended), where
            assert steps.available[at].all() and steps.alive[at].all(), where


def as_item(code: Any) -> Item:
    return (NAMES[code],) if code < 4 else ("soup", *divmod(int(code) - 4, 4))


def counters(world: Overcooked, state: State) -> tuple[tuple[Cell, Item], ...]:
    """What lies on counters, in the order it was put there."""
    found = []
    for place, code, order in zip(world.kitchen.stations, state.items, state.order, strict=True):
        dispenser = world.kitchen.cells[place] != "X"
        assert (order > 0) == (code > 0 and not dispenser)
        if order > 0:
            found.append((order, (place[1], place[0]), as_item(code)))
    assert sorted(order for order, *_ in found) == list(range(1, len(found) + 1))
    return tuple((cell, what) for _, cell, what in sorted(found))


def pots(world: Overcooked, state: State) -> dict[Cell, Pot]:
    found = {}
    for (row, column), contents, cooked in zip(
        world.kitchen.places("P"), state.contents, state.cooked, strict=True
    ):
        begun = bool(cooked >= 0)
        to_go = world.kitchen.cooking_time - int(cooked) if begun else 0
        found[column, row] = (*map(int, divmod(contents, 4)), begun, to_go)
    return found


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """Random kitchens of up to 7×6 cells in which both cooks usually share the floor."""
    width, height = draw(st.integers(4, 7)), draw(st.integers(4, 6))
    inside = [(x, y) for y in range(1, height - 1) for x in range(1, width - 1)]
    cells = {(x, y): "X" for y in range(height) for x in range(width)}
    cells |= {cell: draw(st.sampled_from("      X")) for cell in inside}
    starts = draw(st.lists(st.sampled_from(inside), min_size=2, max_size=2, unique=True))
    sides = [(x, y) for x in range(1, width - 1) for y in (0, height - 1)]
    sides += [(x, y) for y in range(1, height - 1) for x in (0, width - 1)]
    onions = draw(st.booleans())
    wanted = "TDPS" + "O" * onions
    more = draw(st.text("TDPSO", max_size=max(0, min(4, len(sides) - len(wanted)))))
    for cell, kind in zip(draw(st.permutations(sides)), wanted + more, strict=False):
        cells[cell] = kind
    cells |= {starts[0]: "1", starts[1]: "2"}
    rows = ("".join(cells[x, y] for x in range(width)) for y in range(height))

    def span(limit: int) -> Cell:
        first = draw(st.integers(0, limit // 2))
        return first, draw(st.integers(first + 1, limit))

    return Plan(
        rows=tuple(rows),
        sight=tuple((span(width), span(height)) for _ in range(2)),
        tomatoes=draw(st.integers(1, 2)),
        onions=int(onions),
        cooking_time=draw(st.integers(1, 3)),
        horizon=draw(st.integers(30, 60)),
        repeated=draw(st.booleans()),
    )
