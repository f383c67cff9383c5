"""Everything that can be set about learning, with the paper's values as defaults.

Floats are data of the compiled program: they can be swept without compiling again. Integers,
switches and names shape it.
"""

import difflib
import math
from collections.abc import Collection, Mapping
from dataclasses import Field, dataclass, field, fields, replace
from typing import Any, Literal, get_args

from mace_marl.errors import UserError

LARGEST = 3e38  # about the largest number of 32 bits
NONE = "none"  # no number, where commands and study files have no other word for it

# A choice and the values of it without which some settings do nothing.
MATTER_ONLY_WITH = {
    ("novelty", "count", "both"): ("counted",),
    ("novelty", "count", "hash", "both"): ("count_power",),
    ("novelty", "rnd", "both"): ("rnd_error", "rnd_learning_rate", "rnd_magnified"),
    ("novelty", "both"): ("count_weight",),
    ("novelty", "hash"): ("hash_bits",),
    ("posterior", "table"): (
        *("window", "bins", "percentile_bins", "edge_smoothing", "edge_interpolation"),
        *("table_prior", "leave_one_out", "ratio_to"),
    ),
    ("posterior", "network"): (
        *("replay", "replay_first"),
        *("posterior_epochs", "posterior_learning_rate", "posterior_scale"),
    ),
}


def _setting(default: Any, help: str, least: float = 0.0, most: float = math.inf) -> Any:
    return field(default=default, metadata={"help": help, "least": least, "most": most})


