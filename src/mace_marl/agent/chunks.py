"""What PPO learns from."""

from typing import NamedTuple

from jax import Array


class Chunks(NamedTuple):
    """An agent's samples, cut into short stretches of consecutive steps (time first)."""

    obs: Array  # (time, chunks, observation_size)
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

    def take(self, which: Array) -> "Chunks":
        return Chunks(*(x[:, which] for x in self))
