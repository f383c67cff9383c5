"""What can be read off a written figure."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from PIL import Image


def size(path: Path) -> tuple[int, int]:
    with Image.open(path) as picture:
        assert picture.format == "PNG"
        picture.load()
        assert len(np.unique(np.asarray(picture.convert("L")))) > 10, "something is drawn"
        return picture.size


def remarks(figure: Figure) -> list[str]:
    return [note.get_text() for panel in figure.axes for note in panel.texts]
