"""A study: a grid of task × method × preset × variant × seeds, and the runs it consists of."""

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mace_marl.methods import get_method
from mace_marl.tasks import get_task, task_settings


@dataclass(frozen=True)
class TaskPlan:
    """What a study does with one of its tasks."""

    seeds: tuple[int, ...]
    steps: int | None = None
    """Environment steps; None for the task's budget."""


@dataclass(frozen=True)
class Planned:
    """One run of a study."""

    task: str
    label: str
    """What it is compared as: the method's name, the variant's, or both."""
    method: str
    preset: str
    overrides: Mapping[str, Any] = field(hash=False)
    seed: int
    steps: int | None
    until_success: float | None

    @property
    def name(self) -> str:
        """Its place in the results, e.g. gridworld-pass/mace/seed-0."""
        return f"{_slug(self.task)}/{_slug(self.label)}/seed-{self.seed}"

    def config(self) -> dict[str, Any]:
        """All that its results depend on, as its config.json will say; UserError on bad values."""
        task = get_task(self.task)
        settings = task_settings(task, self.preset, self.overrides)
        return {
            "task": self.task,
            "map": task.map,
            "method": dataclasses.asdict(get_method(self.method)),
            "preset": self.preset,
            "settings": dataclasses.asdict(settings),
            "seed": self.seed,
            "steps": self.steps or task.budget_with(self.preset),
            "until_success": self.until_success,
        }


@dataclass(frozen=True)
class Study:
    title: str
    tasks: Mapping[str, TaskPlan]
    methods: tuple[str, ...]
    presets: tuple[str, ...] = ("paper",)
    variants: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Settings by label, to be compared with each other."""
    overrides: Mapping[str, Any] = field(default_factory=dict)
    """Settings of all runs; a variant's own come on top."""
    until_success: float | None = None
    """End a run sooner, once this share of its last 1,000 training episodes succeeds."""

    @property
    def labels(self) -> list[str]:
        """What is compared, in the order of the file."""
        return list(self._compared())

    def runs(self) -> list[Planned]:
        """All runs; the first seed of everything comes first, so that a look is soon worth it."""
        places = range(max(len(plan.seeds) for plan in self.tasks.values()))
        return [
            Planned(
                task=task,
                label=label,
                method=method,
                preset=preset,
                overrides={**self.overrides, **self.variants.get(variant, {})},
                seed=plan.seeds[place],
                steps=plan.steps,
                until_success=self.until_success,
            )
            for place in places
            for task, plan in self.tasks.items()
            if place < len(plan.seeds)
            for label, (method, preset, variant) in self._compared().items()
        ]

    def _compared(self) -> dict[str, tuple[str, str, str]]:
        """Method, preset and variant by label, which leaves out what is the same for all."""
        compared = {}
        for method in self.methods:
            for preset in self.presets:
                for variant in self.variants or [""]:
                    parts = [
                        method if len(self.methods) > 1 or not self.variants else "",
                        preset if len(self.presets) > 1 else "",
                        variant,
                    ]
                    compared[", ".join(filter(None, parts))] = (method, preset, variant)
        return compared


def _slug(text: str) -> str:
    """A directory's name that still says what it is: 'w = 10' becomes 'w=10'."""
    joined = re.sub(r"\s*=\s*", "=", text)
    return re.sub(r"[^\w.=]+", "-", joined).strip(".-")
