"""PettingZoo's parallel environments as worlds: `pettingzoo:module[:function]`.

Agents come in the order of `possible_agents`. Those with fewer actions or shorter observations are
padded: by actions that are never available, and by zeros.
"""

import importlib
import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mace_marl.errors import UserError
from mace_marl.host.api import HostWorld, Moment, WorldError
from mace_marl.host.share import failure

os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")  # it greets on standard output

LIMITS = ("max_cycles", "max_steps", "max_episode_steps", "episode_limit", "horizon")
"""Names under which environments keep the length of an episode; the interface itself has none."""
HORIZON = 500  # where none of them is there


def make_pettingzoo(spelling: str, drawn: bool = False) -> "PettingZoo":
    """The world of an environment's module, or of a function that makes an environment."""
    make = _find(spelling)
    if drawn:
        os.environ.setdefault("SDL_VIDEODRIVER", "dummy")  # pictures, not windows
    try:
        return PettingZoo(make(render_mode="rgb_array") if drawn and _can_draw(make) else make())
    except UserError as error:
        raise UserError(f"pettingzoo:{spelling}: {error}") from None
    except Exception as error:
        raise UserError(f"pettingzoo:{spelling} cannot be made: {failure(error)}.") from None


class PettingZoo(HostWorld):
    """A parallel environment with discrete actions and vectors as observations."""

    def __init__(self, env: Any) -> None:
        for needed in ("possible_agents", "observation_space", "action_space", "reset", "step"):
            if not hasattr(env, needed):
                raise UserError(f"this is no PettingZoo parallel environment: no `{needed}`.")
        self.env = env
        self.names: list[str] = list(env.possible_agents)
        self.sizes = [_vector_size(env.observation_space(name), name) for name in self.names]
        actions = [_discrete(env.action_space(name), name) for name in self.names]
        self.counts = [count for count, _ in actions]
        self.starts = [start for _, start in actions]
        self.num_agents, self.num_actions = len(self.names), max(self.counts)
        self.observation_size = max(self.sizes)
        self.horizon = _horizon(env)
        self.present: list[bool] = []

    def reset(self, seed: int) -> Moment:
        answer = self.env.reset(seed=seed)
        if not (isinstance(answer, tuple) and len(answer) == 2):
            raise WorldError("reset must return observations and infos, two mappings")
        observations, infos = answer
        self.present = [name in self.env.agents for name in self.names]
        return self._moment(observations, infos, np.zeros(self.num_agents, np.float32))

    def step(self, actions: np.ndarray) -> Moment:
        chosen = {
            name: int(actions[agent]) + self.starts[agent]
            for agent, name in enumerate(self.names)
            if self.present[agent]
        }
        observations, rewards, terminations, truncations, infos = self.env.step(chosen)
        reward = np.array([rewards.get(name, 0.0) for name in self.names], np.float32)
        left = {name: terminations[name] or truncations[name] for name in chosen}
        ended = not self.env.agents or all(left.values())
        if not ended:  # at the end all who took the last step saw what came of it
            self.present = [name in self.env.agents and not left.get(name) for name in self.names]
        terminated = ended and all(terminations[name] for name in chosen)
        told = [info["success"] for info in infos.values() if "success" in info]
        return self._moment(observations, infos, reward)._replace(
            terminated=terminated,
            truncated=ended and not terminated,
            success=any(told) if told else None,
        )

    def close(self) -> None:
        self.env.close()

    def picture(self) -> np.ndarray:
        if getattr(self.env, "render_mode", None) != "rgb_array":
            raise NotImplementedError
        return np.asarray(self.env.render(), np.uint8)[..., :3]

    def _moment(
        self, observations: Mapping[str, Any], infos: Mapping[str, Any], reward: np.ndarray
    ) -> Moment:
        obs = np.zeros((self.num_agents, self.observation_size), np.float32)
        available = np.zeros((self.num_agents, self.num_actions), bool)
        for agent, name in enumerate(self.names):
            if not self.present[agent]:
                available[agent, 0] = True  # it has nothing to choose
                continue
            seen, mask = _split(observations[name])
            if mask is None:
                mask = infos.get(name, {}).get("action_mask")
            obs[agent, : self.sizes[agent]] = self._fit(seen, self.sizes[agent], name)
            count = self.counts[agent]
            available[agent, :count] = (
                True if mask is None else self._fit(mask, count, name, "action mask")
            )
        return Moment(obs, reward, available=available, alive=np.array(self.present))

    def _fit(self, value: Any, size: int, name: str, what: str = "observation") -> np.ndarray:
        found = np.asarray(value)
        if found.shape != (size,):
            raise WorldError(f"the {what} of {name} must be of shape ({size},), not {found.shape}")
        return found


def _find(spelling: str) -> Callable[..., Any]:
    module_name, _, function = spelling.partition(":")
    try:
        module = importlib.import_module(module_name)
    except (ModuleNotFoundError, ValueError) as error:
        hint = "pip install 'mace-marl[pettingzoo]'" if "pettingzoo" in str(error) else "install it"
        raise UserError(
            f"pettingzoo:{spelling} cannot be imported ({error}); {hint}, or put its directory on"
            " PYTHONPATH."
        ) from None
    except Exception as error:
        raise UserError(f"pettingzoo:{spelling} cannot be imported: {failure(error)}.") from None
    found = getattr(module, function or "parallel_env", None)
    if not callable(found):
        raise UserError(
            f"pettingzoo:{spelling}: module '{module_name}' has no function"
            f" '{function or 'parallel_env'}' that makes a parallel environment."
        )
    return found


def _can_draw(make: Callable[..., Any]) -> bool:
    """Whether an environment takes a `render_mode`, tried once."""
    try:
        make(render_mode="rgb_array").close()
    except TypeError:
        return False
    return True


def _split(observation: Any) -> tuple[Any, Any]:
    """What is seen, and the action mask if it comes with it."""
    if isinstance(observation, Mapping):
        return observation["observation"], observation.get("action_mask")
    return observation, None


def _vector_size(space: Any, name: str) -> int:
    inner = getattr(space, "spaces", None)
    if isinstance(inner, Mapping):
        if "observation" not in inner:
            raise UserError(
                f"observations of {name} have no 'observation' among {', '.join(inner)}."
            )
        space = inner["observation"]
    shape = getattr(space, "shape", None)
    if not shape or len(shape) != 1:
        kind = "images" if shape and len(shape) > 1 else type(space).__name__
        raise UserError(
            f"observations of {name} must be vectors, and are {kind} of shape {shape}; flatten them"
            " in a function of yours that makes the environment (docs/your-world.md)."
        )
    return int(shape[0])


def _discrete(space: Any, name: str) -> tuple[int, int]:
    """How many actions there are, and the number of the first."""
    if type(space).__name__ != "Discrete":
        kind = "continuous" if type(space).__name__ == "Box" else type(space).__name__
        raise UserError(f"actions of {name} must be Discrete, and are {kind} ({space}).")
    return int(space.n), int(getattr(space, "start", 0))


def _horizon(env: Any) -> int:
    inner = getattr(env, "unwrapped", env)
    for limit in LIMITS:
        value = getattr(inner, limit, None)
        if isinstance(value, int) and value > 0:
            return int(value)
    return HORIZON
