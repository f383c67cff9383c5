"""Intrinsic rewards once more, by loops and dictionaries: what agents' own are compared with."""

import math
from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import plain
from made_rollouts import AGENTS, ENVS, STEPS, of_agent, others_of
from samples import Sheet

from mace_marl.methods import Method
from mace_marl.settings import Settings

Numbers = np.ndarray


# The reference


@dataclass
class PlainAgent:
    """What one agent keeps from update to update."""

    visits: Counter[tuple[float, ...]] = field(default_factory=Counter)
    edges: dict[int, list[float]] = field(default_factory=dict)  # by other agent
    samples: dict[int, deque[Counter[tuple[Any, ...]]]] = field(default_factory=dict)
    rewarded: float = 0.0


@dataclass
class PlainTeam:
    """The agents' intrinsic rewards by loops and dictionaries, step by step as in the paper."""

    settings: Settings
    method: Method
    agents: list[PlainAgent] = field(default_factory=lambda: [PlainAgent() for _ in range(AGENTS)])

    def explore(self, rollouts: Any) -> tuple[Numbers, Numbers]:
        """The novelty-based and the hindsight-based reward, each  # (agents, t, e)."""
        messages = np.stack([self.message(i, of_agent(i, rollouts)) for i in range(AGENTS)])
        own = self.where_scored(messages, rollouts)
        hindsight = np.zeros(own.shape)
        for i in range(AGENTS):
            pairs = {j: self.accumulated(i, j, messages[j], own[j], rollouts) for j in others_of(i)}
            if self.method.together:
                pairs = {-1: tuple(np.sum(list(pairs.values()), axis=0))}
            for j, (z, z_label) in pairs.items():
                hindsight[i] += self.hindsight(i, j, z, z_label, rollouts)
        novelty = {
            "none": np.zeros(own.shape),
            "own": own,
            "sum": np.broadcast_to(own.sum(axis=0), own.shape),
            "max": np.broadcast_to(own.max(axis=0), own.shape),
        }
        return np.where(rollouts.alive, novelty[self.method.novelty], 0.0), hindsight

    def where_scored(self, numbers: Numbers, rollouts: Any) -> Numbers:
        """Without novelty of final observations, it is nothing where an episode ends."""
        if self.settings.final_novelty:
            return numbers
        ended = (rollouts.terminated | rollouts.truncated)[0]
        return np.where(ended, 0.0, numbers)

    def message(self, i: int, rollout: Any) -> Numbers:
        """Agent i counts its rollout, then looks up the novelty of each observation it came to."""
        final = self.settings.final_novelty
        acted_next = np.concatenate([rollout.obs[1:], rollout.last_obs[None]])
        visited, seen = (
            (rollout.next_obs, rollout.next_alive) if final else (rollout.obs, rollout.alive)
        )
        came_to = rollout.next_obs if final else acted_next
        visits = self.agents[i].visits
        for at in np.ndindex(STEPS, ENVS):
            if seen[at]:
                visits[self.counted(visited[at])] += 1
        u = np.zeros((STEPS, ENVS))
        been = [set() for _ in range(ENVS)]  # in the running episode
        for t, e in np.ndindex(STEPS, ENVS):
            if rollout.first[t, e]:
                been[e] = set()
            here = self.counted(came_to[t, e])
            old = self.settings.episodic and here in been[e]
            been[e].add(here)
            if rollout.next_alive[t, e] and not old:
                n = max(visits[here], 1)
                u[t, e] = self.settings.novelty_scale / n**self.settings.count_power
        return u

    def counted(self, obs: Numbers) -> tuple[float, ...]:
        """The place is x and y; the whole observation has the lamp too."""
        return tuple(obs[: 2 if self.settings.counted == "place" else 3].tolist())

    def faded(self, rollouts: Any) -> Numbers:
        """What is left of β  # (agents,): (1 − share of rewarded episodes)^fading."""
        for i, agent in enumerate(self.agents):
            mine = of_agent(i, rollouts)
            ended = mine.terminated | mine.truncated
            outcomes = []
            for e in range(ENVS):
                found = False
                for t in range(STEPS):
                    found |= mine.reward[t, e] > 0
                    if ended[t, e]:
                        outcomes.append(found)
                        found = False
            if outcomes:
                old = self.settings.fading_smoothing
                agent.rewarded = old * agent.rewarded + (1 - old) * sum(outcomes) / len(outcomes)
        shares = np.array([agent.rewarded for agent in self.agents])
        return (1 - shares) ** self.settings.intrinsic_fading

    def new_edges(self, i: int, j: int, u: Numbers) -> list[float]:
        ordered = sorted(x for x in u.reshape(-1).tolist() if x > 0)  # the dead tell nothing
        new = []
        for k in range(1, 5):
            position = k * (len(ordered) - 1) / 5
            low, share = ordered[math.floor(position)], position - math.floor(position)
            if self.settings.edge_interpolation and share:
                low += share * (ordered[math.floor(position) + 1] - low)
            new.append(low)
        weight, old = self.settings.edge_smoothing, self.agents[i].edges.get(j)
        return (
            new
            if old is None
            else [weight * x + (1 - weight) * y for x, y in zip(old, new, strict=True)]
        )

    def accumulated(
        self, i: int, j: int, message: Numbers, u: Numbers, rollouts: Any
    ) -> tuple[Numbers, Numbers]:
        """z^j and its relabelled twin, as agent i makes them of what agent j told it."""
        settings, me = self.settings, self.agents[i]
        ended = (rollouts.terminated | rollouts.truncated)[i]
        me.edges[j] = edges = self.new_edges(i, j, message)
        require_clear(message, edges)
        label = np.vectorize(
            lambda x: 0.1 + 0.2 * sum(edge < x - 1e-6 for edge in edges) if x > 0 else 0.0
        )(message)
        z_label = plain.accumulate(
            self.where_scored(label, rollouts), ended, settings.novelty_gamma
        )
        return plain.accumulate(u, ended, settings.novelty_gamma), z_label

    def hindsight(self, i: int, j: int, z: Numbers, z_label: Numbers, rollouts: Any) -> Numbers:
        """r_hin^{i→j}, equation (7), or what the method has in its place; j = −1: all others."""
        settings, me, kind = self.settings, self.agents[i], self.method.hindsight
        if kind == "none":
            return np.zeros((STEPS, ENVS))
        if kind == "novelty":
            return np.where(rollouts.alive[i], z, 0.0)
        widest = 0.9 / (1 - settings.novelty_gamma) * (AGENTS - 1 if j < 0 else 1)
        width = widest / settings.bins
        require_clear(z_label / width, list(range(1, settings.bins)))
        table = me.samples.setdefault(j, deque(maxlen=settings.window))
        sample = {
            at: (
                int(rollouts.action[i][at]),
                *rollouts.obs[i][at].tolist(),
                min(int(z_label[at] / width), settings.bins - 1),
            )
            for at in np.ndindex(STEPS, ENVS)
        }
        table.append(Counter(x for at, x in sample.items() if rollouts.alive[i][at]))
        counts = sum(table, Counter())
        reward = np.zeros((STEPS, ENVS))
        for at, x in sample.items():
            if rollouts.alive[i][at]:
                together = sum(counts[(a, *x[1:])] for a in range(Sheet.num_actions))
                at_o = {y: n for y, n in counts.items() if y[1:-1] == x[1:-1]}
                at_o_and_a = sum(n for y, n in at_o.items() if y[0] == x[0])
                marginal = at_o_and_a / sum(at_o.values())
                own, made_up = int(settings.leave_one_out), settings.table_prior
                posterior = (counts[x] - own + made_up * marginal) / (together - own + made_up)
                to_policy = settings.ratio_to == "policy"
                prior = math.exp(rollouts.log_prob[i][at]) if to_policy else marginal
                ratio = prior / posterior
                weight = z[at] if kind == "weighted" else 1.0
                reward[at] = -weight * math.log(ratio + settings.ratio_epsilon)
        return reward


def require_clear(numbers: Numbers, borders: list[float]) -> None:
    """The comparison is only fair if no number lies so near a border that rounding decides."""
    for border in borders:
        distance = np.abs(numbers - border)
        assert ((distance < 1e-9) | (distance > 1e-4)).all()
