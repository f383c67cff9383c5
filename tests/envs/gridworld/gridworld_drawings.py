"""Maps for the tests: the shipped ones, and random small ones drawn by hypothesis."""

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from gridworld_oracle import Cell, Layout, Switch
from hypothesis import strategies as st

MAPS = Path(str(files("mace_marl.envs.gridworld") / "maps"))


@dataclass(frozen=True)
class Drawing:
    """A small map as a person would draw it, and as the oracle reads it."""

    rows: tuple[str, ...]
    opens: dict[str, tuple[int, ...]]  # the doors of each switch, by its letter in lower case
    starts: tuple[Cell, ...]

    def toml(self, horizon: int = 20) -> str:
        """The map file."""
        switches = "".join(f"{letter} = {list(doors)}\n" for letter, doors in self.opens.items())
        starts = [list(start) for start in self.starts]
        drawn = "\n".join(self.rows)
        return f'horizon = {horizon}\nstarts = {starts}\ngrid = """\n{drawn}\n"""\n[switches]\n{switches}'

    def layout(self, horizon: int = 20) -> Layout:
        """The same map as plain data, read without the package's help."""
        drawn = {
            (row, column): character
            for row, line in enumerate(self.rows)
            for column, character in enumerate(line)
        }
        return Layout(
            height=len(self.rows),
            width=len(self.rows[0]),
            horizon=horizon,
            reward=100.0,
            starts=self.starts,
            walls=frozenset(cell for cell, character in drawn.items() if character == "#"),
            doorways={
                cell: int(character) for cell, character in drawn.items() if character in "12"
            },
            switches=tuple(
                Switch(cell, self.opens[character.lower()])
                for cell, character in drawn.items()
                if character.isalpha()
            ),
            target=frozenset(
                cell
                for cell, character in drawn.items()
                if character == "*" or character.isupper()
            ),
        )


@st.composite
def drawings(
    draw: st.DrawFn, max_height: int = 4, max_width: int = 5, max_agents: int = 2
) -> Drawing:
    """Random maps with up to two doors and three switches; some cannot be solved."""
    height = draw(st.integers(1, max_height))
    width = draw(st.integers(2, max_width))
    size = height * width
    cells = draw(st.lists(st.sampled_from("#...*12"), min_size=size, max_size=size))
    floor = [index for index in range(size) if cells[index] in ".*"]
    letters = "abc"[: draw(st.integers(0, min(3, len(floor))))]
    places = draw(st.permutations(floor))[: len(letters)]
    drawn_doors = sorted({int(character) for character in cells if character in "12"})
    # Doors are numbered without gaps, and a switch must open one.
    if drawn_doors == [2]:
        cells = ["1" if character == "2" else character for character in cells]
        drawn_doors = [1]
    opens = {}
    if drawn_doors:
        for letter, place in zip(letters, places, strict=True):
            cells[place] = letter.upper() if cells[place] == "*" else letter
            doors = draw(st.lists(st.sampled_from(drawn_doors), min_size=1, unique=True))
            opens[letter] = tuple(doors)
    if not floor:
        cells[0], floor = ".", [0]
    agents = draw(st.integers(1, max_agents))
    starts = [divmod(draw(st.sampled_from(floor)), width) for _ in range(agents)]
    rows = ["".join(cells[row * width : (row + 1) * width]) for row in range(height)]
    return Drawing(tuple(rows), opens, tuple(starts))
