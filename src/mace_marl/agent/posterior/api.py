"""What an estimate of p(a | o, z) is: which action tends to precede an accumulated novelty.

It lives in one agent. All it knows of others is z, made of the novelties that they told.
"""

import abc
from typing import Any, NamedTuple

from jax import Array

from mace_marl.agent.encoding import Encoding
from mace_marl.agent.experience import Rollout
from mace_marl.envs.api import World
from mace_marl.settings import Settings


class Accumulated(NamedTuple):
    """Accumulated novelties z, one for each posterior: of every other agent, or of all in sum."""

    raw: Array  # (posteriors, t, e)
    labelled: Array  # (posteriors, t, e): made of novelties relabelled by percentile


class Estimate(NamedTuple):
    """What is said of a rollout's samples, each (posteriors, t, e)."""

    log_posterior: Array  # log p(a | o, z)
    log_prior: Array  # what it is compared with: log π(a | o), or an estimate of log p(a | o)


class Posterior(abc.ABC):
    """Base class: write `of`, `init` and `estimate`. What is kept is a pytree of arrays."""

    @classmethod
    @abc.abstractmethod
    def of(
        cls, world: World, encoding: Encoding, settings: Settings, together: bool
    ) -> "Posterior":
        """The estimate for this world, or a UserError that says why it cannot be had.

        `together`: there is one posterior, for the sum over all others
        """

    @abc.abstractmethod
    def init(self, settings: Settings, key: Array) -> Any:
        """What an agent keeps before it has done anything."""

    @abc.abstractmethod
    def estimate(
        self, kept: Any, rollout: Rollout, z: Accumulated, settings: Settings, micro_batch: int
    ) -> tuple[Any, Estimate]:
        """Learn from a rollout, then say log p(a | o, z) of its samples.

        Samples of a dead agent teach nothing; what is said of them is not used, but finite.
        """
