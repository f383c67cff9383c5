"""Called where JAX runs already, with fewer devices than there are cores, everything works."""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
from commands import environment, mace, rows, train_small

SCRIPT = """
import sys, jax
assert jax.device_count() == 1  # JAX is running now, and its devices are what they are
import mace_marl
run_dir, shared = sys.argv[1:]
small = dict(num_envs=4, rollout_length=20, hidden_size=8, epochs=2, minibatches=2, window=3)
run = mace_marl.train("gridworld/minipass", steps=240, run_dir=run_dir, **small)
print(run.config.layout.devices, run.evaluate(episodes=4)["episodes"])
mace_marl.load(shared).resume(progress=False)
"""


def test_train_evaluate_and_resume_in_a_live_process(tmp_path: Path) -> None:
    """A run made with two devices goes on with the one there is, says so, and agrees."""
    shared = tmp_path / "shared"
    result = mace(*train_small(shared, 4, "--devices", "2"))
    assert result.returncode == 0, result.stderr
    never_stopped = rows(shared)
    for newest in ("000003", "000004"):
        shutil.rmtree(shared / "checkpoints" / newest)
    result = subprocess.run(
        [sys.executable, "-c", SCRIPT, tmp_path / "own", shared],
        env=environment(hasty=True),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.split() == ["1", "4"]
    assert "fewer devices than the 2" in result.stderr
    for ours, theirs in zip(rows(shared), never_stopped, strict=True):
        for key, value in theirs.items():
            if value is not None:
                np.testing.assert_allclose(ours[key], value, rtol=2e-3, atol=2e-5, err_msg=key)
