"""Collecting and appraising, against networks, rules and bookkeeping in plain NumPy."""

from types import SimpleNamespace
from typing import Any

import jax
import numpy as np
import plain
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from plain import PlainNetwork
from samples import minipass, random_learners

from mace_marl import rollout
from mace_marl.agent.learner import Learner
from mace_marl.envs.gridworld import GridWorld, parse_map
from mace_marl.machine import Layout
from mace_marl.methods import METHODS
from mace_marl.settings import Settings
from mace_marl.trainer import Trainer, agents_first

ENVS, STEPS, CHUNK, SIZE, ROLLOUTS = 4, 20, 5, 8, 2
SETTINGS = Settings(num_envs=ENVS, rollout_length=STEPS, chunk_length=CHUNK, hidden_size=SIZE)

SHORT_CORRIDOR = """
horizon = 6
reward = 5.0
starts = [[0, 1], [0, 2]]
grid = '''
...*
'''
"""


class Recording:
    """Some rollouts in a row, joined in time, as NumPy arrays  # (t, e, num_agents, …)."""

    def __init__(self, world: GridWorld, method: str) -> None:
        self.world, self.method = world, METHODS[method]
        trainer = Trainer(world, self.method, SETTINGS, Layout())
        self.learners: Learner = random_learners(trainer.agent, SETTINGS)
        stage = rollout.begin(world, SETTINGS, jax.random.key(1))

        @jax.jit
        def collect(stage: rollout.Stage) -> Any:
            stage, part, episodes = rollout.collect(world, self.learners, stage, SETTINGS)
            values, stage = trainer.appraise(self.learners, agents_first(part), stage, SETTINGS)
            return stage, part, values, episodes

        parts, values, self.episodes, self.stages = [], [], [], []
        for _ in range(ROLLOUTS):
            stage, part, value, episodes = collect(stage)
            parts.append(jax.tree.map(np.asarray, part))
            values.append(jax.tree.map(np.asarray, value))
            self.episodes.append(jax.tree.map(np.asarray, episodes))
            self.stages.append(stage)
        self.parts, self.values = parts, values
        self.joined = SimpleNamespace(
            **{name: np.concatenate([getattr(p, name) for p in parts]) for name in parts[0]._fields}
        )
        self.appraised = SimpleNamespace(  # (num_agents, t, e, …)
            **{
                name: np.concatenate([getattr(v, name) for v in values], axis=1)
                for name in values[0]._fields
            }
        )

    def view(self, obs: np.ndarray, agent: int) -> np.ndarray:
        """What this agent's critic sees of  # obs (…, num_agents, observation_size)."""
        both = (agent, 1 - agent) if self.method.name == "mappo" else (agent,)
        return np.concatenate([obs[..., i, :] for i in both], axis=-1)

    @property
    def ended(self) -> np.ndarray:  # (t, e)
        return (self.joined.terminated | self.joined.truncated)[..., 0]


@pytest.fixture(scope="module")
def passes() -> Recording:
    """MiniPass with a horizon so short that every environment is truncated several times."""
    return Recording(minipass(horizon=7), "ippo")


@pytest.fixture(scope="module")
def corridor() -> Recording:
    """Two agents and one target cell, which chance finds within the horizon now and then."""
    return Recording(GridWorld(parse_map(SHORT_CORRIDOR, "corridor.toml")), "ippo")


@pytest.fixture(scope="module")
def shared() -> Recording:
    """The corridor with critics that see both agents' observations."""
    return Recording(GridWorld(parse_map(SHORT_CORRIDOR, "corridor.toml")), "mappo")


@pytest.fixture(params=["passes", "corridor", "shared"])
def recording(request: pytest.FixtureRequest) -> Recording:
    return request.getfixturevalue(request.param)


