"""`mace bench`: how fast is this machine, and how much of it do we use? All in one run.

Speed of learning is given in textbook operations (`textbook.py`), whatever is really computed. That
makes it comparable between programs; where layers are computed once per distinct observation
instead of once per sample, it may exceed the peak.
"""

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.sharding import PartitionSpec as P

from mace_marl import rollout, shards, textbook
from mace_marl.agent.learner import Agent, Learner
from mace_marl.agent.posterior.network import Trained
from mace_marl.envs.api import World, auto_reset
from mace_marl.errors import UserError
from mace_marl.host.bench import IDLE, bench_host
from mace_marl.machine import choose_layout, cores, start_jax
from mace_marl.methods import get_method
from mace_marl.tasks import TASKS, Task, get_task, task_settings
from mace_marl.trainer import Trainer, TrainState, agents_first, join_shards
from mace_marl.worlds import is_outside_jax, make_world

STAGES = ("collect", "exchange", "posterior", "shape", "learn", "novelty")
FRACTIONS = tuple(
    f"{part}_fraction_of_peak" for part in ("learner", "posterior", "novelty", "end_to_end")
)
ROUNDS = 3
BATCHES = (1024, 8192)  # environments per device tried in random play


def bench_all(preset: str, method: str | None) -> dict[str, Any]:
    """Every registered task, each in a process of its own, so that memory is told apart."""
    parts = [_bench_apart(task, preset, method) for task in TASKS]
    peak = max(part["peak_gflops"] for part in parts)
    tasks: dict[str, dict[str, Any]] = {}
    for part in parts:
        for task, figures in part["tasks"].items():
            fractions = {name: figures[name] for name in FRACTIONS if figures[name] is not None}
            tasks[task] = figures | {
                name: fraction * part["peak_gflops"] / peak for name, fraction in fractions.items()
            }
    host = _bench_apart(IDLE, preset, method)["host"]
    return parts[0] | {"peak_gflops": peak, "tasks": tasks, "host": host}


def _bench_apart(task: str, preset: str, method: str | None) -> dict[str, Any]:
    arguments = ["bench", "--task", task, "--preset", preset, "--json"]
    arguments += ["--method", method] if method else []
    output = subprocess.run(
        [sys.executable, "-m", "mace_marl", *arguments], stdout=subprocess.PIPE, check=True
    ).stdout
    return json.loads(output)


def fullest_method(task: Task, preset: str) -> str:
    """The first of mace, r_nov and ippo that can be trained on a task."""
    world, settings = make_world(task.name, task.map), task_settings(task, preset)
    for name in ("mace", "r_nov"):
        try:
            Agent.of(world, get_method(name), settings)
        except UserError:
            continue
        return name
    return "ippo"


def bench_task(task: str, preset: str, method: str | None) -> dict[str, Any]:
    """All figures for one task; without a method, of the fullest that it can be trained with.

    Of a world outside JAX, only what its collection costs: learning is that of any other world.
    """
    found = get_task(task)
    if is_outside_jax(found.name, found.map):
        start_jax(1, prompt=True)
        return _this_machine(preset) | {"tasks": {}, "host": bench_host(found.name)}
    settings = task_settings(found, preset)
    layout = choose_layout(settings)
    method = method or fullest_method(found, preset)
    jax.config.update("jax_enable_compilation_cache", False)  # compile time is one of the figures
    world = make_world(found.name, found.map)
    trainer = Trainer(world, get_method(method), settings, layout)
    state = in_full_swing(trainer.init(0))
    began = time.perf_counter()
    update = trainer.compile(state)
    compile_seconds = time.perf_counter() - began
    peak = peak_gflops()
    seconds, state = _time_all(trainer, state, update)
    stages = _stages(seconds)
    # The peak is measured on both sides of what it judges: on a shared machine it wanders.
    peak = max(peak, peak_gflops())
    work = {
        "learn": textbook.ppo_gflop(settings, state.learners),
        "posterior": textbook.posterior_gflop(settings, state.learners),
        "novelty": textbook.novelty_gflop(settings, state.learners),
    }

    def fraction_of_peak(stage: str) -> float | None:
        return work[stage] / stages[stage] / peak if work[stage] else None

    return _this_machine(preset) | {
        "peak_gflops": peak,
        "tasks": {
            task: {
                "method": method,
                "world_steps_per_second": world_speed(world, layout.devices),
                "collect_steps_per_second": settings.steps_per_update / stages["collect"],
                "textbook_gflop_per_update": work["learn"],
                "posterior_gflop_per_update": work["posterior"],
                "novelty_gflop_per_update": work["novelty"],
                "learner_gflops": work["learn"] / stages["learn"],
                "learner_fraction_of_peak": fraction_of_peak("learn"),
                "posterior_fraction_of_peak": fraction_of_peak("posterior"),
                "novelty_fraction_of_peak": fraction_of_peak("novelty"),
                "end_to_end_fraction_of_peak": sum(work.values()) / seconds["update"] / peak,
                "env_steps_per_second": settings.steps_per_update / seconds["update"],
                "update_seconds": seconds["update"],
                "share": {name: t / sum(stages.values()) for name, t in stages.items()},
                "peak_memory_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
                "compile_seconds": compile_seconds,
                "layout": vars(layout),
            }
        },
    }


