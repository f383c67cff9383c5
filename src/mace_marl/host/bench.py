"""What collecting from worlds outside JAX costs beyond the worlds themselves."""

import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from mace_marl.host.api import HostWorld, Moment
from mace_marl.host.collect import HostStage
from mace_marl.host.trainer import HostTrainer
from mace_marl.host.world import Hosted
from mace_marl.host.worlds import make_host
from mace_marl.machine import Layout
from mace_marl.methods import get_method
from mace_marl.settings import Settings
from mace_marl.trainer import TrainState

IDLE = "mace_marl.host.idle:Idle"
COPIES = 32
STEPS = 100  # of every measurement: short, for on a shared machine quiet moments are short
ROUNDS = 300


def bench_host(name: str = IDLE, copies: int = COPIES, rounds: int = ROUNDS) -> dict[str, Any]:
    """Microseconds of one step of all copies: of collecting, and of what it cannot do without.

    The worlds' own part is what a plain loop over them takes, shared out among as many processes
    as step them: no more could be asked of these. The agents' part is what acting takes in one
    compiled loop, as in a world of JAX. The overhead is given with it and without.
    """
    world = Hosted(name)
    settings = Settings(num_envs=copies, rollout_length=STEPS)
    trainer = HostTrainer(world, get_method("ippo"), settings, Layout())
    state = trainer.init(0)
    try:
        workers = len(trainer.collector.open().workers)
        step = _collecting(trainer, state, rounds)
    finally:
        trainer.close()
    worlds = _plain_loop(name, copies, rounds) / workers
    acting = _acting(trainer, state, rounds)
    return {
        "world": name,
        "copies": copies,
        "workers": workers,
        "step_microseconds": step,
        "worlds_microseconds": worlds,
        "acting_microseconds": acting,
        "overhead_with_acting_microseconds": step - worlds,
        "overhead_microseconds": step - worlds - acting,
    }


def _collecting(trainer: HostTrainer, state: TrainState, rounds: int) -> float:
    """Of `Collector.collect`, the best of several rounds, after one to warm up."""
    stage: Any = state.stage
    best = float("inf")
    for number in range(rounds + 1):
        began = time.perf_counter()
        stage, _ = trainer.collector.collect(state.learners, stage)
        if number:
            best = min(best, time.perf_counter() - began)
    return 1e6 * best / STEPS


def _plain_loop(name: str, copies: int, rounds: int) -> float:
    """Of stepping the worlds in this process, with nothing around it."""
    worlds = [make_host(name) for _ in range(copies)]
    best = float("inf")
    for number in range(rounds):
        moments = [world.reset(number) for world in worlds]
        actions = [
            _first_available(world, moment) for world, moment in zip(worlds, moments, strict=True)
        ]
        began = time.perf_counter()
        for world, row in zip(worlds, actions, strict=True):
            world.step(row)
        best = min(best, time.perf_counter() - began)
    for world in worlds:
        world.close()
    return 1e6 * best


def _first_available(world: HostWorld, moment: Moment) -> np.ndarray:
    if moment.available is None:
        return np.zeros(world.num_agents, np.int32)
    return np.argmax(moment.available, axis=1).astype(np.int32)


def _acting(trainer: HostTrainer, state: TrainState, rounds: int) -> float:
    """Of the agents' acting alone, networks and draws, in one compiled loop."""
    weights, network = jax.tree.flatten(state.learners.actor.network)
    stage, world = state.stage, trainer.world
    assert isinstance(stage, HostStage)
    shape = (1, trainer.settings.num_envs, world.num_agents, world.num_actions)

    @jax.jit
    def play(weights: list[Array], hidden: Array, rows: Array, key: Array) -> Any:
        def step(carry: Any, key: Array) -> tuple[Any, None]:
            hidden, rows = carry
            noise = jax.random.gumbel(key, shape)
            (hidden, _), out = trainer.collector.act(
                network, weights, (hidden, jnp.int32(0)), noise, rows
            )
            return (hidden, rows + 1e-6 * out[:, 0, :1]), None  # so that nothing is the same twice

        return lax.scan(step, (hidden, rows), jax.random.split(key, STEPS))

    rows = jnp.ones_like(stage.rows)
    best = float("inf")
    for number in range(rounds + 1):
        began = time.perf_counter()
        jax.block_until_ready(play(weights, stage.actor_hidden, rows, stage.key))
        if number:
            best = min(best, time.perf_counter() - began)
    return 1e6 * best / STEPS
