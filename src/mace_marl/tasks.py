"""The tasks, as data: a world, a budget, and hyperparameters of its own where it has any.

This file imports no JAX, so that listing tasks is quick. Worlds are made in `worlds.py`.
"""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path
from typing import Any

from mace_marl.errors import UserError
from mace_marl.settings import PRESETS, Settings
from mace_marl.worlds import import_world, read_drawing


@dataclass(frozen=True)
class Tuned:
    """A task with preset `tuned`."""

    budget: int
    overrides: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Task:
    name: str
    sentence: str
    budget: int
    """Environment steps to train for, if the user does not say."""
    overrides: Mapping[str, Any] = field(default_factory=dict)
    """Settings of its own, on top of the preset's."""
    tuned: Tuned | None = None
    """Both with preset `tuned`. Where there is none, nothing is tuned, and it is the paper's."""
    map: str = ""
    """The text of its map, kitchen or scenario; empty for a world written in Python."""

    def budget_with(self, preset: str) -> int:
        return self.tuned.budget if preset == "tuned" and self.tuned else self.budget


# What the small maps have in common: fewer worlds, and updates that make more of them.
_MINI = {
    "num_envs": 32,
    "epochs": 5,
    "minibatches": 4,
    "one_hot": True,
    "entropy_weight": 0.01,
}

# What they have with preset `tuned` in place of that: 1/√n, as 10/n is over too soon at times.
_TUNED_MINI = {"novelty_scale": 1.0, "count_power": 0.5}

# The paper's GridWorld row (128 environments, 300 steps, λ 0.01) is the default of Settings.
_GRIDWORLDS = (
    Task(
        "gridworld/pass",
        "Two agents, one door, a switch on either side: each must hold it for the other.",
        budget=80_000_000,
        tuned=Tuned(3_500_000),
    ),
    Task(
        "gridworld/secretroom",
        "As Pass, with three rooms on the right, of which only the top one is the target.",
        budget=80_000_000,
        tuned=Tuned(5_000_000),
    ),
    Task(
        "gridworld/multiroom",
        "Three agents pass through three rooms in turn, holding doors for each other.",
        budget=80_000_000,
        tuned=Tuned(15_000_000),
    ),
    Task(
        "gridworld/minipass",
        "A small Pass, solved in minutes on a laptop.",
        budget=1_440_000,
        overrides=_MINI | {"rollout_length": 150},
        tuned=Tuned(1_440_000, _TUNED_MINI | {"rollout_length": 150}),
    ),
    Task(
        "gridworld/minisecret",
        "A small SecretRoom, solved in about a minute.",
        budget=600_000,
        overrides=_MINI | {"rollout_length": 100},
        tuned=Tuned(600_000, _TUNED_MINI | {"rollout_length": 100}),
    ),
    Task(
        "gridworld/minimulti",
        "A small MultiRoom for three agents, solved in about a minute.",
        budget=600_000,
        overrides=_MINI | {"rollout_length": 100},
        tuned=Tuned(600_000, _TUNED_MINI | {"rollout_length": 100}),
    ),
)

# The paper's Overcooked row; everything else as in GridWorld.
_OVERCOOKED = {
    "num_envs": 32,
    "rollout_length": 300,
    "hindsight_weight": 0.1,
    "novelty": "rnd",
    "novelty_scale": 1.0,
    "posterior": "network",
    "replay": 100_000,
}
# What preset `tuned` has for kitchens in place of that (docs/tuned.md).
_TUNED_OVERCOOKED = {
    "episodic": True,
    "novelty": "rnd",
    "novelty_scale": 1.0,
    "rnd_error": "square",
}
# And for Large on top, where what is new comes about more seldom.
_TUNED_LARGE = {
    "num_envs": 16,
    "minibatches": 8,
    "hindsight_weight": 0.003,
    "novelty": "both",
    "novelty_scale": 0.03,
    "rnd_magnified": 30.0,
}
_KITCHENS = (
    Task(
        "overcooked/base",
        "Two cooks apart: one has tomatoes and the serving area, the other dishes and the pot.",
        budget=10_000_000,
        overrides=_OVERCOOKED,
        tuned=Tuned(3_000_000, _TUNED_OVERCOOKED),
    ),
    Task(
        "overcooked/narrow",
        "As Base, but things can be handed over in one place only.",
        budget=20_000_000,
        overrides=_OVERCOOKED,
        tuned=Tuned(4_000_000, _TUNED_OVERCOOKED),
    ),
    Task(
        "overcooked/large",
        "As Base, in a kitchen three times as large.",
        budget=40_000_000,
        overrides=_OVERCOOKED | {"replay": 200_000},
        tuned=Tuned(4_000_000, _TUNED_OVERCOOKED | _TUNED_LARGE),
    ),
    Task(
        "overcooked/mini",
        "A small Base, for first experiments on a laptop.",
        budget=1_440_000,
        overrides=_OVERCOOKED
        | _MINI
        | {"rollout_length": 100, "replay": 12_800, "posterior_epochs": 10},
        tuned=Tuned(1_440_000, _TUNED_OVERCOOKED | {"rollout_length": 100}),
    ),
)

