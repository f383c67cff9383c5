"""Tables of a scenario's file, read key by key; of every mistake the line is told."""

import math
import re
from collections import Counter
from typing import Any

from mace_marl.envs.drawing import Reader
from mace_marl.errors import UserError

HEADER = re.compile(r"\s*(\[\[?)\s*([\w.\"' -]+?)\s*\]")
KEY = re.compile(r"\s*([\w-]+)\s*=")
QUOTES = re.compile(r'"""|\'\'\'')


class Lines:
    """Where the tables and keys of a TOML text are; what is written inline is not found."""

    def __init__(self, text: str) -> None:
        self.numbers: dict[tuple[str, str], int] = {}
        counted: Counter[str] = Counter()
        title, inside = "", False
        for number, line in enumerate(text.splitlines(), 1):
            if not inside:
                if header := HEADER.match(line):
                    title = header[2]
                    if header[1] == "[[":  # allies 0, allies 1, …
                        counted[title] += 1
                        title = f"{title} {counted[title] - 1}"
                    self.numbers.setdefault((title, ""), number)
                elif key := KEY.match(line):
                    self.numbers.setdefault((title, key[1]), number)
            inside ^= len(QUOTES.findall(line)) % 2 == 1

    def find(self, title: str, key: str) -> int | None:
        """The line of a key, else of its table."""
        return self.numbers.get((title, key), self.numbers.get((title, "")))


class Section(Reader):
    """One table of a file; the file itself has no title."""

    def __init__(self, file: str, table: Any, lines: Lines, title: str = "") -> None:
        super().__init__(file, table if isinstance(table, dict) else {})
        self.lines, self.title = lines, title
        if not isinstance(table, dict):
            raise self.error(title, f"must be a table, not {table!r}")

    def error(self, where: str, problem: str) -> UserError:
        key = re.search(r"key '(\w+)'", where)
        line = self.lines.find(self.title, key[1] if key else "")
        named = f"{self.title}, {where}" if self.title and where != self.title else where
        return super().error(f"line {line}, {named}" if line else named, problem)

    def number(
        self, key: str, default: float | None, least: float, most: float, above: bool = False
    ) -> float:
        """A number from `least` to `most`, or above `least`; needed if there is no default."""
        value = self.table.get(key, default)
        if value is None:
            raise self.error(f"key '{key}'", "missing; give a number")
        good = type(value) in (int, float) and math.isfinite(value) and least <= value <= most
        if not good or (above and value == least):
            limits = f"above {least:g} and at most" if above else f"from {least:g} to"
            raise self.error(f"key '{key}'", f"must be a number {limits} {most:g}, not {value!r}")
        return float(value)

    def whole(self, key: str, default: int, least: int, most: int) -> int:
        value = self.table.get(key, default)
        if type(value) is not int or not least <= value <= most:
            raise self.error(
                f"key '{key}'", f"must be a whole number from {least} to {most}, not {value!r}"
            )
        return value

    def choice(self, key: str, choices: tuple[str, ...]) -> str:
        """One of these; the first is the default."""
        value = self.table.get(key, choices[0])
        if value not in choices:
            raise self.error(f"key '{key}'", f"must be one of {', '.join(choices)}, not {value!r}")
        return value
