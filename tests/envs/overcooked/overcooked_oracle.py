"""A second Overcooked: the package overcooked-ai for the rules, plain Python for what is seen.

Nothing here shares code with the world under test. Cells are (x, y), from the top left.
"""

import contextlib
import io
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

with contextlib.redirect_stderr(io.StringIO()):  # of what it imports, gym complains of its age
    from overcooked_ai_py.mdp.overcooked_mdp import OvercookedGridworld, Recipe

Cell = tuple[int, int]
Item = tuple[Any, ...]  # (name,), or ("soup", onions, tomatoes)
Pot = tuple[int, int, bool, int]  # onions, tomatoes, cooking begun, steps to go

NORTH, SOUTH, EAST, WEST, STAY, INTERACT = range(6)
MOVES: list[Cell] = [(0, -1), (0, 1), (1, 0), (-1, 0)]
ACTIONS = [*MOVES, (0, 0), "interact"]


@dataclass(frozen=True)
class Plan:
    """A kitchen as plain data."""

    rows: tuple[str, ...]
    sight: tuple[tuple[Cell, Cell], ...]  # of each agent: first and last x, first and last y
    tomatoes: int = 1
    onions: int = 0
    cooking_time: int = 0
    horizon: int = 300
    reward: float = 100.0
    repeated: bool = False

    @property
    def size(self) -> Cell:
        return len(self.rows[0]), len(self.rows)

    def cells(self, *characters: str) -> list[Cell]:
        """All cells drawn as one of these, row by row."""
        return [
            (x, y)
            for y, row in enumerate(self.rows)
            for x, character in enumerate(row)
            if character in characters
        ]

    @cached_property
    def terrain(self) -> dict[Cell, str]:
        return {
            (x, y): " " if character in "12" else character
            for y, row in enumerate(self.rows)
            for x, character in enumerate(row)
        }

    def at(self, cell: Cell) -> str:
        return self.terrain[cell]

    def toml(self) -> str:
        """The kitchen file."""
        sight = "".join(f"[[sight]]\nx = {list(x)}\ny = {list(y)}\n" for x, y in self.sight)
        drawn = "\n".join(self.rows)
        return (
            f"horizon = {self.horizon}\nreward = {self.reward}\n"
            f"repeated = {str(self.repeated).lower()}\n"
            f"tomatoes = {self.tomatoes}\nonions = {self.onions}\n"
            f'cooking_time = {self.cooking_time}\nkitchen = """\n{drawn}\n"""\n{sight}'
        )

    @cached_property
    def mdp(self) -> OvercookedGridworld:
        wanted = ["tomato"] * self.tomatoes + ["onion"] * self.onions
        parameters = {
            "start_all_orders": [{"ingredients": wanted}],
            "start_bonus_orders": [],
            "cook_time": max(1, self.cooking_time),  # 0 would mean 20
            "delivery_reward": self.reward,
        }
        return OvercookedGridworld.from_grid(list(self.rows), parameters)


HALVES = (((0, 6), (0, 7)), ((6, 13), (0, 7)))
BASE = Plan(
    rows=(
        "XXXXXXXXXXXXX",
        "X     X     X",
        "T     X     D",
        "X  1  X  2  X",
        "S     X     P",
        "X     X     X",
        "XXXXXXXXXXXXX",
    ),
    sight=HALVES,
)
NARROW = Plan(
    rows=(
        "XXXXXXXXXXXXX",
        "X    XX     X",
        "T    XX     D",
        "X  1  X  2  X",
        "S     XX    P",
        "X     XX    X",
        "XXXXXXXXXXXXX",
    ),
    sight=HALVES,
)
LARGE = Plan(
    rows=(
        "XXXXXXXXXXXXXXXXXXXXXXX",
        "X          X          X",
        "T          X          D",
        "X          X          X",
        "X          X          X",
        "X    1     X     2    X",
        "X          X          X",
        "X          X          X",
        "X          X          X",
        "S          X          P",
        "X          X          X",
        "XXXXXXXXXXXXXXXXXXXXXXX",
    ),
    sight=(((0, 23), (0, 12)), ((0, 23), (0, 12))),
)
PLANS = {"base": BASE, "narrow": NARROW, "large": LARGE}


