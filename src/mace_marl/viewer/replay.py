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
    nearest = _nearest(frames, palette)
    pictures = (_indexed(frame, palette, nearest) for frame in frames)
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


def _palette(frames: Sequence[np.ndarray]) -> np.ndarray:
    """The colours for all frames together, so that none flickers  # (at most COLOURS, 3) uint8.

    Half of them are the commonest ones, exactly, so that wide areas stay true; the other half are
    means of all the rest, so that small things keep theirs.
    """
    chosen = np.unique(np.linspace(0, len(frames) - 1, SAMPLED_FRAMES).astype(int))
    packed = np.concatenate([_pack(frames[index]) for index in chosen])
    values, counts = np.unique(packed, return_counts=True)
    colours = _unpack(values[np.argsort(-counts, kind="stable")])
    if len(colours) <= COLOURS:
        return colours
    common, rest = np.split(colours, [COLOURS // 2])
    means = Image.fromarray(rest[None]).quantize(COLOURS - len(common)).convert("RGB")
    return np.concatenate([common, np.unique(np.asarray(means)[0], axis=0)])


def _nearest(frames: Sequence[np.ndarray], palette: np.ndarray) -> np.ndarray:
    """For every packed colour in the frames its nearest in the palette  # (2²⁴,) uint8.

    Pillow's own `quantize(palette=…)` is not used: it rounds colours before it compares them, and
    a floor would not even get a colour that is in the palette exactly.
    """
    used = np.zeros(1 << 24, bool)
    for frame in frames:
        used[_pack(frame)] = True
    values = np.flatnonzero(used)
    entries = palette.astype(np.float32)
    # The square of the distance, without the part that is the same for the whole palette.
    distances = (entries**2).sum(axis=1) - 2 * _unpack(values).astype(np.float32) @ entries.T
    nearest = np.zeros(1 << 24, np.uint8)
    nearest[values] = distances.argmin(axis=1)
    return nearest


def _indexed(frame: np.ndarray, palette: np.ndarray, nearest: np.ndarray) -> Image.Image:
    picture = Image.fromarray(nearest[_pack(frame)].reshape(frame.shape[:2]))
    picture.putpalette(palette.tobytes())
    return picture


def _pack(frame: np.ndarray) -> np.ndarray:
    """Every pixel's colour as one number, which sorts faster than three  # (pixels,) uint32."""
    red, green, blue = (frame[..., channel].ravel().astype(np.uint32) for channel in range(3))
    return red << 16 | green << 8 | blue


def _unpack(values: np.ndarray) -> np.ndarray:
    """The opposite of `_pack`  # (values, 3) uint8."""
    return np.stack([values >> 16, values >> 8, values], axis=1).astype(np.uint8)


def play_in_terminal(
    frames: Iterable[str], frame_seconds: float = 0.1, file: TextIO | None = None
) -> None:
    """Show frames one after the other in the same place of a terminal.

    Into anything but a terminal (a pipe, a file) they are printed without waiting, a blank line
    between them. `file` is standard output unless given.
    """
    target = sys.stdout if file is None else file
    if target.isatty():
        _redraw(frames, frame_seconds, target)
    else:
        for number, frame in enumerate(frames):
            print(frame if number == 0 else f"\n{frame}", file=target)


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
