"""Collecting experience from worlds outside JAX: the trainer's side of the pool.

Acting is one small compiled function, called once per step; a callback from inside one compiled
program costs more, for JAX copies its arrays there and back (docs/performance.md). What was lived
through is kept as rows, and becomes a `Rollout` inside the compiled update.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from mace_marl.agent.experience import Rollout
from mace_marl.agent.learner import Learner
from mace_marl.agent.optimiser import Optimised
from mace_marl.envs.api import Step
from mace_marl.host.board import Row, Sizes
from mace_marl.host.pool import Pool
from mace_marl.host.world import Hosted
from mace_marl.rollout import Episodes, act_together
from mace_marl.settings import Settings
from mace_marl.viewer.progress import say


class Running(NamedTuple):
    """The running episodes so far."""

    returns: Any  # (envs,), mean over agents
    length: Any  # (envs,) int32


class HostStage(NamedTuple):
    """Where the worlds and the agents' memories stand, in numbers that can be saved.

    A world's own state cannot be; but its episode's number and actions lead to it again.
    """

    root: Any  # (2,) uint32: what all episodes' seeds are derived from
    episode: Any  # (envs,) int32: number of the running episode
    time: Any  # (envs,) int32: its steps so far
    history: Any  # (envs, horizon, num_agents) int32: its actions so far
    rows: Any  # (envs, width): what the agents act upon next
    actor_hidden: Array  # (envs, num_agents, hidden_size)
    critic_hidden: Array  # (envs, num_agents, hidden_size)
    running: Running
    key: Array  # ()


class Lived(NamedTuple):
    """What a rollout leaves behind, before it is taken apart. `t` runs over steps.

    Arrays are NumPy's while they are written, and JAX's inside the update.
    """

    seen: Any  # (t, envs, width): acted upon
    after: Any  # (t, envs, width): what came of it
    acted: Any  # (t, envs, num_agents, 2): actions and their log-probabilities
    last: Any  # (envs, width): what is seen after the rollout
    hidden: list[Array]  # each (envs, num_agents, hidden_size): of actors, where chunks begin


def first_stage(world: Hosted, settings: Settings, key: Array) -> HostStage:
    """All environments before their first episode; the worlds are asked when collecting begins."""
    envs, row = settings.num_envs, Row(world.sizes)
    memory = jnp.zeros((envs, world.num_agents, settings.hidden_size))
    nothing = jnp.zeros(envs, jnp.int32)
    return HostStage(
        root=jnp.zeros(2, jnp.uint32),
        episode=nothing,
        time=nothing,
        history=jnp.zeros((envs, world.horizon, world.num_agents), jnp.int32),
        rows=jnp.zeros((envs, row.width)),
        actor_hidden=memory,
        critic_hidden=memory,
        running=Running(jnp.zeros(envs), nothing),
        key=key,
    )


class Collector:
    """Plays rollouts in a pool of worlds, which it starts when the first is asked for."""

    def __init__(self, world: Hosted, settings: Settings) -> None:
        self.world, self.settings = world, settings
        self.pool: Pool | None = None
        self.standing: Any = None  # the rows that the pool's worlds came to last
        self.act = make_actor(world.sizes)
        self.split = jax.jit(jax.random.split)

    def collect(self, learners: Learner, stage: HostStage) -> tuple[HostStage, Lived]:
        """rollout_length steps of every environment."""
        settings, pool = self.settings, self.open()
        board = pool.board
        if stage.rows is not self.standing:  # of another run, or of the past
            stage = self._take_up(pool, stage)
        steps, envs = settings.rollout_length, settings.num_envs
        key, noise_key = self.split(stage.key)
        noise = draw_noise(noise_key, (steps, envs, self.world.num_agents, self.world.num_actions))
        seen = np.empty((steps + 1, envs, board.row.width), np.float32)
        after = np.empty((steps, envs, board.row.width), np.float32)
        acted = np.empty((steps, envs, self.world.num_agents, 2), np.float32)
        weights = jax.tree.leaves(learners.actor.network)
        network = jax.tree.structure(learners.actor.network)
        memory = (stage.actor_hidden, jnp.int32(0))
        hidden = []
        seen[0] = stage.rows
        for step in range(steps):
            if step % settings.chunk_length == 0:
                hidden.append(memory[0])
            memory, out = self.act(network, weights, memory, noise, seen[step])
            acted[step] = out
            pool.step(acted[step, ..., 0])
            after[step] = board.after
            seen[step + 1] = board.ahead
        stage = stage._replace(
            episode=board.episode.copy(),
            time=board.time.copy(),
            history=board.history.copy(),
            rows=seen[steps],
            actor_hidden=memory[0],
            key=key,
        )
        self.standing = stage.rows
        return stage, Lived(seen[:steps], after, acted, seen[steps], hidden)

    def open(self) -> Pool:
        """The pool, with an episode begun in every world when it is new."""
        if self.pool is None:
            self.pool = self.world.pool(self.settings.num_envs)
            self.pool.begin((0, 0), 0)
        return self.pool

    def close(self) -> None:
        if self.pool:
            self.pool.close()
            self.pool = None
        self.standing = None

    def _take_up(self, pool: Pool, stage: HostStage) -> HostStage:
        """Bring the worlds to where the stage says they stand, as far as they can be."""
        board = pool.board
        board.root[:], board.once[:] = np.asarray(stage.root), False
        board.episode[:], board.time[:] = np.asarray(stage.episode), np.asarray(stage.time)
        board.history[:], board.ahead[:] = np.asarray(stage.history), np.asarray(stage.rows)
        lost = int(pool.take_up().sum())
        if lost:
            say(
                f"{lost} of {pool.copies} worlds could not be brought back to where they stood:"
                " their episodes are dropped, and new ones begin."
            )
        fresh = board.time == 0
        running = Running(*(np.where(fresh, np.zeros_like(x), x) for x in stage.running))
        return stage._replace(rows=board.ahead.copy(), running=running)


def make_actor(sizes: Sizes) -> Callable[..., Any]:
    """The compiled function by which all agents act on rows.

    Networks come as a list of weights, since it takes long to find them in a tree at every step.
    """
    row = Row(sizes)

    @partial(jax.jit, static_argnums=0)
    def act(
        network: Any,
        weights: list[Array],
        memory: tuple[Array, Array],
        noise: Array,  # (t, envs, num_agents, num_actions)
        rows: Array,  # (envs, width)
    ) -> tuple[tuple[Array, Array], Array]:
        hidden, time = memory
        action, log_prob, hidden = act_together(
            _acting(jax.tree.unflatten(network, weights)),
            step_of(row, rows),
            hidden,
            row.part(rows, "first") > 0,
            lax.dynamic_index_in_dim(noise, time, keepdims=False),
        )
        out = jnp.stack([action.astype(jnp.float32), log_prob], axis=-1)
        return (hidden, time + 1), out

    return act


def _acting(network: Any) -> Learner:
    """As much of a Learner as acting needs."""
    nothing: Any = None
    return Learner(Optimised(network, nothing), nothing, nothing, nothing, nothing)


def draw_noise(key: Array, shape: tuple[int, ...]) -> Array:
    """Standard Gumbel noise for a rollout; NumPy takes a quarter of JAX's time for it on a CPU."""
    words = np.asarray(jax.random.key_data(key)).astype(np.uint64)
    generator = np.random.Generator(np.random.Philox(key=words))
    exponential = generator.standard_exponential(shape, np.float32)
    return jnp.asarray(-np.log(np.maximum(exponential, np.finfo(np.float32).tiny)))


