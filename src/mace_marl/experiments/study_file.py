"""The TOML file of a study: read, checked to the last value, and written."""

import dataclasses
import json
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import Any

from mace_marl.errors import UserError
from mace_marl.experiments.study import Study, TaskPlan
from mace_marl.methods import get_method
from mace_marl.tasks import get_task, task_settings

KEYS = (
    *("title", "tasks", "methods", "presets", "variants", "overrides"),
    *("seeds", "steps", "until_success"),
)
MOST_SEEDS = 10_000


def shipped_studies() -> list[str]:
    """The names of the studies that come with the package."""
    folder = resources.files("mace_marl.experiments") / "studies"
    names = (entry.name for entry in folder.iterdir())
    return sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml"))


def read_study(file: str, quick: bool = False) -> tuple[str, Study]:
    """The name and the content of a study: one of ours by name, or a path to a file."""
    if file in shipped_studies():
        entry = resources.files("mace_marl.experiments") / "studies" / f"{file}.toml"
        name, source, text = file, f"study '{file}'", entry.read_text("utf-8")
    elif file.endswith(".toml"):
        name, source, text = Path(file).stem, file, read_text(Path(file))
    else:
        raise UserError(
            f"there is no study '{file}'; there are {', '.join(shipped_studies())}, or give a path"
            " to a file of your own (….toml)."
        )
    study = parse_study(text, source, quick)
    check_study(study, source)
    return f"{name}-quick" if quick else name, study


def read_text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UserError(f"{path} cannot be read ({reason}).") from None


def parse_study(text: str, source: str, quick: bool = False) -> Study:
    """A study from the text of its file, or one sentence that names the file and the key.

    The quick form is the same study with the keys of the table [quick] in place of its own.
    """
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{source} is not valid TOML ({error}).") from None
    changes = _table(table.pop("quick", {}), f"{source}: quick")
    _known(table, KEYS, source)
    _known(changes, KEYS, f"{source}: quick")
    if quick and not changes:
        raise UserError(f"{source} has no quick form, which is a table [quick].")
    if quick:
        table |= changes
    for key in ("title", "tasks", "methods"):
        if key not in table:
            raise UserError(f"{source}: {key} is missing.")
    variants = _table(table.get("variants", {}), f"{source}: variants")
    return Study(
        title=_name(table["title"], f"{source}: title"),
        tasks=_tasks(table, source),
        methods=_names(table["methods"], f"{source}: methods"),
        presets=_names(table.get("presets", ["paper"]), f"{source}: presets"),
        variants={
            _name(label, f"{source}: variants"): _table(settings, f"{source}: variants.{label}")
            for label, settings in variants.items()
        },
        overrides=_table(table.get("overrides", {}), f"{source}: overrides"),
        until_success=check_share(table.get("until_success"), f"{source}: until_success"),
    )


def check_study(study: Study, source: str) -> None:
    """Whatever a run could be refused for is refused before the first one starts."""
    for task in study.tasks:
        with _blamed_on(f"{source}: tasks"):
            found = get_task(task)
        for preset in study.presets:
            with _blamed_on(f"{source}: presets"):
                task_settings(found, preset)
    for method in study.methods:
        with _blamed_on(f"{source}: methods"):
            get_method(method)
    for planned in {(run.task, run.label): run for run in study.runs()}.values():
        with _blamed_on(f"{source}: settings of {planned.label} on {planned.task}"):
            planned.config()
    for name, count in Counter(planned.name for planned in study.runs()).items():
        if count > 1 or "" in name.split("/"):
            raise UserError(
                f"{source}: tasks and labels must differ in their letters and digits, but"
                f" {count} run(s) would be called {name}."
            )


def check_share(value: Any, key: str) -> float | None:
    """A share of successes, above 0 and at most 1, or None."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if value is None or (number and 0 < value <= 1):
        return value
    raise _unfit(key, "a number above 0 and at most 1", value)


def as_table(study: Study) -> dict[str, Any]:
    """The study as its file could say it."""
    return _plain(dataclasses.asdict(study))


def as_toml(study: Study) -> str:
    """A file that describes this study."""
    table = as_table(study)
    inner = {key: value for key, value in table.items() if isinstance(value, dict)}
    lines = [f"{key} = {_toml(value)}" for key, value in table.items() if key not in inner]
    for key, rows in inner.items():
        lines += ["", f"[{key}]", *(f"{_toml(name)} = {_toml(row)}" for name, row in rows.items())]
    return "\n".join(lines) + "\n"


def _plain(value: Any) -> Any:
    """As TOML has it: lists for tuples, and no word for None, which is left out."""
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items() if entry is not None}
    return list(value) if isinstance(value, tuple) else value


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_toml(k)} = {_toml(v)}" for k, v in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False)  # printable text, numbers, true and false


@contextmanager
def _blamed_on(place: str) -> Iterator[None]:
    """What goes wrong within is said to be wrong in this place."""
    try:
        yield
    except UserError as error:
        raise UserError(f"{place}: {error}") from None


def _unfit(key: str, wanted: str, value: Any) -> UserError:
    return UserError(f"{key} must be {wanted}, not {value!r}.")


def _known(table: Mapping[str, Any], keys: tuple[str, ...], source: str) -> None:
    for key in table:
        if key not in keys:
            raise UserError(f"{source}: unknown key '{key}'; there are {', '.join(keys)}.")


def _table(value: Any, key: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _unfit(key, "a table", value)
    return value


def _name(value: Any, key: str) -> str:
    if isinstance(value, str) and value.strip() and value.isprintable():
        return value
    raise _unfit(key, "one line of text", value)


def _names(value: Any, key: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not value:
        raise _unfit(key, "a list of names, at least one", value)
    names = tuple(_name(entry, key) for entry in value)
    if len(set(names)) < len(names):
        raise _unfit(key, "a list without repetitions", value)
    return names


def _tasks(table: Mapping[str, Any], source: str) -> dict[str, TaskPlan]:
    """A list of names, or a table of names in which a task may have seeds and steps of its own."""
    rows = table["tasks"]
    if not isinstance(rows, dict):
        rows = {name: {} for name in _names(rows, f"{source}: tasks")}
    if not rows:
        raise _unfit(f"{source}: tasks", "a list or table of names, at least one", rows)
    plans = {}
    for name, own in rows.items():
        key = f"{source}: tasks.{_name(name, f'{source}: tasks')}"
        _known(_table(own, key), ("seeds", "steps"), key)
        plans[name] = TaskPlan(
            _seeds(own["seeds"], f"{key}.seeds")
            if "seeds" in own
            else _seeds(table.get("seeds"), f"{source}: seeds"),
            _steps(own["steps"], f"{key}.steps")
            if "steps" in own
            else _steps(table.get("steps"), f"{source}: steps"),
        )
    return plans


def _seeds(value: Any, key: str) -> tuple[int, ...]:
    """A number of seeds, counted from 0, or a list of them."""
    if _is_whole(value) and 1 <= value <= MOST_SEEDS:
        return tuple(range(value))
    distinct = isinstance(value, list) and all(map(_is_whole, value)) and len(set(value))
    if distinct and distinct == len(value) and min(value) >= 0 and max(value) < 2**32:
        return tuple(value)
    wanted = f"a number from 1 to {MOST_SEEDS:,} or a list of distinct seeds from 0 to 2^32 − 1"
    raise _unfit(key, wanted, value)


def _steps(value: Any, key: str) -> int | None:
    if value is None or (_is_whole(value) and value >= 1):
        return value
    raise _unfit(key, "a whole number of environment steps, at least 1", value)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
