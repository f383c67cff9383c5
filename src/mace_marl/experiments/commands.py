"""The subcommands `experiment`, `plot` and `report`."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tyro.conf import Positional


@dataclass(frozen=True)
class Experiment:
    """Run a study: a grid of tasks, methods and seeds. What is finished is skipped."""

    study: Positional[str]
    """A study file (….toml, docs/experiments.md), or the name of one that comes with the package:
    main, ablation, sum_or_max, window, lambda, baselines, scalability, overcooked,
    skirmish, skirmish_baselines, skirmish_dense, skirmish_8m."""
    quick: bool = False
    """Its quick form, on small maps."""
    results: Path | None = None
    """The folder of its results; unset for results/NAME."""
    workers: int | None = None
    """Runs at a time, which share the cores equally; unset for one per core."""
    until_success: float | None = None
    """End a run sooner, once this share of its last 1,000 training episodes succeeds."""

    def __call__(self) -> None:
        from mace_marl.experiments.results import Results
        from mace_marl.experiments.runner import run_study
        from mace_marl.experiments.study_file import check_share, read_study

        name, study = read_study(self.study, self.quick)
        if self.until_success is not None:
            share = check_share(self.until_success, "until-success")
            study = replace(study, until_success=share)
        results = Results(self.results or Path("results") / name)
        if not run_study(study, results, self.workers):
            raise SystemExit(1)


@dataclass(frozen=True)
class Plot:
    """Draw the learning curves of a study, or of several together."""

    results: Positional[tuple[Path, ...]]
    """The folder of its results, or several studies' folders."""
    out: Path | None = None
    """Where to write the figures; unset for the same folder, if it is one."""
    title: str | None = None
    """What to put above them; unset for the title of the study, or of all."""

    def __call__(self) -> None:
        from mace_marl.experiments.outcome import open_outcome
        from mace_marl.experiments.plot import draw_curves

        outcome = open_outcome(self.results, self.title)
        for path in draw_curves(outcome, _folder(self.out, self.results)):
            print(path)


@dataclass(frozen=True)
class Report:
    """Write a table of a study's results, or of several together, as Markdown and CSV."""

    results: Positional[tuple[Path, ...]]
    """The folder of its results, or several studies' folders."""
    out: Path | None = None
    """Where to write the tables; unset for the same folder, if it is one."""
    title: str | None = None
    """What to put above them; unset for the title of the study, or of all."""

    def __call__(self) -> None:
        from mace_marl.experiments.outcome import open_outcome
        from mace_marl.experiments.report import write_report

        outcome = open_outcome(self.results, self.title)
        for path in write_report(outcome, _folder(self.out, self.results)):
            print(path)


def _folder(out: Path | None, results: Sequence[Path]) -> Path:
    from mace_marl.errors import UserError

    if out is None and len(results) > 1:
        raise UserError("say where to write what is of several studies: give --out.")
    path = out or results[0]
    if not path.is_dir():
        raise UserError(f"{path} is not a directory; give another --out.")
    return path
