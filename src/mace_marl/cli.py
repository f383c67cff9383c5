"""The command `mace`. JAX is imported only by the subcommands that need it."""

import dataclasses
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import tyro
from tyro.conf import OmitArgPrefixes, Positional, arg, subcommand

from mace_marl.errors import Stopped, UserError
from mace_marl.experiments.commands import Experiment, Plot, Report
from mace_marl.settings import NONE, PRESETS, Settings
from mace_marl.viewer.commands import Figure


def _help(entry: "dataclasses.Field[Any]") -> str:
    values = {name: getattr(preset, entry.name) for name, preset in PRESETS.items()}
    shown = ", ".join(f"{name}: {value}" for name, value in values.items())
    return f"{entry.metadata['help']} ({shown})"


def _kind(entry: "dataclasses.Field[Any]") -> Any:
    kind: Any = entry.type
    return kind | Literal[NONE] if type(None) in get_args(kind) else kind


if TYPE_CHECKING:
    Overrides = Settings
else:
    # All settings as options, unset by default: then preset and task decide.
    Overrides = dataclasses.make_dataclass(
        "Overrides",
        [
            (entry.name, Annotated[_kind(entry) | None, arg(help=_help(entry))], None)
            for entry in dataclasses.fields(Settings)
        ],
        frozen=True,
    )


@dataclass(frozen=True)
class Train:
    """Train agents on a task."""

    task: Positional[str]
    """A name from `mace tasks`, a map, kitchen or scenario (….toml), a world in Python
    (module:name), or one outside JAX (pettingzoo:module, smac/map)."""
    settings: Annotated[OmitArgPrefixes[Overrides], arg(name="")]
    """Single settings, on top of the preset and of those a task has of its own."""
    method: str = "mace"
    """A name from `mace methods`."""
    preset: str = "tuned"
    """Where settings come from: `paper` (its tables), `authors` (their code's), or `tuned`: what
    learns faster, where that is known, else `paper`."""
    seed: int = 0
    """The same seed on the same device layout gives the same run, bit for bit."""
    steps: int | None = None
    """Environment steps, rounded up to whole updates; unset for the task's budget."""
    until_success: float | None = None
    """End sooner, once this share of the last 1,000 training episodes succeeds."""
    run_dir: Path | None = None
    """A directory for the run; unset for a new one under runs/."""
    checkpoint_every: float = 60.0
    """At most this many seconds between checkpoints."""
    devices: int | None = None
    """Devices to share the work; unset for what suits this machine."""
    micro_batch: int | None = None
    """Chunks whose gradient a device computes at a time; unset for what suits this machine."""
    distinct: bool | None = None
    """Compute layers before the GRU once per distinct observation; unset to do so if it pays."""

    def __call__(self) -> None:
        from mace_marl.runs import start
        from mace_marl.viewer.progress import say

        chosen = dataclasses.asdict(self.settings)
        run = start(
            self.task,
            method=self.method,
            preset=self.preset,
            seed=self.seed,
            steps=self.steps,
            until_success=self.until_success,
            run_dir=self.run_dir,
            checkpoint_every=self.checkpoint_every,
            devices=self.devices,
            micro_batch=self.micro_batch,
            distinct=self.distinct,
            progress=True,
            overrides={name: value for name, value in chosen.items() if value is not None},
        )
        say(f"done: {run.directory}; see it with `mace watch {run.directory}`.")


@dataclass(frozen=True)
class Resume:
    """Go on with a run that was stopped, from its newest whole checkpoint."""

    run_dir: Positional[Path]
    """The run's directory."""

    def __call__(self) -> None:
        from mace_marl.runs import open_run

        open_run(self.run_dir).resume()


@dataclass(frozen=True)
class Evaluate:
    """Play episodes with a run's agents, who communicate nothing, and count successes."""

    run_dir: Positional[Path]
    """The run's directory."""
    episodes: int = 100
    """Episodes to play."""
    greedy: bool = False
    """Take each policy's most likely action instead of drawing one."""
    seed: int = 0
    """Seed of the draws."""
    json: bool = False
    """Print one JSON document and nothing else on standard output."""

    def __call__(self) -> None:
        from mace_marl.runs import open_run

        figures = open_run(self.run_dir).evaluate(self.episodes, self.greedy, self.seed)
        if self.json:
            print(json.dumps(figures))
        else:
            print(
                f"{figures['episodes']} episodes: success rate {figures['success_rate']:.1%},"
                f" mean return {figures['mean_return']:.2f},"
                f" mean length {figures['mean_length']:.1f}"
            )


