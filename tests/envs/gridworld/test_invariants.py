"""What must hold in every GridWorld, whatever the map and whatever the agents do."""

from collections.abc import Callable
from functools import cache

import gridworld_oracle as oracle
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gridworld_drawings import MAPS, Drawing, drawings
from gridworld_oracle import Cell, Layout
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from mace_marl.envs.api import Step
from mace_marl.envs.gridworld import GridWorld, parse_map, read_map
from mace_marl.envs.gridworld.rules import State
from mace_marl.errors import UserError

STEPS = 40

Play = Callable[[State, jax.Array], tuple[State, Step]]


def player(world: GridWorld) -> Play:
    """A compiled function from a state and actions  # (time, num_agents) to all that follows."""

    def play(state: State, actions: jax.Array) -> tuple[State, Step]:
        def advance(state: State, joint: jax.Array) -> tuple[State, tuple[State, Step]]:
            state, step = world.step(jax.random.key(0), state, joint)
            return state, (state, step)

        return jax.lax.scan(advance, state, actions)[1]

    return jax.jit(play)


@cache
def shipped(name: str) -> Play:
    return player(GridWorld(read_map(MAPS / f"{name}.toml")))


def joint_actions(agents: int) -> st.SearchStrategy[list[list[int]]]:
    joint = st.lists(st.integers(0, 3), min_size=agents, max_size=agents)
    return st.lists(joint, min_size=STEPS, max_size=STEPS)


def begin(layout: Layout, positions: list[Cell]) -> State:
    """Agents at `positions`, doors closed, so late that the horizon falls into the play."""
    return State(
        position=jnp.asarray(positions, jnp.int32),
        doors=jnp.zeros(layout.num_doors, bool),
        time=jnp.int32(max(0, layout.horizon - STEPS)),
    )


def assert_invariants(layout: Layout, states: State, steps: Step) -> None:
    """Hold everything that was played against the map, until the episode's end."""
    for moment in range(STEPS):
        state, step = jax.tree.map(lambda leaf, at=moment: np.asarray(leaf)[at], (states, steps))
        cells = [(row, column) for row, column in state.position.tolist()]
        for row, column in cells:
            assert 0 <= row < layout.height and 0 <= column < layout.width, "outside the grid"
            assert (row, column) not in layout.walls, "inside a wall"
        doors = [
            any(
                oracle.within_reach(cell, switch.cell)
                for cell in cells
                for switch in layout.switches
                if door in switch.opens
            )
            for door in range(1, layout.num_doors + 1)
        ]
        assert state.doors.tolist() == doors, "doors are not as the switches say"
        seen = [[row / layout.height, column / layout.width, *doors] for row, column in cells]
        np.testing.assert_allclose(step.obs, seen, rtol=2e-7)  # one unit in the last place
        inside = all(cell in layout.target for cell in cells)
        assert bool(step.terminated) == inside
        assert step.reward.tolist() == [layout.reward * inside] * len(cells)
        assert bool(step.truncated) == (state.time == layout.horizon and not inside)
        assert state.time <= layout.horizon, "longer than the horizon"
        if step.terminated or step.truncated:
            return
    raise AssertionError("the episode did not end at the horizon")


@pytest.mark.parametrize("name", list(oracle.LAYOUTS))
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_shipped_maps(name: str, data: st.DataObject):
    """From any cells of the shipped maps, floor or doorway, with any actions."""
    layout = oracle.LAYOUTS[name]
    agents = len(layout.starts)
    ground = st.sampled_from(layout.open_ground())
    positions = data.draw(st.lists(ground, min_size=agents, max_size=agents))
    actions = data.draw(joint_actions(agents))
    assert_invariants(layout, *shipped(name)(begin(layout, positions), jnp.asarray(actions)))


@settings(max_examples=25, deadline=None)
@given(drawing=drawings(max_agents=3), data=st.data())
def test_random_maps(drawing: Drawing, data: st.DataObject):
    """From the starts of small random maps, with any actions."""
    layout = drawing.layout(horizon=STEPS)
    try:
        world = GridWorld(parse_map(drawing.toml(horizon=STEPS), "random.toml"))
    except UserError:
        reject()
    actions = data.draw(joint_actions(len(layout.starts)))
    state, _ = world.reset(jax.random.key(0))
    assert state.position.tolist() == [list(start) for start in layout.starts]
    assert_invariants(layout, *player(world)(state, jnp.asarray(actions)))
