"""places.npz holds what happened where, block by block, and agrees with the metrics."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mace_marl
from mace_marl import UserError
from mace_marl.runs import places
from mace_marl.runs.places import Places, read_places, updates_per_block
from mace_marl.runs.run import Run

pytestmark = pytest.mark.usefixtures("hasty_compiler")

SMALL: dict[str, Any] = {
    "num_envs": 4,
    "rollout_length": 20,
    "hidden_size": 8,
    "epochs": 1,
    "window": 2,
}
UPDATES = 9


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Nine updates in blocks of five, for at most four blocks are allowed here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(places, "MOST_BLOCKS", 4)
        return mace_marl.train(
            "gridworld/minipass",
            steps=UPDATES * 80,
            run_dir=tmp_path_factory.mktemp("places") / "run",
            checkpoint_every=0,
            progress=False,
            **SMALL,
        )


def test_blocks_are_few_and_round() -> None:
    assert [updates_per_block(n) for n in (1, 100, 101, 200, 201, 500, 501, 2084, 5001)] == [
        *(1, 1, 2, 2, 5, 5, 10, 50, 100),
    ]


def test_blocks_agree_with_the_metrics(run: Run) -> None:
    """Sums over places are sums over steps, and the metrics have the means of those."""
    recorded = run.places
    assert recorded.sums.shape == (2, 2, 3, 21 * 21)
    assert (recorded.updates_per_block, recorded.updates) == (5, UPDATES)
    for first, last in ((0, 5), (5, 9), (0, 9)):
        sums, *ends = recorded.between(first, last)
        assert ends == [first, last]
        rows = run.rows[first:last]
        totals = sums.sum(axis=-1)  # (num_agents, 3)
        np.testing.assert_array_equal(totals[:, 2], 80 * len(rows))
        for column, name in enumerate(("novelty_reward", "hindsight_reward")):
            means = np.mean([row[name] for row in rows], axis=0)
            np.testing.assert_allclose(totals[:, column] / totals[:, 2], means, rtol=1e-4)


def test_visits_are_where_agents_can_be(run: Run) -> None:
    world = mace_marl.make("gridworld/minipass")
    visits = run.places.between(0, UPDATES)[0][:, 2].reshape(2, 21, 21)
    assert not visits[:, world.map.walls].any()  # pyright: ignore[reportAttributeAccessIssue]
    for agent, start in enumerate(world.map.starts):  # pyright: ignore[reportAttributeAccessIssue]
        assert visits[agent][start] > 0


@pytest.mark.parametrize(
    ("asked", "given"), [((0, 1), (0, 5)), ((4, 6), (0, 9)), ((6, 8), (5, 9)), ((5, 9), (5, 9))]
)
def test_ranges_are_widened_to_whole_blocks(
    run: Run, asked: tuple[int, int], given: tuple[int, int]
) -> None:
    sums, *ends = run.places.between(*asked)
    assert tuple(ends) == given
    np.testing.assert_array_equal(sums, run.places.between(*given)[0])


@pytest.mark.parametrize("asked", [(0, 10), (9, 10), (3, 3), (5, 2), (-1, 4)])
def test_ranges_beyond_the_run_are_refused(run: Run, asked: tuple[int, int]) -> None:
    with pytest.raises(UserError, match="0:9"):
        run.places.between(*asked)


def test_the_file_needs_no_checkpoint_and_comes_out_the_same(run: Run, tmp_path: Path) -> None:
    """Also after the last updates were lost and made again."""
    written = (run.directory / "places.npz").read_bytes()
    copy = tmp_path / "run"
    shutil.copytree(run.directory, copy)
    (copy / "places.npz").unlink()
    shutil.rmtree(max((copy / "checkpoints").iterdir()))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(places, "MOST_BLOCKS", 4)
        mace_marl.load(copy).resume(progress=False)
    shutil.rmtree(copy / "checkpoints")
    assert (copy / "places.npz").read_bytes() == written
    assert mace_marl.load(copy).places.updates == UPDATES


def test_a_checkpoint_with_other_blocks_is_refused(run: Run, tmp_path: Path) -> None:
    copy = tmp_path / "run"
    shutil.copytree(run.directory, copy)
    shutil.rmtree(max((copy / "checkpoints").iterdir()))
    with pytest.raises(UserError, match="places"):
        mace_marl.load(copy).resume(progress=False)


def test_no_places_and_broken_places_are_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no places"):
        read_places(tmp_path)
    Places(np.ones((2, 1, 3, 4), np.float32), 1, 2).write(tmp_path)
    path = tmp_path / "places.npz"
    whole = path.read_bytes()
    for broken in (b"", b"text", whole[:50], whole[:-30]):
        path.write_bytes(broken)
        with pytest.raises(UserError, match=r"places\.npz cannot be read"):
            read_places(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["places.npz"]