def _this_machine(preset: str) -> dict[str, Any]:
    return {
        "cores": cores(),
        "devices": [str(device) for device in jax.devices()],
        "jax": jax.__version__,
        "preset": preset,
    }


def peak_gflops(size: int = 2048) -> float:
    """The best of NumPy's and JAX's single-precision product of large square matrices."""
    square = np.random.default_rng(0).random((size, size), dtype=np.float32)
    on_device = jnp.asarray(square)
    product = jax.jit(jnp.matmul)
    seconds = best_seconds(
        {"numpy": lambda: square @ square, "jax": lambda: product(on_device, on_device)}, rounds=8
    )
    return 2 * size**3 / min(seconds.values()) / 1e9


def best_seconds(works: dict[str, Callable[[], Any]], rounds: int = ROUNDS) -> dict[str, float]:
    """The shortest of several times of each, after one to warm up.

    All take turns in every round: on a shared machine, a slow moment then meets all alike.
    """
    best = dict.fromkeys(works, float("inf"))
    for number in range(rounds + 1):
        for name, work in works.items():
            began = time.perf_counter()
            jax.block_until_ready(work())
            if number > 0:
                best[name] = min(best[name], time.perf_counter() - began)
    return best


def in_full_swing(state: TrainState) -> TrainState:
    """The state as if a replay, where there is one, had been filled: some wait for that."""
    kept = state.learners.exploration.posterior
    if not isinstance(kept, Trained):
        return state
    full = kept.replay._replace(counts=jnp.ones_like(kept.replay.counts))
    kept = kept._replace(replay=full, held=jnp.full_like(kept.held, full.counts.shape[1]))
    exploration = state.learners.exploration._replace(posterior=kept)
    return state._replace(learners=state.learners._replace(exploration=exploration))


def world_speed(world: World, devices: int) -> float:
    """Environment steps per second of random play with auto-reset, at the best batch size."""
    return max(_random_play_speed(world, devices, batch) for batch in BATCHES)


def _random_play_speed(world: World, devices: int, batch: int, steps: int = 300) -> float:
    """`batch` environments on each device."""

    def play(key: Array) -> Array:
        states, _ = jax.vmap(world.reset)(jax.random.split(key[0], batch))

        def step(carry: Any, _: None) -> tuple[Any, None]:
            states, key, reward = carry
            key, action_key, step_key = jax.random.split(key, 3)
            shape = (batch, world.num_agents)
            actions = jax.random.randint(action_key, shape, 0, world.num_actions)
            keys = jax.random.split(step_key, batch)
            states, now, _ahead = jax.vmap(lambda *x: auto_reset(world, *x))(keys, states, actions)
            return (states, key, reward + now.reward.sum()), None

        (_, _, reward), _ = lax.scan(step, (states, key[0], 0.0), length=steps)
        return reward[None]

    program = jax.jit(
        jax.shard_map(
            play,
            mesh=shards.mesh(devices),
            in_specs=P(shards.AXIS),
            out_specs=P(shards.AXIS),
            check_vma=False,
        )
    )
    keys = jax.random.split(jax.random.key(0), devices)
    return batch * devices * steps / best_seconds({"play": lambda: program(keys)})["play"]


