"""Masks in a world where agents die and actions come and go, against plain loops over a rollout."""

from functools import cache, partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from mace_marl import channel, rollout
from mace_marl.agent.experience import Heard, Intrinsic, Rollout, Values
from mace_marl.agent.learner import Agent, Learner
from mace_marl.agent.networks import log_policy
from mace_marl.envs.skirmish import Skirmish, parse_scenario
from mace_marl.methods import get_method
from mace_marl.settings import Settings
from mace_marl.trainer import agents_first

pytestmark = pytest.mark.usefixtures("hasty_compiler")

ARENA = '''
horizon = 12
ground = """
.......
.......
.......
"""
[[allies]]
unit = "marine"
at = [1, 1.5]
[[allies]]
unit = "marine"
at = [6, 1.5]
[[enemies]]
unit = "brute"
at = [3, 1.5]
'''
SETTINGS = Settings(num_envs=4, rollout_length=40, hidden_size=8, novelty="rnd", novelty_scale=1.0)
NOTHING = 0
UNCLEARED = np.zeros(SETTINGS.num_envs, bool)


@cache
def collected() -> tuple[Agent, Learner, Rollout]:
    """Two agents with heads large enough to have opinions, and a rollout in which both die."""
    world = Skirmish(parse_scenario(ARENA, "arena.toml"))
    settings = SETTINGS.override({"head_gain": 1.0})
    agent = Agent.of(world, get_method("r_nov"), settings)

    @jax.jit
    def run(key: jax.Array) -> tuple[Learner, Rollout]:
        learners = jax.vmap(partial(agent.init, settings))(jax.random.split(key, 2))
        stage = rollout.begin(world, settings, key)
        _, found, _ = rollout.collect(world, learners, stage, settings)
        return learners, agents_first(found)

    learners, rollouts = run(jax.random.key(3))
    rollouts = jax.tree.map(np.asarray, rollouts)
    dead = ~rollouts.alive
    assert dead.any(axis=(1, 2)).all() and rollouts.alive.any(axis=(1, 2)).all()
    return agent, learners, rollouts


def test_nothing_unavailable_is_done_and_the_dead_do_nothing() -> None:
    _, _, rollouts = collected()
    for at in np.ndindex(rollouts.action.shape):
        assert rollouts.available[at][rollouts.action[at]]
        if not rollouts.alive[at]:
            assert rollouts.action[at] == NOTHING
            assert rollouts.log_prob[at] == 0  # there is no other choice
            assert not rollouts.obs[at].any()


def test_unavailable_actions_have_probability_zero_exactly() -> None:
    _, _, rollouts = collected()
    logits = np.random.default_rng(0).normal(0, 50, rollouts.available.shape)
    p = np.exp(np.asarray(log_policy(logits.astype(np.float32), rollouts.available)))
    assert (p[~rollouts.available] == 0).all()
    assert_allclose(p.sum(axis=-1), 1, rtol=1e-5)


def test_memories_go_on_after_death_and_end_with_the_episode() -> None:
    """Every stored memory, and every log-probability, step by step: nothing but the beginning of an
    episode clears it, neither its own death nor the other's."""
    _, learners, rollouts = collected()
    length = SETTINGS.chunk_length
    died = 0
    for i in range(2):
        network = jax.tree.map(lambda x, i=i: x[i], learners.actor.network)
        step = jax.jit(lambda obs, hidden, network=network: network(obs, hidden, UNCLEARED))
        hidden = np.zeros((SETTINGS.num_envs, SETTINGS.hidden_size), np.float32)
        for t in range(SETTINGS.rollout_length):
            if t % length == 0:
                assert_allclose(rollouts.actor_hidden[i, t // length], hidden, atol=1e-5)
            hidden = np.where(rollouts.first[i, t][:, None], 0, hidden)
            logits, hidden = (np.asarray(x) for x in step(rollouts.obs[i, t], hidden))
            for e in range(SETTINGS.num_envs):
                allowed = rollouts.available[i, t, e]
                exponentials = np.exp(logits[e][allowed] - logits[e][allowed].max())
                chosen = np.flatnonzero(allowed).tolist().index(int(rollouts.action[i, t, e]))
                wanted = np.log(exponentials[chosen] / exponentials.sum())
                assert_allclose(rollouts.log_prob[i, t, e], wanted, atol=1e-4)
            died += int((~rollouts.alive[i, t] & ~rollouts.first[i, t]).sum())
    assert died > 0


def test_the_dead_tell_nothing_and_earn_nothing() -> None:
    """Novelty of the state reached is 0 for whoever is dead there, own and told; whoever began a
    step dead earns nothing of it."""
    agent, learners, rollouts = collected()

    @jax.jit
    def rewards(learners: Learner, rollouts: Rollout) -> tuple[Heard, Intrinsic, jax.Array]:
        def of_one(learner: Learner, rollout: Rollout) -> tuple[Heard, Intrinsic, jax.Array]:
            explorer = agent.explorer
            exploration, heard = explorer.exchange(learner.exploration, rollout, SETTINGS)
            assert explorer.novelty is not None
            u = explorer.novelty.novelty(exploration.novelty, rollout.next_obs, SETTINGS)
            _, earned = explorer.reward(exploration, rollout, heard, SETTINGS, micro_batch=10)
            return heard, earned, u

        return jax.vmap(of_one, axis_name=channel.AXIS)(learners, rollouts)

    heard, earned, u = jax.tree.map(np.asarray, rewards(learners, rollouts))
    told = np.zeros_like(u)
    for at in np.ndindex(u.shape):
        told[at] = u[at] if rollouts.next_alive[at] else 0.0
    assert (u > 0).all()
    assert_allclose(heard.own, told, rtol=1e-5)
    assert_allclose(heard.inbox[:, 0], told[::-1], rtol=1e-5)
    for i, t, e in np.ndindex(u.shape):
        wanted = told[0, t, e] + told[1, t, e] if rollouts.alive[i, t, e] else 0.0
        assert_allclose(earned.novelty[i, t, e], wanted, rtol=1e-5)


def test_normalisation_leaves_out_the_dead() -> None:
    """Whatever stands in the dead's places, what the living learn from stays the same."""
    agent, _, rollouts = collected()
    mine: Rollout = jax.tree.map(lambda x: x[0], rollouts)
    rng = np.random.default_rng(1)
    shape = mine.action.shape
    advantage, value = rng.normal(size=(2, *shape)).astype(np.float32)
    hidden = np.zeros((shape[0] // SETTINGS.chunk_length, shape[1], SETTINGS.hidden_size))
    values = Values(*map(jnp.asarray, (mine.obs, value, value, hidden, value[0])))
    nonsense = np.where(mine.alive, advantage, 1e4).astype(np.float32)

    @jax.jit
    def cut(advantage: jax.Array) -> tuple[jax.Array, jax.Array]:
        chunks = agent.chunks(mine, values, advantage, SETTINGS)
        return chunks.advantage, chunks.alive

    one, other = (np.asarray(cut(x)[0]) for x in (advantage, nonsense))
    alive = np.asarray(cut(advantage)[1]) > 0
    assert not alive.all()
    assert_allclose(one[alive], other[alive], atol=1e-5)
    living = [advantage[at] for at in np.ndindex(shape) if mine.alive[at]]
    mean = sum(living) / len(living)
    deviation = (sum((x - mean) ** 2 for x in living) / len(living)) ** 0.5
    wanted = sorted((x - mean) / (deviation + 1e-5) for x in living)
    assert_allclose(np.sort(one[alive]), wanted, rtol=1e-3, atol=1e-5)
