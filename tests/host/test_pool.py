"""Many worlds in worker processes: the same numbers as in a plain loop, whatever dies."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import host_worlds
import numpy as np
import pytest

import mace_marl
from mace_marl import envs
from mace_marl.errors import UserError
from mace_marl.host import HostWorld, Moment, check
from mace_marl.host.board import Board, Sizes
from mace_marl.host.pool import Pool
from mace_marl.host.share import Share
from mace_marl.host.world import Hosted

SIZES = Sizes.of(host_worlds.Duo())
COPIES = 5


@pytest.fixture
def pool() -> Iterator[Pool]:
    pool = Pool("host_worlds:Duo", SIZES, COPIES, processes=2)
    yield pool
    pool.close()


class Plain:
    """Worlds in a plain loop, with auto-reset and the horizon; shares no code with the pool."""

    def __init__(self, seed: int) -> None:
        self.root = seed
        self.worlds = [host_worlds.Duo() for _ in range(COPIES)]
        self.episode = [0] * COPIES
        self.ahead = [self.begin(number) for number in range(COPIES)]

    def begin(self, number: int) -> Moment:
        entropy = [self.root, 0, number, self.episode[number]]
        seed = int(np.random.SeedSequence(entropy).generate_state(1)[0]) // 2
        self.time = getattr(self, "time", [0] * COPIES)
        self.time[number] = 0
        return self.worlds[number].reset(seed)

    def step(self, actions: np.ndarray) -> list[Moment]:
        after = [world.step(row) for world, row in zip(self.worlds, actions, strict=True)]
        for number, moment in enumerate(after):
            self.time[number] += 1
            if self.time[number] == 12 and not moment.terminated:
                after[number] = moment._replace(truncated=True)
            self.ahead[number] = after[number]
            if after[number].terminated or after[number].truncated:
                self.episode[number] += 1
                self.ahead[number] = self.begin(number)
        return after


def assert_row(board: Board, row: np.ndarray, moment: Moment, first: bool) -> None:
    parts = {name: board.row.part(row, name) for name in board.row.parts}
    np.testing.assert_array_equal(parts["obs"], moment.obs.astype(np.float32))
    np.testing.assert_array_equal(parts["reward"], np.broadcast_to(moment.reward, 2))
    np.testing.assert_array_equal(parts["available"] > 0, moment.available)
    np.testing.assert_array_equal(parts["alive"] > 0, moment.alive)
    won = moment.terminated and np.sum(moment.reward) > 0
    flags = (first, moment.terminated, moment.truncated, won, False)
    names = ("first", "terminated", "truncated", "success", "lost")
    for name, flag in zip(names, flags, strict=True):
        assert (parts[name] > 0) == flag, name


def play(board: Board, chance: np.random.Generator) -> np.ndarray:
    """Often what wins, so that episodes end both ways."""
    hits = np.rint(3 * board.row.part(board.ahead, "obs")[:, 0, 2] - 0.15)
    right = np.clip(hits, 0, 2)[:, None].repeat(2, axis=1)
    return np.where(chance.random((COPIES, 1)) < 0.1, right, chance.integers(3, size=(COPIES, 2)))


def test_worlds_may_return_what_lies_in_the_same_memory() -> None:
    """What one returned is taken before the next is stepped."""
    worlds = [host_worlds.Thrifty() for _ in range(3)]
    board = Board(Sizes.of(worlds[0]), 3)
    share = Share("thrifty", worlds, board, 0)
    share.take_up()
    board.actions[:] = [[0, 0], [1, 0], [2, 0]]
    for step in (1, 2):
        share.step()
        assert board.row.part(board.after, "obs")[:, 0, 0].tolist() == [step, 2 * step, 3 * step]
    board.close()


def test_pool_is_a_plain_loop(pool: Pool) -> None:
    plain, chance, board = Plain(seed=7), np.random.default_rng(0), pool.board
    pool.begin((7, 0), 0)
    wins = cuts = 0
    for step in range(60):
        for number in range(COPIES):
            first = plain.time[number] == 0
            assert_row(board, board.ahead[number], plain.ahead[number], first)
        actions = play(board, chance)
        after = plain.step(actions.astype(int))
        pool.step(actions)
        for number in range(COPIES):
            assert_row(board, board.after[number], after[number], False)
            wins, cuts = wins + after[number].terminated, cuts + after[number].truncated
        assert board.episode.tolist() == plain.episode, step
    assert wins > 3 and cuts > 3


def test_worlds_are_taken_up_where_they_stood(pool: Pool) -> None:
    """Elsewhere, and in the middle of episodes: what follows is what would have followed."""
    chance = np.random.default_rng(1)
    pool.begin((3, 0), 0)
    for _ in range(17):
        pool.step(play(pool.board, chance))
    saved = {
        name: getattr(pool.board, name).copy()
        for name in ("root", "episode", "time", "history", "ahead")
    }
    assert saved["time"].any()
    actions = [chance.integers(3, size=(COPIES, 2)) for _ in range(15)]
    for row in actions:
        pool.step(row)
    expected = pool.board.after.copy(), pool.board.ahead.copy(), pool.board.episode.copy()

    other = Pool("host_worlds:Duo", SIZES, COPIES, processes=1)
    try:
        for name, array in saved.items():
            getattr(other.board, name)[...] = array
        assert not other.take_up().any()
        for row in actions:
            other.step(row)
        for ours, theirs in zip(
            expected, (other.board.after, other.board.ahead, other.board.episode), strict=True
        ):
            np.testing.assert_array_equal(ours, theirs)
    finally:
        other.close()


@pytest.mark.parametrize("kind", [host_worlds.Unrepeatable, host_worlds.Forgetful])
def test_worlds_that_cannot_be_taken_up_begin_anew(kind: type[HostWorld]) -> None:
    board = Board(SIZES, copies=1)
    share = Share("world", [kind()], board, 0)
    share.take_up()
    assert board.row.part(board.ahead, "lost")[0] == 0, "nothing is lost before the first step"
    share.step()
    share.take_up()
    assert board.row.part(board.ahead, "lost")[0] == board.row.part(board.ahead, "first")[0] == 1
    assert (board.episode[0], board.time[0]) == (1, 0)


def test_killed_worker_is_restarted(pool: Pool, capfd: pytest.CaptureFixture[str]) -> None:
    """Its worlds begin new episodes, marked; the others do not notice."""
    plain, chance, board = Plain(seed=5), np.random.default_rng(2), pool.board
    pool.begin((5, 0), 0)
    old = board.episode[:2]
    for step in range(30):
        actions = play(board, chance)
        before = board.ahead.copy()
        after = plain.step(actions.astype(int))
        if step == 9:
            old = board.episode[:2].copy()
            os.kill(pool.workers[0].process.pid, signal.SIGKILL)
            pool.workers[0].process.wait()
        pool.step(actions)
        for number in range(2, COPIES):
            assert_row(board, board.after[number], after[number], False)
        if step == 9:
            for part, value in (("lost", 1), ("truncated", 1), ("terminated", 0), ("reward", 0)):
                assert (board.row.part(board.after, part)[:2] == value).all(), part
            obs = board.row.part(board.after, "obs")[:2]
            np.testing.assert_array_equal(obs, board.row.part(before, "obs")[:2])
            assert (board.row.part(board.ahead, "first")[:2] == 1).all()
            assert (board.episode[:2] == old + 1).all()
    assert (board.row.part(board.after, "lost") == 0).all()
    warning = capfd.readouterr().err
    assert warning.count("restarted") == 1
    assert "worlds 0–1 of host_worlds:Duo was killed (SIGKILL)" in " ".join(warning.split())


def test_world_that_keeps_killing_its_worker_is_given_up() -> None:
    pool = Pool("host_worlds:Stillborn", SIZES, 1)
    try:
        with pytest.raises(UserError, match=r"ended \(status 3\) 3 times in a row"):
            pool.begin((0, 0), 0)
    finally:
        pool.close()


BREACHES = {
    "nan": "step 2: an observation of agent 1 is not finite",
    "infinite reward": "step 2: a reward is not finite",
    "shape": "step 2: obs must be of shape (2, 3), not (2, 2)",
    "reward shape": "step 2: reward must be of shape (2,), not (3,)",
    "mask shape": "step 2: available must be of shape (2, 3), not (2, 4)",
    "nothing to do": "step 2: agent 0 has no available action",
    "both ends": "step 2: an episode must not end both ways",
    "no moment": "step 2: must return a mace_marl.host.Moment, not tuple",
    "rewarding reset": "reset: reset must give no reward and must not end the episode",
    "exception": "step 2: KeyError: 'a thing that is missing' (",
}


@pytest.mark.parametrize("how", BREACHES)
def test_breaches_are_one_sentence(how: str) -> None:
    world = host_worlds.Broken()
    world.how = how
    with pytest.raises(UserError) as caught:
        check(world)
    message = str(caught.value)
    assert BREACHES[how] in message
    assert message.startswith("Broken, world 0, ")
    assert message.endswith(".") and "\n" not in message


def test_breach_in_a_worker_reaches_the_trainer() -> None:
    pool = Pool("host_worlds:NotANumber", SIZES, 3, processes=2)
    try:
        pool.begin((0, 0), 0)
        pool.step(np.zeros((3, 2)))
        with pytest.raises(UserError, match=r"^host_worlds:NotANumber, world \d, step 2: an obs"):
            pool.step(np.zeros((3, 2)))
    finally:
        pool.close()


def test_quick_worlds_leave_a_core_to_the_trainer(monkeypatch: pytest.MonkeyPatch) -> None:
    """As slow worlds do not, nor those that cannot be tried out."""
    monkeypatch.setattr("mace_marl.host.world.cores", lambda: 3)
    for name, seconds, workers in (("Duo", 1e-6, 2), ("Duo", 1e-3, 3), ("Unrepeatable", None, 3)):
        world = Hosted(f"host_worlds:{name}")
        assert 0 < world.step_seconds() <= float("inf")
        if seconds:
            monkeypatch.setattr(world, "step_seconds", lambda seconds=seconds: seconds)
        pool = world.pool(4)
        assert len(pool.workers) == workers
        pool.close()
    assert Hosted("host_worlds:Raising").step_seconds() == float("inf")


def test_good_worlds_pass_the_check() -> None:
    check(host_worlds.Duo())
    envs.check(mace_marl.make("host_worlds:Duo"))
    with pytest.raises(envs.ContractError, match="world 0, step 2: an observation of agent 1"):
        envs.check(mace_marl.make("host_worlds:NotANumber"))
    check(host_worlds.Unrepeatable())
    with pytest.raises(UserError, match="the same seed and actions led to other observations"):
        check(host_worlds.Forgetful())
    with pytest.raises(UserError, match="num_actions must be a whole number above 0, not 0"):
        check(host_worlds.Sizeless())


def test_nothing_is_left_behind_when_the_trainer_is_killed() -> None:
    """Neither workers nor shared memory, even by kill −9."""
    code = (
        "import numpy as np, time\n"
        "from mace_marl.host.board import Sizes\n"
        "from mace_marl.host.pool import Pool\n"
        "import host_worlds\n"
        "pool = Pool('host_worlds:Duo', Sizes.of(host_worlds.Duo()), 4, 2)\n"
        "pool.begin((0, 0), 0)\n"
        "print(*(worker.process.pid for worker in pool.workers), flush=True)\n"
        "while True: pool.step(np.zeros((4, 2)))\n"
    )
    path = os.pathsep.join(filter(None, sys.path))
    before = shared_memory()
    trainer = subprocess.Popen(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": path},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert trainer.stdout
    workers = [int(pid) for pid in trainer.stdout.readline().split()]
    assert len(workers) == 2 and all(map(running, workers))
    trainer.kill()
    trainer.wait()
    trainer.stdout.close()
    deadline = time.monotonic() + 60
    while any(map(running, workers)):
        assert time.monotonic() < deadline, "workers outlive the trainer"
        time.sleep(0.01)
    assert shared_memory() == before


def shared_memory() -> set[str]:
    """Names that other tests at the same time do not use."""
    directory = Path("/dev/shm")
    return {path.name for path in directory.glob("*")} if directory.is_dir() else set()


def running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
