"""A run on disk: configuration, metrics, checkpoints; starting, resuming and opening one."""

from mace_marl.runs.run import Run, open_run, start

__all__ = ["Run", "open_run", "start"]
