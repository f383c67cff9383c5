"""What all files with a drawn world have in common: a TOML table, read key by key."""

import tomllib
from pathlib import Path
from typing import Any

import numpy as np

from mace_marl.errors import UserError

LONGEST_HORIZON = 1_000_000
SMALLEST_REWARD, LARGEST_REWARD = (
    float(x) for x in (np.finfo(np.float32).tiny, np.finfo(np.float32).max)
)


def read_text(path: Path) -> str:
    """The text of the file at `path`, or one sentence about why there is none."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}).") from None
    except UnicodeDecodeError:
        raise UserError(f"{path}: is not a text file in UTF-8.") from None


def parse_toml(text: str, file: str) -> dict[str, Any]:
    """The table written in `text`; `file` names it in error messages."""
    try:
        return tomllib.loads(text)
    except ValueError as error:  # also numbers of thousands of digits
        raise UserError(f"{file}: is not valid TOML: {error}.") from None
    except RecursionError:
        raise UserError(f"{file}: is not valid TOML: lists are nested too deeply.") from None


class Reader:
    """Takes the keys of a file one by one; the first that is wrong ends the reading."""

    def __init__(self, file: str, table: dict[str, Any]) -> None:
        self.file = file
        self.table = table

    def error(self, where: str, problem: str) -> UserError:
        return UserError(f"{self.file}: {where}: {problem}.")

    def check_keys(self, known: tuple[str, ...]) -> None:
        for key in self.table:
            if key not in known:
                raise self.error(f"key {key!r}", f"unknown; the keys are {', '.join(known)}")

    def text(self, key: str, default: str) -> str:
        value = self.table.get(key, default)
        if not isinstance(value, str):
            raise self.error(f"key '{key}'", f"must be a text, not {value!r}")
        return value

    def name(self) -> str:
        return self.text("name", Path(self.file).stem)

    def horizon(self) -> int:
        value = self.table.get("horizon")
        if type(value) is not int or not 1 <= value <= LONGEST_HORIZON:
            raise self.error(
                "key 'horizon'",
                f"must be a whole number of steps, at least 1 and at most {LONGEST_HORIZON}",
            )
        return value

    def reward(self) -> float:
        value = self.table.get("reward", 100.0)
        if type(value) not in (int, float) or not SMALLEST_REWARD <= value <= LARGEST_REWARD:
            raise self.error("key 'reward'", "must be a number above 0 that fits into 32 bits")
        return float(value)
