"""What tests of figures share: the figures that were written, to look into."""

from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Figure]:
    """Every figure that is written from now on."""
    made: list[Figure] = []
    write = Figure.savefig

    def keep(self: Figure, path: Path, **style: Any) -> None:
        made.append(self)
        write(self, path, **style)

    monkeypatch.setattr(Figure, "savefig", keep)
    return made
