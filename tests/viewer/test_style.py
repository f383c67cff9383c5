"""Figures are drawn without pyplot: no display is needed, no global state is left behind."""

import subprocess
import sys
from pathlib import Path


def test_figures_leave_pyplot_alone(tmp_path: Path) -> None:
    program = """
import pathlib, sys
import numpy as np
from mace_marl.viewer.ground import Ground
from mace_marl.viewer.heat_maps import reward_maps
from mace_marl.viewer.illustration import illustration
from mace_marl.viewer.learning_curve import learning_curve
path = pathlib.Path(sys.argv[1])
learning_curve([{"env_steps": 1, "episodes": 1, "success_rate": 1.0}], "curve", path)
reward_maps(np.ones((1, 3, 4)), Ground((2, 2)), "maps", path)
illustration(path)
print("matplotlib.pyplot" in sys.modules)
"""
    command = [sys.executable, "-c", program, str(tmp_path / "figure.png")]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.stdout.strip() == "False", result.stderr
