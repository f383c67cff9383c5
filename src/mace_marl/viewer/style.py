"""What all figures share: their inks, their paper, and how they are written.

They are drawn with matplotlib's objects, never with pyplot: no display, no global state.
"""

import textwrap
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from mace_marl.viewer import replacing

DPI = 120
TITLE_LETTERS_PER_INCH = 10
INK, SOFT_INK, RULE = "#1d2129", "#5b6270", "#e6e8ec"
LEGEND_STYLE = {"frameon": False, "fontsize": 9, "labelcolor": SOFT_INK, "handlelength": 1.4}
REMARK_STYLE = {"ha": "center", "va": "center", "color": SOFT_INK, "fontsize": 10, "zorder": 5}
REMARK_STYLE |= {"bbox": {"facecolor": "white", "edgecolor": "none"}}


def blank_figure(width: float, height: float, title: str = "") -> Figure:
    """An empty figure, in inches, that makes room for whatever will be around its panels."""
    figure = Figure((width, height), layout=ConstrainedLayoutEngine(w_pad=0.1, h_pad=0.1))
    if title:
        lines = textwrap.fill(title, round(TITLE_LETTERS_PER_INCH * width))
        figure.suptitle(lines, fontsize=12, fontweight="bold", color=INK)
    return figure


def style_axes(panel: Axes) -> None:
    panel.spines[["top", "right"]].set_visible(False)
    panel.spines[["left", "bottom"]].set_color(SOFT_INK)
    panel.tick_params(colors=SOFT_INK, labelsize=9, length=3)
    panel.grid(color=RULE, linewidth=0.8)
    panel.set_axisbelow(True)
    for label in (panel.xaxis.label, panel.yaxis.label):
        label.set(color=INK, fontsize=10)


def save_figure(figure: Figure, path: Path) -> None:
    """Write the figure in the format that the path's suffix names: .png, .pdf or .svg."""
    with replacing(path) as temporary:
        figure.savefig(temporary, format=path.suffix[1:], dpi=DPI, facecolor="white")
