"""Settings: overrides, errors in one sentence, presets, and floats that are data."""

from dataclasses import asdict, fields
from typing import Any, get_args

import jax
import pytest
from samples import minipass

from mace_marl import rollout
from mace_marl.agent.novelty import NOVELTIES
from mace_marl.agent.posterior import POSTERIORS
from mace_marl.errors import UserError
from mace_marl.machine import Layout
from mace_marl.methods import METHODS, get_method
from mace_marl.settings import MATTER_ONLY_WITH, PRESETS, Settings
from mace_marl.trainer import Trainer

# Tables 5 and 6 of the paper (GridWorld), and what its appendices say of novelty and posterior.
PAPER = {
    "hidden_size": 64,  # "GRU hidden layers [64]", "fc hidden layers [64, 64]"
    "chunk_length": 10,
    "max_grad_norm": 10.0,
    "gae_lambda": 0.95,
    "gamma": 0.99,
    "huber_delta": 10.0,
    "minibatches": 1,
    "adam_epsilon": 1e-5,
    "actor_learning_rate": 7e-4,
    "critic_learning_rate": 7e-4,
    "epochs": 10,
    "activation": "relu",
    "entropy_weight": 0.05,
    "clip": 0.2,
    "head_gain": 0.01,
    "num_envs": 128,
    "rollout_length": 300,
    "hindsight_weight": 0.01,  # λ
    "intrinsic_weight": 1.0,  # β, which equation (10) does without
    "novelty_scale": 10.0,
    "novelty_gamma": 0.99,
    "window": 10,
    "bins": 30,
    "percentile_bins": 5,
    "rnd_learning_rate": 3e-4,
    "posterior_learning_rate": 3e-4,
    "posterior_epochs": 40,
    "replay": 100_000,
    # Choices its text leaves open, or makes in words.
    "one_hot": False,
    "value_clip": None,
    "huber_defect": False,
    "truncation": "bootstrap",
    "final_novelty": True,
    "edge_smoothing": 0.0,
    "edge_interpolation": True,
    "ratio_epsilon": 0.0,
    "rnd_error": "norm",
    "replay_first": False,
    "posterior_scale": None,
    # Not in the paper at all: off.
    "normalise_values": False,
    "units_smoothing": 0.9,
    "intrinsic_fading": 0.0,
    "fading_smoothing": 0.0,
    "counted": "place",
    "count_power": 0.5,
    "episodic": False,
    "table_prior": 0.0,
    "leave_one_out": False,
    "ratio_to": "policy",
    # In GridWorld; and what only other measures of novelty use.
    "novelty": "count",
    "posterior": "table",
    "hash_bits": 16,
    "rnd_magnified": None,
    "count_weight": 1.0,
}

AUTHORS = PAPER | {
    "activation": "tanh",
    "gae_lambda": 0.97,
    "value_clip": 0.2,
    "huber_defect": True,
    "truncation": "discard",
    "final_novelty": False,
    "edge_smoothing": 0.9,
    "edge_interpolation": False,
    "ratio_epsilon": 1e-6,
    "rnd_error": "square",
    "replay_first": True,
    "posterior_scale": 0.5,
}

TUNED = PAPER | {
    "num_envs": 8,
    "epochs": 5,
    "minibatches": 4,
    "one_hot": True,
    "entropy_weight": 0.01,
    "normalise_values": True,
    "gae_lambda": 0.98,
    "counted": "observation",
    "count_power": 1.0,
}


# Presets


@pytest.mark.parametrize(
    ("preset", "wanted"), [("paper", PAPER), ("authors", AUTHORS), ("tuned", TUNED)]
)
def test_presets_are_the_tables(preset: str, wanted: dict[str, Any]) -> None:
    assert asdict(PRESETS[preset]) == wanted


def test_defaults_are_the_paper() -> None:
    assert Settings() == PRESETS["paper"]


def test_steps_per_update() -> None:
    assert Settings().steps_per_update == 38_400


def test_every_setting_has_a_sentence() -> None:
    for entry in fields(Settings):
        assert entry.metadata["help"].endswith("."), entry.name


def test_names_of_measures_are_those_there_are() -> None:
    kinds = {entry.name: get_args(entry.type) for entry in fields(Settings)}
    assert set(kinds["novelty"]) == NOVELTIES.keys()
    assert set(kinds["posterior"]) == POSTERIORS.keys()


def test_settings_that_depend_on_a_choice_are_known() -> None:
    known = {entry.name: get_args(entry.type) for entry in fields(Settings)}
    for (choice, *values), names in MATTER_ONLY_WITH.items():
        assert set(values) < set(known[choice])
        assert set(names) < known.keys()


# Overrides


def test_override_changes_what_it_names_and_nothing_else() -> None:
    changed = PRESETS["authors"].override({"epochs": 3, "value_clip": None, "clip": 0.1})
    assert asdict(changed) == AUTHORS | {"epochs": 3, "value_clip": None, "clip": 0.1}
    assert asdict(PRESETS["authors"]) == AUTHORS


