"""The rules of GridWorld, step for step against a second implementation in plain Python."""

import random
from collections.abc import Callable, Sequence
from functools import cache

import gridworld_oracle as oracle
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gridworld_drawings import MAPS, Drawing
from gridworld_oracle import DOWN, LEFT, RIGHT, UP, Cell, Game, Layout

from mace_marl.envs.api import Step
from mace_marl.envs.gridworld import GridWorld, parse_map, read_map
from mace_marl.envs.gridworld.rules import State

NAMES = tuple(oracle.LAYOUTS)
ONE_ULP = 2e-7  # relative; XLA divides by a constant by multiplying with its reciprocal

Play = Callable[[State, jax.Array], tuple[State, Step]]


def player(world: GridWorld) -> Play:
    """A compiled function from first states and actions to all later states and steps.

    Works on a batch of episodes at once: actions are (episodes, time, num_agents).
    """

    def episode(state: State, actions: jax.Array) -> tuple[State, Step]:
        def advance(state: State, joint: jax.Array) -> tuple[State, tuple[State, Step]]:
            state, step = world.step(jax.random.key(0), state, joint)
            return state, (state, step)

        return jax.lax.scan(advance, state, actions)[1]

    return jax.jit(jax.vmap(episode))


@cache
def shipped(name: str) -> tuple[GridWorld, Play]:
    world = GridWorld(read_map(MAPS / f"{name}.toml"))
    return world, player(world)


def as_states(games: Sequence[Game]) -> State:
    """Moments of the oracle as a batch of states of the world."""
    return State(
        position=jnp.asarray([game.positions for game in games], jnp.int32),
        doors=jnp.asarray([game.doors for game in games], bool),
        time=jnp.asarray([game.time for game in games], jnp.int32),
    )


def assert_same(layout: Layout, play: Play, games: Sequence[Game], actions: np.ndarray) -> int:
    """Play `actions`  # (episodes, time, num_agents) in both worlds, until each episode's end.

    Returns how many of the episodes ended in success.
    """
    states, steps = jax.tree.map(np.asarray, play(as_states(games), jnp.asarray(actions)))
    successes = 0
    for episode, game in enumerate(games):
        for time, joint in enumerate(actions[episode]):
            game, wanted = oracle.step(layout, game, joint.tolist())
            at = (episode, time)
            where = f"episode {episode}, step {time}, {game}"
            assert states.position[at].tolist() == [list(cell) for cell in game.positions], where
            assert states.doors[at].tolist() == list(game.doors), where
            assert states.time[at] == game.time, where
            np.testing.assert_allclose(steps.obs[at], wanted.obs, rtol=ONE_ULP, err_msg=where)
            assert steps.reward[at].tolist() == wanted.reward, where
            assert bool(steps.terminated[at]) == wanted.terminated, where
            assert bool(steps.truncated[at]) == wanted.truncated, where
            assert steps.available[at].all() and steps.alive[at].all(), where
            successes += wanted.terminated
            if wanted.terminated or wanted.truncated:
                break
    return successes


def random_actions(rng: np.random.Generator, episodes: int, layout: Layout) -> np.ndarray:
    """Actions for whole episodes; agents keep a direction for a while, so as to get around."""
    shape = (episodes, layout.horizon, len(layout.starts))
    actions = rng.integers(4, size=shape)
    keep = rng.random(shape) < 0.7
    for time in range(1, layout.horizon):
        actions[:, time] = np.where(keep[:, time], actions[:, time - 1], actions[:, time])
    return actions


def first(layout: Layout, *, positions: Sequence[Cell], time: int = 0, doors: int = 0) -> Game:
    """A moment with agents at `positions` and the doors in the bit mask `doors` open."""
    bits = tuple(bool(doors >> door & 1) for door in range(layout.num_doors))
    return Game(tuple(positions), bits, time)


@cache
def compiled_step(world: GridWorld) -> Callable[[jax.Array, State, jax.Array], tuple[State, Step]]:
    return jax.jit(world.step)


def one_step(
    world: GridWorld, game: Game, actions: Sequence[int]
) -> tuple[list[Cell], list[bool], Step]:
    """One step of the world from any moment: positions, doors and what the agents are told."""
    state = State(
        position=jnp.asarray(game.positions, jnp.int32),
        doors=jnp.asarray(game.doors, bool),
        time=jnp.int32(game.time),
    )
    state, step = compiled_step(world)(jax.random.key(0), state, jnp.asarray(actions))
    positions: list[Cell] = [(int(row), int(column)) for row, column in state.position]
    return positions, np.asarray(state.doors).tolist(), step


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
