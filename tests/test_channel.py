"""The only doors between agents: what goes through it, and that nothing gets around it."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array, lax
from numpy.testing import assert_allclose, assert_array_equal
from samples import Sheet, minipass, random_learners

from mace_marl import channel, rollout, shards
from mace_marl.agent import gae, ppo
from mace_marl.agent.learner import Agent, Learner, act
from mace_marl.channel import AXIS, Crossing, traffic
from mace_marl.envs.api import Step
from mace_marl.machine import Layout
from mace_marl.methods import METHODS
from mace_marl.settings import Settings
from mace_marl.trainer import Trainer, TrainState

SETTINGS = Settings(
    num_envs=4, rollout_length=10, chunk_length=5, hidden_size=4, epochs=2, window=2
)
STEPS = SETTINGS.steps_per_update
ONE_FLOAT_PER_STEP = Crossing("all_gather", ("float32",), numbers=STEPS, bytes=4 * STEPS)


def observations(times: int) -> Crossing:
    """MiniPass's observations: row, column, and whether its door is open."""
    return Crossing("all_gather", ("float32",), numbers=3 * times, bytes=12 * times)


def make_trainer(method: str, settings: Settings = SETTINGS) -> Trainer:
    return Trainer(minipass(horizon=7), METHODS[method], settings, Layout(micro_batch=4))


def shapes_of_one_agent(trainer: Trainer) -> tuple[Any, ...]:
    """Its learner, its rollout and its critic's memory, as shapes."""

    def of_all() -> Any:
        state = trainer.init_state(SETTINGS, jax.random.key(0))
        return jax.tree.map(lambda x: x[0], trainer.collect_all(state))

    return jax.eval_shape(of_all)


# The doors


def test_exchange_gives_the_novelties_of_the_others_in_order() -> None:
    """The agents after this one first; never one's own."""
    novelty = jnp.arange(4 * 3 * 2.0).reshape(4, 3, 2)  # of four agents
    inbox = jax.vmap(channel.exchange, axis_name=AXIS)(novelty)
    assert inbox.shape == (4, 3, 3, 2)
    for agent in range(4):
        for k in range(3):
            assert_array_equal(inbox[agent, k], novelty[(agent + 1 + k) % 4])


def test_exchange_of_two_agents_is_a_swap() -> None:
    novelty = jnp.array([[[1.0]], [[2.0]]])
    inbox = jax.vmap(channel.exchange, axis_name=AXIS)(novelty)
    assert_array_equal(inbox[:, 0], novelty[::-1])


def test_a_lonely_agent_receives_nothing() -> None:
    assert jax.vmap(channel.exchange, axis_name=AXIS)(jnp.ones((1, 3, 2))).shape == (1, 0, 3, 2)


def test_exchange_sends_float32_whatever_it_is_given() -> None:
    novelty = jax.ShapeDtypeStruct((3, 2), jnp.float16)
    (crossing,) = traffic(channel.exchange, 2, novelty)
    assert crossing == Crossing("all_gather", ("float32",), numbers=6, bytes=24)


def test_showing_gives_everyones_observations_ones_own_first() -> None:
    obs = jnp.arange(4 * 5 * 3.0).reshape(4, 5, 3)  # of four agents
    seen = jax.vmap(channel.show, axis_name=AXIS)(obs)
    assert seen.shape == (4, 5, 12)
    for agent in range(4):
        for k in range(4):
            assert_array_equal(seen[agent, :, 3 * k : 3 * k + 3], obs[(agent + k) % 4])


# The agents' program


@pytest.mark.parametrize(
    ("method", "crossings"),
    [
        ("ippo", []),
        ("r_loc", []),
        ("r_nov", [ONE_FLOAT_PER_STEP]),
        ("max_u", [ONE_FLOAT_PER_STEP]),
        ("r_hin", [ONE_FLOAT_PER_STEP]),
        ("r_hin_s", [ONE_FLOAT_PER_STEP]),
        ("mace", [ONE_FLOAT_PER_STEP]),
        ("mace_mi", [ONE_FLOAT_PER_STEP]),
        ("mace_z", [ONE_FLOAT_PER_STEP]),
        ("mace_s", [ONE_FLOAT_PER_STEP]),
        ("mappo", [observations(STEPS), observations(STEPS), observations(SETTINGS.num_envs)]),
    ],
)
def test_what_crosses_after_collecting(method: str, crossings: list[Crossing]) -> None:
    trainer = make_trainer(method)
    one_agent = shapes_of_one_agent(trainer)
    assert traffic(trainer.agent_update, 2, *one_agent, SETTINGS) == crossings
    assert trainer.floats_sent() == sum(crossing.numbers for crossing in crossings) / STEPS


