"""`mace bench`: how fast is this machine, and how much of it do we use? All in one run.

The learner's speed is given in textbook operations: 6 per weight, sample and epoch (2 forwards,
4 backwards), whatever is really computed. That makes it comparable between programs; where layers
are computed once per distinct observation instead of once per sample, it may exceed the peak.
"""

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.sharding import PartitionSpec as P

from mace_marl import channel, rollout, shards
from mace_marl.agent.learner import Agent, Learner
from mace_marl.agent.networks import Network
from mace_marl.envs.api import World, auto_reset
from mace_marl.machine import choose_layout, cores, start_jax
from mace_marl.methods import get_method
from mace_marl.settings import Settings
from mace_marl.tasks import TASKS, get_task, make_world, task_settings
from mace_marl.trainer import Trainer, TrainState, agents_first, join_shards

STAGES = ("collect", "exchange", "posterior", "shape", "learn")
REPEATS = 3
BATCHES = (1024, 8192)  # environments per device tried in random play


def bench_all(preset: str, method: str) -> dict[str, Any]:
    """Every registered task, each in a process of its own, so that memory is told apart."""
    whole: dict[str, Any] = {}
    for task in TASKS:
        arguments = ["bench", "--task", task, "--preset", preset, "--method", method, "--json"]
        output = subprocess.run(
            [sys.executable, "-m", "mace_marl", *arguments], stdout=subprocess.PIPE, check=True
        ).stdout
        part = json.loads(output)
        peak = max(part["peak_gflops"], whole.get("peak_gflops", 0.0))
        tasks = whole.get("tasks", {}) | part["tasks"]
        whole = part | {"peak_gflops": peak, "tasks": tasks}
    return whole


def bench_task(task: str, preset: str, method: str) -> dict[str, Any]:
    """All figures for one task."""
    found = get_task(task)
    settings = task_settings(found, preset)
    layout = choose_layout(settings)
    jax.config.update("jax_enable_compilation_cache", False)  # compile time is one of the figures
    world = make_world(found.name, found.map)
    trainer = Trainer(world, get_method(method), settings, layout)
    peak = peak_gflops()
    state = trainer.init(0)
    seconds, state, compile_seconds = _time_updates(trainer, state)
    stages = _time_stages(trainer, state)
    # The peak is measured on both sides of what it judges: on a shared machine it wanders.
    peak = max(peak, peak_gflops())
    work = textbook_gflop(trainer.agent, settings, state.learners)
    return {
        "peak_gflops": peak,
        "cores": cores(),
        "devices": [str(device) for device in jax.devices()],
        "jax": jax.__version__,
        "preset": preset,
        "method": method,
        "tasks": {
            task: {
                "world_steps_per_second": world_speed(world, layout.devices),
                "collect_steps_per_second": settings.steps_per_update / stages["collect"],
                "textbook_gflop_per_update": work,
                "learner_gflops": work / stages["learn"],
                "learner_fraction_of_peak": work / stages["learn"] / peak,
                "end_to_end_fraction_of_peak": work / seconds / peak,
                "env_steps_per_second": settings.steps_per_update / seconds,
                "update_seconds": seconds,
                "share": {name: t / sum(stages.values()) for name, t in stages.items()},
                "peak_memory_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
                "compile_seconds": compile_seconds,
                "layout": vars(layout),
            }
        },
    }


def peak_gflops(size: int = 2048) -> float:
    """The best of NumPy's and JAX's single-precision product of large square matrices."""
    start_jax(cores())
    square = np.random.default_rng(0).random((size, size), dtype=np.float32)
    on_device = jnp.asarray(square)
    product = jax.jit(jnp.matmul)
    seconds = min(
        best_seconds(lambda: square @ square, repeats=5),
        best_seconds(lambda: product(on_device, on_device), repeats=5),
    )
    return 2 * size**3 / seconds / 1e9


def best_seconds(work: Callable[[], Any], repeats: int = REPEATS) -> float:
    """The shortest of several times, after one to warm up."""
    jax.block_until_ready(work())
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        jax.block_until_ready(work())
        times.append(time.perf_counter() - began)
    return min(times)


