"""PPO in plain NumPy: losses in loops, gradients by finite differences, Adam as in its paper."""

import math
from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import plain
from plain import PlainNetwork

from mace_marl.agent.ppo import Chunks
from mace_marl.settings import Settings


def plain_actor_loss(
    actor: PlainNetwork, chunks: Chunks, settings: Settings
) -> tuple[float, dict[str, float]]:
    c = SimpleNamespace(**{name: np.asarray(x) for name, x in chunks._asdict().items()})
    logits, _ = actor.run(c.obs, c.actor_hidden[0], c.first)
    loss = 0.0
    report = {"policy_loss": 0.0, "entropy": 0.0, "kl": 0.0, "clipped": 0.0}
    for at in np.ndindex(c.action.shape):
        if not c.alive[at]:
            continue
        allowed = np.flatnonzero(c.available[at])
        log_probs = dict(zip(allowed, plain.log_softmax(logits[at][allowed]), strict=True))
        log_ratio = log_probs[c.action[at]] - float(c.log_prob[at])
        ratio, advantage = math.exp(log_ratio), float(c.advantage[at])
        clipped = min(max(ratio, 1 - settings.clip), 1 + settings.clip)
        surrogate = min(ratio * advantage, clipped * advantage)
        entropy = -sum(math.exp(x) * x for x in log_probs.values())
        loss += -surrogate - settings.entropy_weight * entropy
        report["policy_loss"] -= surrogate
        report["entropy"] += entropy
        report["kl"] += ratio - 1 - log_ratio
        report["clipped"] += clipped != ratio
    return loss, report


def plain_huber(error: float, settings: Settings) -> float:
    delta = settings.huber_delta
    if abs(error) <= delta:
        return error**2 / 2
    if settings.huber_defect and error < 0:
        return 0.0
    return delta * (abs(error) - delta / 2)


def plain_critic_loss(
    critic: PlainNetwork, chunks: Chunks, settings: Settings
) -> tuple[float, dict[str, float]]:
    c = SimpleNamespace(**{name: np.asarray(x) for name, x in chunks._asdict().items()})
    outputs, _ = critic.run(c.critic_obs, c.critic_hidden[0], c.first)
    loss = 0.0
    for at in np.ndindex(c.action.shape):
        if not c.alive[at]:
            continue
        value, old, target = outputs[at][0], float(c.value[at]), float(c.target[at])
        losses = [plain_huber(target - value, settings)]
        if settings.value_clip is not None:
            near = min(max(value, old - settings.value_clip), old + settings.value_clip)
            losses.append(plain_huber(target - near, settings))
        loss += max(losses)
    return loss, {"value_loss": loss}


PlainLoss = Callable[[PlainNetwork, Chunks, Settings], tuple[float, dict[str, float]]]


def plain_gradient(
    loss: PlainLoss, network: PlainNetwork, chunks: Chunks, settings: Settings
) -> list[np.ndarray]:
    """By central differences, one parameter at a time."""
    gradient = []
    step = 1e-6
    for parameter in network.parameters:
        slopes = np.zeros(parameter.shape)
        for at in np.ndindex(parameter.shape):
            centre = parameter[at]
            parameter[at] = centre + step
            above = loss(network, chunks, settings)[0]
            parameter[at] = centre - step
            below = loss(network, chunks, settings)[0]
            parameter[at] = centre
            slopes[at] = (above - below) / (2 * step)
        gradient.append(slopes)
    return gradient


def norm(arrays: list[np.ndarray]) -> float:
    return math.sqrt(sum((x**2).sum() for x in arrays))


def plain_improvement(
    loss: PlainLoss,
    network: PlainNetwork,
    learning_rate: float,
    chunks: Chunks,
    settings: Settings,
) -> tuple[PlainNetwork, list[float]]:
    """Adam as in its paper, on the mean gradient, clipped; also the norms before clipping."""
    network = PlainNetwork(network.activation, *(x.copy() for x in network.parameters))
    mean = [np.zeros_like(x) for x in network.parameters]
    square = [np.zeros_like(x) for x in network.parameters]
    living = float(chunks.alive.sum())
    norms = []
    for step in range(1, settings.epochs + 1):
        gradient = [x / living for x in plain_gradient(loss, network, chunks, settings)]
        norms.append(norm(gradient))
        scale = min(1.0, settings.max_grad_norm / norms[-1])
        for i, parameter in enumerate(network.parameters):
            g = gradient[i] * scale
            mean[i] = 0.9 * mean[i] + 0.1 * g
            square[i] = 0.999 * square[i] + 0.001 * g**2
            size = np.sqrt(square[i] / (1 - 0.999**step)) + settings.adam_epsilon
            parameter -= learning_rate * mean[i] / (1 - 0.9**step) / size
    return network, norms
