"""Training in worlds outside JAX: resumed bit for bit, and going on when a worker dies."""

import shutil
from pathlib import Path

import host_worlds
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from commands import SMALL, mace_here, rows

import mace_marl
from mace_marl.host.bench import bench_host
from mace_marl.host.board import FLAGS, Row, Sizes
from mace_marl.host.collect import Lived, Running, draw_noise, dropped, take_apart
from mace_marl.viewer.bench_table import bench_table

pytestmark = pytest.mark.usefixtures("hasty_compiler")

ROW = Row(Sizes.of(host_worlds.Duo()))


def train(task: str, run_dir: Path, updates: int) -> list[str]:
    """Four worlds, twenty steps an update: updates end in the middle of episodes."""
    steps = str(80 * updates)
    return ["train", task, "--run-dir", str(run_dir), "--steps", steps, "--method", "ippo", *SMALL]


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run_dir = tmp_path_factory.mktemp("host") / "run"
    mace_marl.train(
        "host_worlds:Duo",
        method="ippo",
        steps=4 * 80,
        run_dir=run_dir,
        checkpoint_every=0,
        progress=False,
        num_envs=4,
        rollout_length=20,
        hidden_size=8,
        epochs=2,
        minibatches=2,
    )
    return run_dir


def test_resumed_bit_for_bit(
    reference: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """From a checkpoint in the middle of episodes, all of which are played again up to there."""
    run_dir = tmp_path / "run"
    shutil.copytree(reference, run_dir)
    for update in ("000003", "000004"):
        shutil.rmtree(run_dir / "checkpoints" / update)
    result = mace_here(capsys, "resume", run_dir)
    assert result.returncode == 0, result.stderr
    assert "dropped" not in result.stderr
    assert rows(run_dir) == rows(reference)
    assert_same_checkpoint(run_dir, reference)


def assert_same_checkpoint(run_dir: Path, reference: Path) -> None:
    from mace_marl.runs import checkpoints

    ours, theirs = (checkpoints.newest(path)[0] for path in (run_dir, reference))
    assert ours and theirs and ours.update == theirs.update
    assert theirs.arrays["stage.time"].any(), "no episode is under way"
    for name, x in theirs.arrays.items():
        assert (ours.arrays[name] == x).all(), name


def test_evaluated_and_watched(reference: Path) -> None:
    """Episodes in several rounds are those of their seed, and can be played again."""
    run = mace_marl.load(reference)
    played, again = run.play(7), run.play(7)
    assert played.length.shape == (7,)
    for one, other in zip(jax.tree.leaves(played), jax.tree.leaves(again), strict=True):
        np.testing.assert_array_equal(one, other)
    length = int(played.length[5])
    lives = [live.moment for live in run.world.moments(played.states, 5, length)]
    assert len(lives) == length + 1
    returns = sum(np.mean(moment.reward) for moment in lives)
    assert returns == played.returns[5]
    assert lives[-1].terminated == played.success[5]
    first = next(run.world.moments(played.states, 5, length))
    assert run.world.text(first) == "0 of 3", "the world's own text"
    with pytest.raises(NotImplementedError):
        run.world.picture(first)


def test_run_goes_on_when_a_worker_dies(
    reference: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """One warning; its episodes are neither counted nor learned from, and the run is finished."""
    monkeypatch.setenv("MORTAL_FILE", str(tmp_path / "grave"))
    run_dir = tmp_path / "run"
    with pytest.raises(SystemExit) as stop:
        mace_marl.cli.main(train("host_worlds:Mortal", run_dir, 2))  # pyright: ignore[reportAttributeAccessIssue]
    assert not stop.value.code
    assert (tmp_path / "grave").exists()
    error = " ".join(capfd.readouterr().err.split())
    assert error.count("restarted, and the episodes that ran in it are dropped") == 1
    died, healthy = rows(run_dir), rows(reference)
    assert len(died) == 2
    ended = [sum(row["episodes"] for row in run[:2]) for run in (died, healthy)]
    assert 0 < ended[0] < ended[1]


def made_rows(steps: int, **parts: np.ndarray) -> np.ndarray:
    made = np.zeros((steps, 1, ROW.width), np.float32)
    for name, values in {"alive": np.ones((steps, 2)), **parts}.items():
        ROW.part(made, name)[:, 0] = values
    return made


def test_lost_episodes_are_dropped() -> None:
    """By hand, one world: an episode of two steps, one that is lost in its third, one that runs."""
    ended = np.array([0, 1, 0, 0, 0, 0, 0])
    lost = np.array([0, 0, 0, 0, 1, 0, 0])
    first = np.array([0, 0, 1, 0, 0, 1, 0])
    reward = np.arange(14.0).reshape(7, 2)
    after = made_rows(7, terminated=ended, success=ended, truncated=lost, lost=lost, reward=reward)
    seen = made_rows(7, first=first)
    lived = Lived(seen, after, np.zeros((7, 1, 2, 2), np.float32), seen[0], [jnp.zeros((1, 2, 8))])
    running = Running(jnp.array([10.0]), jnp.array([3]))
    rollout, episodes, running = take_apart(ROW, lived, running)
    for agent in range(2):
        assert rollout.alive[:, 0, agent].tolist() == [True, True, False, False, False, True, True]
    assert (rollout.alive == rollout.next_alive).all()
    assert rollout.truncated[:, 0, 0].tolist() == lost.astype(bool).tolist()
    assert (int(episodes.ended), int(episodes.successes)) == (1, 1)
    assert float(episodes.returns) == 10 + 0.5 + 2.5
    assert int(episodes.lengths) == 5
    assert (float(running.returns[0]), int(running.length[0])) == (10.5 + 12.5, 2)


def test_dropped_steps_against_a_plain_loop() -> None:
    chance = np.random.default_rng(0)
    first, lost = chance.random((2, 40, 6)) < 0.15
    expected = np.zeros_like(lost)
    for world in range(6):
        for time in range(40):
            for later in range(time, 40):
                if later > time and first[later, world]:
                    break
                expected[time, world] |= lost[later, world]
    np.testing.assert_array_equal(dropped(jnp.array(first), jnp.array(lost)), expected)
    assert expected.any() and not expected.all()


def test_rows_hold_every_part_once() -> None:
    rows = np.arange(2 * ROW.width).reshape(2, -1)
    parts = [ROW.part(rows, name).reshape(2, -1) for name in ROW.parts]
    np.testing.assert_array_equal(np.concatenate(parts, axis=1), rows)
    assert list(ROW.parts)[-len(FLAGS) :] == list(FLAGS)


def test_overhead_of_worlds_outside_jax() -> None:
    """What is left of a step of all worlds, when worlds and acting have had their part."""
    host = bench_host(copies=4, rounds=1)
    assert host["copies"] == 4 and 1 <= host["workers"] <= 4
    step, worlds, acting = (host[f"{part}_microseconds"] for part in ("step", "worlds", "acting"))
    assert step > 0 and acting > 0 and 0 < worlds < step
    assert host["overhead_with_acting_microseconds"] == step - worlds
    assert host["overhead_microseconds"] == step - worlds - acting
    table = bench_table({"tasks": {}, "host": host, "cores": 2})
    assert f"{host['overhead_microseconds']:.0f}" in table.splitlines()[-1]
    assert "one step of 4 worlds" in table


def test_noise_turns_scores_into_draws() -> None:
    """argmax(score + noise) has the frequencies of the softmax; another key, other noise."""
    noise = np.asarray(draw_noise(jax.random.key(3), (50_000, 3)))
    assert np.isfinite(noise).all()
    wanted = np.array([0.1, 0.3, 0.6])
    drawn = np.argmax(np.log(wanted) + noise, axis=1)
    np.testing.assert_allclose(np.bincount(drawn) / len(drawn), wanted, atol=0.01)
    np.testing.assert_array_equal(draw_noise(jax.random.key(3), (50_000, 3)), noise)
    assert (np.asarray(draw_noise(jax.random.key(4), (50_000, 3))) != noise).mean() > 0.99