class Game:
    """One episode in overcooked-ai, whose moments and actions are kept."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        Recipe.configure(plan.mdp.recipe_config)  # it is global to the class
        self.state = plan.mdp.get_standard_start_state()
        self.moments = [look(self.state, plan)]
        self.rewards: list[float] = []
        self.actions: list[tuple[int, int]] = []

    def step(self, actions: Sequence[int]) -> None:
        joint = [ACTIONS[action] for action in actions]
        self.state, infos = self.plan.mdp.get_state_transition(self.state, joint)
        self.moments.append(look(self.state, self.plan))
        self.rewards.append(float(sum(infos["sparse_reward_by_agent"])))
        self.actions.append((actions[0], actions[1]))

    def way(self, agent: int, target: Cell) -> list[int]:
        """The actions that bring an agent to face a cell, on a shortest path past everybody."""
        player = self.state.players[agent]
        parents: dict[Cell, tuple[Cell, int] | None] = {player.position: None}
        frontier = deque([player.position])
        while frontier:
            cell = frontier.popleft()
            for action, (dx, dy) in enumerate(MOVES):
                there = (cell[0] + dx, cell[1] + dy)
                if there == target:
                    faces = cell == player.position and player.orientation == (dx, dy)
                    path = [] if faces else [action]
                    while (step := parents[cell]) is not None:
                        cell, walked = step
                        path.append(walked)
                    return path[::-1]
                if self.plan.at(there) == " " and there not in parents:
                    parents[there] = (cell, action)
                    frontier.append(there)
        raise ValueError(f"agent {agent} cannot reach {target}")

    def use(self, agent: int, target: Cell) -> None:
        """Walk up to a cell and interact with it, while the other agent waits."""
        for action in [*self.way(agent, target), INTERACT]:
            self.step((action, STAY) if agent == 0 else (STAY, action))

    def reach(self, agent: int) -> Iterator[Cell]:
        """All cells but floor that an agent can interact with."""
        seen, frontier = set(), [self.state.players[agent].position]
        while frontier:
            cell = frontier.pop()
            for dx, dy in MOVES:
                there = (cell[0] + dx, cell[1] + dy)
                if there not in seen:
                    seen.add(there)
                    if self.plan.at(there) == " ":
                        frontier.append(there)
        return (cell for cell in sorted(seen) if self.plan.at(cell) != " ")


@dataclass(frozen=True)
class Moment:
    """A state as plain data, and what the agents see of it."""

    positions: tuple[Cell, ...]
    facing: tuple[int, ...]
    held: tuple[Item, ...]
    counters: tuple[tuple[Cell, Item], ...]  # in the order in which things were put down
    pots: dict[Cell, Pot]
    seen: tuple[tuple[float, ...], ...]


def look(state: Any, plan: Plan) -> Moment:
    counters = []
    pots: dict[Cell, Pot] = dict.fromkeys(plan.cells("P"), (0, 0, False, 0))
    for cell, thing in state.objects.items():  # a dict keeps the order of insertion
        if plan.at(cell) == "X":
            counters.append((cell, item(thing)))
        else:
            _, onions, tomatoes = item(thing)
            to_go = 0 if thing.is_idle else thing.cook_time_remaining
            pots[cell] = (onions, tomatoes, not thing.is_idle, to_go)
    moment = Moment(
        positions=tuple(player.position for player in state.players),
        facing=tuple(MOVES.index(player.orientation) for player in state.players),
        held=tuple(item(player.held_object) for player in state.players),
        counters=tuple(counters),
        pots=pots,
        seen=(),
    )
    seen = tuple(tuple(observe(plan, moment, agent)) for agent in (0, 1))
    return Moment(**{**vars(moment), "seen": seen})


def item(thing: Any) -> Item:
    if thing is None:
        return ("nothing",)
    if thing.name == "soup":
        return "soup", thing.ingredients.count("onion"), thing.ingredients.count("tomato")
    return (thing.name,)


def observe(plan: Plan, moment: Moment, agent: int) -> list[float]:
    """The 38 features, one after the other."""
    (x, y), held = moment.positions[agent], moment.held[agent]
    (first_x, last_x), (first_y, last_y) = plan.sight[agent]

    def closest(cells: list[Cell]) -> Cell | None:
        """Of the cells in range, the first of the nearest."""
        best, least = None, 10**9
        for cell in cells:
            distance = abs(cell[0] - x) + abs(cell[1] - y)
            in_range = first_x <= cell[0] <= last_x and first_y <= cell[1] <= last_y
            if in_range and distance < least:
                best, least = cell, distance
        return best

    def pair(cell: Cell | None) -> list[float]:
        if cell is None:
            return [0.0, 0.0]
        return [(cell[0] - x) / (last_x - first_x), (cell[1] - y) / (last_y - first_y)]

    def lying(name: str) -> list[Cell]:
        return [cell for cell, what in moment.counters if what[0] == name]

    numbers = [x / plan.size[0], y / plan.size[1]]
    numbers += [float(moment.facing[agent] == direction) for direction in range(4)]
    numbers += [float(held[0] == name) for name in ("onion", "soup", "dish", "tomato")]
    for name, dispenser in (("onion", "O"), ("tomato", "T"), ("dish", "D")):
        cells = plan.cells(dispenser) + lying(name)
        numbers += pair(None if held[0] == name else closest(cells))
    soup = None if held[0] == "soup" else closest(lying("soup"))
    contents = dict(moment.counters)[soup] if soup else held if held[0] == "soup" else ("", 0, 0)
    numbers += [*pair(soup), *map(float, contents[1:])]
    numbers += pair(closest(plan.cells("S")))
    taken = [cell for cell, _ in moment.counters]
    numbers += pair(closest([cell for cell in plan.cells("X") if cell not in taken]))
    pot = closest(plan.cells("P"))
    if pot is None:
        numbers += [0.0] * 8
    else:
        onions, tomatoes, begun, to_go = moment.pots[pot]
        is_ready = begun and to_go == 0
        numbers += [1.0, float(onions + tomatoes == 0), float(begun or onions + tomatoes == 3)]
        numbers += [float(begun and not is_ready), float(is_ready)]
        numbers += [float(onions), float(tomatoes), float(to_go)]
    numbers += pair(pot)
    return numbers + [float(plan.at((x + dx, y + dy)) != " ") for dx, dy in MOVES]
