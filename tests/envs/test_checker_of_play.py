"""The checker of worlds: what is wrong with episodes, with purity and with tracing is named."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from corridor import Corridor, Places, assert_breach
from jax import Array

from mace_marl.envs import Step, check

pytestmark = pytest.mark.usefixtures("hasty_compiler")


class TestEpisodes:
    @pytest.mark.parametrize("extra", [1, 10_000])
    def test_longer_than_the_horizon(self, extra: int):
        """Never ending, and ending one step too late."""

        class Long(Corridor):
            def tell(self, state: Places, success: Array) -> tuple[Places, Step]:
                state, step = super().tell(state, jnp.bool_(False))
                return state, step._replace(truncated=state.time >= self.horizon + extra)

        assert_breach(Long(), "an episode must end at the horizon (6 steps) at the latest")
        assert_breach(Long(), "no episode ended within the horizon", episodes=0)

    @pytest.mark.parametrize(
        "change",
        [
            lambda places: places._replace(position=places.position.astype(jnp.float32)),
            lambda places: places._replace(position=jnp.concatenate([places.position] * 2)),
            lambda places: places._replace(time=places.time[None]),
            lambda places: (places.position, places.time),
            lambda places: (places, jnp.int32(0)),
        ],
        ids=["dtype", "length", "rank", "class", "structure"],
    )
    def test_state_that_changes_its_shapes(self, change: Any):
        class Shifting(Corridor):
            def step(self, key: Array, state: Any, actions: Array) -> tuple[Any, Step]:
                places, step = super().step(key, state, actions)
                return change(places), step

        assert_breach(Shifting(), "step must keep the state's shapes")


def changing_number() -> Array:
    """Another number whenever the compiled program runs."""
    calls = iter(range(1, 10_000))
    shape = jax.ShapeDtypeStruct((), np.float32)
    return jax.pure_callback(lambda: np.float32(next(calls)), shape, vmap_method="sequential")


class TestPurity:
    def test_step_that_depends_on_what_happens_outside(self):
        class Moody(Corridor):
            def step(self, key: Array, state: Any, actions: Array) -> tuple[Any, Step]:
                state, step = super().step(key, state, actions)
                return state, step._replace(reward=step.reward + changing_number())

        assert_breach(Moody(), "step must be pure")

    def test_step_that_counts_its_calls(self):
        """The usual slip: something kept in `self`. A compiled step would freeze it silently."""

        class Counting(Corridor):
            calls = 0

            def step(self, key: Array, state: Any, actions: Array) -> tuple[Any, Step]:
                self.calls += 1
                state, step = super().step(key, state, actions)
                return state, step._replace(reward=step.reward + self.calls)

        assert_breach(Counting(), "step must be pure")

    def test_state_that_depends_on_what_happens_outside(self):
        class Drifting(Corridor):
            def step(self, key: Array, state: Any, actions: Array) -> tuple[Any, Step]:
                places, step = super().step(key, state, actions)
                return places._replace(time=places.time + changing_number().astype(int)), step

        assert_breach(Drifting(), "step must be pure")

    def test_reset_that_counts_its_calls(self):
        class Counting(Corridor):
            calls = 0

            def reset(self, key: Array) -> tuple[Any, Step]:
                self.calls += 1
                state, step = super().reset(key)
                return state, step._replace(obs=step.obs.at[:, 1].set(self.calls))

        assert_breach(Counting(), "reset must be pure")

    def test_random_worlds_are_pure(self):
        """Chance that comes from the key is no impurity."""

        class Random(Corridor):
            def step(self, key: Array, state: Any, actions: Array) -> tuple[Any, Step]:
                state, step = super().step(key, state, actions)
                return state, step._replace(reward=jax.random.normal(key, (2,)))

        check(Random())


class TestTracing:
    def test_step_with_an_if_on_values(self):
        """A world that cannot be jitted is told so in the contract's words."""

        class Branching(Corridor):
            def step(self, key: Array, state: Any, actions: Array) -> tuple[Any, Step]:
                if state.time > 3:
                    return super().step(key, state, actions * 0)
                return super().step(key, state, actions)

        assert_breach(Branching(), "step cannot be jitted")

    def test_reset_with_numpy(self):
        class Eager(Corridor):
            def reset(self, key: Array) -> tuple[Any, Step]:
                state, step = super().reset(key)
                position = np.sort(np.asarray(jax.random.permutation(key, state.position)))
                return Places(jnp.asarray(position), state.time), step

        assert_breach(Eager(), "reset cannot be jitted")