# The paper's SMAC rows. Learned novelty and posterior are as in Overcooked.
_SKIRMISH = {
    "num_envs": 8,
    "rollout_length": 600,
    "hindsight_weight": 0.005,
    "novelty": "rnd",
    "novelty_scale": 1.0,
    "posterior": "network",
    "replay": 10_000,
}
_SKIRMISHES = (
    Task(
        "skirmish/2m_vs_1z",
        "Two marines must beat a zealot by alternating fire: a simulation of SMAC's task.",
        budget=5_000_000,
        overrides=_SKIRMISH | {"hindsight_weight": 1.0, "replay": 50_000},
    ),
    Task(
        "skirmish/3m",
        "Three marines against three, a simulation of SMAC's task.",
        budget=5_000_000,
        overrides=_SKIRMISH,
    ),
    Task(
        "skirmish/8m",
        "Eight marines against eight, a simulation of SMAC's task; meant for mace_s.",
        budget=5_000_000,
        overrides=_SKIRMISH | {"hindsight_weight": 0.1},
    ),
    Task(
        "skirmish/3s_vs_5z",
        "Three stalkers against five zealots, a simulation of SMAC's task with its dense reward.",
        budget=5_000_000,
        overrides=_SKIRMISH | {"hindsight_weight": 0.01, "intrinsic_weight": 0.1},
    ),
    Task(
        "skirmish/mini",
        "A small 2m_vs_1z of our own, for first experiments on a laptop.",
        budget=600_000,
        overrides=_SKIRMISH
        | _MINI
        | {
            "rollout_length": 60,
            "hindsight_weight": 0.1,
            "replay": 12_000,
            "posterior_epochs": 10,
        },
    ),
)
_REGISTERED = {task.name: task for task in (*_GRIDWORLDS, *_KITCHENS, *_SKIRMISHES)}
_FOLDERS = {"gridworld": "maps", "overcooked": "layouts", "skirmish": "scenarios"}

TASKS: dict[str, str] = {name: task.sentence for name, task in _REGISTERED.items()}
"""The registered tasks, each with a sentence."""

OWN_BUDGET = 10_000_000  # for a user's own map or world


def get_task(name: str) -> Task:
    """A registered task, a drawn world (`….toml`), one in Python (`module:name`), or one outside
    JAX (`pettingzoo:module`, `smac/map`, or `module:name` too)."""
    if name in _REGISTERED:
        kind, drawing = name.split("/")
        file = resources.files(f"mace_marl.envs.{kind}") / _FOLDERS[kind] / f"{drawing}.toml"
        text = file.read_text("utf-8")
        if kind == "skirmish":  # its unit types go with it
            text = read_drawing(text, file.name).source
        return replace(_REGISTERED[name], map=text)
    if name.endswith(".toml"):
        from mace_marl.envs.drawing import read_text
        from mace_marl.envs.overcooked import Kitchen
        from mace_marl.envs.skirmish import Scenario

        drawn = read_drawing(read_text(Path(name)), name)
        overrides = {"rollout_length": _whole_chunks(drawn.horizon)}
        tuned = None
        if isinstance(drawn, Kitchen):
            tuned = Tuned(OWN_BUDGET, _TUNED_OVERCOOKED | overrides)
            overrides = _OVERCOOKED | overrides
        elif isinstance(drawn, Scenario):
            longest = max(_SKIRMISH["rollout_length"], overrides["rollout_length"])
            overrides = _SKIRMISH | {"rollout_length": longest}
        else:
            tuned = Tuned(OWN_BUDGET, overrides)
        return Task(name, drawn.description, OWN_BUDGET, overrides, tuned, map=drawn.source)
    if ":" in name or name.startswith("smac/"):
        from mace_marl.host.world import Hosted

        world = import_world(name)
        overrides = {"rollout_length": _whole_chunks(world.horizon)}
        if isinstance(world, Hosted):
            row = _row_outside_jax(name)
            length = _whole_chunks(max(world.horizon, row["rollout_length"]))
            overrides = {**row, "rollout_length": length}
        return Task(name, (world.__doc__ or "").strip(), OWN_BUDGET, overrides)
    near = difflib.get_close_matches(name, TASKS, n=1)
    hint = f"did you mean '{near[0]}'" if near else f"there are {', '.join(TASKS)}"
    raise UserError(
        f"there is no task '{name}'; {hint}, or give a path to a map, kitchen or scenario (….toml),"
        " a world in Python (module:name), pettingzoo:module or smac/map."
    )


def _row_outside_jax(name: str) -> Mapping[str, Any]:
    """No features are discrete there, so novelty and posterior are learned, as in Overcooked; the
    real SMAC as its simulation."""
    kind, _, map = name.partition("/")
    simulated = _REGISTERED.get(f"skirmish/{map}")
    if kind != "smac":
        return _OVERCOOKED
    return simulated.overrides if simulated else _SKIRMISH


def task_settings(task: Task, preset: str, overrides: Mapping[str, Any] | None = None) -> Settings:
    """The preset's settings, with the task's own on top, and the user's on top of these."""
    if preset not in PRESETS:
        raise UserError(f"there is no preset '{preset}'; there are {', '.join(PRESETS)}.")
    if preset == "tuned" and task.tuned:
        settings = PRESETS["tuned"].override(task.tuned.overrides)
    else:
        settings = PRESETS["paper" if preset == "tuned" else preset].override(task.overrides)
    if overrides:
        settings = settings.override(overrides)
        settings.refuse_idle(overrides)
    return settings


def _whole_chunks(horizon: int) -> int:
    chunk = Settings().chunk_length
    return -(-horizon // chunk) * chunk
