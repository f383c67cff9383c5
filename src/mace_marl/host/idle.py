"""A world that does almost nothing, to measure the collection of worlds outside JAX with."""

import numpy as np

from mace_marl.host.api import HostWorld, Moment


class Idle(HostWorld):
    """Two agents, five actions, and nothing to see, do or win."""

    num_agents, num_actions, observation_size, horizon = 2, 5, 10, 300

    def __init__(self) -> None:
        self.nothing = Moment(np.zeros((2, 10), np.float32), np.zeros(2, np.float32))

    def reset(self, seed: int) -> Moment:
        return self.nothing

    def step(self, actions: np.ndarray) -> Moment:
        return self.nothing