def test_shapes(passes: Recording) -> None:
    world, part = passes.world, passes.parts[0]
    sizes = {
        "obs": world.observation_size,
        "next_obs": world.observation_size,
        "available": world.num_actions,
    }
    for name, x in part._asdict().items():
        if name == "last_obs":
            wanted = (ENVS, 2, world.observation_size)
        elif name == "actor_hidden":
            wanted = (STEPS // CHUNK, ENVS, 2, SIZE)
        else:
            wanted = (STEPS, ENVS, 2, *([sizes[name]] if name in sizes else []))
        assert x.shape == wanted, name
    assert part.action.dtype == np.int32


# The world


def test_observations_follow_the_rules(recording: Recording) -> None:
    """From what an agent sees and does, a plain GridWorld says what it sees next; the final
    observation of an episode is kept, and the next episode begins where episodes begin."""
    data, map = recording.joined, recording.world.map
    size = np.array(map.walls.shape)
    moves = [(-1, 0), (1, 0), (0, -1), (0, 1)]
    start = np.concatenate(
        [np.array(map.starts) / size, np.zeros((2, map.num_doors))], axis=1
    ).astype(np.float32)
    for t, e in np.ndindex(ROLLOUTS * STEPS, ENVS):
        before, after = data.obs[t, e], data.next_obs[t, e]
        opened = np.zeros(map.num_doors, bool)
        for i in range(2):
            row, column = np.round(before[i, :2] * size).astype(int)
            down, right = moves[data.action[t, e, i]]
            new_row, new_column = row + down, column + right
            inside = 0 <= new_row < size[0] and 0 <= new_column < size[1]
            if inside and not map.walls[new_row, new_column]:
                door = map.doors[new_row, new_column]
                if door == 0 or before[i, 1 + door]:
                    row, column = new_row, new_column
            assert_allclose(after[i, :2], np.array([row, column]) / size, atol=1e-6)
            opened |= map.opened_from[row, column]
        assert_array_equal(after[:, 2:], np.stack([opened, opened]))
        if t + 1 < ROLLOUTS * STEPS:
            ahead = start if recording.ended[t, e] else after
            assert_array_equal(data.obs[t + 1, e], ahead)
    assert recording.ended.any()
    for part in recording.parts:
        ended = (part.terminated | part.truncated)[-1, :, :, None]
        assert_array_equal(part.last_obs, np.where(ended, start, part.next_obs[-1]))


def test_episodes_end_at_the_target_or_the_horizon(recording: Recording) -> None:
    data, world = recording.joined, recording.world
    size = np.array(world.map.walls.shape)
    for e in range(ENVS):
        age = 0
        for t in range(ROLLOUTS * STEPS):
            assert (data.first[t, e] == (age == 0)).all()
            age += 1
            cells = np.round(data.next_obs[t, e, :, :2] * size).astype(int)
            arrived = all(world.map.target[row, column] for row, column in cells)
            assert (data.terminated[t, e] == arrived).all()
            assert (data.truncated[t, e] == (age == world.horizon and not arrived)).all()
            assert (data.reward[t, e] == (world.map.reward if arrived else 0)).all()
            if recording.ended[t, e]:
                age = 0


# The networks


def recompute(recording: Recording, agent: int) -> SimpleNamespace:
    """Step by step from observations and beginnings of episodes alone, for one agent."""
    data = recording.joined
    actor = PlainNetwork.of(recording.learners.actor.network, agent)
    critic = PlainNetwork.of(recording.learners.critic.network, agent)
    first = data.first[:, :, agent]
    nothing = np.zeros((ENVS, SIZE))
    logits, actor_hidden = actor.run(data.obs[:, :, agent], nothing, first)
    seen, reached = recording.view(data.obs, agent), recording.view(data.next_obs, agent)
    values, critic_hidden = critic.run(seen, nothing, first)
    log_prob, final_value = np.zeros((2, ROLLOUTS * STEPS, ENVS))
    for t in range(ROLLOUTS * STEPS):
        after, _ = critic.step(reached[t], critic_hidden[t], np.zeros(ENVS))
        for e in range(ENVS):
            log_prob[t, e] = plain.log_softmax(logits[t, e])[data.action[t, e, agent]]
            if data.truncated[t, e, agent]:
                final_value[t, e] = after[e, 0]
    return SimpleNamespace(
        log_prob=log_prob,
        seen=seen,
        now=values[..., 0],
        final=final_value,
        actor_hidden=actor_hidden,
        critic_hidden=critic_hidden,
    )


@pytest.mark.parametrize("agent", [0, 1])
def test_what_is_recorded_of_the_networks(recording: Recording, agent: int) -> None:
    """Log-probabilities, values, and the value of the final observation where the horizon was
    reached: of that observation, not of the reset that follows. The second rollout is recomputed
    in one go with the first, so memories must have been carried over."""
    wanted, values = recompute(recording, agent), recording.appraised
    assert_allclose(recording.joined.log_prob[:, :, agent], wanted.log_prob, atol=1e-4)
    for name in ("seen", "now", "final"):
        ours = getattr(values, name)[agent]
        assert_allclose(ours, getattr(wanted, name), atol=1e-4, err_msg=name)
    assert (values.final != 0).any()


@pytest.mark.parametrize("agent", [0, 1])
def test_hidden_states_are_stored_where_chunks_begin(recording: Recording, agent: int) -> None:
    """As they were before the chunk's first step. A chunk that begins with an episode forgets
    them anyway."""
    wanted = recompute(recording, agent)
    begins = np.arange(0, ROLLOUTS * STEPS, CHUNK)
    for ours, hidden in (
        (recording.joined.actor_hidden[:, :, agent], wanted.actor_hidden),
        (recording.appraised.hidden[agent], wanted.critic_hidden),
    ):
        assert_array_equal(ours[0], 0)
        assert_allclose(ours[1:], hidden[begins[1:] - 1], atol=1e-5)


@pytest.mark.parametrize("agent", [0, 1])
def test_last_value_is_of_what_is_seen_after_the_rollout(recording: Recording, agent: int) -> None:
    wanted = recompute(recording, agent)
    critic = PlainNetwork.of(recording.learners.critic.network, agent)
    for number, part in enumerate(recording.parts):
        last = (number + 1) * STEPS - 1
        hidden = wanted.critic_hidden[last]
        seen = recording.view(part.last_obs, agent)
        value, _ = critic.step(seen, hidden, recording.ended[last])
        assert_allclose(recording.values[number].last[agent], value[:, 0], atol=1e-5)
    assert_allclose(recording.values[0].last[agent], wanted.now[STEPS], atol=1e-5)


# Bookkeeping


def test_episode_statistics_equal_a_recount(recording: Recording) -> None:
    """Of episodes that ended in the rollout, including the part before it."""
    data = recording.joined
    running = np.zeros((2, ENVS))  # length and return so far
    for number, episodes in enumerate(recording.episodes):
        ended, successes, total_length, total_return = 0, 0, 0, 0.0
        for t in range(number * STEPS, (number + 1) * STEPS):
            for e in range(ENVS):
                running[:, e] += 1, data.reward[t, e].mean()
                if recording.ended[t, e]:
                    ended += 1
                    successes += bool(data.terminated[t, e, 0])
                    total_length += running[0, e]
                    total_return += running[1, e]
                    running[:, e] = 0
        assert episodes.ended == ended > 0
        assert episodes.successes == successes
        assert episodes.lengths == total_length
        assert_allclose(episodes.returns, total_return)
        stage = recording.stages[number]
        assert_array_equal(stage.episode_length, running[0])
        assert_allclose(stage.episode_return, running[1])


def test_the_corridor_is_a_fair_test(corridor: Recording) -> None:
    """Both kinds of end occur in it, and a rollout ends within an episode."""
    assert corridor.joined.terminated.any()
    assert corridor.joined.truncated.any()
    assert corridor.stages[0].episode_length.any()


def test_environments_are_played_independently(passes: Recording) -> None:
    actions = passes.joined.action.reshape(ROLLOUTS * STEPS, -1)  # one column per env and agent
    for one in range(actions.shape[1]):
        for other in range(one):
            assert not np.array_equal(actions[:, one], actions[:, other])
