"""What all tests share. `plain` and `samples`, beside this file, become importable through it."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("repeatable", derandomize=True, deadline=None, database=None)
settings.load_profile("repeatable")

# What took long to compile is not compiled again, in any process of the tests. JAX reads this when
# it is imported, so it is not imported above.
CACHE = Path(__file__).parents[1] / ".pytest_cache" / "jax"
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(CACHE))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.3")
# XLA has two ways to compile a fusion on a CPU. The older one makes programs that are about as
# fast, in half to two thirds of the processor time.
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_use_fusion_emitters=false")

LONGEST = (
    "test_learning.py",
    "test_resume.py",
    "test_experiment.py",
    "test_layouts.py",
    "test_bench.py",
    "test_live_process.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every worker begins with its share of the longest, so that none is left alone with them in
    the end: xdist cuts this list into as many equal parts as there are workers."""
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    longest = [item for item in items if item.path.name in LONGEST]
    others = [item for item in items if item.path.name not in LONGEST]
    share = -(-len(others) // workers)
    items[:] = [
        item
        for worker in range(workers)
        for item in (*longest[worker::workers], *others[worker * share : (worker + 1) * share])
    ]


@pytest.fixture(scope="module")
def hasty_compiler() -> Iterator[None]:
    """Programs are compiled in less time, as they run only a few times.

    For tests of what surrounds a program; those of its numbers take it as users get it.
    """
    import jax

    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)