@pytest.mark.parametrize("novelty", ["rnd", "hash", "both"])
def test_what_is_learned_alone_crosses_nothing(novelty: str) -> None:
    """Neither RND nor posterior networks: one float per step, as with counting."""
    learned = {"novelty": novelty, "posterior": "network", "replay": 50, "posterior_epochs": 2}
    assert make_trainer("mace", SETTINGS.override(learned)).floats_sent() == 1


def test_nothing_crosses_while_acting() -> None:
    trainer = make_trainer("mace")

    def arguments() -> Any:
        learners, stage = trainer.init_state(SETTINGS, jax.random.key(0))
        one = jax.tree.map(lambda x: x[0], learners)
        obs, hidden, available = stage.seen.obs, stage.actor_hidden, stage.seen.available
        noise = jnp.zeros(available[:, 0].shape)
        return one, obs[:, 0], hidden[:, 0], stage.first, available[:, 0], noise

    assert traffic(act, 2, *jax.eval_shape(arguments)) == []


def test_acting_depends_on_oneself_alone() -> None:
    """Collecting handles all agents' arrays together: no collective would show a leak there."""
    agent = Agent.of(Sheet(), METHODS["ippo"], SETTINGS)
    learners = random_learners(agent, SETTINGS)
    obs, hidden, noise = (
        jnp.asarray(np.random.default_rng(size).normal(size=(5, 3, size))) for size in (3, 4, 3)
    )

    @jax.jit
    def play(order: Array) -> tuple[Array, Array]:
        """Agents in this order, with all that is theirs."""
        ordered = jax.tree.map(lambda x: x[order], learners)
        nothing = jnp.zeros(5, bool)
        seen = Step(
            obs=obs[:, order],
            reward=jnp.zeros((5, 3)),
            terminated=nothing,
            truncated=nothing,
            available=jnp.ones((5, 3, 3), bool),
            alive=jnp.ones((5, 3), bool),
        )
        action, log_prob, _ = rollout.act_together(
            ordered, seen, hidden[:, order], nothing, noise[:, order]
        )
        return action, log_prob

    for one, other in zip(play(jnp.array([0, 1, 2])), play(jnp.array([0, 2, 2])), strict=True):
        assert_array_equal(one[:, [0, 2]], other[:, [0, 2]])
        assert not np.array_equal(one[:, 1], other[:, 1])


def stand_in_for_ppo(
    actor: ppo.Optimised, critic: ppo.Optimised, chunks: ppo.Chunks, *_: Any, **__: Any
) -> tuple[ppo.Optimised, ppo.Optimised, dict[str, Array]]:
    """Something else that depends on all it is given."""
    sums = {name: x.astype(jnp.float32).sum() for name, x in chunks._asdict().items()}
    network = jax.tree.map(lambda x: x + 1e-3 * sums["advantage"], actor.network)
    return actor._replace(network=network), critic, sums