@dataclass(frozen=True)
class Settings:
    """The paper's hyperparameters (its tables) and the choices its text leaves open."""

    # Sampling
    num_envs: int = _setting(128, "Worlds that run at the same time.", least=1)
    rollout_length: int = _setting(300, "Steps of every world between two updates.", least=1)

    # Networks
    hidden_size: int = _setting(64, "Width of every hidden layer, in all networks.", least=1)
    activation: Literal["relu", "tanh"] = _setting(
        "relu", "After each fully connected layer (RND: always relu)."
    )
    one_hot: bool = _setting(
        False, "Show discrete observations to the networks one-hot instead of as numbers."
    )
    head_gain: float = _setting(
        0.01, "Gain of the orthogonal initialisation of the actor's and the posterior's head."
    )

    # PPO
    epochs: int = _setting(10, "Passes over each rollout.", least=1)
    minibatches: int = _setting(1, "Optimiser steps per epoch, on shuffled chunks.", least=1)
    chunk_length: int = _setting(10, "Steps through which gradients flow back in time.", least=1)
    actor_learning_rate: float = _setting(7e-4, "Adam's step size for the actor.")
    critic_learning_rate: float = _setting(7e-4, "Adam's step size for the critic.")
    adam_epsilon: float = _setting(1e-5, "Adam's ε.")
    max_grad_norm: float = _setting(10.0, "Every network's gradient is clipped to this norm.")
    clip: float = _setting(0.2, "PPO's clipping range of the probability ratio.")
    entropy_weight: float = _setting(0.05, "Weight of the entropy bonus.")
    huber_delta: float = _setting(10.0, "Where the value loss turns from square to linear.")
    value_clip: float | None = _setting(
        None, "Clip new values to this distance from the old ones; none for no clipping."
    )
    normalise_values: bool = _setting(
        False, "Critics learn values in units of their targets' mean and deviation."
    )
    units_smoothing: float = _setting(
        0.9, "Weight of the targets of older rollouts in those units, for every rollout.", most=1
    )
    huber_defect: bool = _setting(
        False, "Drop the value loss where the critic overestimates by more than huber_delta."
    )
    gamma: float = _setting(0.99, "Discount of rewards.", most=1)
    gae_lambda: float = _setting(0.95, "λ of generalised advantage estimation.", most=1)
    truncation: Literal["bootstrap", "discard"] = _setting(
        "bootstrap",
        "At the horizon: bootstrap from the final observation, or discard that step's advantage.",
    )

    # Intrinsic rewards
    intrinsic_weight: float = _setting(1.0, "β of equation (13): weight of intrinsic rewards.")
    hindsight_weight: float = _setting(0.01, "λ of equation (10): weight of the hindsight reward.")
    intrinsic_fading: float = _setting(
        0.0,
        "An agent that the world rewards in a share s of its episodes weighs intrinsic rewards by"
        " β (1 − s)^this.",
    )
    fading_smoothing: float = _setting(
        0.0, "Weight of the episodes of older rollouts in that share, for every rollout.", most=1
    )

    # Novelty u
    novelty: Literal["count", "rnd", "hash", "both"] = _setting(
        "count",
        "How new an observation is: by visits of its place, by random network distillation, by"
        " visits of observations like it, or by both RND and visits.",
    )
    novelty_scale: float = _setting(10.0, "Factor of every novelty.")
    final_novelty: bool = _setting(
        True,
        "What is counted is every observation reached, an episode's final one included; else those"
        " acted upon, and an episode's last step has no novelty.",
    )
    counted: Literal["place", "observation"] = _setting(
        "place",
        "Visits are counted of where the agent is, or of all that is discrete in what it sees.",
    )
    count_power: float = _setting(0.5, "Counted n times, novelty is scale / n^this.")
    episodic: bool = _setting(
        False, "Only the first coming to a place in an episode is new; coming back is no novelty."
    )
    novelty_gamma: float = _setting(0.99, "γ of the accumulated novelty z.", most=0.9999)
    rnd_error: Literal["norm", "square"] = _setting(
        "norm", "RND's novelty, and its loss: the norm of the error, or its mean square."
    )
    rnd_learning_rate: float = _setting(3e-4, "Adam's step size for RND's predictor.")
    rnd_magnified: float | None = _setting(
        None,
        "RND sees each input in units of its root mean square so far, but at most so many times as"
        " large; none for as it is.",
        least=1,
    )
    count_weight: float = _setting(1.0, "Weight of 1/nᵖ beside RND's error, with novelty 'both'.")
    hash_bits: int = _setting(16, "Hashes are numbers of this many bits.", least=1, most=24)

    # Posterior p(a | o, z)
    posterior: Literal["table", "network"] = _setting(
        "table", "How the posterior is estimated: by counting in a table, or by a network."
    )
    ratio_epsilon: float = _setting(0.0, "ε in the log ratio −log(π / p + ε).")

    # … as a table
    window: int = _setting(10, "w: the table counts the samples of this many rollouts.", least=1)
    bins: int = _setting(30, "K: bins of the accumulated novelty.", least=1)
    percentile_bins: int = _setting(5, "Bins into which novelty is relabelled.", least=1)
    table_prior: float = _setting(
        0.0, "As many samples with each (o, z) are made up, of actions as they were taken at o."
    )
    leave_one_out: bool = _setting(
        False, "A sample's own action is not counted in n(a, o, z); needs a table_prior."
    )
    ratio_to: Literal["policy", "marginal"] = _setting(
        "policy", "p(a | o, z) is compared with the policy, or with the table's own p(a | o)."
    )
    edge_smoothing: float = _setting(
        0.0, "Weight of the old percentile edges against this rollout's.", most=1
    )
    edge_interpolation: bool = _setting(
        True, "Percentile edges between two samples are interpolated; else the lower is taken."
    )

    # … as a network
    replay: int = _setting(
        100_000, "The network learns from this many latest samples.", least=1, most=10_000_000
    )
    replay_first: bool = _setting(
        False, "Learn only once there are that many; until then the log ratio is 0."
    )
    posterior_epochs: int = _setting(40, "Passes over the replay in every update.", least=1)
    posterior_learning_rate: float = _setting(3e-4, "Adam's step size for the network.")
    posterior_scale: float | None = _setting(
        None,
        "The network sees z / scale; none for z's standard deviation in the replay.",
        least=1e-6,
    )

    def __post_init__(self) -> None:
        for entry in fields(self):
            value = getattr(self, entry.name)
            _check(entry, value)
            if entry.type is float or (entry.type == float | None and value is not None):
                object.__setattr__(self, entry.name, float(value))  # 1 is as good as 1.0
        if self.leave_one_out and not self.table_prior:
            raise UserError("leave_one_out needs a table_prior above 0; set one.")
        if self.rollout_length % self.chunk_length:
            raise UserError(
                f"rollout_length {self.rollout_length} is not a multiple of chunk_length"
                f" {self.chunk_length}; change one of them."
            )
        if self.num_envs * self.rollout_length // self.chunk_length % self.minibatches:
            raise UserError(
                f"the {self.num_envs * self.rollout_length // self.chunk_length} chunks of a"
                f" rollout cannot be split into {self.minibatches} equal mini-batches;"
                " change minibatches, num_envs or rollout_length."
            )

    def refuse_idle(self, asked: Collection[str]) -> None:
        """What is asked for by name must not be without effect."""
        for (choice, *values), names in MATTER_ONLY_WITH.items():
            chosen = getattr(self, choice)
            for name in names:
                if name in asked and chosen not in values:
                    raise UserError(
                        f"setting '{name}' has no effect with {choice} '{chosen}'; leave it out,"
                        f" or set {choice} to '{values[0]}'."
                    )

    @property
    def steps_per_update(self) -> int:
        return self.num_envs * self.rollout_length

    def override(self, overrides: Mapping[str, Any]) -> "Settings":
        """These settings with some changed, by name."""
        known = [entry.name for entry in fields(self)]
        for name in overrides:
            if name not in known:
                near = difflib.get_close_matches(name, known, n=1)
                hint = f"did you mean '{near[0]}'" if near else f"there are {', '.join(known)}"
                raise UserError(f"there is no setting '{name}'; {hint}.")
        optional = [entry.name for entry in fields(self) if type(None) in get_args(entry.type)]
        absent = {name: None for name in optional if overrides.get(name) == NONE}
        return replace(self, **{**overrides, **absent})


