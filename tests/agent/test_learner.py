"""What an agent makes of a rollout, against the whole pipeline once more in plain Python.

Three agents, rollouts written by hand (that is: by a random generator, without world or policy),
several updates in a row.
"""

import math
from collections import Counter
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import plain
import pytest
from made_rollouts import (
    AGENTS,
    CHUNK,
    ENVS,
    STEPS,
    make_rollouts,
    make_values,
    of_agent,
    others_of,
)
from numpy.testing import assert_allclose, assert_array_equal
from plain import PlainNetwork
from plain_team import Numbers, PlainTeam
from samples import Sheet, blank_learners, random_learners

from mace_marl import channel
from mace_marl.agent.experience import Intrinsic, Rollout, Values
from mace_marl.agent.learner import Agent, Learner, act
from mace_marl.agent.posterior import TablePosterior
from mace_marl.agent.ppo import Chunks
from mace_marl.machine import Layout
from mace_marl.methods import METHODS, Method
from mace_marl.settings import PRESETS, Settings

SMALL = {
    "num_envs": ENVS,
    "rollout_length": STEPS,
    "chunk_length": CHUNK,
    "hidden_size": 2,
    "window": 2,
    "bins": 7,
    "novelty_gamma": 0.9,
    "hindsight_weight": 0.3,
    "intrinsic_weight": 0.5,
}
UPDATES = 4  # more than the window holds
CHOICES = {
    **PRESETS,
    # Units of values are tested in test_units.py.
    "tuned": PRESETS["tuned"].override({"normalise_values": False, "minibatches": 1}),
    "beyond": Settings(
        counted="observation",
        count_power=0.8,
        episodic=True,
        intrinsic_fading=2.0,
        fading_smoothing=0.4,
        table_prior=0.5,
        leave_one_out=True,
        ratio_to="marginal",
    ),
}

# Running the agents

Prepared = tuple[Learner, Intrinsic, Chunks]  # of all agents, stacked


class Team:
    """The package's agents, as the trainer runs them."""

    def __init__(self, method: str, choice: str) -> None:
        self.settings = settings = CHOICES[choice].override(SMALL)
        self.agent = Agent.of(Sheet(), METHODS[method], settings)
        self.blank = blank_learners(self.agent, settings)

        def prepare(learner: Learner, rollout: Rollout, values: Values) -> Prepared:
            values = values._replace(seen=self.agent.look(rollout).now)
            learner, heard = self.agent.exchange(learner, rollout, settings)
            return self.agent.prepare(learner, rollout, values, heard, settings, Layout())

        self.prepare = jax.jit(jax.vmap(prepare, axis_name=channel.AXIS))


team_of = cache(Team)


@pytest.mark.parametrize(
    ("name", "choice"),
    [(name, preset) for name in METHODS for preset in ("paper", "authors")]
    + [("mace", "tuned"), ("mace", "beyond"), ("r_hin_s", "beyond")],
)
def test_rollouts_become_what_ppo_learns_from(name: str, choice: str) -> None:
    team, method = team_of(name, choice), METHODS[name]
    settings = team.settings
    for mortal in (False, True):
        learners, reference = team.blank, PlainTeam(settings, method)
        for update in range(UPDATES):
            rollouts = make_rollouts(update, mortal)
            values = make_values(update, rollouts)
            learners, rewards, chunks = team.prepare(learners, rollouts, values)
            novelty, hindsight = reference.explore(rollouts)
            assert_allclose(rewards.novelty, novelty, rtol=1e-5, atol=1e-5)
            assert_allclose(rewards.hindsight, hindsight, rtol=1e-4, atol=1e-3)
            weight = 0.5 * reference.faded(rollouts)[:, None, None]  # β and λ as in SMALL
            shaped = np.asarray(rollouts.reward) + weight * (novelty + 0.3 * hindsight)
            check_chunks(chunks, rollouts, values, shaped, settings)
            check_views(chunks, rollouts, method)
            if method.explores:
                check_counts(learners, reference)
            if method.infers:
                check_tables(learners, reference, team.agent)


