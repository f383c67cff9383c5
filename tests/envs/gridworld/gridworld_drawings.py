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
        return (
            f"horizon = {horizon}\nstarts = {starts}\n"
            f'grid = """\n{drawn}\n"""\n'
            f"[switches]\n{switches}"
        )

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
                cell for cell, character in drawn.items() if character == "*" or character.isupper()
            ),
        )


@st.composite
def drawings(draw: st.DrawFn, max_agents: int = 2) -> Drawing:
    """Random maps of up to 4×5 cells with up to two doors and three switches.

    Half of them are corridors with walls between: there agents meet only through doors. Many maps
    cannot be solved.
    """
    height, width = draw(st.integers(1, 4)), draw(st.integers(2, 5))
    corridors = draw(st.booleans())
    cells: list[str] = []
    for row in range(height):
        kinds = "####.12" if corridors and row % 2 else "#...*12"
        cells += draw(st.lists(st.sampled_from(kinds), min_size=width, max_size=width))
    cells[draw(st.integers(0, len(cells) - 1))] = draw(st.sampled_from(".*"))
    if "1" not in cells:  # doors are numbered without gaps
        cells = ["1" if character == "2" else character for character in cells]
    doors = sorted({int(character) for character in cells if character in "12"})
    floor = [index for index, character in enumerate(cells) if character in ".*"]

    opens: dict[str, tuple[int, ...]] = {}
    if doors:
        places = draw(st.lists(st.sampled_from(floor), max_size=3, unique=True))
        for letter, place in zip("abc", places, strict=False):
            cells[place] = letter.upper() if cells[place] == "*" else letter
            opens[letter] = tuple(draw(st.lists(st.sampled_from(doors), min_size=1, unique=True)))

    agents = draw(st.integers(1, max_agents))
    starts = tuple(divmod(draw(st.sampled_from(floor)), width) for _ in range(agents))
    rows = ("".join(cells[row * width : (row + 1) * width]) for row in range(height))
    return Drawing(tuple(rows), opens, starts)
