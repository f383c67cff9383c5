"""Watching a run's agents: an episode they solve, if one is found."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from mace_marl.errors import UserError
from mace_marl.runs import Run
from mace_marl.viewer.progress import say
from mace_marl.viewer.replay import caption, play_in_terminal, write_gif

CANDIDATES = 32  # episodes played to find a solved one


def watch_gif(run: Run, path: Path, greedy: bool = False, seed: int = 0) -> Path:
    """Write one episode, solved if any of some tried is, as a GIF."""
    if not path.parent.is_dir():
        raise UserError(f"{path.parent} is not a directory; give another --out.")
    frames = [
        caption(_drawn(run.world.picture, state), f"step {time}   {note}")
        for time, state, note in _episode(run, greedy, seed)
    ]
    write_gif(frames, path)
    return path


def watch_terminal(run: Run, greedy: bool = False, seed: int = 0) -> None:
    """Play one episode in the terminal."""
    frames = (
        f"{_drawn(run.world.text, state)}\nstep {time}   {note}"
        for time, state, note in _episode(run, greedy, seed)
    )
    play_in_terminal(frames, file=sys.stdout)


def _episode(run: Run, greedy: bool, seed: int) -> Iterator[tuple[int, Any, str]]:
    """Every moment of one episode: the time, the world's state, and how it stands."""
    played = run.play(CANDIDATES, greedy, seed, record=True)
    which = int(np.argmax(played.success))
    if not played.success[which]:
        say(f"none of {CANDIDATES} episodes was solved; this is one of them.")
    length = int(played.length[which])
    for time, state in enumerate(run.world.moments(played.states, which, length)):
        ending = "solved" if played.success[which] else "not solved"
        yield time, state, ending if time == length else ""


def _drawn(draw: Any, state: Any) -> Any:
    try:
        return draw(state)
    except NotImplementedError:
        raise UserError(
            f"this world cannot show itself: give it a method `{draw.__name__}` (docs/worlds.md)."
        ) from None
