"""What people look at: progress, replays and figures; and here, what all of them share."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# Okabe and Ito's colours, which colour-blind people tell apart; the most distinct come first.
AGENT_COLOURS = (
    "#0072b2",  # blue
    "#d55e00",  # vermilion
    "#009e73",  # green
    "#cc79a7",  # pink
    "#e69f00",  # orange
    "#56b4e9",  # sky blue
    "#4d4d4d",  # grey
    "#f0e442",  # yellow
)


def agent_colour(agent: int) -> str:
    """The colour of an agent in every picture and figure; from the ninth on they come again."""
    return AGENT_COLOURS[agent % len(AGENT_COLOURS)]


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path beside `path` to write to; it takes the place of `path` if all goes well.

    Whoever opens `path` meanwhile meets the old file or the new one, never half of one.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