@dataclass(frozen=True)
class Watch:
    """Show an episode of a run's agents: as a GIF, or in the terminal."""

    run_dir: Positional[Path]
    """The run's directory."""
    terminal: bool = False
    """Play in the terminal instead of writing a GIF."""
    greedy: bool = False
    """Take each policy's most likely action instead of drawing one."""
    seed: int = 0
    """Seed of the draws."""
    out: Path | None = None
    """The GIF to write; unset for replay.gif in the run's directory."""

    def __call__(self) -> None:
        from mace_marl.runs import open_run
        from mace_marl.viewer.watch import watch_gif, watch_terminal

        run = open_run(self.run_dir)
        if self.terminal:
            watch_terminal(run, self.greedy, self.seed)
        else:
            path = self.out or self.run_dir / "replay.gif"
            print(watch_gif(run, path, self.greedy, self.seed))


@dataclass(frozen=True)
class Bench:
    """Measure this machine, the worlds, the learner and whole updates, in one run."""

    task: str | None = None
    """One task; unset for all."""
    preset: str = "paper"
    """Where settings come from."""
    method: str | None = None
    """A name from `mace methods`; unset for the fullest that a task can be trained with."""
    json: bool = False
    """Print one JSON document and nothing else on standard output."""

    def __call__(self) -> None:
        from mace_marl.bench import bench_all, bench_task
        from mace_marl.viewer.bench_table import bench_table

        if self.task is None:
            figures = bench_all(self.preset, self.method)
        else:
            figures = bench_task(self.task, self.preset, self.method)
        print(json.dumps(figures) if self.json else bench_table(figures))


@dataclass(frozen=True)
class Tasks:
    """List the tasks."""

    json: bool = False
    """Print one JSON document."""

    def __call__(self) -> None:
        from mace_marl.tasks import TASKS

        _list(TASKS, self.json)


@dataclass(frozen=True)
class Methods:
    """List the methods."""

    json: bool = False
    """Print one JSON document."""

    def __call__(self) -> None:
        from mace_marl.methods import METHODS

        _list({name: method.sentence for name, method in METHODS.items()}, self.json)


def _list(sentences: dict[str, str], as_json: bool) -> None:
    if as_json:
        print(json.dumps(sentences))
        return
    width = max(map(len, sentences))
    for name, sentence in sentences.items():
        print(f"{name:<{width}}  {sentence}")


Command = (
    Annotated[Tasks, subcommand("tasks")]
    | Annotated[Methods, subcommand("methods")]
    | Annotated[Train, subcommand("train")]
    | Annotated[Resume, subcommand("resume")]
    | Annotated[Evaluate, subcommand("evaluate")]
    | Annotated[Watch, subcommand("watch")]
    | Annotated[Figure, subcommand("figure")]
    | Annotated[Bench, subcommand("bench")]
    | Annotated[Experiment, subcommand("experiment")]
    | Annotated[Plot, subcommand("plot")]
    | Annotated[Report, subcommand("report")]
)


def main(arguments: list[str] | None = None) -> None:
    """Agents that explore together by telling each other one number per step."""
    command: Any = tyro.cli(Command, prog="mace", description=main.__doc__, args=arguments)  # pyright: ignore[reportCallIssue, reportArgumentType]
    sys.exit(_run(command))


def _run(command: Any) -> int:
    """Run a command; what goes wrong for the user's own reasons is one sentence."""
    try:
        command()
    except UserError as error:
        print(f"mace: {error}", file=sys.stderr)
        return 2
    except Stopped as stopped:
        print(f"mace: {stopped}", file=sys.stderr)
        return 130
    except KeyboardInterrupt:
        print("mace: stopped at once; the last checkpoint stands.", file=sys.stderr)
        return 130
    except BrokenPipeError:
        return 1
    return 0