def _time_all(
    trainer: Trainer, state: TrainState, update: Callable[..., Any]
) -> tuple[dict[str, float], TrainState]:
    """Seconds of whole updates and of each stage; and the state after."""
    stages = stage_work(trainer, state)  # from copies: an update uses its state up

    def next_update() -> Any:
        nonlocal state
        state, report = update(state, trainer.settings)
        return report

    seconds = best_seconds({"update": next_update, **stages})
    return seconds, state


def _stages(seconds: dict[str, float]) -> dict[str, float]:
    """The stages' seconds; shaping is what preparing takes beyond the posterior."""
    rest = seconds["prepare"] - seconds["posterior"]
    return {name: (seconds | {"shape": max(rest, 0.0)})[name] for name in STAGES}


def stage_work(trainer: Trainer, state: TrainState) -> dict[str, Callable[[], Any]]:
    """Each stage of an update, compiled by itself, on what the stages before give it."""
    agent, settings, layout = trainer.agent, trainer.settings, trainer.layout
    explorer = agent.explorer

    def on_shards(function: Callable[..., Any], *specs: Any) -> Callable[..., Any]:
        return jax.jit(
            jax.shard_map(
                function, mesh=trainer.mesh, in_specs=specs, out_specs=P(), check_vma=False
            )
        )

    def collect(state: TrainState) -> Any:
        _, part, _ = rollout.collect(trainer.world, state.learners, state.stage, settings)
        rollouts = agents_first(part)
        values, _ = trainer.appraise(state.learners, rollouts, state.stage, settings)
        return join_shards(rollouts), join_shards(values)

    def exchange(learners: Learner, rollouts: Any) -> Any:
        return trainer.exchange(learners, rollouts, settings)

    def posterior(learners: Learner, rollouts: Any, heard: Any) -> Any:
        if explorer.method.hindsight == "none":
            return learners.exploration.edges
        return trainer.each(
            partial(explorer.hindsight, settings=settings, micro_batch=layout.samples),
            (learners.exploration, rollouts, heard),
        )

    def prepare(*arguments: Any) -> Any:
        return trainer.each(partial(agent.prepare, settings=settings, layout=layout), arguments)

    def learn(*arguments: Any) -> Any:
        return trainer.each(partial(agent.improve, settings=settings, layout=layout), arguments)

    def novelty(*arguments: Any) -> Any:
        learn = partial(agent.learn_novelty, settings=settings, layout=layout)
        learners, report = trainer.each(learn, arguments)
        return learners.exploration.novelty if report else report

    programs = {
        "collect": on_shards(collect, TrainState(P(), P(shards.AXIS))),  # pyright: ignore[reportArgumentType]
        "exchange": on_shards(exchange, P(), P()),
        "posterior": on_shards(posterior, P(), P(), P()),
        "prepare": on_shards(prepare, P(), P(), P(), P()),
        "learn": on_shards(learn, P(), P()),
        "novelty": on_shards(novelty, P(), P()),
    }
    state = jax.tree.map(jnp.copy, state)
    rollouts, values = programs["collect"](state)
    learners, heard = programs["exchange"](state.learners, rollouts)
    prepared, _, chunks = programs["prepare"](learners, rollouts, values, heard)
    inputs: dict[str, tuple[Any, ...]] = {
        "collect": (state,),
        "exchange": (state.learners, rollouts),
        "posterior": (learners, rollouts, heard),
        "prepare": (learners, rollouts, values, heard),
        "learn": (prepared, chunks),
        "novelty": (prepared, rollouts),
    }
    return {name: partial(program, *inputs[name]) for name, program in programs.items()}
