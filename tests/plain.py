"""The mathematics once more, in NumPy, float64 and loops: what the package is compared with.

Nothing here calls JAX, and nothing is shared with the package but its numbers.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

Numbers = np.ndarray
Joint = list[list[float]]  # p(a, z)

# The paper's Table 1: p(r | a) for a1 and a2, r = 1, 5, 9.
REWARDS = (1.0, 5.0, 9.0)
STATE_1 = ((0.1, 0.8, 0.1), (0.8, 0.1, 0.1))
STATE_2 = ((0.1, 0.8, 0.1), (0.1, 0.1, 0.8))


def number_array(x: Any) -> Numbers:
    return np.asarray(x, dtype=np.float64)


class PlainNetwork(NamedTuple):
    """Two fully connected layers, a GRU and a linear head. A gradient has this shape too."""

    activation: str
    fc1_weight: Numbers
    fc1_bias: Numbers
    fc2_weight: Numbers
    fc2_bias: Numbers
    input_weight: Numbers  # (size, 3·size): reset, update, candidate
    input_bias: Numbers
    recurrent_weight: Numbers  # (size, 3·size)
    recurrent_bias: Numbers
    head_weight: Numbers
    head_bias: Numbers

    @classmethod
    def of(cls, network: Any, agent: int | None = None) -> "PlainNetwork":
        """The numbers of a network of the package, or of one agent's in a stack of them."""
        parts = network.fc1, network.fc2, network.gru.inputs, network.gru.recurrent, network.head
        arrays = [number_array(x) for part in parts for x in (part.weight, part.bias)]
        return cls(network.activation, *(x if agent is None else x[agent] for x in arrays))

    @property
    def parameters(self) -> list[Numbers]:
        return list(self[1:])

    def step(self, obs: Numbers, hidden: Numbers, first: Numbers) -> tuple[Numbers, Numbers]:
        """Outputs and the next hidden state of a batch; where `first`, nothing is remembered."""
        hidden = number_array(hidden) * (1 - number_array(first))[:, None]
        x = self._activate(number_array(obs) @ self.fc1_weight + self.fc1_bias)
        x = self._activate(x @ self.fc2_weight + self.fc2_bias)
        hidden = self.remember(x, hidden)
        return hidden @ self.head_weight + self.head_bias, hidden

    def remember(self, x: Numbers, hidden: Numbers) -> Numbers:
        """The GRU: r, u gates; h' = (1 − u) tanh(W_c x + b_c + r (U_c h + c_c)) + u h."""
        size = hidden.shape[-1]
        gates = []
        for gate in range(3):
            columns = slice(gate * size, (gate + 1) * size)
            from_x = x @ self.input_weight[:, columns] + self.input_bias[columns]
            from_h = hidden @ self.recurrent_weight[:, columns] + self.recurrent_bias[columns]
            gates.append((from_x, from_h))
        reset = 1 / (1 + np.exp(-sum(gates[0])))
        update = 1 / (1 + np.exp(-sum(gates[1])))
        candidate = np.tanh(gates[2][0] + reset * gates[2][1])
        return (1 - update) * candidate + update * hidden

    def run(self, obs: Numbers, hidden: Numbers, first: Numbers) -> tuple[Numbers, Numbers]:
        """Outputs and hidden states  # (time, batch, …) of consecutive steps, one after another."""
        outputs, hiddens = [], []
        for time in range(len(obs)):
            output, hidden = self.step(obs[time], hidden, first[time])
            outputs.append(output)
            hiddens.append(hidden)
        return np.stack(outputs), np.stack(hiddens)

    def _activate(self, x: Numbers) -> Numbers:
        return np.tanh(x) if self.activation == "tanh" else np.maximum(x, 0)


