"""The rules of GridWorld, step for step against a second implementation in plain Python."""

import random

import gridworld_oracle as oracle
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gridworld_oracle import DOWN, LEFT, RIGHT, UP, Cell, Layout
from gridworld_play import (
    NAMES,
    ONE_ULP,
    as_states,
    assert_same,
    first,
    one_step,
    random_actions,
    shipped,
)


class TestAgainstTheOracle:
    @pytest.mark.parametrize("name", NAMES)
    def test_reset(self, name: str):
        """The first step shows the starts and closed doors, gives nothing and ends nothing."""
        layout, (world, _) = oracle.LAYOUTS[name], shipped(name)
        state, step = world.reset(jax.random.key(0))
        game = oracle.reset(layout)
        assert np.asarray(state.position).tolist() == [list(cell) for cell in game.positions]
        assert not np.any(state.doors) and state.time == 0
        np.testing.assert_allclose(step.obs, oracle.observe(layout, game), rtol=ONE_ULP)
        assert not np.any(step.reward) and not step.terminated and not step.truncated

    @pytest.mark.parametrize(
        ("name", "numbers"), [("pass", 3), ("secretroom", 5), ("multiroom", 7)]
    )
    def test_sizes(self, name: str, numbers: int):
        world, _ = shipped(name)
        assert world.observation_size == numbers
        assert world.num_agents == len(oracle.LAYOUTS[name].starts)
        assert (world.num_actions, world.horizon) == (4, 300)

    @pytest.mark.parametrize("name", NAMES)
    def test_whole_episodes(self, name: str):
        """Random episodes from the starts agree at every step up to the horizon."""
        layout, (_, play) = oracle.LAYOUTS[name], shipped(name)
        actions = random_actions(np.random.default_rng(0), 12, layout)
        assert_same(layout, play, [oracle.reset(layout)] * 12, actions)

    @pytest.mark.parametrize("name", NAMES)
    def test_episodes_from_anywhere(self, name: str):
        """So do episodes from any cells (all rooms, doorways, near switches), doors and times."""
        layout, (_, play) = oracle.LAYOUTS[name], shipped(name)
        rng = random.Random(1)
        ground = layout.open_ground()
        near_switches = [
            cell
            for cell in ground
            if any(oracle.within_reach(cell, switch.cell) for switch in layout.switches)
        ]
        kinds = [ground, list(layout.doorways), near_switches, sorted(layout.target)]
        games = [
            first(
                layout,
                positions=[rng.choice(rng.choice(kinds)) for _ in layout.starts],
                time=rng.randrange(layout.horizon),
                doors=rng.randrange(2**layout.num_doors),
            )
            for _ in range(96)
        ]
        actions = random_actions(np.random.default_rng(1), len(games), layout)
        successes = assert_same(layout, play, games, actions)
        assert 0 < successes < len(games)

    @pytest.mark.parametrize("name", NAMES)
    def test_every_cell_and_action(self, name: str):
        """One step from every cell an agent can stand on, with all doors open and all closed."""
        layout, (world, _) = oracle.LAYOUTS[name], shipped(name)
        agents = len(layout.starts)
        moments = [
            (first(layout, positions=[cell] * agents, doors=doors), [action] * agents)
            for cell in layout.open_ground()
            for action in (UP, DOWN, LEFT, RIGHT)
            for doors in (0, 2**layout.num_doors - 1)
        ]
        games, actions = zip(*moments, strict=True)
        step = jax.jit(jax.vmap(world.step, in_axes=(None, 0, 0)))
        states, _ = step(jax.random.key(0), as_states(games), jnp.asarray(actions))
        wanted = [oracle.step(layout, *moment)[0] for moment in moments]
        np.testing.assert_array_equal(states.position, [game.positions for game in wanted])
        np.testing.assert_array_equal(states.doors, [game.doors for game in wanted])