def textbook_gflop(agent: Agent, settings: Settings, learners: Learner) -> float:
    """6 × weights × samples × epochs, over actors and critics of all agents."""

    def weights(network: Network) -> int:
        layers = (network.fc1, network.fc2, network.gru.inputs, network.gru.recurrent, network.head)
        return sum(layer.weight[0].size for layer in layers)  # the first agent's

    both = weights(learners.actor.network) + weights(learners.critic.network)
    samples = settings.steps_per_update * settings.epochs
    return 6 * both * samples * agent.num_agents / 1e9


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
    return batch * devices * steps / best_seconds(lambda: program(keys))


def _time_updates(trainer: Trainer, state: TrainState) -> tuple[float, TrainState, float]:
    """Seconds of the fastest whole update, the state after them, and seconds to compile."""
    began = time.perf_counter()
    program = trainer.compile(state)
    compile_seconds = time.perf_counter() - began
    times = []
    for _ in range(REPEATS + 1):
        began = time.perf_counter()
        state, report = program(state, trainer.settings)
        jax.block_until_ready((state, report))
        times.append(time.perf_counter() - began)
    return min(times[1:]), state, compile_seconds


def _time_stages(trainer: Trainer, state: TrainState) -> dict[str, float]:
    """Seconds of each stage of an update, compiled by itself."""
    agent, settings = trainer.agent, trainer.settings
    explorer = agent.explorer

    def on_shards(function: Callable[..., Any], *specs: Any) -> Callable[..., Any]:
        return jax.jit(
            jax.shard_map(
                function, mesh=trainer.mesh, in_specs=specs, out_specs=P(), check_vma=False
            )
        )

    def collect(state: TrainState) -> Any:
        _, part, _ = rollout.collect(trainer.world, state.learners, state.stage, settings)
        return agents_first(join_shards(part))

    def exchange(learners: Learner, rollouts: Any) -> Any:
        return jax.vmap(lambda one, r: explorer.exchange(one, r, settings), axis_name=channel.AXIS)(
            learners.exploration, rollouts
        )

    def posterior(learners: Learner, rollouts: Any, heard: Any) -> Any:
        if explorer.method.hindsight == "none":
            return learners.exploration.edges
        return jax.vmap(lambda one, r, h: explorer.hindsight(one, r, h, settings))(
            learners.exploration, rollouts, heard
        )

    def prepare(learners: Learner, rollouts: Any) -> Any:
        return jax.vmap(lambda one, r: agent.prepare(one, r, settings), axis_name=channel.AXIS)(
            learners, rollouts
        )

    def learn(learners: Learner, chunks: Any) -> Any:
        return trainer.improve_each(learners, chunks, settings)

    programs = {
        "collect": on_shards(collect, TrainState(P(), P(shards.AXIS))),  # pyright: ignore[reportArgumentType]
        "exchange": on_shards(exchange, P(), P()),
        "posterior": on_shards(posterior, P(), P(), P()),
        "prepare": on_shards(prepare, P(), P()),
        "learn": on_shards(learn, P(), P()),
    }
    rollouts = programs["collect"](state)
    _, heard = programs["exchange"](state.learners, rollouts)
    learners, _, chunks = programs["prepare"](state.learners, rollouts)
    inputs: dict[str, tuple[Any, ...]] = {
        "collect": (state,),
        "exchange": (state.learners, rollouts),
        "posterior": (state.learners, rollouts, heard),
        "prepare": (state.learners, rollouts),
        "learn": (learners, chunks),
    }
    seconds = {
        name: best_seconds(lambda name=name: programs[name](*inputs[name])) for name in programs
    }
    # Shaping and advantages are what preparation takes beyond the two stages within it.
    rest = seconds.pop("prepare") - seconds["exchange"] - seconds["posterior"]
    seconds["shape"] = max(rest, 0.0)
    return {name: seconds[name] for name in STAGES}
