"""A small good world, to be broken in every way; and how a breach is noticed."""

from typing import Any, NamedTuple

import jax.numpy as jnp
import pytest
from jax import Array

from mace_marl.envs import ContractError, Feature, Step, World, check


class Places(NamedTuple):
    position: Array  # (num_agents,) int32
    time: Array  # () int32


class Corridor(World):
    """Two agents on six cells in a row: left, right, or stay. Both at the right end succeed."""

    num_agents = 2
    num_actions = 3
    observation_size = 2
    horizon = 6
    features = (Feature(6, 0.2), None)
    place = (0,)

    def reset(self, key: Array) -> tuple[Any, Step]:
        return self.tell(Places(jnp.array([0, 3]), jnp.int32(0)), jnp.bool_(False))

    def step(self, key: Array, state: Any, actions: Array) -> tuple[Any, Step]:
        position = jnp.clip(state.position + jnp.array([-1, 1, 0])[actions], 0, 5)
        return self.tell(Places(position, state.time + 1), (position == 5).all())

    def tell(self, state: Places, success: Array) -> tuple[Places, Step]:
        share = state.time / self.horizon
        return state, Step(
            obs=jnp.stack([state.position * 0.2, jnp.full(2, share)], axis=1).astype(jnp.float32),
            reward=jnp.where(success, jnp.ones(2), 0.0),
            terminated=success,
            truncated=~success & (state.time >= self.horizon),
            available=jnp.ones((2, 3), bool),
            alive=jnp.ones(2, bool),
        )


def assert_breach(world: World, sentence: str, **options: int) -> None:
    """The checker complains in one sentence that contains `sentence`."""
    with pytest.raises(ContractError) as caught:
        check(world, **options)
    message = str(caught.value)
    assert sentence in message
    assert message.endswith(".") and len(message.splitlines()) == 1
