"""Doors and switches, situation by situation; and agents who meet."""

from collections.abc import Sequence
from functools import cache

import gridworld_oracle as oracle
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gridworld_drawings import Drawing
from gridworld_oracle import DOWN, LEFT, RIGHT, UP, Cell, Layout
from gridworld_play import (
    NAMES,
    as_states,
    compiled_step,
    first,
    one_step,
    shipped,
)

from mace_marl.envs.gridworld import GridWorld, parse_map


@cache
def gate() -> tuple[Layout, GridWorld]:
    """Two rooms with some target each, a door of one cell between, and a switch far on the left."""
    drawing = Drawing(("a...1....", "...*#...*"), {"a": (1,)}, ((0, 0), (0, 6)))
    return drawing.layout(), GridWorld(parse_map(drawing.toml(), "gate.toml"))


class TestDoors:
    DOORWAY, LEFT_OF_IT, RIGHT_OF_IT, FAR = (0, 4), (0, 3), (0, 5), (1, 8)

    def play(
        self, positions: Sequence[Cell], actions: Sequence[int], *, door_open: bool
    ) -> tuple[list[Cell], list[bool]]:
        layout, world = gate()
        game = first(layout, positions=positions, doors=int(door_open))
        return one_step(world, game, actions)[:2]

    def test_closed_door_stops_and_open_door_does_not(self):
        for door_open, reached in ((False, self.LEFT_OF_IT), (True, self.DOORWAY)):
            positions, _ = self.play([self.LEFT_OF_IT, self.FAR], [RIGHT, UP], door_open=door_open)
            assert positions[0] == reached

    def test_door_opened_in_this_step_stops_until_the_next(self):
        """An agent reaches the switch while the other moves at the door: too early."""
        positions, doors = self.play([(1, 1), self.LEFT_OF_IT], [LEFT, RIGHT], door_open=False)
        assert positions == [(1, 0), self.LEFT_OF_IT] and doors == [True]
        positions, _ = self.play(positions, [LEFT, RIGHT], door_open=True)
        assert positions == [(1, 0), self.DOORWAY]

    def test_door_closed_in_this_step_still_lets_through(self):
        """An agent leaves the switch while the other moves at the door: just in time."""
        positions, doors = self.play([(0, 1), self.LEFT_OF_IT], [RIGHT, RIGHT], door_open=True)
        assert positions == [(0, 2), self.DOORWAY] and doors == [False]

    @pytest.mark.parametrize(
        ("action", "reached"),
        [(LEFT, LEFT_OF_IT), (RIGHT, RIGHT_OF_IT), (UP, DOORWAY), (DOWN, DOORWAY)],
    )
    def test_who_is_in_a_closed_doorway_stays_or_walks_out(self, action: int, reached: Cell):
        """Closing moves nobody; floor on either side can be entered, walls and border not."""
        positions, doors = self.play([self.FAR, self.DOORWAY], [DOWN, action], door_open=False)
        assert positions == [self.FAR, reached] and doors == [False]

    def test_a_closed_doorway_cannot_be_walked_along(self):
        """From one cell of a wide closed doorway into the next is a move into a closed door."""
        layout, (world, _) = oracle.PASS, shipped("pass")
        for doors, reached in ((0, (15, 15)), (1, (16, 15))):
            game = first(layout, positions=[(15, 15), (3, 3)], doors=doors)
            assert one_step(world, game, [DOWN, UP])[0][0] == reached

    def test_doorway_is_not_in_the_target(self):
        layout, (world, _) = oracle.PASS, shipped("pass")
        game = first(layout, positions=[(15, 16), (15, 15)], doors=1)
        assert not one_step(world, game, [UP, UP])[2].terminated
        assert one_step(world, game, [UP, RIGHT])[2].terminated


class TestAgentsTogether:
    def test_agents_share_cells(self):
        """Two agents may meet on a cell, swap cells, and move on as one."""
        layout, world = gate()
        meet = one_step(world, first(layout, positions=[(1, 1), (1, 3)]), [RIGHT, LEFT])[0]
        assert meet == [(1, 2), (1, 2)]
        assert one_step(world, first(layout, positions=meet), [UP, UP])[0] == [(0, 2), (0, 2)]
        swap = one_step(world, first(layout, positions=[(1, 1), (1, 2)]), [RIGHT, LEFT])[0]
        assert swap == [(1, 2), (1, 1)]

    def test_everybody_sees_all_doors_and_only_itself(self):
        """Moving the other agent away changes nothing in what an agent sees."""
        layout, (world, _) = oracle.MULTIROOM, shipped("multiroom")
        near = first(layout, positions=[(24, 7), (20, 3), (3, 3)])
        far = first(layout, positions=[(24, 7), (2, 29), (28, 29)])
        obs = [np.asarray(one_step(world, game, [LEFT] * 3)[2].obs) for game in (near, far)]
        np.testing.assert_array_equal(obs[0][0], obs[1][0])
        for seen in obs:
            np.testing.assert_array_equal(seen[:, 2:], [[1, 0, 0, 0, 0]] * 3)


def around(cell: Cell) -> list[tuple[Cell, bool]]:
    """The 5×5 cells around a switch, each with whether it is within reach."""
    plus = {(0, 0), (-1, 0), (1, 0), (0, -1), (0, 1)}
    return [
        ((cell[0] + down, cell[1] + right), (down, right) in plus)
        for down in range(-2, 3)
        for right in range(-2, 3)
    ]


@pytest.mark.parametrize("name", NAMES)
def test_reach_of_switches(name: str):
    """A switch is occupied from its cell and the four beside it; from no diagonal, no further."""
    layout, (world, _) = oracle.LAYOUTS[name], shipped(name)
    step = compiled_step(world)
    away = (29, 0)  # in reach of no switch, and moving down there is a bump
    for switch in layout.switches:
        for cell, within in around(switch.cell):
            # Come from above, so that the cell is where the agent is after the move.
            positions = [(cell[0] - 1, cell[1])] + [away] * (len(layout.starts) - 1)
            game = first(layout, positions=positions)
            state = jax.tree.map(lambda leaf: leaf[0], as_states([game]))
            state, _ = step(jax.random.key(0), state, jnp.full(len(positions), DOWN))
            assert tuple(np.asarray(state.position)[0]) == cell
            opened = [door in switch.opens and within for door in range(1, layout.num_doors + 1)]
            assert np.asarray(state.doors).tolist() == opened, (switch, cell)
