"""What must hold in every kitchen, whatever the cooks do; and how hard Mini is."""

from functools import cache
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from overcooked_games import LAYOUTS, SHORT, Play, as_item, counters, deliver, player
from overcooked_oracle import INTERACT, MOVES, Plan

from mace_marl.agent.encoding import Encoding, encode_for_networks
from mace_marl.envs.overcooked import Overcooked, parse_kitchen, read_kitchen
from mace_marl.envs.overcooked.state import State

SHARED = """
horizon = 60
onions = 1
tomatoes = 1
cooking_time = 2
kitchen = '''
XOXTX
P1 2P
X X X
D   S
XXXXX
'''
"""


@cache
def kitchen(name: str) -> tuple[Overcooked, Play]:
    drawn = parse_kitchen(SHARED, name) if name == "shared" else read_kitchen(LAYOUTS / name)
    world = Overcooked(drawn)
    return world, player(world)


def stock(world: Overcooked, state: State) -> np.ndarray:
    """Onions, tomatoes and dishes anywhere but in dispensers, in pots and soups included."""
    total = np.array([0, 0, 0])
    things = [as_item(code) for code in state.held] + [what for _, what in counters(world, state)]
    for name, *contents in things:
        total += [name == "onion", name == "tomato", name in ("dish", "soup")]
        total[:2] += contents or [0, 0]
    for contents in state.contents:
        total[:2] += divmod(int(contents), 4)
    return total


def traded(world: Overcooked, state: State, actions: np.ndarray) -> np.ndarray:
    """What the cooks are about to take from dispensers, minus what they serve."""
    change = np.array([0, 0, 0])
    for agent in np.flatnonzero(actions == INTERACT):
        right, down = MOVES[state.facing[agent]]
        row, column = state.position[agent]
        faced = str(world.kitchen.cells[row + down, column + right])
        held = as_item(state.held[agent])
        if held[0] == "nothing" and faced in "OTD":
            change["OTD".index(faced)] += 1
        elif held[0] == "soup" and faced == "S":
            change -= [*held[1:], 1]
    return change


@pytest.mark.parametrize("name", ["shared", "mini.toml"])
@settings(max_examples=30)
@given(data=st.data())
def test_nothing_is_lost_and_nobody_walks_through_walls(name: str, data: st.DataObject) -> None:
    world, play = kitchen(name)
    action = st.sampled_from([0, 1, 2, 3, INTERACT, INTERACT, INTERACT])
    drawn = data.draw(st.lists(st.tuples(action, action), min_size=SHORT, max_size=SHORT))
    actions = np.array(drawn)
    states, steps = play(actions[None])
    moments = [State(*(leaf[0, time] for leaf in states)) for time in range(SHORT + 1)]
    for time, (before, after) in enumerate(pairwise(moments)):
        assert all(world.kitchen.floor[tuple(place)] for place in after.position)
        assert tuple(after.position[0]) != tuple(after.position[1])
        assert np.abs(after.position - before.position).sum(axis=1).max() <= 1
        change = stock(world, after) - stock(world, before)
        assert change.tolist() == traded(world, before, actions[time]).tolist()
        for onions, tomatoes in (divmod(int(contents), 4) for contents in after.contents):
            assert onions + tomatoes <= 3
    assert np.abs(steps.obs).max() <= 3 and np.isfinite(steps.obs).all()


@pytest.mark.parametrize("name", ["base.toml", "narrow.toml", "large.toml", "mini.toml"])
def test_no_two_distances_look_alike_one_hot(name: str) -> None:
    """Whatever units a cook's sight gives them."""
    world, play = kitchen(name)
    actions = np.random.default_rng(0).integers(0, world.num_actions, (8, world.horizon, 2))
    _, steps = play(actions)
    declared = encode_for_networks(world, one_hot=True).features
    distances = [column for column, feature in enumerate(declared) if feature and feature.least]
    assert distances == [*range(12, 18), 22, 23]
    for agent in range(2):
        for column in distances:
            values = np.unique(steps.obs[:, :, agent, column])
            shown = np.asarray(Encoding((declared[column],))(jnp.asarray(values[:, None])))
            assert len(np.unique(shown, axis=0)) == len(values)
            assert (shown.sum(axis=1) == 1).all()
        tomato = steps.obs[:, :, agent, 12]
        assert len(np.unique(tomato)) >= 3, "nobody went anywhere"


class TestMini:
    def test_it_can_be_solved_well_within_the_horizon(self) -> None:
        world, play = kitchen("mini.toml")
        rows = ["".join(row) for row in world.kitchen.cells]
        (top, left), (other_top, other_left) = world.kitchen.starts
        rows[top] = rows[top][:left] + "1" + rows[top][left + 1 :]
        rows[other_top] = rows[other_top][:other_left] + "2" + rows[other_top][other_left + 1 :]
        game = deliver(Plan(tuple(rows), sight=(((0, 7), (0, 5)),) * 2))
        assert 20 <= len(game.actions) <= world.horizon // 2
        _, steps = play(np.array([game.actions]))
        assert np.argmax(steps.terminated[0]) == len(game.actions)
        assert steps.reward[0, -1].tolist() == [100.0, 100.0]

    def test_chance_does_not_solve_it(self) -> None:
        """Not once in as many episodes as Mini's budget has."""
        world, _ = kitchen("mini.toml")
        episodes = 14_400

        @jax.jit
        def rewarded(key: jax.Array) -> jax.Array:
            step = jax.vmap(world.step, in_axes=(None, 0, 0))

            def advance(state: State, key: jax.Array) -> tuple[State, jax.Array]:
                actions = jax.random.randint(key, (episodes, 2), 0, world.num_actions)
                state, now = step(key, state, actions)
                return state, now.reward.sum()

            keys = jax.random.split(key, world.horizon)
            first, _ = jax.vmap(world.reset)(jax.random.split(key, episodes))
            return jax.lax.scan(advance, first, keys)[1].sum()

        assert rewarded(jax.random.key(0)) == 0
