"""The numbers of one side's units as arrays, in game loops instead of seconds."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mace_marl.envs.skirmish.scenariofile import Group
from mace_marl.envs.skirmish.units import LOOPS_PER_SECOND, UnitType


@dataclass(frozen=True, eq=False)
class Side:
    """All arrays are float32 but for `hits`; `blow` is against the other side."""

    types: tuple[UnitType, ...]  # of every unit
    health: np.ndarray  # (units,)
    shield: np.ndarray  # (units,)
    armour: np.ndarray  # (units,)
    hits: np.ndarray  # (units,) int32
    hit_delay: np.ndarray  # (units,)
    period: np.ndarray  # (units,)
    range: np.ndarray  # (units,)
    speed: np.ndarray  # (units,): cells per game loop
    radius: np.ndarray  # (units,)
    blow: np.ndarray  # (units, foes): damage of each hit, before armour

    @classmethod
    def of(cls, groups: Sequence[Group], foes: Sequence[Group]) -> "Side":
        types, others = unit_types(groups), unit_types(foes)

        def numbers(key: str, factor: float = 1.0) -> np.ndarray:
            return np.array([getattr(kind, key) * factor for kind in types], np.float32)

        return cls(
            types=types,
            health=numbers("health"),
            shield=numbers("shield"),
            armour=numbers("armour"),
            hits=numbers("hits").astype(np.int32),
            hit_delay=numbers("hit_delay", LOOPS_PER_SECOND),
            period=numbers("period", LOOPS_PER_SECOND),
            range=numbers("range"),
            speed=numbers("speed", 1 / LOOPS_PER_SECOND),
            radius=numbers("radius"),
            blow=np.array([[one.damage_to(foe) for foe in others] for one in types], np.float32),
        )

    def __len__(self) -> int:
        return len(self.types)


def unit_types(groups: Sequence[Group]) -> tuple[UnitType, ...]:
    """The type of every unit."""
    return tuple(group.unit for group in groups for _ in range(group.count))
