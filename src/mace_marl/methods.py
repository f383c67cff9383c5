"""The methods, as data: which terms of the shaped reward are on."""

import difflib
from dataclasses import dataclass
from typing import Literal

from mace_marl.errors import UserError


@dataclass(frozen=True)
class Method:
    name: str
    sentence: str
    novelty: Literal["none", "own", "sum"]
    """The novelty-based reward: nothing, u^i, or equation (1)."""
    hindsight: Literal["none", "weighted"]
    """The hindsight-based reward: nothing, or equation (7) summed over others (8)."""

    @property
    def communicates(self) -> bool:
        """Whether agents need each other's novelties at all."""
        return self.novelty == "sum" or self.hindsight != "none"

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
            novelty="none",
            hindsight="none",
        ),
        Method(
            "r_loc",
            "IPPO rewarded for the novelty of the agent's own observation.",
            novelty="own",
            hindsight="none",
        ),
        Method(
            "r_nov",
            "IPPO rewarded for the sum of all agents' novelties, an estimate of global novelty.",
            novelty="sum",
            hindsight="none",
        ),
        Method(
            "r_hin",
            "IPPO rewarded for its own novelty and, in hindsight, for its influence on others'.",
            novelty="own",
            hindsight="weighted",
        ),
        Method(
            "mace",
            "The paper's method: all agents' novelties, and influence on others' in hindsight.",
            novelty="sum",
            hindsight="weighted",
        ),
    )
}


def get_method(name: str) -> Method:
    if name in METHODS:
        return METHODS[name]
    near = difflib.get_close_matches(name, METHODS, n=1)
    hint = f"did you mean '{near[0]}'" if near else f"there are {', '.join(METHODS)}"
    raise UserError(f"there is no method '{name}'; {hint}.")