@pytest.mark.parametrize("method", ["mace", "mappo"])
def test_the_program_audited_is_the_program_that_trains(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`agent_update`, whose trace is read, mapped over agents, gives what `update` gives.

    PPO, by far the longest to compile, is the same function in both and left out.
    """
    monkeypatch.setattr(ppo, "improve", stand_in_for_ppo)
    trainer = make_trainer(method)
    learners = random_learners(trainer.agent, SETTINGS)
    stage = jax.jit(lambda key: rollout.begin(trainer.world, SETTINGS, key))(jax.random.key(0))

    @jax.jit
    def by_hand(learners: Learner, stage: rollout.Stage) -> tuple[Learner, dict[str, Array]]:
        program = jax.vmap(trainer.agent_update, in_axes=(0, 0, 0, None), axis_name=AXIS)
        collected = trainer.collect_all(TrainState(learners, stage))
        learners, _, report = program(*collected, SETTINGS)
        return learners, report

    wanted, details = by_hand(learners, stage)
    state, report = trainer.update(trainer.lay_out(TrainState(learners, stage)))
    ours, theirs = (x._replace(key=jax.random.key_data(x.key)) for x in (state.learners, wanted))
    assert jax.tree.structure(ours) == jax.tree.structure(theirs)
    for one, other in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        assert_allclose(one, other, rtol=1e-5, atol=1e-5)
    for name, numbers in details.items():
        assert_allclose(report.agents[name], numbers, rtol=1e-4, atol=1e-3, err_msg=name)


# Planted leaks

Leak = Callable[[Array], Array]  # from this agent's novelty to something of the others


def in_jit(u: Array) -> Array:
    return jax.jit(lambda u: lax.psum(u, AXIS))(u)


def in_scan(u: Array) -> Array:
    return lax.scan(lambda sums, row: (sums + lax.psum(row, AXIS), None), u[0], u)[0]


def in_cond(u: Array) -> Array:
    return lax.cond(u[0, 0] > 0, lambda: lax.psum(u, AXIS), lambda: u)


def in_while(u: Array) -> Array:
    return lax.while_loop(lambda x: x[0, 0] < 9, lambda x: lax.psum(x, AXIS) + 1, u)


def in_a_loop_in_jit_in_a_branch(u: Array) -> Array:
    loop = jax.jit(lambda: lax.fori_loop(0, 3, lambda _, x: lax.pmax(x, AXIS), u))
    return lax.cond(u[0, 0] > 0, loop, lambda: u)


def in_checkpoint(u: Array) -> Array:
    return jax.checkpoint(lambda u: lax.psum(u, AXIS))(u)


def in_a_gradient(u: Array) -> Array:
    return jax.grad(lambda u: (lax.psum(u, AXIS) ** 2).sum())(u)


def in_vmap(u: Array) -> Array:
    return jax.vmap(lambda row: lax.psum(row, AXIS))(u)


LEAKS: dict[str, Leak] = {
    "mean": lambda u: lax.pmean(u, AXIS),
    "largest": lambda u: lax.pmax(u, AXIS),
    "a single number": lambda u: lax.psum(u[0, 0], AXIS),
    "a single bit": lambda u: lax.psum(u[0, 0] > 1, AXIS),
    "second exchange": channel.exchange,
    "neighbour": lambda u: lax.ppermute(u, AXIS, [(0, 1), (1, 0)]),
    "all to all": lambda u: lax.all_to_all(u[:2], AXIS, split_axis=0, concat_axis=0),
    "scattered sum": lambda u: lax.psum_scatter(u[:2], AXIS),
    "sum over agents and shards": lambda u: lax.psum(u, (AXIS, shards.AXIS)),
    "sum over shards and agents": lambda u: lax.psum(u, (shards.AXIS, AXIS)),
    "in jit": in_jit,
    "in scan": in_scan,
    "in cond": in_cond,
    "in while": in_while,
    "in a loop in jit in a branch": in_a_loop_in_jit_in_a_branch,
    "in checkpoint": in_checkpoint,
    "in a gradient": in_a_gradient,
    "in vmap": in_vmap,
}


def leaking_exchange(leak: Leak) -> Callable[[Array], Array]:
    honest = channel.exchange

    def exchange(novelty: Array) -> Array:
        return honest(novelty) + leak(novelty).sum()

    return exchange


@pytest.mark.parametrize("name", LEAKS)
def test_leaks_are_seen(name: str) -> None:
    novelty = jax.ShapeDtypeStruct((10, 4), jnp.float32)
    honest = traffic(channel.exchange, 2, novelty)
    leaking = traffic(leaking_exchange(LEAKS[name]), 2, novelty)
    assert honest == [ONE_FLOAT_PER_STEP]
    assert leaking[0] == ONE_FLOAT_PER_STEP
    assert len(leaking) > 1
    assert leaking[1].numbers > 0


def test_sums_over_shards_are_no_leaks() -> None:
    """They join parts of one agent's own sums."""
    assert traffic(lambda u: lax.psum(u, shards.AXIS), 2, jnp.ones((10, 4))) == []


def test_knowing_ones_own_number_is_no_leak() -> None:
    assert traffic(lambda: lax.axis_index(AXIS), 2) == []


@pytest.mark.parametrize("name", ["mean", "a single number", "second exchange", "in scan"])
def test_a_leak_in_the_exchange_is_counted(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channel, "exchange", leaking_exchange(LEAKS[name]))
    assert make_trainer("mace").floats_sent() > 1.0


@pytest.mark.parametrize(("method", "honest"), [("ippo", 0.0), ("mace", 1.0)])
def test_a_leak_deep_in_the_loss_is_counted(
    method: str, honest: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Within epochs, mini-batches, micro-batches and the gradient."""
    huber = ppo.huber
    monkeypatch.setattr(ppo, "huber", lambda error, s: huber(lax.pmean(error, AXIS), s))
    assert make_trainer(method).floats_sent() > honest


def test_advantages_normalised_over_all_agents_would_be_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    advantages = gae.advantages
    monkeypatch.setattr(
        gae, "advantages", lambda *a, **k: advantages(*a, **k) - lax.pmean(a[0].mean(), AXIS)
    )
    assert make_trainer("r_nov").floats_sent() > 1.0


def test_a_second_message_in_the_same_collective_is_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One all_gather, but it carries two numbers per step."""
    honest = channel.exchange

    def exchange(novelty: Array) -> Array:
        return jax.vmap(honest)(jnp.stack([novelty, novelty**2])).sum(axis=0)

    monkeypatch.setattr(channel, "exchange", exchange)
    assert make_trainer("mace").floats_sent() == 2.0


def test_a_second_message_in_the_same_loop_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """One all_gather in the program, but it is run twice."""
    honest = channel.exchange

    def exchange(novelty: Array) -> Array:
        both = jnp.stack([novelty, novelty**2])
        return lax.scan(lambda _, message: (None, honest(message)), None, both)[1].sum(axis=0)

    monkeypatch.setattr(channel, "exchange", exchange)
    assert make_trainer("mace").floats_sent() == 2.0
