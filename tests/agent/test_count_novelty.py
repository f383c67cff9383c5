"""Novelty by counting, against a dictionary."""

import math
from collections import Counter

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from samples import Sheet, Warehouse, minipass

from mace_marl.agent.encoding import Index, encode_for_networks, index_all, index_discrete
from mace_marl.agent.novelty import CountNovelty
from mace_marl.envs.api import Feature, World
from mace_marl.errors import UserError
from mace_marl.settings import Settings

TEN, ONE = Settings(novelty_scale=10.0), Settings(novelty_scale=1.0)


def begin(world: World) -> tuple[CountNovelty, jax.Array]:
    """The measure, and its counts before anything was seen."""
    measure = CountNovelty.of(world, encode_for_networks(world, one_hot=False), TEN)
    return measure, measure.init(TEN, jax.random.key(0))


def place(obs: np.ndarray) -> tuple[float, ...]:
    """What `Sheet` declares as the place: x and y, not the lamp."""
    return tuple(obs[:2].tolist())


def test_novelties_equal_a_dictionary_over_several_rollouts() -> None:
    rng = np.random.default_rng(0)
    world = Sheet()
    measure, counts = begin(world)
    visits = Counter[tuple[float, ...]]()
    for _ in range(4):
        obs = world.random_obs(rng, 6, 3)
        seen = rng.random((6, 3)) < 0.7
        counts = measure.visit(counts, jnp.asarray(obs), jnp.asarray(seen))
        for t in range(6):
            for e in range(3):
                if seen[t, e]:
                    visits[place(obs[t, e])] += 1

        novelty = measure.novelty(counts, jnp.asarray(obs), TEN)
        assert novelty.shape == (6, 3)
        for t in range(6):
            for e in range(3):
                n = max(visits[place(obs[t, e])], 1)
                assert_allclose(novelty[t, e], 10 / math.sqrt(n), rtol=1e-6)
        assert counts.sum() == visits.total()


def test_a_place_visited_four_times_is_half_as_novel() -> None:
    measure, counts = begin(Sheet())
    here, there = jnp.array([0.5, 0.25, 0.0]), jnp.array([1.0, 0.0, 0.0])
    counts = measure.visit(counts, jnp.stack([here] * 4), jnp.ones(4, bool))
    assert_allclose(measure.novelty(counts, jnp.stack([here, there]), TEN), [5.0, 10.0])


def test_what_is_not_seen_is_not_counted() -> None:
    measure, counts = begin(Sheet())
    obs = jnp.zeros((5, 3))
    counts = measure.visit(counts, obs, jnp.array([True, False, False, True, False]))
    assert counts.sum() == 2


def test_the_lamp_is_no_place() -> None:
    measure, counts = begin(Sheet())
    dark, lit = jnp.array([[0.5, 0.25, 0.0]]), jnp.array([[0.5, 0.25, 1.0]])
    counts = measure.visit(counts, jnp.repeat(dark, 9, axis=0), jnp.ones(9, bool))
    assert_allclose(measure.novelty(counts, lit, ONE), [1 / 3])


def test_the_lamp_counts_where_the_whole_observation_does() -> None:
    whole = Settings(novelty_scale=1.0, counted="observation")
    world = Sheet()
    measure = CountNovelty.of(world, encode_for_networks(world, one_hot=False), whole)
    counts = measure.init(whole, jax.random.key(0))
    dark, lit = jnp.array([[0.5, 0.25, 0.0]]), jnp.array([[0.5, 0.25, 1.0]])
    counts = measure.visit(counts, jnp.repeat(dark, 9, axis=0), jnp.ones(9, bool))
    assert_allclose(measure.novelty(counts, jnp.concatenate([dark, lit]), whole), [1 / 3, 1])


def test_observations_too_many_for_a_table_share_it() -> None:
    """Of a few hundred among 2²⁰ places, hardly any two meet; what is continuous is not counted."""
    whole = Settings(novelty_scale=1.0, counted="observation")
    world, rng = Warehouse(), np.random.default_rng(0)
    measure = CountNovelty.of(world, encode_for_networks(world, one_hot=False), whole)
    assert measure.index.size == 2**20
    obs = world.random_obs(rng, 300)
    times = rng.integers(1, 5, size=300)
    visited = np.repeat(obs, times, axis=0)
    visited[:, -1] = rng.random(len(visited))
    counts = measure.visit(
        measure.init(whole, jax.random.key(0)), jnp.asarray(visited), jnp.ones(len(visited), bool)
    )
    novelty = measure.novelty(counts, jnp.asarray(obs), whole)
    assert np.isclose(novelty, 1 / np.sqrt(times), rtol=1e-6).sum() >= 299


def test_numbers_of_observations_are_spread_evenly() -> None:
    """Also of neighbours: as many are taken as if each had been drawn at random."""
    index = Index(tuple(range(4)), (Feature(20, 0.05),) * 4, most=2**16)
    levels = np.stack(np.meshgrid(*[np.arange(20)] * 4), axis=-1).reshape(-1, 4)
    numbers = np.asarray(index(jnp.asarray(levels * 0.05, jnp.float32)))
    assert numbers.min() >= 0 and numbers.max() < 2**16
    expected = 2**16 * (1 - math.exp(-len(levels) / 2**16))
    assert abs(len(set(numbers.tolist())) - expected) < 0.01 * expected


def test_every_cell_of_a_gridworld_is_a_place_of_its_own() -> None:
    """The world shows coordinates divided by the size: rounding must not merge two of them."""
    world = minipass(horizon=150)
    height, width = world.map.walls.shape
    rows, columns = np.indices((height, width))
    obs = np.stack([rows / height, columns / width, np.zeros((height, width))], axis=-1)
    measure, _ = begin(world)
    index = np.asarray(measure.index(jnp.asarray(obs, jnp.float32)))
    assert sorted(index.reshape(-1).tolist()) == list(range(measure.index.size))


@pytest.mark.parametrize("y", [None, Feature(2, 0.25, exact=False)])
def test_places_that_are_not_discrete_are_refused(y: Feature | None) -> None:
    class Continuous(Sheet):
        features = (Feature(3, 0.5), y, Feature(2, 1.0))

    with pytest.raises(UserError, match="--novelty rnd"):
        begin(Continuous())


def test_nothing_is_counted_by_a_number_between_levels() -> None:
    class Blurred(Sheet):
        features = (Feature(3, 0.5), Feature(9, 0.1, exact=False), Feature(2, 1.0))

    index = index_discrete(Blurred(), "counting", "something else")
    assert index.columns == (0, 2) and index.size == 6
    assert index_all(Blurred()) is None
