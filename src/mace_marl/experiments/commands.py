"""The subcommands `experiment`, `plot` and `report`."""

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
    """Draw the learning curves of a study."""

    results: Positional[Path]
    """The folder of its results."""
    out: Path | None = None
    """Where to write the figures; unset for the same folder."""

    def __call__(self) -> None:
        from mace_marl.experiments.plot import draw_curves
        from mace_marl.experiments.results import open_results

        study, finished = open_results(self.results)
        for path in draw_curves(study, finished, _folder(self.out or self.results)):
            print(path)


@dataclass(frozen=True)
class Report:
    """Write a table of a study's results, as Markdown and CSV."""

    results: Positional[Path]
    """The folder of its results."""
    out: Path | None = None
    """Where to write the tables; unset for the same folder."""

    def __call__(self) -> None:
        from mace_marl.experiments.report import write_report
        from mace_marl.experiments.results import open_results

        study, finished = open_results(self.results)
        for path in write_report(study, finished, _folder(self.out or self.results)):
            print(path)


def _folder(path: Path) -> Path:
    from mace_marl.errors import UserError

    if not path.is_dir():
        raise UserError(f"{path} is not a directory; give another --out.")
    return path