class Script:
    """Plays a layout in the oracle by a plan, and writes down the actions.

    One agent walks at a time, along a shortest path through the doors that are open; the others
    hold their switches, going back and forth between the switch and a cell beside it (there is no
    action for staying), or just go back and forth.
    """

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.game = oracle.reset(layout)
        self.actions: list[list[int]] = []
        self.posts: dict[int, Cell] = {}  # the switch that an agent holds
        self.last: oracle.Outcome | None = None

    def walk(self, agent: int, goal: Cell) -> None:
        """Bring `agent` to `goal`, where it will linger; stop if that ends the episode."""
        self.posts.pop(agent, None)
        while self.game.positions[agent] != goal and not self.ended:
            heading = self.towards(self.game.positions[agent], goal)
            self.advance({agent: heading})
        self.posts[agent] = goal

    @property
    def ended(self) -> bool:
        return self.last is not None and (self.last.terminated or self.last.truncated)

    def advance(self, chosen: dict[int, int]) -> None:
        joint = [
            chosen[agent] if agent in chosen else self.linger(agent)
            for agent in range(len(self.game.positions))
        ]
        self.actions.append(joint)
        self.game, self.last = oracle.step(self.layout, self.game, joint)

    def linger(self, agent: int) -> int:
        """Back to the post if beside it; else to any free cell beside it."""
        here = self.game.positions[agent]
        post = self.posts.get(agent, here)
        free = {
            oracle.move(self.layout, here, self.game.doors, action): action
            for action in (UP, DOWN, LEFT, RIGHT)
        }
        if here != post:
            return free[post]
        return next(action for cell, action in free.items() if cell not in self.layout.doorways)

    def towards(self, start: Cell, goal: Cell) -> int:
        """The first action of a shortest path from `start` to `goal` with the doors as they are."""
        before: dict[Cell, tuple[Cell, int]] = {}
        frontier = [start]
        for cell in frontier:  # grows while we walk along it: breadth first
            for action in (UP, DOWN, LEFT, RIGHT):
                near = oracle.move(self.layout, cell, self.game.doors, action)
                if near != start and near not in before:
                    before[near] = (cell, action)
                    frontier.append(near)
        assert goal in before, f"no way from {start} to {goal} with doors {self.game.doors}"
        while before[goal][0] != start:
            goal = before[goal][0]
        return before[goal][1]


PLANS: dict[str, list[tuple[int, Cell]]] = {
    "pass": [
        (0, (24, 3)),  # holds the door on the left
        (1, (3, 24)),  # goes through, holds it on the right
        (0, (15, 16)),
    ],
    "secretroom": [
        (0, (24, 6)),  # all doors
        (1, (5, 24)),  # door 1 from within
        (0, (5, 16)),
    ],
    "multiroom": [
        (0, (24, 6)),  # door 1
        (1, (5, 24)),  # through door 1; door 3
        (2, (25, 24)),  # through door 3; door 2
        (0, (15, 24)),  # through door 2, into the target; doors 4 and 5
        (1, (11, 22)),  # through door 4
        (2, (19, 22)),  # through door 5
    ],
}


@pytest.mark.parametrize("name", NAMES)
class TestSolved:
    def test_plan_succeeds(self, name: str):
        """A plan of switches and doors ends with +100 for everybody, as a termination."""
        layout, (_, play) = oracle.LAYOUTS[name], shipped(name)
        script = Script(layout)
        for agent, goal in PLANS[name]:
            script.walk(agent, goal)
        assert script.last is not None and script.last.terminated
        length = len(script.actions)
        assert length < layout.horizon
        # Padded, so that the play compiled for whole episodes serves here too.
        padding = [[UP] * len(layout.starts)] * (layout.horizon - length)
        actions = np.array([script.actions + padding])
        assert assert_same(layout, play, [oracle.reset(layout)], actions) == 1
        _, steps = play(as_states([oracle.reset(layout)]), jnp.asarray(actions))
        ends = np.asarray(steps.terminated | steps.truncated)[0]
        assert np.flatnonzero(ends)[0] == length - 1
        np.testing.assert_array_equal(steps.reward[0, length - 1], 100.0)
        assert not np.any(steps.reward[0, : length - 1])
        assert steps.terminated[0, length - 1] and not steps.truncated[0, length - 1]

    def test_one_agent_outside_is_no_success(self, name: str):
        """All agents must be in the target room: a doorway or another room does not count."""
        layout, (world, _) = oracle.LAYOUTS[name], shipped(name)
        inside = sorted(layout.target)[0]
        for outside in (layout.starts[0], next(iter(layout.doorways))):
            positions = [inside] * (len(layout.starts) - 1) + [outside]
            _, _, step = one_step(world, first(layout, positions=positions), [UP] * len(positions))
            assert not step.terminated and not np.any(step.reward)


@pytest.mark.parametrize("name", NAMES)
class TestHorizon:
    def test_success_on_the_last_step_is_a_termination(self, name: str):
        layout, (world, _) = oracle.LAYOUTS[name], shipped(name)
        everyone_inside = [min(layout.target)] * len(layout.starts)
        game = first(layout, positions=everyone_inside, time=layout.horizon - 1)
        _, _, step = one_step(world, game, [UP] * len(layout.starts))
        assert step.terminated and not step.truncated
        np.testing.assert_array_equal(step.reward, 100.0)

    @pytest.mark.parametrize("before", [1, 2])
    def test_no_success_is_a_truncation_at_the_horizon_only(self, name: str, before: int):
        layout, (world, _) = oracle.LAYOUTS[name], shipped(name)
        game = first(layout, positions=layout.starts, time=layout.horizon - before)
        _, _, step = one_step(world, game, [UP] * len(layout.starts))
        assert not step.terminated and not np.any(step.reward)
        assert bool(step.truncated) == (before == 1)
