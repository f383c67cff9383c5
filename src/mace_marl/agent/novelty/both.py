"""Novelty by two measures at once: RND's error, and how rarely an observation was counted.

RND rates all of an observation, and hardly notices a new combination of familiar things; counting
notices it at once, but only in what is discrete. Their sum, one number, is the novelty.
"""

from dataclasses import dataclass
from typing import NamedTuple

from jax import Array

from mace_marl.agent.encoding import Encoding
from mace_marl.agent.novelty.api import Novelty, Report
from mace_marl.agent.novelty.count import CountNovelty
from mace_marl.agent.novelty.rnd import Distilled, RandomNetworkDistillation
from mace_marl.envs.api import World
from mace_marl.settings import Settings


class Kept(NamedTuple):
    distilled: Distilled
    counts: Array


@dataclass(frozen=True)
class BothNovelties(Novelty):
    rnd: RandomNetworkDistillation
    count: CountNovelty

    @classmethod
    def of(cls, world: World, encoding: Encoding, settings: Settings) -> "BothNovelties":
        return cls(
            RandomNetworkDistillation.of(world, encoding, settings),
            CountNovelty.of(world, encoding, settings),
        )

    def init(self, settings: Settings, key: Array) -> Kept:
        return Kept(self.rnd.init(settings, key), self.count.init(settings, key))

    def code(self, kept: Kept, obs: Array) -> Array:
        return self.rnd.code(kept.distilled, obs)

    def visit(self, kept: Kept, obs: Array, seen: Array) -> Kept:
        distilled = self.rnd.visit(kept.distilled, obs, seen)
        return Kept(distilled, self.count.visit(kept.counts, obs, seen))

    def novelty(self, kept: Kept, obs: Array, settings: Settings) -> Array:
        counted = self.count.novelty(kept.counts, obs, settings)
        return self.rnd.novelty(kept.distilled, obs, settings) + settings.count_weight * counted

    def learn(
        self,
        kept: Kept,
        obs: Array,
        seen: Array,
        settings: Settings,
        key: Array,
        micro_batch: int,
    ) -> tuple[Kept, Report]:
        distilled, report = self.rnd.learn(kept.distilled, obs, seen, settings, key, micro_batch)
        return kept._replace(distilled=distilled), report
