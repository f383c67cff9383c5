"""A run: started, stopped, resumed, evaluated and watched."""

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import jax
import numpy as np

from mace_marl.envs.api import World
from mace_marl.errors import UserError
from mace_marl.evaluation import Played, play
from mace_marl.host.play import play_host
from mace_marl.host.trainer import make_trainer
from mace_marl.host.world import Hosted
from mace_marl.machine import Layout, choose_layout, fit_layout
from mace_marl.methods import get_method
from mace_marl.runs import checkpoints, training
from mace_marl.runs.config import Config, config_from_json, differences, read_config
from mace_marl.runs.metrics import read_rows
from mace_marl.runs.places import Places, read_places
from mace_marl.tasks import get_task, task_settings
from mace_marl.trainer import Learner, Trainer
from mace_marl.viewer.progress import say
from mace_marl.worlds import is_outside_jax, make_world


@dataclass(frozen=True)
class Run:
    """A run on disk."""

    directory: Path
    config: Config

    @cached_property
    def world(self) -> World:
        return make_world(self.config.task, self.config.map)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The metrics, one mapping per update."""
        return read_rows(self.directory)

    def trainer(self) -> Trainer:
        config = self.config
        layout = fit_layout(config.layout, is_outside_jax(config.task, config.map))
        if layout != config.layout:
            say(
                f"this process has fewer devices than the {config.layout.devices} the run was made"
                " with: results will agree up to float rounding, not bit for bit."
            )
        return make_trainer(self.world, config.method, config.settings, layout)

    def checkpoint(self) -> checkpoints.Checkpoint | None:
        """The newest checkpoint that is whole and of this configuration."""
        checkpoint, complaints = checkpoints.newest(self.directory)
        for complaint in complaints:
            say(complaint)
        if checkpoint:
            saved = config_from_json(checkpoint.config)
            different = differences(self.config.as_json(), saved.as_json())
            if different:
                raise UserError(
                    f"{self.directory}: config.json differs from its checkpoint"
                    f" {checkpoint.update:06d} in {', '.join(different)};"
                    " restore it, or train anew in another directory."
                )
        return checkpoint

    @cached_property
    def learners(self) -> Learner:
        """The agents as they were at the newest checkpoint."""
        checkpoint = self._need_checkpoint()
        config = self.config
        trainer = make_trainer(self.world, config.method, config.settings, Layout())
        template = jax.eval_shape(trainer.init_state, config.settings, jax.random.key(0))
        return checkpoints.unflatten(template, checkpoint.arrays).learners

    def _need_checkpoint(self) -> checkpoints.Checkpoint:
        checkpoint = self.checkpoint()
        if checkpoint is None:
            raise UserError(
                f"{self.directory} has no usable checkpoint yet; `mace resume {self.directory}`"
                " trains on."
            )
        return checkpoint

    def play(
        self, episodes: int, greedy: bool = False, seed: int = 0, record: bool = False
    ) -> Played:
        """Play episodes with the newest checkpoint's policies."""
        if episodes < 1:
            raise UserError(f"episodes must be at least 1, not {episodes}.")
        if isinstance(self.world, Hosted):
            copies = min(episodes, self.config.settings.num_envs)
            return play_host(self.world, self.learners, seed, episodes, greedy, copies)
        program = jax.jit(
            partial(play, self.world, episodes=episodes, greedy=greedy, record=record)
        )
        return jax.device_get(program(self.learners, jax.random.key(seed)))

    def evaluate(self, episodes: int = 100, greedy: bool = False, seed: int = 0) -> dict[str, Any]:
        """Success rate, mean return and mean length of episodes played without communication."""
        played = self.play(episodes, greedy, seed)
        return {
            "episodes": episodes,
            "success_rate": float(np.mean(played.success)),
            "mean_return": float(np.mean(played.returns)),
            "mean_length": float(np.mean(played.length)),
        }

    @property
    def places(self) -> Places:
        """Rewards and visits by place, up to the newest checkpoint."""
        return read_places(self.directory)

    def resume(self, progress: bool = True) -> "Run":
        """Train on from the newest checkpoint, or from the beginning if there is none."""
        host = is_outside_jax(self.config.task, self.config.map)
        fit_layout(self.config.layout, host)  # devices are set before a checkpoint starts JAX
        training.train(self.directory, self.config, self.trainer, self.checkpoint(), progress)
        self.__dict__.pop("learners", None)
        return self


def open_run(directory: str | Path) -> Run:
    path = Path(directory)
    if not path.is_dir():
        raise UserError(f"there is no run directory {path}.")
    return Run(path, read_config(path))


def start(
    task: str,
    *,
    method: str,
    preset: str,
    seed: int,
    steps: int | None,
    until_success: float | None,
    run_dir: str | Path | None,
    checkpoint_every: float,
    devices: int | None,
    micro_batch: int | None,
    distinct: bool | None,
    progress: bool,
    overrides: Mapping[str, Any],
) -> Run:
    """Make a new run and train it to its end. Everything is checked before anything is written."""
    found = get_task(task)
    settings = task_settings(found, preset, overrides)
    if steps is not None and steps < 1:
        raise UserError(f"steps must be at least 1, not {steps}.")
    if until_success is not None and not 0 < until_success <= 1:
        raise UserError(f"until-success must be above 0 and at most 1, not {until_success}.")
    if not 0 <= seed < 2**32:
        raise UserError(f"seed must be from 0 to 2^32 − 1, not {seed}.")
    if not checkpoint_every >= 0:
        raise UserError(f"checkpoint-every must be at least 0 seconds, not {checkpoint_every}.")
    row = get_method(method)
    host = is_outside_jax(found.name, found.map)
    directory = Path(run_dir) if run_dir else _new_directory(task, method, preset, seed)
    _refuse_used(directory)
    config = Config(
        task=task,
        map=found.map,
        method=row,
        preset=preset,
        settings=settings,
        seed=seed,
        steps=steps or found.budget_with(preset),
        until_success=until_success,
        layout=choose_layout(settings, devices, micro_batch, distinct, host),
        checkpoint_every=checkpoint_every,
    )
    run = Run(directory, config)
    trainer = run.trainer()
    try:
        trainer.open()
        _create(directory, config)
        training.train(directory, config, lambda: trainer, None, progress)
    finally:
        trainer.close()
    return run


def _new_directory(task: str, method: str, preset: str, seed: int) -> Path:
    name = Path(task).stem if task.endswith(".toml") else task.replace("/", "-").replace(":", "-")
    base = Path("runs") / f"{name}-{method}-{preset}-seed{seed}"
    number, directory = 1, base
    while directory.exists():
        number += 1
        directory = base.with_name(f"{base.name}-{number}")
    return directory


def _refuse_used(directory: Path) -> None:
    if directory.exists() and not directory.is_dir():
        raise UserError(f"{directory} is a file; give another --run-dir.")
    if directory.is_dir() and any(directory.iterdir()):
        raise UserError(
            f"{directory} is not empty and was left untouched; give another --run-dir, or"
            f" `mace resume {directory}` if it is a run to go on with."
        )


def _create(directory: Path, config: Config) -> None:
    """The run's directory appears with its configuration inside, or not at all."""
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        draft = directory.with_name(f".{directory.name}.{os.getpid()}.tmp")
        draft.mkdir()
        config.write(draft)
        try:
            draft.rename(directory)
        except OSError:
            shutil.rmtree(draft)
            _refuse_used(directory)
            raise
    except OSError as error:
        raise UserError(
            f"{directory} cannot be made ({error.strerror}); give another --run-dir."
        ) from None
