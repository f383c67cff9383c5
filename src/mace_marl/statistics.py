"""What rows of metrics say together."""

from collections.abc import Mapping, Sequence
from typing import Any

RECENT_EPISODES = 1000


def recent_success(rows: Sequence[Mapping[str, Any]]) -> tuple[int, int]:
    """Successes and episodes of the last updates that together had a thousand episodes."""
    successes = episodes = 0
    for row in reversed(rows):
        if episodes >= RECENT_EPISODES:
            break
        successes, episodes = successes + row["successes"], episodes + row["episodes"]
    return successes, episodes


def success_rate(rows: Sequence[Mapping[str, Any]]) -> float | None:
    """The success rate of about the last thousand training episodes; None before there are any."""
    successes, episodes = recent_success(rows)
    return successes / episodes if episodes else None


def reached(rows: Sequence[Mapping[str, Any]], success: float) -> bool:
    """Whether at least a thousand episodes have ended, and the last thousand did this well."""
    successes, episodes = recent_success(rows)
    return episodes >= RECENT_EPISODES and successes >= success * episodes
