"""The illustration: its numbers against the plain ones, and what its lines show."""

from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from pictures import size
from plain import REWARDS, STATE_1, STATE_2, information, joint_of

from mace_marl.viewer import illustration as ours

UNIFORM = np.array([0.5, 0.5])


def test_the_table_is_the_papers() -> None:
    assert ours.REWARDS.tolist() == list(REWARDS)
    assert [state.tolist() for state in ours.STATES.values()] == [
        [list(row) for row in state] for state in (STATE_1, STATE_2)
    ]


def test_by_hand() -> None:
    """The numbers worked out by hand in tests/agent/test_weighted_mutual_information.py."""
    for state, weighted in zip(ours.STATES.values(), (0.929651, 2.169185), strict=True):
        assert ours.mutual_information(state, UNIFORM) == pytest.approx(0.309884, abs=2e-6)
        found = ours.weighted_mutual_information(state, UNIFORM, ours.REWARDS)
        assert found == pytest.approx(weighted, abs=2e-6)


def test_random_distributions_against_loops() -> None:
    rng = np.random.default_rng(0)
    conditional = rng.dirichlet(np.ones(5), size=3)  # (actions, rewards)
    policies = rng.dirichlet(np.ones(3), size=4)  # (policies, actions)
    weights = rng.uniform(0, 9, 5)
    found = ours.weighted_mutual_information(conditional, policies, weights)
    wanted = [
        information((policy[:, None] * conditional).tolist(), weights.tolist())
        for policy in policies
    ]
    np.testing.assert_allclose(found, wanted, rtol=1e-9)


def test_what_is_drawn(tmp_path: Path, drawn: list[Figure]) -> None:
    """Left, both states' curves are one; right, state 2's is the higher; sure actions tell none."""
    ours.illustration(tmp_path / "illustration.png")
    size(tmp_path / "illustration.png")
    panels = drawn[0].axes
    for panel, weights in zip(panels, ((1, 1, 1), REWARDS), strict=True):
        assert panel.get_legend_handles_labels()[1] == list(ours.STATES)
        for line, state in zip(panel.lines, (STATE_1, STATE_2), strict=True):
            x, y = np.asarray(line.get_xdata()), np.asarray(line.get_ydata())
            assert x[0] == 0 and x[-1] == 1
            np.testing.assert_allclose(y[[0, -1]], 0, atol=1e-12)
            wanted = [information(joint_of(state, p), weights) for p in x[1:-1]]
            np.testing.assert_allclose(y[1:-1], wanted, atol=1e-9)
    (same, also), (low, high) = (
        [np.asarray(line.get_ydata()) for line in panel.lines] for panel in panels
    )
    np.testing.assert_allclose(same, also, atol=1e-12)
    assert (high[1:-1] > low[1:-1]).all()
