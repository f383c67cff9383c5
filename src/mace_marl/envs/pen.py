"""A pen for pictures of worlds made of cells."""

import math

from PIL import Image, ImageDraw, ImageFont

SMOOTHING = 4  # discs are drawn this many times larger and then reduced
SMALLEST_LETTERS = 7.5  # pixels; smaller ones could not be read


class Pen:
    """Draws in units of cells: (0, 0) is the middle of the cell in row 0 and column 0."""

    def __init__(self, canvas: Image.Image, cell: int, frame: int) -> None:
        self.canvas = canvas
        self.draw = ImageDraw.Draw(canvas)
        self.cell = cell
        self.corner = frame + cell / 2

    def pixels(self, place: tuple[float, float]) -> tuple[float, float]:
        """The x and y of a (row, column)."""
        return self.corner + place[1] * self.cell, self.corner + place[0] * self.cell

    def square(self, place: tuple[float, float], colour: str) -> None:
        """A whole cell."""
        left, top = (round(middle - self.cell / 2) for middle in self.pixels(place))
        self.draw.rectangle((left, top, left + self.cell - 1, top + self.cell - 1), colour)

    def disc(self, place: tuple[float, float], radius: float, colour: str) -> None:
        """Drawn larger and then reduced, for Pillow's own edges are ragged."""
        x, y = self.pixels(place)
        reach = radius * self.cell
        left, top = math.floor(x - reach), math.floor(y - reach)
        side = math.ceil(2 * reach) + 1
        stencil = Image.new("L", (side * SMOOTHING, side * SMOOTHING))
        edges = (x - reach - left, y - reach - top, x + reach - left, y + reach - top)
        ImageDraw.Draw(stencil).ellipse([edge * SMOOTHING for edge in edges], 255)
        self.canvas.paste(colour, (left, top), stencil.reduce(SMOOTHING))

    def ring(self, place: tuple[float, float], radius: float, colour: str) -> None:
        """A thin circle, smoothed as discs are; it may reach beyond the picture."""
        width, height = self.canvas.size
        stencil = Image.new("L", (width * SMOOTHING, height * SMOOTHING))
        (x, y), reach = self.pixels(place), radius * self.cell
        edges = [SMOOTHING * edge for edge in (x - reach, y - reach, x + reach, y + reach)]
        ImageDraw.Draw(stencil).ellipse(edges, outline=255, width=SMOOTHING)
        self.canvas.paste(colour, (0, 0), stencil.reduce(SMOOTHING))

    def line(
        self, start: tuple[float, float], end: tuple[float, float], colour: str, width: int
    ) -> None:
        """`width` pixels wide."""
        self.draw.line((*self.pixels(start), *self.pixels(end)), colour, width)

    def box(self, first: tuple[float, float], last: tuple[float, float], colour: str) -> None:
        """A rectangle from its upper left to its lower right corner."""
        (left, top), (right, bottom) = self.pixels(first), self.pixels(last)
        left, top = round(left), round(top)
        corner = max(round(right) - 1, left), max(round(bottom) - 1, top)
        self.draw.rectangle((left, top, *corner), colour)

    def write(self, place: tuple[float, float], text: str, size: float, colour: str) -> None:
        """A line `size` cells high; none at all where it would be too small to be read."""
        if size * self.cell < SMALLEST_LETTERS:
            return
        font = ImageFont.load_default(size * self.cell)
        # By the letters' own middle: that of the font's line is too high for most of them.
        left, top, right, bottom = self.draw.textbbox((0, 0), text, font)
        x, y = self.pixels(place)
        self.draw.text((x - (left + right) / 2, y - (top + bottom) / 2), text, colour, font)
