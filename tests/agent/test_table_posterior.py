"""The table posterior p̂(a | o, z) = n(a, o, z) / n(o, z), against dictionaries."""

import math
from collections import Counter, deque

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from samples import Sheet, Warehouse

import mace_marl.trainer  # noqa: F401  (makes the floats of Settings arguments under jit)
from mace_marl.agent.encoding import encode_for_networks
from mace_marl.agent.posterior import TablePosterior
from mace_marl.agent.posterior.table import SHARED_OBSERVATIONS, Window
from mace_marl.envs.api import World
from mace_marl.errors import UserError
from mace_marl.settings import Settings

WINDOW, STEPS, ENVS, BINS = 3, 5, 4, 4
PAPER = Settings()


def table_of(world: World) -> TablePosterior:
    encoding = encode_for_networks(world, one_hot=False)
    return TablePosterior.of(world, encoding, Settings(bins=BINS), together=False)


def begin(posterior: TablePosterior, window: int, samples: int) -> Window:
    """An empty window, for one other agent."""
    settings = Settings(num_envs=samples, rollout_length=1, chunk_length=1, window=window)
    kept = posterior.init(settings, jax.random.key(0))
    return jax.tree.map(lambda x: x[0], kept)


def counted_entries(window: Window) -> list[int]:
    return [entry for entry in window.entries.reshape(-1).tolist() if entry >= 0]


@pytest.mark.parametrize("sampled_share", [1.0, 0.6])
@pytest.mark.parametrize(
    "settings", [PAPER, Settings(table_prior=0.7), Settings(table_prior=2.0, leave_one_out=True)]
)
@pytest.mark.parametrize("world", [Sheet(), Warehouse()], ids=["all fit", "entries shared"])
def test_log_posteriors_equal_dictionaries(
    world: Sheet, settings: Settings, sampled_share: float
) -> None:
    """Over more rollouts than the window holds, with and without samples left out."""
    rng = np.random.default_rng(1)
    few = world.random_obs(rng, 6)  # so that they repeat
    discrete = len(world.levels)
    posterior = table_of(world)
    window = begin(posterior, WINDOW, STEPS * ENVS)
    update = jax.jit(posterior.update)
    rollouts: deque[Counter[tuple[int, bytes, int]]] = deque(maxlen=WINDOW)
    for _ in range(3 * WINDOW):
        obs = few[rng.integers(6, size=(STEPS, ENVS))]
        action = rng.integers(world.num_actions, size=(STEPS, ENVS))
        z_bin = rng.integers(BINS, size=(STEPS, ENVS))
        sampled = rng.random((STEPS, ENVS)) < sampled_share
        window, log_posterior, log_marginal = update(
            window,
            jnp.asarray(obs),
            jnp.asarray(action, jnp.int32),
            jnp.asarray(z_bin, jnp.int32),
            jnp.asarray(sampled),
            settings,
        )

        samples = {
            (t, e): (int(action[t, e]), obs[t, e, :discrete].tobytes(), int(z_bin[t, e]))
            for t in range(STEPS)
            for e in range(ENVS)
        }
        rollouts.append(Counter(sample for at, sample in samples.items() if sampled[at]))
        table = sum(rollouts, Counter[tuple[int, bytes, int]]())
        assert sorted(Counter(counted_entries(window)).values()) == sorted(table.values())
        log_posterior = np.asarray(log_posterior)
        for (t, e), (a, o, z) in samples.items():
            if sampled[t, e]:
                same_o_and_z = sum(n for (_, *key), n in table.items() if key == [o, z])
                same_o = sum(n for (_, x, _), n in table.items() if x == o)
                same_o_and_a = sum(n for (b, x, _), n in table.items() if (b, x) == (a, o))
                marginal = same_o_and_a / same_o
                assert_allclose(log_marginal[t, e], math.log(marginal), rtol=1e-5, atol=1e-6)
                own, made_up = int(settings.leave_one_out), settings.table_prior
                taken = table[a, o, z] - own + made_up * marginal
                wanted = math.log(taken / (same_o_and_z - own + made_up))
                assert_allclose(log_posterior[t, e], wanted, rtol=1e-5, atol=1e-6)
        assert np.isfinite(log_posterior).all()


def posterior_and_entries(
    actions: list[int], z_bins: list[int], sampled: list[int]
) -> tuple[np.ndarray, list[int]]:
    """p̂ of samples that all have the same observation (number 7), and the entries counted."""
    posterior = table_of(Sheet())
    obs = jnp.array([0.5, 0.25, 1.0])  # levels 1 of 3, 1 of 2, 1 of 2
    window, log_posterior, _ = jax.jit(posterior.update)(
        begin(posterior, 1, len(actions)),
        jnp.broadcast_to(obs, (len(actions), 1, 3)),
        jnp.array(actions)[:, None],
        jnp.array(z_bins)[:, None],
        jnp.array(sampled, bool)[:, None],
        PAPER,
    )
    return np.exp(log_posterior[:, 0]), counted_entries(window)


def test_by_hand() -> None:
    """With z = 0, action 1 was taken three times of four; with z = 2, action 1 the one time."""
    p, _ = posterior_and_entries([1, 1, 1, 0, 1], [0, 0, 0, 0, 2], [1] * 5)
    assert_allclose(p, [3 / 4, 3 / 4, 3 / 4, 1 / 4, 1], rtol=1e-6)


def test_a_sample_left_out_counts_for_nobody() -> None:
    p, entries = posterior_and_entries([1, 1, 0, 2, 2], [0, 0, 0, 1, 1], [1, 1, 0, 1, 1])
    assert_allclose(p[:2], [1, 1], rtol=1e-6)
    assert len(entries) == 4


def test_entries_lie_by_observation_then_bin_then_action() -> None:
    """So that all actions of one (o, z), and all bins of one o, are neighbours."""
    _, entries = posterior_and_entries([2, 2, 0, 1, 1], [3, 3, 1, 1, 1], [1] * 5)
    shape = (Sheet.num_observations, BINS, Sheet.num_actions)
    wanted = [(7, 3, 2), (7, 3, 2), (7, 1, 0), (7, 1, 1), (7, 1, 1)]
    assert [np.unravel_index(entry, shape) for entry in entries] == wanted


def test_a_window_of_one_forgets_at_once() -> None:
    posterior = table_of(Sheet())
    update, window = jax.jit(posterior.update), begin(posterior, 1, 1)
    for action in (0, 1, 2):
        window, log_posterior, _ = update(
            window,
            jnp.zeros((1, 1, 3)),
            jnp.full((1, 1), action),
            jnp.zeros((1, 1), jnp.int32),
            jnp.ones((1, 1), bool),
            PAPER,
        )
        assert_allclose(log_posterior, 0.0, atol=1e-7)


def test_a_world_with_continuous_observations_is_refused() -> None:
    class Continuous(Sheet):
        features = (None, None, None)

    with pytest.raises(UserError, match="--posterior network"):
        table_of(Continuous())


def test_entries_are_shared_only_where_they_must_be() -> None:
    assert table_of(Sheet()).index.size == Sheet.num_observations
    assert table_of(Warehouse()).index.size == SHARED_OBSERVATIONS


def test_a_table_that_would_not_fit_is_refused() -> None:
    class Huge(Warehouse):
        num_actions = 2000

    with pytest.raises(UserError, match="too large; use --posterior network"):
        table_of(Huge())
