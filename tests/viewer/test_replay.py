"""Replays: what is read back from a GIF and what arrives in a terminal."""

import io
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from mace_marl.viewer import replay
from mace_marl.viewer.replay import caption, play_in_terminal, write_gif


def frames(number: int, height: int = 40, width: int = 60) -> list[np.ndarray]:
    """A red block walking over a light floor."""
    made = []
    for step in range(number):
        frame = np.full((height, width, 3), (250, 250, 247), np.uint8)
        frame[10:20, step * 5 : step * 5 + 10] = (163, 36, 59)
        made.append(frame)
    return made


def read_gif(path: Path) -> tuple[list[np.ndarray], list[int]]:
    """The frames of a GIF, and how many milliseconds each stays."""
    with Image.open(path) as gif:
        pictures, durations = [], []
        for index in range(getattr(gif, "n_frames", 1)):
            gif.seek(index)
            pictures.append(np.asarray(gif.convert("RGB")))
            durations.append(gif.info["duration"])
        assert gif.info["loop"] == 0
    return pictures, durations


def test_a_gif_gives_its_frames_back(tmp_path: Path) -> None:
    made = frames(6)
    write_gif(made, tmp_path / "walk.gif", frame_seconds=0.2)
    pictures, durations = read_gif(tmp_path / "walk.gif")
    assert durations == [200] * 5 + [1500]
    np.testing.assert_array_equal(pictures, made)


def test_frames_in_many_colours_stay_close(tmp_path: Path) -> None:
    made = frames(3, 64, 64)
    rows, columns = np.indices((30, 64))
    for frame in made:  # 1,920 colours besides a floor and a block that must stay exact
        frame[34:] = np.stack([rows * 8, columns * 4, rows + columns], axis=-1)
    write_gif(made, tmp_path / "colours.gif")
    pictures, _ = read_gif(tmp_path / "colours.gif")
    errors = np.abs(np.array(pictures).astype(int) - np.array(made))
    assert errors[:, :30].max() == 0
    assert errors.max() <= 40
    assert errors.mean() < 6


def test_equal_frames_stay_as_long_as_all_of_them(tmp_path: Path) -> None:
    first, second = frames(2)
    write_gif([first, first, second], tmp_path / "wait.gif", frame_seconds=0.1)
    _, durations = read_gif(tmp_path / "wait.gif")
    assert durations == [200, 1500]


def test_frames_are_never_faster_than_browsers_play_them(tmp_path: Path) -> None:
    write_gif(frames(3), tmp_path / "fast.gif", frame_seconds=0.001)
    assert read_gif(tmp_path / "fast.gif")[1] == [20, 20, 1500]


def test_one_frame_is_enough(tmp_path: Path) -> None:
    write_gif(frames(1), tmp_path / "one.gif")
    with Image.open(tmp_path / "one.gif") as gif:
        np.testing.assert_array_equal(np.asarray(gif.convert("RGB")), frames(1)[0])


@pytest.mark.parametrize(
    ("bad", "message"),
    [([], "at least one frame"), ([*frames(1), *frames(1, height=41)], "same size")],
)
def test_impossible_gifs_are_refused(tmp_path: Path, bad: list[np.ndarray], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        write_gif(bad, tmp_path / "bad.gif")
    assert list(tmp_path.iterdir()) == []


def test_a_gif_replaces_the_old_one_and_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "walk.gif"
    write_gif(frames(2), path)
    write_gif(frames(4), path)
    assert len(read_gif(path)[0]) == 4
    assert list(tmp_path.iterdir()) == [path]


def test_a_failure_keeps_the_old_gif(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "walk.gif"
    write_gif(frames(2), path)
    old = path.read_bytes()

    def fail(frame: np.ndarray, *_: np.ndarray) -> Image.Image:
        if (frame == frames(3)[2]).all():
            raise OSError("disk full")
        return Image.fromarray(frame)

    monkeypatch.setattr(replay, "_indexed", fail)
    with pytest.raises(OSError, match="disk full"):
        write_gif(frames(3), path)
    assert path.read_bytes() == old
    assert list(tmp_path.iterdir()) == [path]


def test_a_caption_is_below_an_unchanged_frame() -> None:
    frame = frames(1, 200, 480)[0]
    captioned = caption(frame, "step 31   return 100")
    np.testing.assert_array_equal(captioned[:200], frame)
    strip = captioned[200:]
    assert captioned.dtype == np.uint8
    assert 20 <= len(strip) <= 48
    assert (strip.sum(axis=-1) < 300).sum() > 50, "there are letters"


def test_captions_differ_but_not_in_size() -> None:
    frame = frames(1, 200, 480)[0]
    short, other = caption(frame, "step 31"), caption(frame, "step 32")
    long = caption(frame, "step 31 " * 9)
    assert short.shape == other.shape == long.shape == caption(frame, "").shape
    assert (short != other).any()


def test_a_long_caption_gets_smaller_until_it_fits() -> None:
    captioned = caption(frames(1, 100, 480)[0], "step 31 " * 9 + "|")
    dark_columns = np.flatnonzero((captioned[100:].sum(axis=-1) < 500).any(axis=0))
    assert dark_columns.max() < 480 - 5


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def naps(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long the player waited, each time, without waiting."""
    taken: list[float] = []
    monkeypatch.setattr(replay.time, "sleep", taken.append)
    return taken


def screen(output: str) -> list[str]:
    """The lines that a terminal shows after `output`, as far as the player's escapes go."""
    lines, row, column = [""], 0, 0
    for number, code, letters in re.findall(r"\x1b\[\??(\d*)([A-Za-z])|([^\x1b\n]+|\n)", output):
        if code == "F":
            row, column = row - int(number), 0
            assert row >= 0
        elif code == "K":
            lines[row] = lines[row][:column]
        elif code == "J":
            lines[row:] = [lines[row][:column]]
        elif letters == "\n":
            row, column = row + 1, 0
            lines += [""] * (row + 1 - len(lines))
        elif letters:
            lines[row] = lines[row][:column] + letters + lines[row][column + len(letters) :]
            column += len(letters)
    return lines


def test_a_terminal_is_redrawn_in_place(naps: list[float]) -> None:
    terminal = Terminal()
    play_in_terminal(["###\n0..\n...", "##\n.0", "##\n.."], 0.25, terminal)
    assert screen(terminal.getvalue()) == ["##", "..", ""]
    assert naps == [0.25, 0.25]


def test_the_cursor_comes_back_after_an_interruption(naps: list[float]) -> None:
    def interrupted():
        yield "0."
        raise KeyboardInterrupt

    terminal = Terminal()
    with pytest.raises(KeyboardInterrupt):
        play_in_terminal(interrupted(), 0.1, terminal)
    output = terminal.getvalue()
    assert output.index(replay.HIDE_CURSOR) < output.index("0.") < output.index(replay.SHOW_CURSOR)
    assert output.endswith(replay.SHOW_CURSOR + replay.WRAP_LINES)


def test_a_pipe_gets_plain_frames_without_waiting(
    naps: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    play_in_terminal(iter(["#0\n..", "#.\n0."]), 5.0)
    assert capsys.readouterr().out == "#0\n..\n\n#.\n0.\n"
    assert naps == []
