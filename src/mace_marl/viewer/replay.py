"""Replays of episodes: frames with captions, as GIF files and in a terminal."""

import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TextIO

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from mace_marl.viewer import replacing

LAST_FRAME_SECONDS = 1.5  # long enough to see how the episode ended before it starts again
SHORTEST_FRAME_SECONDS = 0.02  # browsers slow down what claims to be faster

COLOURS = 255  # of the 256 in a GIF: one is left to mean "as in the frame before"
SAMPLED_FRAMES = 16  # how many frames are looked at to choose the colours

STRIP_COLOUR, INK = "#ffffff", "#1d2129"
SMALLEST_LETTERS = 7  # pixels

HIDE_CURSOR, SHOW_CURSOR = "\x1b[?25l", "\x1b[?25h"
STOP_WRAPPING, WRAP_LINES = "\x1b[?7l", "\x1b[?7h"
CLEAR_REST_OF_LINE, CLEAR_BELOW = "\x1b[K", "\x1b[J"


def caption(frame: np.ndarray, text: str) -> np.ndarray:
    """The frame with one line of text in a strip below it  # (height + strip, width, 3) uint8.

    `frame`  # (height, width, 3) uint8
    The strip's height depends on the frame's width alone, so that all frames stay of one size;
    a line that is too long gets smaller letters.
    """
    height, width, _ = frame.shape
    strip = max(20, round(width / 16))
    canvas = Image.new("RGB", (width, height + strip), STRIP_COLOUR)
    canvas.paste(Image.fromarray(frame), (0, 0))
    margin = strip // 3
    size = strip * 0.55
    font = ImageFont.load_default(size)
    while font.getlength(text) > width - 2 * margin and size > SMALLEST_LETTERS:
        size -= 1
        font = ImageFont.load_default(size)
    ImageDraw.Draw(canvas).text((margin, height + strip / 2), text, INK, font, anchor="lm")
    return np.array(canvas)


def write_gif(frames: Sequence[np.ndarray], path: Path, frame_seconds: float = 0.1) -> None:
    """Write frames as an endless GIF; its last frame stays a little longer.

    `frames`  # each (height, width, 3) uint8, all of one size
    Equal frames in a row become one that stays as long as all of them.
    """
    if not frames:
        raise ValueError("a GIF needs at least one frame")
    if len({frame.shape for frame in frames}) > 1:
        raise ValueError("all frames of a GIF must have the same size")
    palette = _palette(frames)
    pictures = (
        Image.fromarray(frame).quantize(palette=palette, dither=Image.Dither.NONE)
        for frame in frames
    )
    seconds = [max(frame_seconds, SHORTEST_FRAME_SECONDS)] * (len(frames) - 1)
    with replacing(path) as temporary:
        next(pictures).save(
            temporary,
            format="GIF",
            save_all=True,
            append_images=pictures,
            duration=[round(1000 * time) for time in [*seconds, LAST_FRAME_SECONDS]],
            loop=0,
        )


def _palette(frames: Sequence[np.ndarray]) -> Image.Image:
    """One palette for all frames: without it colours would flicker and files would be larger.

    Half of it are the commonest colours, exactly, so that wide areas stay true; the other half
    are means of all the rest, so that small things keep theirs.
    """
    chosen = np.unique(np.linspace(0, len(frames) - 1, SAMPLED_FRAMES).astype(int))
    pixels = np.concatenate([frames[index].reshape(-1, 3) for index in chosen]).astype(np.uint32)
    packed = pixels @ np.array(
        [1 << 16, 1 << 8, 1], np.uint32
    )  # one number sorts faster than three
    values, counts = np.unique(packed, return_counts=True)
    values = values[np.argsort(-counts, kind="stable")]
    colours = np.stack([values >> 16, values >> 8 & 255, values & 255], axis=1).astype(np.uint8)
    common, rest = np.split(colours, [COLOURS if len(colours) <= COLOURS else COLOURS // 2])
    entries = common.ravel().tolist()
    if len(rest):
        means = Image.fromarray(rest[None]).quantize(COLOURS - len(common)).getpalette() or []
        entries += means[: 3 * (COLOURS - len(common))]
    palette = Image.new("P", (1, 1))
    palette.putpalette(entries)
    return palette


def play_in_terminal(
    frames: Iterable[str], frame_seconds: float = 0.1, file: TextIO | None = None
) -> None:
    """Show frames one after the other in the same place of a terminal.

    Into anything but a terminal (a pipe, a file) they are printed without waiting, a blank line
    between them. `file` is standard output unless given.
    """
    file = sys.stdout if file is None else file
    if file.isatty():
        _redraw(frames, frame_seconds, file)
    else:
        for number, frame in enumerate(frames):
            print(frame if number == 0 else f"\n{frame}", file=file)


def _redraw(frames: Iterable[str], frame_seconds: float, file: TextIO) -> None:
    back = ""  # the way back to the first line of the frame before
    # A wrapped line would make frames higher than counted here.
    file.write(HIDE_CURSOR + STOP_WRAPPING)
    try:
        for frame in frames:
            if back:
                time.sleep(frame_seconds)
            lines = frame.split("\n")
            drawn = "".join(f"{line}{CLEAR_REST_OF_LINE}\n" for line in lines)
            # In one piece, and nothing cleared before it is drawn over: so it does not flicker.
            file.write(f"{back}{drawn}{CLEAR_BELOW}")
            file.flush()
            back = f"\x1b[{len(lines)}F"
    finally:
        file.write(SHOW_CURSOR + WRAP_LINES)
        file.flush()
