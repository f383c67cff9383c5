"""places.npz: the rewards and visits of every place, summed over blocks of training.

A block is a round number of updates (1, 2, 5, 10, 20, 50, …), so that a question about a round
range of updates has an exact answer, and there are never more blocks than a small file can hold.
"""

import io
import zlib
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from mace_marl.errors import UserError
from mace_marl.runs.files import write_atomically

FILE = "places.npz"
MOST_BLOCKS = 100


def updates_per_block(updates: int) -> int:
    """The least of 1, 2, 5, 10, 20, 50, … that cuts so many updates into few enough blocks."""
    lengths = (digit * 10**power for power in count() for digit in (1, 2, 5))
    return next(length for length in lengths if length * MOST_BLOCKS >= updates)


@dataclass(frozen=True)
class Places:
    """What happened where, so far."""

    sums: np.ndarray  # (blocks, num_agents, 3, places): novelty rewards, hindsight rewards, visits
    updates_per_block: int
    updates: int  # done so far

    def between(self, first: int, last: int) -> tuple[np.ndarray, int, int]:
        """Sums over the blocks between `first` and `last` updates done, and where these blocks end.

        The range is widened to whole blocks  # (num_agents, 3, places) float64, updates, updates.
        """
        if not 0 <= first < last <= self.updates:
            raise UserError(
                f"updates {first}:{last} are not a part of this run, which recorded"
                f" 0:{self.updates}."
            )
        begin, end = first // self.updates_per_block, -(-last // self.updates_per_block)
        sums = self.sums[begin:end].sum(axis=0, dtype=np.float64)
        last = min(end * self.updates_per_block, self.updates)
        return sums, begin * self.updates_per_block, last

    def write(self, run_dir: Path) -> None:
        """Into the run's directory; the same run writes the same bytes."""
        buffer = io.BytesIO()
        np.savez_compressed(
            buffer,
            sums=self.sums,
            updates_per_block=np.int64(self.updates_per_block),
            updates=np.int64(self.updates),
        )
        write_atomically(run_dir / FILE, buffer.getvalue())


def read_places(run_dir: Path) -> Places:
    """What a run recorded up to its newest checkpoint, or one sentence about why there is none."""
    path = run_dir / FILE
    try:
        with np.load(path, allow_pickle=False) as file:
            places = Places(file["sums"], int(file["updates_per_block"]), int(file["updates"]))
    except FileNotFoundError:
        raise UserError(
            f"{run_dir} has recorded no places: it has no checkpoint yet, or its world does not"
            " say where agents are (`place`, docs/worlds.md)."
        ) from None
    except (OSError, ValueError, TypeError, KeyError, EOFError, BadZipFile, zlib.error) as error:
        raise UserError(
            f"{path} cannot be read ({error}); restore it, or train the run anew."
        ) from None
    return places