def test_the_word_none_is_no_number() -> None:
    changed = PRESETS["authors"].override({"value_clip": "none", "posterior_scale": "none"})
    assert (changed.value_clip, changed.posterior_scale) == (None, None)
    with pytest.raises(UserError, match="'clip' must be a finite number"):
        Settings().override({"clip": "none"})


def test_nothing_to_override() -> None:
    assert Settings().override({}) == Settings()


@pytest.mark.parametrize(
    ("name", "meant"),
    [("num_env", "num_envs"), ("gama", "gamma"), ("huber-delta", "huber_delta")],
)
def test_a_misspelt_setting_is_suggested(name: str, meant: str) -> None:
    with pytest.raises(UserError, match=f"no setting '{name}'; did you mean '{meant}'"):
        Settings().override({name: 1})


def test_a_setting_like_none_lists_all() -> None:
    with pytest.raises(UserError) as error:
        Settings().override({"zzz": 1})
    assert all(entry.name in str(error.value) for entry in fields(Settings))


def test_a_misspelt_method_is_suggested() -> None:
    with pytest.raises(UserError, match="no method 'mase'; did you mean 'mace'"):
        get_method("mase")
    assert get_method("mace") is METHODS["mace"]


# Values


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("gamma", float("nan")),
        ("gamma", float("inf")),
        ("gamma", -0.1),
        ("gamma", 1.01),
        ("gamma", "0.99"),
        ("gamma", True),
        ("gamma", None),
        ("gamma", [0.99]),
        ("novelty_gamma", 1.0),  # z has no range then
        ("gae_lambda", 1.5),
        ("edge_smoothing", 1.1),
        ("clip", -0.2),
        ("clip", float("inf")),  # nothing but finiteness limits it
        ("value_clip", float("inf")),
        ("actor_learning_rate", float("-inf")),
        ("value_clip", "nothing"),
        ("value_clip", -0.2),
        ("value_clip", float("nan")),
        ("value_clip", False),
        ("num_envs", 0),
        ("num_envs", -4),
        ("num_envs", 2.0),
        ("num_envs", "128"),
        ("num_envs", True),
        ("num_envs", None),
        ("epochs", 0),
        ("window", 0),
        ("bins", 1.5),
        ("one_hot", 1),
        ("one_hot", "true"),
        ("one_hot", None),
        ("activation", "gelu"),
        ("activation", 3),
        ("activation", ["relu"]),
        ("truncation", "Bootstrap"),
        pytest.param("gamma", 10**400, id="gamma-too large for a float"),
    ],
)
def test_bad_values_are_named(name: str, value: Any) -> None:
    with pytest.raises(UserError, match=f"setting '{name}' must be .+, not ") as error:
        Settings().override({name: value})
    assert repr(value) in str(error.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("gamma", 0),
        ("gamma", 1),
        ("clip", 0.0),
        ("value_clip", None),
        ("value_clip", 0.5),
        ("max_grad_norm", 1e9),
        ("bins", 1),
        ("percentile_bins", 1),
        ("one_hot", True),
        ("activation", "tanh"),
    ],
)
def test_values_at_the_limits_are_good(name: str, value: Any) -> None:
    assert getattr(Settings().override({name: value}), name) == value


def test_chunks_must_fill_the_rollout() -> None:
    with pytest.raises(UserError, match="rollout_length 300 is not a multiple of chunk_length 7"):
        Settings(chunk_length=7)


def test_minibatches_must_share_the_chunks() -> None:
    """Two environments of 300 steps are 60 chunks of 10."""
    assert Settings(num_envs=2, minibatches=4).minibatches == 4
    with pytest.raises(UserError, match=r"the 60 chunks .+ into 7 equal mini-batches"):
        Settings(num_envs=2, minibatches=7)


# Floats are data


FLOATS = [entry.name for entry in fields(Settings) if entry.type is float]


def test_floats_are_leaves_and_nothing_else_is() -> None:
    settings = Settings()
    assert sorted(jax.tree.leaves(settings)) == sorted(getattr(settings, f) for f in FLOATS)
    with_clip = settings.override({"value_clip": 0.125})
    assert len(jax.tree.leaves(with_clip)) == len(FLOATS) + 1
    assert 0.125 in jax.tree.leaves(with_clip)
    assert jax.tree.map(lambda x: x, with_clip) == with_clip


def test_sweeping_a_float_does_not_compile_again(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings(num_envs=2, rollout_length=10, hidden_size=4, epochs=1)
    trainer = Trainer(minipass(horizon=7), METHODS["mace"], settings, Layout(micro_batch=2))
    state = jax.eval_shape(trainer.init_state, settings, jax.random.key(0))
    collect, traces = rollout.collect, []

    def counted(*arguments: Any) -> Any:
        traces.append(1)
        return collect(*arguments)

    monkeypatch.setattr(rollout, "collect", counted)
    for changes in ({}, {"hindsight_weight": 0.5}, dict.fromkeys(FLOATS, 0.5)):
        trainer._update.trace(state, settings.override(changes))
        assert len(traces) == 1
    trainer._update.trace(state, settings.override({"epochs": 2}))
    assert len(traces) == 2
