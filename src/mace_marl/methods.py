"""The methods, as data: which terms of the shaped reward are on."""

import difflib
from dataclasses import dataclass
from typing import Literal

from mace_marl.errors import UserError


@dataclass(frozen=True)
class Method:
    name: str
    sentence: str
    novelty: Literal["none", "own", "sum", "max"] = "none"
    """The novelty-based reward: nothing, u^i, Σ_j u^j (equation 1), or max_j u^j."""
    hindsight: Literal["none", "weighted", "information", "novelty"] = "none"
    """The hindsight-based reward: nothing, z log p/π (7), log p/π alone, or z alone."""
    together: bool = False
    """Whether it is of z^{−i}, the sum over others (15), instead of each z^j in turn (8)."""
    centralised: bool = False
    """Whether critics see all agents' observations in training."""

    @property
    def infers(self) -> bool:
        """Whether a posterior is estimated."""
        return self.hindsight in ("weighted", "information")

    @property
    def communicates(self) -> bool:
        """Whether agents need each other's novelties at all."""
        return self.novelty in ("sum", "max") or self.hindsight != "none"

    @property
    def explores(self) -> bool:
        """Whether novelty is measured at all."""
        return self.novelty != "none" or self.communicates


METHODS = {
    method.name: method
    for method in (
        Method(
            "ippo",
            "Independent PPO on the world's reward alone.",
        ),
        Method(
            "mappo",
            "As ippo, with critics that see all agents' observations: centralised training.",
            centralised=True,
        ),
        Method(
            "r_loc",
            "IPPO rewarded for the novelty of the agent's own observation.",
            novelty="own",
        ),
        Method(
            "r_nov",
            "IPPO rewarded for the sum of all agents' novelties, an estimate of global novelty.",
            novelty="sum",
        ),
        Method(
            "max_u",
            "As r_nov, with the largest of all agents' novelties instead of their sum.",
            novelty="max",
        ),
        Method(
            "r_hin",
            "IPPO rewarded for its own novelty and, in hindsight, for its influence on others'.",
            novelty="own",
            hindsight="weighted",
        ),
        Method(
            "r_hin_s",
            "As r_hin, with one posterior for the others' novelty together, however many they are.",
            novelty="own",
            hindsight="weighted",
            together=True,
        ),
        Method(
            "mace",
            "The paper's method: all agents' novelties, and influence on others' in hindsight.",
            novelty="sum",
            hindsight="weighted",
        ),
        Method(
            "mace_mi",
            "As mace, the influence not weighted by novelty: plain mutual information.",
            novelty="sum",
            hindsight="information",
        ),
        Method(
            "mace_z",
            "As mace, with others' accumulated novelty itself in place of the influence on it.",
            novelty="sum",
            hindsight="novelty",
        ),
        Method(
            "mace_s",
            "As mace, with one posterior for the others' novelty together, however many they are.",
            novelty="sum",
            hindsight="weighted",
            together=True,
        ),
    )
}


def get_method(name: str) -> Method:
    if name in METHODS:
        return METHODS[name]
    near = difflib.get_close_matches(name, METHODS, n=1)
    hint = f"did you mean '{near[0]}'" if near else f"there are {', '.join(METHODS)}"
    raise UserError(f"there is no method '{name}'; {hint}.")
