"""How many operations an update takes by the textbook: what is computed is measured against it.

Training takes 6 per weight, sample and epoch: 2 forwards, 4 backwards. Learners are stacked over
agents, so that all their weights count.
"""

from typing import Any

from mace_marl.agent.learner import Learner
from mace_marl.agent.networks import Network
from mace_marl.agent.novelty.both import Kept
from mace_marl.agent.novelty.rnd import Distilled
from mace_marl.agent.posterior.network import Trained
from mace_marl.settings import Settings


def ppo_gflop(settings: Settings, learners: Learner) -> float:
    """Of actors and critics."""

    def weights(network: Network) -> int:
        layers = (network.fc1, network.fc2, network.gru.inputs, network.gru.recurrent, network.head)
        return sum(layer.weight.size for layer in layers)

    both = weights(learners.actor.network) + weights(learners.critic.network)
    return 6 * both * settings.steps_per_update * settings.epochs / 1e9


def posterior_gflop(settings: Settings, learners: Learner) -> float:
    """Of the networks that estimate posteriors, if there are any, on a full replay."""
    kept: Any = learners.exploration.posterior
    if not isinstance(kept, Trained):
        return 0.0
    weights = kept.networks.network.weights
    return 6 * weights * settings.replay * settings.posterior_epochs / 1e9


def novelty_gflop(settings: Settings, learners: Learner) -> float:
    """Of RND, if there is any: its predictor, and what the target says, once."""
    kept: Any = learners.exploration.novelty
    kept = kept.distilled if isinstance(kept, Kept) else kept
    if not isinstance(kept, Distilled):
        return 0.0
    per_sample = 6 * kept.predictor.network.weights * settings.epochs + 2 * kept.target.weights
    return per_sample * settings.steps_per_update / 1e9
