"""What PPO learns from."""

from typing import NamedTuple

from jax import Array

from mace_marl import shards


class Chunks(NamedTuple):
    """An agent's samples, cut into short stretches of consecutive steps (time first)."""

    obs: Array  # (time, chunks, observation_size)
    critic_obs: Array  # (time, chunks, view_size): the same, or everyone's
    action: Array  # (time, chunks) int32
    log_prob: Array  # (time, chunks), of the behaviour policy
    value: Array  # (time, chunks), of the critic at collection
    advantage: Array  # (time, chunks), normalised
    target: Array  # (time, chunks), what the critic should have said
    first: Array  # (time, chunks) bool: an episode begins here
    available: Array  # (time, chunks, num_actions) bool
    alive: Array  # (time, chunks) float32: 0 where the agent was dead
    actor_hidden: Array  # (1, chunks, hidden_size), stored where the chunk begins
    critic_hidden: Array  # (1, chunks, hidden_size)
    row: Array  # (time, chunks) int32: the observation's place among the distinct ones, else 0

    def grouped(self, which: Array, size: int) -> "Chunks":
        """This shard's share of the chunks `which`, in groups  # (groups, time, size, …)."""
        mine = shards.share(which)
        size = min(size, len(mine))
        return Chunks(
            *(x[:, mine].reshape(x.shape[0], -1, size, *x.shape[2:]).swapaxes(0, 1) for x in self)
        )
