"""How a run is laid out on the machine: by itself, or as the user says."""

from dataclasses import replace
from pathlib import Path

import pytest
from commands import mace, train_small

from mace_marl import machine
from mace_marl.machine import Layout, choose_layout
from mace_marl.settings import Settings


def test_a_layout_fits_the_work() -> None:
    """Paper: 3,840 chunks in one mini-batch, 1,920 or 3,840 on each device: groups of 60."""
    layout = choose_layout(Settings(), devices=1)
    assert layout == Layout(devices=1, micro_batch=60, in_turn=True, distinct=True)


def test_small_mini_batches_do_not_look_for_distinct_observations() -> None:
    """Four mini-batches of 120 chunks: 1,200 samples each. 120 chunks are two groups of 60."""
    small = Settings(num_envs=32, rollout_length=150, minibatches=4)
    assert choose_layout(small, devices=1) == Layout(1, micro_batch=60, distinct=False)


def test_micro_batches_divide_what_they_are_of() -> None:
    """7 · 11 chunks: groups of 11, the largest divisor up to 60."""
    odd = Settings(num_envs=7, rollout_length=110)
    assert choose_layout(odd, devices=1).micro_batch == 11


def test_what_the_user_says_overrides() -> None:
    layout = choose_layout(Settings(), devices=1, micro_batch=128, distinct=False)
    assert layout == Layout(devices=1, micro_batch=128, distinct=False)


def test_the_second_start_compiles_from_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing new is put into the cache by a second start of the same configuration."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR")

    def start(name: str) -> set[str]:
        assert mace(*train_small(tmp_path / name, 1, "--devices", "1")).returncode == 0
        cache = tmp_path / "cache" / "mace-marl" / "jax"
        return {path.name for path in cache.iterdir() if path.name.endswith("-cache")}

    first = start("first")
    assert any("update" in name for name in first)
    assert start("second") == first


def test_small_updates_are_not_shared_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Devices are used as long as each has a whole micro-batch of every mini-batch."""
    monkeypatch.setattr(machine, "start_jax", lambda *_, **__: 4)
    small = Settings(num_envs=8, minibatches=4)  # 60 chunks at a time
    assert choose_layout(small).devices == 1
    assert choose_layout(replace(small, num_envs=16)).devices == 2
    assert choose_layout(replace(small, num_envs=16), devices=4).devices == 4
    assert choose_layout(Settings()).devices == 4
