"""The folder of a study's results.

`study.toml` says what was asked for, `runs/<name>/` holds a finished run: small files with all that
is needed to look at it and to redo it. `work/<name>/` is a run under way, with its checkpoints, and
`work/<name>.log` what it says; both go when it is finished.
"""

import json
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mace_marl.errors import UserError
from mace_marl.experiments.study import Planned, Study
from mace_marl.experiments.study_file import as_table, as_toml, parse_study, read_text
from mace_marl.runs.config import FILE as CONFIG
from mace_marl.runs.config import differences
from mace_marl.runs.files import sync_directory, write_atomically
from mace_marl.runs.metrics import FILE as METRICS
from mace_marl.runs.metrics import read_rows
from mace_marl.settings import Settings

STUDY, RUNS, WORK = "study.toml", "runs", "work"
KEPT = (CONFIG, METRICS, "places.npz")  # of a finished run, those it has
CHANGES_NOTHING = ("layout", "made_with", "checkpoint_every")  # but rounding


@dataclass(frozen=True)
class Finished:
    """A finished run."""

    planned: Planned
    rows: list[dict[str, Any]]  # its metrics, one mapping per update

    @property
    def env_steps(self) -> int:
        return self.rows[-1]["env_steps"]


@dataclass(frozen=True)
class Results:
    directory: Path

    def run_dir(self, planned: Planned) -> Path:
        return self.directory / RUNS / planned.name

    def work_dir(self, planned: Planned) -> Path:
        return self.directory / WORK / planned.name

    def log(self, planned: Planned) -> Path:
        work = self.work_dir(planned)
        return work.with_name(f"{work.name}.log")

    def is_finished(self, planned: Planned) -> bool:
        return self.run_dir(planned).is_dir()

    def is_begun(self, planned: Planned) -> bool:
        return (self.work_dir(planned) / CONFIG).is_file()

    def refuse_other_study(self, study: Study) -> None:
        """One sentence, and nothing touched, if this folder is of anything but this study."""
        path = self.directory / STUDY
        if not path.exists():
            if self.directory.exists() and (
                not self.directory.is_dir() or any(self.directory.iterdir())
            ):
                raise UserError(
                    f"{self.directory} holds something else than results and was left untouched;"
                    " give another --results."
                )
            return
        there = parse_study(read_text(path), str(path))
        # A better title is no other study.
        different = differences(as_table(study) | {"title": there.title}, as_table(there))
        if different:
            raise UserError(
                f"{self.directory} holds the results of another study, which differs in"
                f" {'; '.join(different)}: give another --results."
            )
        for planned in study.runs():
            self._refuse_other_run(planned)

    def _refuse_other_run(self, planned: Planned) -> None:
        """A run that was made from other maps, presets or methods by these names is no part."""
        for directory in (self.run_dir(planned), self.work_dir(planned)):
            path = directory / CONFIG
            if not path.exists():
                continue
            different = differences(planned.config(), read_made_from(directory))
            if different:
                raise UserError(
                    f"{path} was made with something else than there is here by the same names,"
                    f" different in {', '.join(different)}: give another --results."
                )

    def make(self) -> None:
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(
                f"{self.directory} cannot be made ({error.strerror}); give another --results."
            ) from None

    def begin(self, study: Study) -> None:
        """Write down what is asked for, and tidy up after a process that was killed."""
        write_atomically(self.directory / STUDY, as_toml(study).encode())
        for planned in study.runs():
            if self.is_finished(planned):
                self._forget_work(planned)

    def keep(self, planned: Planned) -> None:
        """Move what is kept of a run that has ended; it appears all at once."""
        work, final = self.work_dir(planned), self.run_dir(planned)
        draft = final.with_name(f".{final.name}.tmp")
        shutil.rmtree(draft, ignore_errors=True)  # of a process that was killed
        draft.mkdir(parents=True)
        for name in KEPT:
            if (work / name).exists():
                write_atomically(draft / name, (work / name).read_bytes())
        draft.rename(final)
        sync_directory(final.parent)
        self._forget_work(planned)

    def _forget_work(self, planned: Planned) -> None:
        work = self.work_dir(planned)
        shutil.rmtree(work, ignore_errors=True)
        self.log(planned).unlink(missing_ok=True)

    def end(self) -> None:
        """Nothing is under way any more: let go of what is left of it."""
        shutil.rmtree(self.directory / WORK, ignore_errors=True)


def read_made_from(run_dir: Path) -> dict[str, Any]:
    """All that a run's results depend on, in terms of the settings that are now known."""
    path = run_dir / CONFIG
    try:
        table = json.loads(read_text(path))
        table = {key: table[key] for key in table.keys() - set(CHANGES_NOTHING)}
        return {**table, "settings": asdict(Settings().override(table["settings"]))}
    except (ValueError, AttributeError, KeyError):
        raise UserError(f"{path} is not the configuration of a run; remove {run_dir}.") from None


def open_results(directory: Path) -> tuple[Study, list[Finished]]:
    """A study and its finished runs, in the order of the study."""
    path = directory / STUDY
    if not path.is_file():
        raise UserError(
            f"{directory} holds no results: it has no {STUDY}; see `mace experiment --help`."
        )
    study = parse_study(read_text(path), str(path))
    results = Results(directory)
    finished = [
        Finished(planned, read_rows(results.run_dir(planned)))
        for planned in study.runs()
        if results.is_finished(planned)
    ]
    finished = [run for run in finished if run.rows]
    if not finished:
        raise UserError(f"{directory} holds no finished run yet; `mace experiment` goes on.")
    return study, finished
