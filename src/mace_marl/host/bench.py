"""What collecting from worlds outside JAX costs beyond the worlds themselves."""

import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

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
ROUNDS = 60


def bench_host(name: str = IDLE, copies: int = COPIES, rounds: int = ROUNDS) -> dict[str, Any]:
    """Microseconds of one step of all copies: of collecting, of the worlds, and what is between.

    The worlds' own part is what a plain loop over them takes, shared out among as many processes
    as step them: no more could be asked of these. The agents' networks are part of the overhead.
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
    return {
        "world": name,
        "copies": copies,
        "workers": workers,
        "step_microseconds": step,
        "worlds_microseconds": worlds,
        "networks_microseconds": _acting(trainer, state, rounds),
        "overhead_microseconds": step - worlds,
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
    sizes = worlds[0]
    chance = np.random.default_rng(0)
    actions = chance.integers(1, size=(copies, sizes.num_agents), dtype=np.int32)
    best = float("inf")
    for number in range(rounds):
        for world in worlds:
            world.reset(number)
        steps = min(STEPS, sizes.horizon)
        began = time.perf_counter()
        taken = 0
        for _ in range(steps):
            moments = [world.step(row) for world, row in zip(worlds, actions, strict=True)]
            taken += 1
            if any(moment.terminated or moment.truncated for moment in moments):
                break
        best = min(best, (time.perf_counter() - began) / taken)
    for world in worlds:
        world.close()
    return 1e6 * best


def _acting(trainer: HostTrainer, state: TrainState, rounds: int) -> float:
    """Of the agents' networks alone, in one compiled loop."""
    weights, network = jax.tree.flatten(state.learners.actor.network)
    stage = state.stage
    assert isinstance(stage, HostStage)
    _, noise = trainer.collector.noise(stage.key)

    @jax.jit
    def play(weights: list[Array], hidden: Array, rows: Array, noise: Array) -> Any:
        def step(carry: Any, _: None) -> tuple[Any, None]:
            hidden, rows = carry
            (hidden, _), out = trainer.collector.act(
                network, weights, (hidden, jnp.int32(0)), noise, rows
            )
            return (hidden, rows + 1e-6 * out[:, 0, :1]), None  # so that nothing is the same twice

        return lax.scan(step, (hidden, rows), length=STEPS)

    rows = jnp.ones_like(stage.rows)
    best = float("inf")
    for number in range(rounds + 1):
        began = time.perf_counter()
        jax.block_until_ready(play(weights, stage.actor_hidden, rows, noise))
        if number:
            best = min(best, time.perf_counter() - began)
    return 1e6 * best / STEPS
