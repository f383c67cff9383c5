"""The rules of a skirmish, for any scenario: a simulation of SMAC's tasks, not SMAC itself.

A step is 8 game loops. In every loop all units attack at once whom they are after and can reach;
then enemies choose whom to go for; then all walk. docs/skirmish.md says what of this is the game's
and what is ours.
"""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from mace_marl.envs.api import Step, World
from mace_marl.envs.skirmish import picture, reward
from mace_marl.envs.skirmish.combat import attack, choose_targets, regenerate, suffer
from mace_marl.envs.skirmish.movement import Ground, measure, push, stride
from mace_marl.envs.skirmish.observation import ATTACK, MOVES, NORTH, Observer
from mace_marl.envs.skirmish.scenariofile import Group, Scenario
from mace_marl.envs.skirmish.side import Side
from mace_marl.envs.skirmish.state import State, fresh

LOOPS_PER_STEP = 8
MOVE_ORDER = 2.0  # cells away is the point that a move goes to
JITTER = (-1.0, 2.0)  # game loops by which chance changes the time between attacks


class Skirmish(World):
    """Agents command the allies, one each; the enemies follow orders and a fixed rule."""

    def __init__(self, scenario: Scenario, chance: bool = True) -> None:
        """Without `chance`, nothing is random: starts, orders and times are what they are on
        average, but for the time between attacks, which is the type's."""
        self.scenario, self.chance = scenario, chance
        self.allies = Side.of(scenario.allies, scenario.enemies)
        self.enemies = Side.of(scenario.enemies, scenario.allies)
        self.ground = Ground(scenario.ground)
        self.observer = Observer(self.allies, self.enemies, self.ground, scenario.observation)
        self.num_agents = len(self.allies)
        self.num_actions = self.observer.num_actions
        self.observation_size = self.observer.size
        self.horizon = scenario.horizon
        radius = np.concatenate([self.allies.radius, self.enemies.radius])
        self._together = radius + radius[:, None]  # (units, units): distance at which two touch
        self._speed = np.concatenate([self.allies.speed, self.enemies.speed])

    def reset(self, key: Array) -> tuple[State, Step]:
        counts = (2 * len(self.allies), 2 * len(self.enemies), len(self.scenario.enemies))
        drawn = jnp.zeros(sum(counts))
        if self.chance:  # all at once: one draw costs as much as many
            drawn = jax.random.uniform(key, drawn.shape, minval=-1.0)
        of_allies, of_enemies, of_goals = jnp.split(drawn, np.cumsum(counts)[:-1])
        allies = self._spawn(self.scenario.allies, of_allies)
        enemies = self._spawn(self.scenario.enemies, of_enemies)
        state = State(
            allies=fresh(self.allies, allies, foes=len(self.enemies)),
            enemies=fresh(self.enemies, enemies, foes=len(self.allies)),
            goal=self._goals(enemies, of_goals),
            time=jnp.int32(0),
        )
        return state, self._step(state, jnp.zeros(()))

    def step(self, key: Array, state: State, actions: Array) -> tuple[State, Step]:
        allowed = self.observer.available(state)
        chosen = (np.arange(self.num_actions) == actions[:, None]) & allowed
        moves = chosen[:, NORTH:ATTACK]  # (agents, 4)
        state = state._replace(allies=state.allies._replace(target=chosen[:, ATTACK:]))
        destination = state.allies.position + moves.astype(jnp.float32) @ (MOVE_ORDER * MOVES)
        jitter = jnp.zeros(len(self._speed))
        if self.chance:
            jitter = jax.random.uniform(key, jitter.shape, minval=JITTER[0], maxval=JITTER[1])

        def loop(_: int, carry: tuple[State, Array]) -> tuple[State, Array]:
            state, damage = carry
            state, dealt = self.game_loop(state, moves.any(axis=1), destination, jitter)
            return state, damage + dealt

        before = state.enemies.alive.sum()
        state, damage = lax.fori_loop(0, LOOPS_PER_STEP, loop, (state, jnp.zeros(())))
        state = state._replace(time=state.time + 1)
        kills = before - state.enemies.alive.sum()
        return state, self._step(state, reward.of_step(self.scenario, damage, kills, won(state)))

    def game_loop(
        self, state: State, moving: Array, destination: Array, jitter: Array
    ) -> tuple[State, Array]:
        """One game loop; and the damage done to enemies.

        `moving`  # (agents,) bool: has orders to go to its `destination`  # (agents, 2)
        """
        count = self.num_agents
        position = jnp.concatenate([state.allies.position, state.enemies.position])
        pairs = measure(position)
        edges = pairs.distance - self._together
        gap, back_gap = edges[:count, count:], edges[count:, :count]
        shoving = push(
            pairs, jnp.concatenate([state.allies.alive, state.enemies.alive]), self._together
        )

        allies, hits = attack(self.allies, state.allies, state.enemies.alive, gap, jitter[:count])
        enemies, back_hits = attack(
            self.enemies, state.enemies, state.allies.alive, back_gap, jitter[count:]
        )
        standing = enemies.health.sum() + enemies.shield.sum()
        allies = suffer(self.allies, allies, back_hits, self.enemies.blow)
        enemies = suffer(self.enemies, enemies, hits, self.allies.blow)
        dealt = standing - enemies.health.sum() - enemies.shield.sum()
        allies, enemies = regenerate(self.allies, allies), regenerate(self.enemies, enemies)
        target = choose_targets(self.enemies, enemies, allies.alive, back_gap, hits.T)
        enemies = enemies._replace(target=target)

        alive = jnp.concatenate([allies.alive, enemies.alive])
        ally_way, ally_walks = _way_to_target(
            allies.target & enemies.alive,
            pairs.dx[:count, count:],
            pairs.dy[:count, count:],
            gap > self.allies.range[:, None],
        )
        ally_way = jnp.where(moving[:, None], destination - allies.position, ally_way)
        enemy_way, enemy_walks = _way_to_target(
            target,
            pairs.dx[count:, :count],
            pairs.dy[count:, :count],
            back_gap > self.enemies.range[:, None],
        )
        idle = ~target.any(axis=1)
        enemy_way = jnp.where(idle[:, None], state.goal - enemies.position, enemy_way)
        way = jnp.concatenate([ally_way, enemy_way])
        walks = alive & jnp.concatenate([ally_walks | moving, enemy_walks | idle])
        moved = self.ground.walk(position, stride(way, self._speed, walks) + shoving)
        position = jnp.where(alive[:, None], moved, position)
        state = state._replace(
            allies=allies._replace(position=position[:count]),
            enemies=enemies._replace(position=position[count:]),
        )
        return state, dealt

    def success(self, step: Step) -> Array:
        """A battle is won if it is over while any agent lives."""
        return step.terminated & step.alive.any()

    def picture(self, state: State) -> np.ndarray:
        return picture.image(self.scenario, state)

    def text(self, state: State) -> str:
        return picture.text(self.scenario, state)

    def _spawn(self, groups: Sequence[Group], drawn: Array) -> Array:
        """Where units begin  # (units, 2); `drawn`  # (2 · units,) from −1 to 1"""
        places = np.concatenate([group.places for group in groups]) - self.ground.middle
        spread = np.concatenate([[group.spread] * group.count for group in groups])
        return jnp.asarray(places + spread[:, None] * drawn.reshape(-1, 2), jnp.float32)

    def _goals(self, position: Array, drawn: Array) -> Array:
        """Where the enemies attack-move to, one point for each group; without orders they stay.

        `position`  # (enemies, 2); `drawn`  # (groups,) from −1 to 1
        """
        goals, first = [], 0
        for number, group in enumerate(self.scenario.enemies):
            goal = position[first : first + group.count]
            if group.attack:
                one, other = (np.array(point) - self.ground.middle for point in group.attack)
                point = (one + other) / 2 + drawn[number] * (other - one) / 2
                goal = jnp.broadcast_to(point, goal.shape)
            goals.append(goal)
            first += group.count
        return jnp.concatenate(goals).astype(jnp.float32)

    def _step(self, state: State, reward: Array) -> Step:
        obs, available = self.observer.see(state)
        over = ~state.enemies.alive.any() | ~state.allies.alive.any()
        return Step(
            obs=obs,
            reward=jnp.broadcast_to(reward, self.num_agents).astype(jnp.float32),
            terminated=over,
            truncated=~over & (state.time >= self.horizon),
            available=available,
            alive=state.allies.alive,
        )


def won(state: State) -> Array:
    return ~state.enemies.alive.any() & state.allies.alive.any()


def _way_to_target(target: Array, dx: Array, dy: Array, far: Array) -> tuple[Array, Array]:
    """From each unit to its target  # (units, 2), and whether it must walk to reach it."""
    x, y = (jnp.where(target, away, 0.0).sum(axis=1) for away in (dx, dy))
    return jnp.stack([x, y], axis=1), (target & far).any(axis=1)
