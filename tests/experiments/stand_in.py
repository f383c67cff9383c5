"""Stands in for Python as the runner calls it, with a training that takes no JAX and no time.

It behaves as `mace train` and `mace resume` do: it makes the run's directory with a configuration,
adds a row at a time, ends after the update when asked to by SIGTERM, and goes on from there.
What is special about a run is in its directory's name: `broken` fails, `slow` takes its time,
`patient`, seeds 0 and 1, makes one update and then waits until it is asked to stop.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path

UPDATES = 5


def main() -> int:
    command, *arguments = sys.argv[3:]  # after -m mace_marl
    options = dict(word[2:].split("=", 1) for word in arguments if word.startswith("--"))
    run_dir = Path(arguments[0] if command == "resume" else options["run-dir"])
    configs = json.loads(Path(os.environ["STAND_IN_CONFIGS"]).read_text())
    print(f"{command} on cores {sorted(os.sched_getaffinity(0))}", flush=True)
    if "broken" in str(run_dir):
        print("mace: this run is broken.")
        return 2
    if command == "train":
        run_dir.mkdir(parents=True)
        config = next(value for name, value in configs.items() if str(run_dir).endswith(name))
        (run_dir / "config.json").write_text(json.dumps(config))
    asked = []
    signal.signal(signal.SIGTERM, lambda *_: asked.append(True))
    metrics = run_dir / "metrics.jsonl"
    done = metrics.read_text().count("\n") if metrics.exists() else 0
    for update in range(done + 1, UPDATES + 1):
        time.sleep(0.5 if "slow" in str(run_dir) else 0.02)
        row = {"update": update, "env_steps": 10 * update, "episodes": 1, "successes": 1}
        with metrics.open("a") as file:
            file.write(json.dumps(row | {"episode_return": 1.0, "made_by": os.getpid()}) + "\n")
        deadline = time.monotonic() + 60
        while run_dir.match("patient/seed-[01]") and command == "train" and not asked:
            if time.monotonic() > deadline:
                return 1
            time.sleep(0.02)
        if asked and update < UPDATES:
            print("mace: stopped.")
            return 130
    return 0


sys.exit(main())
