"""Playing with learned policies in worlds outside JAX. Nothing is exchanged."""

import jax
import jax.numpy as jnp
import numpy as np

from mace_marl.agent.learner import Learner
from mace_marl.evaluation import Played
from mace_marl.host.board import episode_seed
from mace_marl.host.collect import make_actor
from mace_marl.host.pool import Pool
from mace_marl.host.world import Hosted, Recorded

PLAY = 1  # seeds of play differ from those of training by this


def play_host(
    world: Hosted, learners: Learner, seed: int, episodes: int, greedy: bool, copies: int
) -> Played:
    """Play whole episodes, `copies` at a time; their `states` can be played again."""
    pool = world.pool(copies)
    try:
        rounds = [
            _play_round(world, pool, learners, seed, number, greedy)
            for number in range(-(-episodes // copies))
        ]
    finally:
        pool.close()
    return jax.tree.map(lambda *parts: np.concatenate(parts)[:episodes], *rounds)


def _play_round(
    world: Hosted, pool: Pool, learners: Learner, seed: int, number: int, greedy: bool
) -> Played:
    """One episode in every world of the pool. One whose worker dies is played anew."""
    board, copies = pool.board, pool.copies
    # Far apart, for an episode that is lost is followed by that of the next number.
    pool.begin((seed, PLAY), number * 1000, once=True)
    act = make_actor(world.sizes)
    weights, network = jax.tree.flatten(learners.actor.network)
    shape = (1, copies, world.num_agents, world.num_actions)
    key = jax.random.fold_in(jax.random.key(seed), number)
    hidden = jnp.zeros((copies, world.num_agents, learners.actor.network.fc1.bias.shape[-1]))
    playing = np.ones(copies, bool)
    returns = np.zeros(copies, np.float32)
    success = np.zeros(copies, bool)
    while playing.any():
        key, noise_key = jax.random.split(key)
        noise = jnp.zeros(shape) if greedy else jax.random.gumbel(noise_key, shape)
        rows = board.ahead.copy()
        (hidden, _), out = act(network, weights, (hidden, jnp.int32(0)), noise, rows)
        pool.step(np.asarray(out)[..., 0])
        parts = {name: board.row.part(board.after, name) for name in board.row.parts}
        lost = parts["lost"] > 0
        returns = np.where(playing, returns + parts["reward"].mean(axis=1), returns)
        returns = np.where(lost, np.float32(0), returns)
        ended = ((parts["terminated"] + parts["truncated"]) > 0) & ~lost
        success |= playing & ended & (parts["success"] > 0)
        playing = (playing & ~ended) | lost
    seeds = [episode_seed(board.root, world, board.episode[world]) for world in range(copies)]
    states = Recorded(np.array(seeds), board.history.copy())
    return Played(success, returns, board.time.copy(), states)  # pyright: ignore[reportArgumentType]
