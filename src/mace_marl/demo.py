"""`make demo`: train MACE on the paper's Pass, and show what became of it."""

import sys
from pathlib import Path

import mace_marl
from mace_marl.errors import Stopped, UserError

TASK = "gridworld/pass"
EPISODES = 100
ENOUGH = 0.95  # of the last 1,000 training episodes
WANTED = 0.9


def demo() -> int:
    """Train, evaluate and draw; the exit status says whether the agents learned the task."""
    print(f"Two agents learn {TASK}. They see only themselves and the door, share no parameters,")
    print("and tell each other one number per step: how new what they saw was to them.\n")
    run = mace_marl.train(TASK, method="mace", seed=0, until_success=ENOUGH)

    from mace_marl.viewer.overview import draw_overview

    pictures = draw_overview(run)
    success = run.evaluate(EPISODES)["success_rate"]
    print(
        f"\nSuccess rate over {EPISODES} stochastic episodes, nothing communicated: {success:.0%}"
    )
    for what, path in pictures.items():
        print(f"{what + ':':<16} {_shown(path)}")
    print(f"{'the run:':<16} {_shown(run.directory)}")
    if success < WANTED:
        print(f"This is below the {WANTED:.0%} expected.", file=sys.stderr)
        return 1
    return 0


def _shown(path: Path) -> Path:
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


if __name__ == "__main__":
    try:
        sys.exit(demo())
    except (UserError, Stopped) as error:
        sys.exit(f"mace: {error}")