def step_of(row: Row, rows: Array) -> Step:
    """Rows taken apart  # rows (…, width)."""
    flags = {name: row.part(rows, name) > 0 for name in ("terminated", "truncated")}
    masks = {name: row.part(rows, name) > 0 for name in ("available", "alive")}
    return Step(obs=row.part(rows, "obs"), reward=row.part(rows, "reward"), **flags, **masks)


def take_apart(row: Row, lived: Lived, running: Running) -> tuple[Rollout, Episodes, Running]:
    """The rollout, the episodes that ended in it, and how far the others are."""
    seen, after = step_of(row, lived.seen), step_of(row, lived.after)
    lost = row.part(lived.after, "lost") > 0  # (t, envs)
    first = row.part(lived.seen, "first") > 0
    kept = ~dropped(first, lost)[..., None]

    def everyone(x: Array) -> Array:  # (t, envs) → (t, envs, num_agents)
        return jnp.broadcast_to(x[..., None], after.reward.shape)

    rollout = Rollout(
        obs=seen.obs,
        action=lived.acted[..., 0].astype(jnp.int32),
        log_prob=lived.acted[..., 1],
        reward=after.reward,
        next_obs=after.obs,
        first=everyone(first),
        terminated=everyone(after.terminated),
        truncated=everyone(after.truncated),
        available=seen.available,
        alive=seen.alive & kept,
        next_alive=after.alive & kept,
        actor_hidden=jnp.stack(lived.hidden),
        last_obs=row.part(lived.last, "obs"),
    )
    success = row.part(lived.after, "success") > 0
    ended = after.terminated | after.truncated
    return rollout, *tally(after.reward, ended, success, lost, running)


def dropped(first: Array, lost: Array) -> Array:
    """Which steps belong to an episode that was lost later in the rollout  # all (t, envs)."""

    def back(doomed: Array, now: tuple[Array, Array]) -> tuple[Array, Array]:
        first, lost = now
        doomed = doomed | lost
        return doomed & ~first, doomed

    return lax.scan(back, jnp.zeros_like(lost[0]), (first, lost), reverse=True)[1]


def tally(
    reward: Array, ended: Array, success: Array, lost: Array, running: "Running"
) -> tuple[Episodes, "Running"]:
    """Sums over the episodes that ended and were not lost, and how far the others are.

    `reward`  # (t, envs, num_agents); `ended`, `success`, `lost`  # (t, envs)
    """

    def step(running: Running, now: tuple[Array, Array]) -> tuple[Running, Running]:
        reward, ended = now
        total = Running(running.returns + reward.mean(axis=1), running.length + 1)
        return Running(*(jnp.where(ended, 0, x) for x in total)), total

    running, totals = lax.scan(step, running, (reward, ended))
    counts = ended & ~lost
    episodes = Episodes(
        ended=counts.sum(dtype=jnp.int32),
        successes=(success & counts).sum(dtype=jnp.int32),
        returns=jnp.where(counts, totals.returns, 0.0).sum(),
        lengths=jnp.where(counts, totals.length, 0).sum(dtype=jnp.int32),
    )
    return episodes, running