def check_chunks(
    chunks: Chunks, rollouts: Any, values: Any, reward: Numbers, settings: Settings
) -> None:
    """Advantages by plain loops, normalised over the agent's own living samples, in chunks."""
    every = Chunks(*map(np.asarray, chunks))  # pyright: ignore[reportArgumentType]
    for i in range(AGENTS):
        mine, value = of_agent(i, rollouts), of_agent(i, values)
        following = np.concatenate([value.now[1:], value.last[None]])
        advantage = plain.advantages(
            reward[i],
            value.now,
            np.where(mine.truncated, value.final, following),
            mine.terminated,
            mine.truncated,
            settings.gamma,
            settings.gae_lambda,
            settings.truncation == "discard",
        )
        living = [advantage[at] for at in np.ndindex(STEPS, ENVS) if mine.alive[at]]
        mean = sum(living) / len(living)
        deviation = math.sqrt(sum((x - mean) ** 2 for x in living) / len(living))
        wanted = {
            "advantage": (advantage - mean) / (deviation + 1e-5),
            "value": value.now,
            "target": value.now + advantage,
            **{
                name: getattr(mine, name)
                for name in ("obs", "action", "log_prob", "first", "available", "alive")
            },
        }
        for number, (block, env) in enumerate(np.ndindex(STEPS // CHUNK, ENVS)):
            for name, x in wanted.items():
                ours = getattr(every, name)[i, :, number]
                theirs = x[block * CHUNK : (block + 1) * CHUNK, env]
                assert_allclose(ours, theirs, rtol=1e-3, atol=1e-3, err_msg=name)
            assert_array_equal(every.actor_hidden[i, 0, number], mine.actor_hidden[block, env])
            assert_array_equal(every.critic_hidden[i, 0, number], value.hidden[block, env])


def check_views(chunks: Chunks, rollouts: Any, method: Method) -> None:
    """The critic sees what its agent sees; a centralised one also what the others see, in turn."""
    for i in range(AGENTS):
        seen = [i, *others_of(i)] if method.name == "mappo" else [i]
        for number, (block, env) in enumerate(np.ndindex(STEPS // CHUNK, ENVS)):
            for t in range(CHUNK):
                wanted = np.concatenate([rollouts.obs[j, block * CHUNK + t, env] for j in seen])
                assert_array_equal(chunks.critic_obs[i, t, number], wanted)


def check_counts(learners: Learner, team: PlainTeam) -> None:
    for i in range(AGENTS):
        counts = np.asarray(learners.exploration.novelty[i])
        assert sorted(counts[counts > 0]) == sorted(team.agents[i].visits.values())


def check_tables(learners: Learner, team: PlainTeam, agent: Agent) -> None:
    posterior, kept = agent.explorer.posterior, learners.exploration
    assert isinstance(posterior, TablePosterior)
    for i in range(AGENTS):
        for k, j in enumerate(others_of(i)):
            assert_allclose(kept.edges[i, k], team.agents[i].edges[j], rtol=1e-5)
        for k, j in enumerate([-1] if team.method.together else others_of(i)):
            window = jax.tree.map(lambda x, i=i, k=k: x[i, k], kept.posterior)
            counted = Counter(entry for entry in window.entries.reshape(-1).tolist() if entry >= 0)
            table = sum(team.agents[i].samples[j], Counter())
            assert sorted(counted.values()) == sorted(table.values())


# Single facts


def walk(settings: Settings) -> Numbers:
    """u of one agent alone that acts at A, B (there the episode ends, at C), A, and then sees B."""
    agent = Agent.of(Sheet(), METHODS["r_loc"], settings)
    learner = jax.tree.map(lambda x: x[0], blank_learners(agent, settings))
    a, b, c = [0.0, 0.0, 0.0], [0.5, 0.0, 0.0], [1.0, 0.0, 0.0]
    never, always = jnp.zeros((3, 1), bool), jnp.ones((3, 1), bool)
    rollout = of_agent(0, make_rollouts(0))._replace(
        obs=jnp.array([[a], [b], [a]]),
        next_obs=jnp.array([[b], [c], [b]]),
        last_obs=jnp.array([b]),
        first=jnp.array([[True], [False], [True]]),
        terminated=jnp.array([[False], [True], [False]]),
        truncated=never,
        alive=always,
        next_alive=always,
        reward=jnp.zeros((3, 1)),
    )
    exploration, heard = agent.explorer.exchange(learner.exploration, rollout, settings)
    _, rewards = agent.explorer.reward(exploration, rollout, heard, settings, 1)
    return np.asarray(rewards.novelty[:, 0])


def test_novelty_of_final_observations_counts_in_the_paper() -> None:
    """B was reached twice, C once, A never."""
    u = walk(PRESETS["paper"].override(SMALL))
    assert_allclose(u, [10 / math.sqrt(2), 10, 10 / math.sqrt(2)], rtol=1e-6)


def test_novelty_of_final_observations_is_nothing_with_the_authors() -> None:
    """A was acted upon twice and B once: what the rollout ends with is not counted yet."""
    u = walk(PRESETS["authors"].override(SMALL))
    assert_allclose(u, [10, 0, 10], rtol=1e-6)


def test_others_are_known_by_their_novelty_alone() -> None:
    """Whatever else they do, see or get, it changes nothing for this agent."""
    team = team_of("mace", "paper")
    rollouts = make_rollouts(0)
    stranger = make_rollouts(1)
    same = ("obs", "next_obs", "terminated", "truncated")  # where others are, and when all ends
    changed = {
        name: np.concatenate([x[:1], getattr(stranger, name)[1:]])
        for name, x in rollouts._asdict().items()
        if name not in same
    }
    lamp = np.array([0, 0, 1])
    for name in ("obs", "next_obs"):
        x = getattr(rollouts, name)
        changed[name] = np.concatenate([x[:1], (1 - x[1:]) * lamp + x[1:] * (1 - lamp)])
    values = make_values(0, rollouts)
    one, other = (
        team.prepare(team.blank, rollouts, values),
        team.prepare(team.blank, rollouts._replace(**changed), values),
    )
    for ours, theirs in zip(jax.tree.leaves(one[1:]), jax.tree.leaves(other[1:]), strict=True):
        assert_array_equal(ours[0], theirs[0])
    assert not np.array_equal(one[1].hindsight[1], other[1].hindsight[1])


def test_tiny_advantages_are_not_blown_up() -> None:
    """Their deviation, 1e-5, is divided by itself plus 1e-5; equal ones become nothing."""
    settings = PRESETS["paper"].override(SMALL)
    agent = Agent.of(Sheet(), METHODS["ippo"], settings)
    rollouts = make_rollouts(0)
    rollout = jax.tree.map(jnp.asarray, of_agent(0, rollouts))
    values = of_agent(0, make_values(0, rollouts))._replace(seen=rollout.obs)
    alternating = jnp.where(jnp.arange(STEPS) % 2 == 0, 1e-5, -1e-5)
    advantage = jnp.broadcast_to(alternating[:, None], (STEPS, ENVS))
    halves = np.broadcast_to(np.array([0.5, -0.5] * (CHUNK // 2))[:, None], (CHUNK, 9))
    assert_allclose(agent.chunks(rollout, values, advantage, settings).advantage, halves, rtol=1e-3)
    equal = jnp.full((STEPS, ENVS), 3.0)
    assert_allclose(agent.chunks(rollout, values, equal, settings).advantage, 0, atol=1e-2)


@pytest.mark.parametrize("mode", [False, True], ids=["sample", "mode"])
def test_acting(mode: bool) -> None:
    """Actions have the policy's frequencies, or are its mode without noise; never unavailable."""
    settings = PRESETS["paper"].override(SMALL)
    agent = Agent.of(Sheet(), METHODS["ippo"], settings)
    learner = jax.tree.map(lambda x: x[0], random_learners(agent, settings))
    envs = 20_000
    obs = jnp.broadcast_to(jnp.array([0.5, 0.25, 1.0]), (envs, 3))
    hidden = jnp.broadcast_to(jnp.array([0.3, -0.8]), (envs, 2))
    available = jnp.broadcast_to(jnp.array([True, False, True]), (envs, 3))
    noise = jax.random.gumbel(jax.random.key(0), (envs, 3)) * (not mode)
    first = jnp.zeros(envs, bool)
    action, log_prob, _ = map(
        np.asarray, jax.jit(act)(learner, obs, hidden, first, available, noise)
    )

    network = PlainNetwork.of(learner.actor.network)
    logits, _ = network.step(np.asarray(obs[:1]), np.asarray(hidden[:1]), np.array([False]))
    log_probs = plain.log_softmax(logits[0, [0, 2]])
    wanted = {0: log_probs[0], 2: log_probs[1]}
    for choice, count in Counter(action.tolist()).items():
        assert_allclose(log_prob[action == choice], wanted[choice], rtol=1e-4)
        share = float(log_probs.argmax() == (choice == 2)) if mode else math.exp(wanted[choice])
        assert count / envs == pytest.approx(share, abs=0.015)