def _check(entry: Field[Any], value: Any) -> None:
    """Values may come from a configuration file: their types are checked, not trusted."""
    kind, least, most = entry.type, entry.metadata["least"], entry.metadata["most"]
    optional = type(None) in get_args(kind)
    if optional and value is None:
        return
    if kind is bool:
        good, wanted = isinstance(value, bool), "true or false"
    elif kind is int or kind is float or optional:
        whole = kind is int
        number = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
        # Comparison first: an integer may be too large to become a float at all.
        good = number and least <= value <= min(most, LARGEST) and math.isfinite(value)
        limit = f"from {least:g}" + (f" to {most:g}" if most < math.inf else "")
        wanted = f"a {'whole' if whole else 'finite'} number {limit}"
    else:
        good, wanted = value in get_args(kind), f"one of {', '.join(get_args(kind))}"
    if not good:
        raise UserError(f"setting '{entry.name}' must be {wanted}, not {value!r}.")


PRESETS: dict[str, Settings] = {
    "paper": Settings(),
    # What the authors' published code does where it differs from the paper's text.
    "authors": Settings(
        activation="tanh",
        gae_lambda=0.97,
        value_clip=0.2,
        huber_defect=True,
        truncation="discard",
        final_novelty=False,
        edge_smoothing=0.9,
        edge_interpolation=False,
        ratio_epsilon=1e-6,
        rnd_error="square",
        replay_first=True,
        posterior_scale=0.5,
    ),
    # Other learning settings for the same method (docs/tuned.md).
    "tuned": Settings(
        num_envs=8,
        epochs=5,
        minibatches=4,
        one_hot=True,
        entropy_weight=0.01,
        normalise_values=True,
        gae_lambda=0.98,
        counted="observation",
        count_power=1.0,
    ),
}
