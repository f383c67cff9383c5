"""Rollouts of three agents written by a random generator, without world or policy."""

from functools import partial
from typing import Any

import numpy as np
from samples import Sheet

from mace_marl.agent.experience import Rollout, Values

STEPS, ENVS, CHUNK, AGENTS = 12, 3, 4, Sheet.num_agents


def make_rollouts(seed: int, mortal: bool = False) -> Rollout:
    """Rollouts of all agents  # (agents, t, e, …), as NumPy arrays; both kinds of end occur."""
    rng = np.random.default_rng(seed)
    shape = AGENTS, STEPS, ENVS
    end = rng.choice(3, p=[0.75, 0.15, 0.1], size=(STEPS, ENVS))
    ended = end > 0
    first = np.concatenate([rng.random((1, ENVS)) < 0.5, ended[:-1]])
    obs = Sheet().random_obs(rng, AGENTS, STEPS + 1, ENVS)
    reached = Sheet().random_obs(rng, *shape)  # where episodes end
    alive = np.ones((AGENTS, STEPS + 1, ENVS), bool)
    next_alive = np.ones(shape, bool)
    for agent, t, e in np.ndindex(*shape) if mortal else ():
        next_alive[agent, t, e] = alive[agent, t, e] and rng.random() < 0.9
        alive[agent, t + 1, e] = next_alive[agent, t, e] or ended[t, e]
    log_prob = np.log(rng.uniform(0.05, 1, shape))
    everyone = partial(np.broadcast_to, shape=shape)
    arrays = {
        "obs": obs[:, :-1],
        "action": rng.integers(Sheet.num_actions, size=shape).astype(np.int32),
        "log_prob": log_prob,
        "reward": rng.normal(0, 1, shape),
        "next_obs": np.where(ended[..., None], reached, obs[:, 1:]),
        "first": everyone(first),
        "terminated": everyone(end == 1),
        "truncated": everyone(end == 2),
        "available": rng.random((*shape, Sheet.num_actions)) < 0.8,
        "alive": alive[:, :-1],
        "next_alive": next_alive,
        "actor_hidden": rng.normal(size=(AGENTS, STEPS // CHUNK, ENVS, 2)),
        "last_obs": obs[:, -1],
    }
    narrow = {
        name: x.astype(np.float32) if x.dtype == np.float64 else x for name, x in arrays.items()
    }
    return Rollout(**narrow)  # pyright: ignore[reportArgumentType]


def make_values(seed: int, rollouts: Any) -> Any:
    """Values of all agents' critics, `seen` left out."""
    rng = np.random.default_rng(seed)
    shape = AGENTS, STEPS, ENVS
    arrays = (
        rng.normal(0, 5, shape),
        np.where(rollouts.truncated, rng.normal(0, 5, shape), 0.0),
        rng.normal(size=(AGENTS, STEPS // CHUNK, ENVS, 2)),
        rng.normal(0, 5, (AGENTS, ENVS)),
    )
    return Values(np.zeros(AGENTS), *(x.astype(np.float32) for x in arrays))  # pyright: ignore[reportArgumentType]


def of_agent(i: int, stacked: Any) -> Any:
    return type(stacked)(*(x[i] for x in stacked))


def others_of(i: int) -> list[int]:
    """In the order of agent i's inbox."""
    return [(i + k) % AGENTS for k in range(1, AGENTS)]
