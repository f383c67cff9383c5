"""The paper's first figure: why mutual information is not enough, and has to be weighted.

In both states of its Table 1 the reward depends as much on the action, but in the second it is the
high rewards that do. Action and reward stand for an agent's action and another's accumulated
novelty.
"""

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from mace_marl.viewer.style import INK, LEGEND_STYLE, blank_figure, save_figure, style_axes

REWARDS = np.array([1.0, 5.0, 9.0])
STATES = {  # p(r | a)  # (actions, rewards)
    "state 1": np.array([[0.1, 0.8, 0.1], [0.8, 0.1, 0.1]]),
    "state 2": np.array([[0.1, 0.8, 0.1], [0.1, 0.1, 0.8]]),
}
LINES = {  # state 2 is dashed: where both are equal, both can be seen
    "state 1": {"color": "#0072b2", "linewidth": 3.0},
    "state 2": {"color": "#d55e00", "linewidth": 2.0, "linestyle": (0, (4, 2))},
}


def mutual_information(conditional: np.ndarray, policy: np.ndarray) -> np.ndarray:
    """I(A; R) = E[log p(a, r) / (p(a) p(r))], in nats  # (…).

    `conditional`  # (actions, rewards): p(r | a)
    `policy`  # (…, actions): p(a)
    """
    return weighted_mutual_information(conditional, policy, np.ones(conditional.shape[-1]))


def weighted_mutual_information(
    conditional: np.ndarray, policy: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """ωI(A; R) = E[ω(r) log p(a, r) / (p(a) p(r))], equation (2) with ω(r) = r  # (…).

    `weights`  # (rewards,): ω(r)
    """
    marginal = policy @ conditional  # (…, rewards): p(r)
    log_ratio = np.log(conditional / marginal[..., None, :])  # (…, actions, rewards)
    joint = policy[..., :, None] * conditional
    return (joint * weights * log_ratio).sum(axis=(-2, -1))


def illustration(path: Path) -> None:
    """Draw both measures of both states against p(a₁)."""
    first = np.linspace(0, 1, 201)  # p(a₁)
    policy = np.stack([first, 1 - first], axis=-1)  # (points, actions)
    figure = blank_figure(8, 3.3)
    left, right = figure.subplots(1, 2)
    for name, conditional in STATES.items():
        unweighted = mutual_information(conditional, policy)
        left.plot(first, unweighted, label=name, **LINES[name])
        weighted = weighted_mutual_information(conditional, policy, REWARDS)
        right.plot(first, weighted, label=name, **LINES[name])
    _dress(left, "(a) Mutual information", "MI (nats)")
    _dress(right, "(b) Weighted mutual information", "WMI (nats × reward)")
    save_figure(figure, path)


def _dress(panel: Axes, title: str, unit: str) -> None:
    panel.set_title(title, fontsize=10.5, color=INK, pad=22)
    panel.set(xlabel="$p(a_1)$", ylabel=unit, xlim=(0, 1))
    panel.set_ylim(bottom=0)
    # Above the panel: inside, it would hide a curve.
    style = LEGEND_STYLE | {"handlelength": 2.6}  # long enough to show the dashes
    panel.legend(loc="lower center", bbox_to_anchor=(0.5, 0.99), ncols=2, **style)
    style_axes(panel)