class PlainMLP:
    """Fully connected layers; their gradient by hand; and Adam as in its paper."""

    def __init__(self, mlp: Any, which: tuple[int, ...] = ()) -> None:
        """The numbers of an MLP of the package, or of one in a stack of them."""
        self.activation: str = mlp.activation
        self.weights = [number_array(layer.weight)[which].copy() for layer in mlp.layers]
        self.biases = [number_array(layer.bias)[which].copy() for layer in mlp.layers]
        self.steps = 0
        self.means = [np.zeros_like(x) for x in self.parameters]
        self.squares = [np.zeros_like(x) for x in self.parameters]

    @property
    def parameters(self) -> list[Numbers]:
        return [x for pair in zip(self.weights, self.biases, strict=True) for x in pair]

    def layers(self, x: Numbers) -> list[Numbers]:
        """The inputs of every layer, and the outputs of the last  # each (samples, …)."""
        values = [number_array(x)]
        for number, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            x = values[-1] @ weight + bias
            if number + 1 < len(self.weights):
                x = np.tanh(x) if self.activation == "tanh" else np.maximum(x, 0)
            values.append(x)
        return values

    def __call__(self, x: Numbers) -> Numbers:
        return self.layers(x)[-1]

    def gradient(self, x: Numbers, slope: Numbers) -> list[Numbers]:
        """Of Σ slope · outputs, by the parameters in their order."""
        *values, _ = self.layers(x)
        gradient: list[Numbers] = []
        for number in reversed(range(len(values))):
            gradient = [values[number].T @ slope, slope.sum(axis=0), *gradient]
            below = values[number]
            through = 1 - below**2 if self.activation == "tanh" else below > 0
            slope = slope @ self.weights[number].T * through
        return gradient

    def descend(self, gradient: list[Numbers], learning_rate: float, most: float) -> None:
        """One step of Adam, ε = 1e-5, along the gradient clipped to the norm `most`."""
        self.steps += 1
        norm = math.sqrt(sum((g**2).sum() for g in gradient))
        for i, parameter in enumerate(self.parameters):
            g = gradient[i] * min(1.0, most / norm)
            self.means[i] = 0.9 * self.means[i] + 0.1 * g
            self.squares[i] = 0.999 * self.squares[i] + 0.001 * g**2
            size = np.sqrt(self.squares[i] / (1 - 0.999**self.steps)) + 1e-5
            parameter -= learning_rate * self.means[i] / (1 - 0.9**self.steps) / size


def log_softmax(logits: Numbers) -> Numbers:
    """Along the last axis."""
    shifted = logits - logits.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


def accumulate(u: Numbers, ended: Numbers, gamma: float) -> Numbers:
    """Σ_{t' ≥ t} γ^{t'−t} u_{t'} up to the end of the episode or of the arrays  # (steps, envs)."""
    z = np.zeros(u.shape)
    for start in range(u.shape[0]):
        for env in range(u.shape[1]):
            for time in range(start, u.shape[0]):
                z[start, env] += gamma ** (time - start) * u[time, env]
                if ended[time, env]:
                    break
    return z


def advantages(
    reward: Numbers,
    value: Numbers,
    next_value: Numbers,
    terminated: Numbers,
    truncated: Numbers,
    gamma: float,
    gae_lambda: float,
    discard_truncated: bool,
) -> Numbers:
    """Σ_k (γλ)^k δ_{t+k} up to the end of the episode or of the arrays  # all (steps, envs)."""
    result = np.zeros(reward.shape)
    for start in range(reward.shape[0]):
        for env in range(reward.shape[1]):
            for time in range(start, reward.shape[0]):
                if truncated[time, env] and discard_truncated:
                    break
                beyond = 0.0 if terminated[time, env] else gamma * next_value[time, env]
                delta = reward[time, env] + beyond - value[time, env]
                result[start, env] += (gamma * gae_lambda) ** (time - start) * delta
                if terminated[time, env] or truncated[time, env]:
                    break
    return result


def joint_of(state: tuple[tuple[float, ...], ...], first_action: float) -> Joint:
    """p(a, r) in a state of Table 1, for p(a1)."""
    policy = (first_action, 1 - first_action)
    return [[policy[a] * p for p in row] for a, row in enumerate(state)]


def information(joint: Joint, weights: Sequence[float]) -> float:
    """Σ_{a,z} p(a, z) ω(z) log p(a, z) / (p(a) p(z)), in nats."""
    total = 0.0
    for row in joint:
        for z, weight in enumerate(weights):
            of_z = sum(other[z] for other in joint)
            total += row[z] * weight * math.log(row[z] / (sum(row) * of_z))
    return total
