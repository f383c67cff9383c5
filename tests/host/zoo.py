"""PettingZoo environments to test with; two pretend to be modules that have a `parallel_env`."""

from typing import Any

import numpy as np
from gymnasium import spaces
from pettingzoo import ParallelEnv


class Herd(ParallelEnv):
    """Three animals, each with other eyes and legs. The goat leaves after two steps."""

    metadata = {"name": "herd", "render_modes": ["rgb_array"]}  # noqa: RUF012
    possible_agents = ["cow", "goat", "hen"]  # noqa: RUF012
    sizes = {"cow": 4, "goat": 2, "hen": 3}  # noqa: RUF012
    counts = {"cow": 3, "goat": 4, "hen": 2}  # noqa: RUF012
    max_cycles = 6
    masks = "observation"

    def __init__(self, render_mode: str | None = None) -> None:
        self.render_mode = render_mode
        self.made: dict[Any, spaces.Space[Any]] = {}  # PettingZoo wants the same object every time
        self.agents: list[str] = []

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        return self.made.setdefault(("sees", agent), self.make_observation_space(agent))

    def make_observation_space(self, agent: str) -> spaces.Space[Any]:
        vector = spaces.Box(-1, 9, (self.sizes[agent],), np.float32)
        if self.masks != "observation":
            return vector
        mask = spaces.Box(0, 1, (self.counts[agent],), np.int8)
        return spaces.Dict({"observation": vector, "action_mask": mask})

    def action_space(self, agent: str) -> spaces.Space[Any]:
        space = spaces.Discrete(self.counts[agent], start=1 if agent == "hen" else 0)
        return self.made.setdefault(("does", agent), space)

    def reset(self, seed: int | None = None, options: Any = None) -> tuple[Any, Any]:
        self.agents = list(self.possible_agents)
        self.time = 0
        self.seed = seed
        self.taken: list[dict[str, int]] = []
        return self.look(), self.inform()

    def step(self, actions: dict[str, int]) -> tuple[Any, ...]:
        assert actions.keys() == set(self.agents)
        for agent, action in actions.items():
            assert self.action_space(agent).contains(action), (agent, action)
        self.taken.append(actions)
        self.time += 1
        cut = self.time >= self.max_cycles
        answer = (
            self.look(),
            {agent: float(self.time) for agent in self.agents},
            {agent: agent == "goat" and self.time == 2 for agent in self.agents},
            dict.fromkeys(self.agents, cut),
            self.inform(),
        )
        if self.time == 2:
            self.agents.remove("goat")
        if cut:
            self.agents = []
        return answer

    def look(self) -> dict[str, Any]:
        seen = {agent: np.full(self.sizes[agent], self.time, np.float32) for agent in self.agents}
        if self.masks != "observation":
            return seen
        return {
            agent: {"observation": seen[agent], "action_mask": self.mask(agent)}
            for agent in self.agents
        }

    def inform(self) -> dict[str, Any]:
        if self.masks != "info":
            return {agent: {} for agent in self.agents}
        return {agent: {"action_mask": self.mask(agent)} for agent in self.agents}

    def mask(self, agent: str) -> np.ndarray:
        """The last action can be taken at even times only."""
        mask = np.ones(self.counts[agent], np.int8)
        mask[-1] = self.time % 2 == 0
        return mask

    def render(self) -> np.ndarray:
        return np.full((20, 30, 3), 40 * self.time, np.uint8)


class InformedHerd(Herd):
    masks = "info"


class UnmaskedHerd(Herd):
    masks = ""


class Rewarded(UnmaskedHerd):
    """All leave together after three steps, and say whether that was good."""

    def step(self, actions: dict[str, int]) -> tuple[Any, ...]:
        obs, rewards, _, truncations, infos = super().step(actions)
        everyone = self.time == 3
        if everyone:
            self.agents = []
        infos = {agent: {"success": self.seed == 1} for agent in infos} if everyone else infos
        return obs, rewards, dict.fromkeys(rewards, everyone), truncations, infos


class Steered(UnmaskedHerd):
    """Its actions are continuous."""

    def action_space(self, agent: str) -> spaces.Space[Any]:
        return spaces.Box(-1, 1, (2,))


class Filmed(UnmaskedHerd):
    """Its observations are images."""

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        return spaces.Box(0, 255, (8, 8, 3), np.uint8)


class Labelled(UnmaskedHerd):
    """Its observations are single numbers."""

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        return spaces.Discrete(4)


class Lying(UnmaskedHerd):
    """Sees more than it says."""

    def look(self) -> dict[str, Any]:
        return {agent: np.zeros(7, np.float32) for agent in self.agents}


class Dazzled(UnmaskedHerd):
    """Sees what is no number."""

    def look(self) -> dict[str, Any]:
        return {agent: np.full(self.sizes[agent], np.nan, np.float32) for agent in self.agents}


def parallel_env(render_mode: str | None = None) -> Herd:
    return Herd(render_mode)
