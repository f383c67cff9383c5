"""Train, evaluate and watch from Python. Takes a minute or two on a laptop.

Run it with `python examples/first_steps.py`.
"""

from pathlib import Path

import jax

import mace_marl
from mace_marl.viewer.overview import draw_overview

# A world is pure functions of (key, state, actions).
world = mace_marl.make("gridworld/minipass")
state, first = world.reset(jax.random.key(0))
print(world.num_agents, "agents see", first.obs)

# Train; any setting can be given by name.
run_dir = Path("runs/first-steps")
if run_dir.exists():
    run = mace_marl.load(run_dir).resume()
else:
    run = mace_marl.train("gridworld/minipass", method="mace", seed=1, run_dir=run_dir)

# Every row of the metrics is a plain mapping.
last = run.rows[-1]
print("floats sent per agent and step:", last["floats_sent_per_agent_and_step"])

print(run.evaluate(episodes=100))
for what, path in draw_overview(run).items():
    print(what, "→", path)
