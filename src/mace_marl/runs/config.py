"""What a run is: all that its results depend on, as one JSON file."""

import dataclasses
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mace_marl.errors import UserError
from mace_marl.machine import Layout, made_with
from mace_marl.methods import Method
from mace_marl.runs.files import write_atomically
from mace_marl.settings import Settings

FILE = "config.json"


@dataclass(frozen=True)
class Config:
    task: str
    map: str  # the map's own text: a run needs no other file
    method: Method
    preset: str
    settings: Settings
    seed: int
    steps: int  # as asked for
    until_success: float | None  # end sooner, once this share of recent episodes succeeds
    layout: Layout
    checkpoint_every: float  # seconds
    made_with: dict[str, str] = field(default_factory=made_with)

    @property
    def updates(self) -> int:
        """Steps rounded up to whole updates, at least one."""
        return max(1, -(-self.steps // self.settings.steps_per_update))

    def as_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    def write(self, directory: Path) -> None:
        text = json.dumps(self.as_json(), indent=2, ensure_ascii=False) + "\n"
        write_atomically(directory / FILE, text.encode())


def read_config(directory: Path) -> Config:
    """The configuration in a run's directory, or one sentence about what is wrong with it."""
    path = directory / FILE
    try:
        table = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise UserError(f"{directory} is not a run: it has no {FILE}; see `mace train`.") from None
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise UserError(
            f"{path} cannot be read ({error}); restore it from one of the copies in"
            f" {directory / 'checkpoints'}."
        ) from None
    try:
        return config_from_json(table)
    except (TypeError, KeyError, AttributeError) as error:
        raise UserError(f"{path} is not the configuration of a run ({error}).") from None


def config_from_json(table: dict[str, Any]) -> Config:
    return Config(
        **{
            **table,
            "method": Method(**table["method"]),
            "settings": Settings().override(table["settings"]),
            "layout": Layout(**table["layout"]),
        }
    )


def differences(ours: dict[str, Any], theirs: dict[str, Any], prefix: str = "") -> list[str]:
    """What differs between two configurations, e.g. 'settings.gamma (0.99 here, 0.9 there)'."""
    found = []
    for key in sorted(ours.keys() | theirs.keys()):
        here, there = ours.get(key), theirs.get(key)
        if prefix + key in ("made_with", "checkpoint_every"):
            continue  # where a run was made, and how often it saves, changes nothing in it
        if isinstance(here, dict) and isinstance(there, dict):
            found += differences(here, there, f"{prefix}{key}.")
        elif here != there:
            shown = "" if key == "map" else f" ({here!r} here, {there!r} there)"
            found.append(f"{prefix}{key}{shown}")
    return found
