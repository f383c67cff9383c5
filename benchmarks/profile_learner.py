"""What the learner's time goes into: a trace of one update's learning, added up by kind.

    python benchmarks/profile_learner.py [--task gridworld/pass]

On one device, so that operations do not overlap. Tracing itself costs something: shares, not times.
"""

import argparse
import tempfile
from collections import Counter
from pathlib import Path

import jax

from mace_marl.bench import stage_work
from mace_marl.machine import choose_layout
from mace_marl.methods import get_method
from mace_marl.tasks import get_task, task_settings
from mace_marl.trainer import Trainer
from mace_marl.worlds import make_world

# By what the compiler calls its operations; the first that fits counts.
KINDS = {
    "loops and calls around the rest": ("while", "call", "conditional"),
    "gather and scatter": ("gather", "scatter"),
    "matrix products": ("ynn_fusion", "dot"),
    "copies, slices, joining": ("copy", "slice", "concatenate", "broadcast", "stack", "transpose"),
}
ELSE = "elementwise: gates, losses, Adam"


def kind_of(operation: str) -> str:
    for kind, words in KINDS.items():
        if any(word in operation for word in words):
            return kind
    return ELSE


def main() -> None:
    parser = argparse.ArgumentParser(description="What the learner's time goes into.")
    parser.add_argument("--task", default="gridworld/pass")
    task = get_task(parser.parse_args().task)
    settings = task_settings(task, "paper")
    layout = choose_layout(settings, devices=1)
    trainer = Trainer(make_world(task.name, task.map), get_method("mace"), settings, layout)
    work = stage_work(trainer, trainer.init(0))["learn"]
    jax.block_until_ready(work())
    with tempfile.TemporaryDirectory() as directory:
        with jax.profiler.trace(directory):
            jax.block_until_ready(work())
        (file,) = Path(directory).glob("**/*.xplane.pb")
        trace = jax.profiler.ProfileData.from_file(str(file))
    nanoseconds: Counter[str] = Counter()
    for plane in trace.planes:
        for line in plane.lines:
            for event in line.events:
                # Operations of the program; not Python's calls ($…) or the runtime's own.
                if event.name[0].islower() and " " not in event.name and ":" not in event.name:
                    nanoseconds[kind_of(event.name)] += event.duration_ns
    del nanoseconds["loops and calls around the rest"]
    for kind, time in nanoseconds.most_common():
        print(f"{time / nanoseconds.total():5.0%}  {kind}")


if __name__ == "__main__":
    main()
