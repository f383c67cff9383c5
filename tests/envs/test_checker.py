"""The checker of worlds: good worlds pass; what is wrong with sizes and fields is named."""

from typing import Any

import jax
import jax.numpy as jnp
import pytest
from corridor import Corridor, Places, assert_breach
from jax import Array

from mace_marl.envs import Feature, Step, World, check
from mace_marl.envs.gridworld import GridWorld, parse_map

pytestmark = pytest.mark.usefixtures("hasty_compiler")


class TestGoodWorlds:
    def test_corridor(self):
        check(Corridor())

    def test_gridworld(self):
        text = (
            'horizon = 9\nstarts = [[0, 0], [0, 1]]\ngrid = "a.1.B"\n[switches]\na = [1]\nb = [1]'
        )
        check(GridWorld(parse_map(text, "small.toml")))

    def test_gridworld_without_doors(self):
        text = 'horizon = 9\nstarts = [[0, 0]]\ngrid = "...*"'
        check(GridWorld(parse_map(text, "plain.toml")))

    def test_one_step_episodes(self):
        class Short(Corridor):
            horizon = 1

        check(Short())

    def test_nothing_declared_about_observations(self):
        class Plain(Corridor):
            features = ()
            place = ()

        check(Plain())

    @pytest.mark.parametrize(
        "feature", [Feature(8, 0.2, least=-1), Feature(3, 0.15, least=1, exact=False)]
    )
    def test_other_ways_to_declare_a_number(self, feature: Feature):
        """With values it never takes; and with values that it is only somewhere near."""

        class Declared(Corridor):
            features = (feature, None)
            place = (0,) if feature.exact else ()

        check(Declared())

    def test_state_with_a_key(self):
        """A world may keep its own random key in the state."""

        class Noisy(Corridor):
            def reset(self, key: Array) -> tuple[Any, Step]:
                state, step = super().reset(key)
                return {"places": state, "key": key}, step

            def step(self, key: Array, state: Any, actions: Array) -> tuple[Any, Step]:
                places, step = super().step(key, state["places"], actions)
                own, noise = jax.random.split(state["key"])
                obs = step.obs.at[:, 1].add(jax.random.uniform(noise))
                return {"places": places, "key": own}, step._replace(obs=obs)

        check(Noisy())

    def test_state_of_a_class_that_cannot_be_compared(self):
        """A state may be any registered class, also one without equality."""

        @jax.tree_util.register_pytree_node_class
        class Box:
            def __init__(self, places: Any) -> None:
                self.places = places

            def tree_flatten(self) -> tuple[tuple[Any], None]:
                return (self.places,), None

            @classmethod
            def tree_unflatten(cls, _: None, children: tuple[Any]) -> "Box":
                return cls(*children)

        class Boxed(Corridor):
            def reset(self, key: Array) -> tuple[Any, Step]:
                state, step = super().reset(key)
                return Box(state), step

            def step(self, key: Array, state: Any, actions: Array) -> tuple[Any, Step]:
                places, step = super().step(key, state.places, actions)
                return Box(places), step

        check(Boxed())

    def test_only_available_actions_are_played(self):
        """Actions come and go; taking one that is not there would show as a NaN."""

        class Choosy(Corridor):
            def step(self, key: Array, state: Any, actions: Array) -> tuple[Any, Step]:
                legal = self.offered(state)[jnp.arange(2), actions].all()
                state, step = super().step(key, state, actions)
                return state, step._replace(obs=jnp.where(legal, step.obs, jnp.nan))

            def tell(self, state: Places, success: Array) -> tuple[Places, Step]:
                state, step = super().tell(state, success)
                return state, step._replace(available=self.offered(state))

            def offered(self, state: Places) -> Array:
                """One action each, another one at every step and for every agent."""
                return jax.nn.one_hot((state.time + jnp.arange(2)) % 3, 3, dtype=bool)

        check(Choosy(), episodes=10)

    def test_dead_agents(self):
        class Mortal(Corridor):
            def tell(self, state: Places, success: Array) -> tuple[Places, Step]:
                state, step = super().tell(state, success)
                return state, step._replace(alive=jnp.array([True, False]) | (state.time < 2))

        check(Mortal())


def with_attributes(**attributes: Any) -> World:
    """A corridor that says something else about itself."""
    return type("Declared", (Corridor,), attributes)()


def without(attribute: str) -> World:
    """A corridor that forgets to say something about itself."""

    class Forgetful(Corridor):
        def __getattribute__(self, name: str) -> Any:
            if name == attribute:
                raise AttributeError(name)
            return super().__getattribute__(name)

    return Forgetful()


@pytest.mark.parametrize(
    ("world", "sentence"),
    [
        (with_attributes(num_agents=0), "num_agents must be a whole number above 0"),
        (with_attributes(num_actions=-3), "num_actions must be a whole number above 0"),
        (with_attributes(observation_size=2.0), "observation_size must be a whole number above 0"),
        (with_attributes(horizon=True), "horizon must be a whole number above 0"),
        (with_attributes(horizon=None), "horizon must be a whole number above 0"),
        (without("num_agents"), "num_agents must be a whole number above 0"),
        (without("horizon"), "horizon must be a whole number above 0"),
        (with_attributes(features=(None,)), "features must have one entry for every number"),
        (with_attributes(features=(None,) * 3), "features must have one entry for every number"),
        (with_attributes(place=(1,)), "place names number 1 of the observation, which is not a"),
        (with_attributes(place=(0, 2)), "place names number 2 of the observation, which is not a"),
        (with_attributes(place=(-2,)), "place names number -2 of the observation, which is not a"),
        (
            with_attributes(features=(Feature(6, 0.2, exact=False), None)),
            "place names number 0 of the observation, which is not a",
        ),
        (
            with_attributes(features=(Feature(6, 0.2, least=1), None)),
            "number 0 of an observation is none of the values",
        ),
        (with_attributes(features=()), "place names number 0 of the observation, which is not a"),
    ],
)
def test_what_a_world_says_about_itself(world: World, sentence: str):
    assert_breach(world, sentence)


class StepWith(Corridor):
    """A corridor that replaces something in every step."""

    def __init__(self, **fields: Any) -> None:
        self.fields = fields

    def step(self, key: Array, state: Any, actions: Array) -> tuple[Any, Step]:
        state, step = super().step(key, state, actions)
        return state, step._replace(**self.fields)


class ResetWith(Corridor):
    """A corridor that replaces something in the first step of an episode."""

    def __init__(self, **fields: Any) -> None:
        self.fields = fields

    def reset(self, key: Array) -> tuple[Any, Step]:
        state, step = super().reset(key)
        return state, step._replace(**self.fields)


TRUE = jnp.bool_(True)

WRONG_FIELDS: list[tuple[dict[str, Any], str]] = [
    ({"obs": jnp.zeros((2, 2), jnp.int32)}, "obs must be float32 of shape (2, 2), not int32"),
    ({"obs": jnp.zeros((2, 2), jnp.float16)}, "obs must be float32 of shape (2, 2), not float16"),
    (
        {"obs": jnp.zeros((2, 3))},
        "obs must be float32 of shape (2, 2), not float32 of shape (2, 3)",
    ),
    ({"obs": jnp.zeros(2)}, "obs must be float32 of shape (2, 2), not float32 of shape (2,)"),
    ({"obs": jnp.full((2, 2), jnp.nan)}, "an observation is not finite"),
    ({"obs": jnp.full((2, 2), jnp.inf)}, "an observation is not finite"),
    ({"obs": jnp.array([[0.4, 0], [0.3, 0]])}, "number 0 of an observation is none of the values"),
    ({"obs": jnp.array([[1.2, 0], [0.2, 0]])}, "number 0 of an observation is none of the values"),
    ({"obs": jnp.array([[0.2, 0], [-0.2, 0]])}, "number 0 of an observation is none of the values"),
    ({"reward": jnp.float32(0)}, "reward must be float32 of shape (2,), not float32 of shape ()"),
    ({"reward": jnp.zeros(2, jnp.int32)}, "reward must be float32 of shape (2,), not int32"),
    ({"reward": jnp.array([0.0, jnp.nan])}, "a reward is not finite"),
    ({"reward": jnp.array([jnp.inf, 0.0])}, "a reward is not finite"),
    (
        {"terminated": jnp.zeros(2, bool)},
        "terminated must be bool of shape (), not bool of shape (2,)",
    ),
    ({"terminated": jnp.float32(0)}, "terminated must be bool of shape (), not float32"),
    (
        {"truncated": jnp.zeros(2, bool)},
        "truncated must be bool of shape (), not bool of shape (2,)",
    ),
    ({"truncated": jnp.int32(0)}, "truncated must be bool of shape (), not int32"),
    ({"terminated": TRUE, "truncated": TRUE}, "ended both ways"),
    ({"available": jnp.ones((2, 2), bool)}, "available must be bool of shape (2, 3), not bool"),
    ({"available": jnp.ones((2, 3))}, "available must be bool of shape (2, 3), not float32"),
    ({"available": jnp.array([[True] * 3, [False] * 3])}, "an agent has no available action"),
    ({"alive": jnp.bool_(True)}, "alive must be bool of shape (2,), not bool of shape ()"),
    ({"alive": jnp.ones(2, jnp.int32)}, "alive must be bool of shape (2,), not int32"),
]


class TestFieldsOfAStep:
    @pytest.mark.parametrize(("fields", "sentence"), WRONG_FIELDS)
    def test_step(self, fields: dict[str, Any], sentence: str):
        assert_breach(StepWith(**fields), f"step 1: {sentence}")

    @pytest.mark.parametrize(("fields", "sentence"), WRONG_FIELDS[::4])
    def test_reset(self, fields: dict[str, Any], sentence: str):
        """The first step of an episode is looked at in the same way: some samples."""
        assert_breach(ResetWith(**fields), f"reset: {sentence}")

    @pytest.mark.parametrize(
        ("fields", "sentence"),
        [
            ({"reward": jnp.array([0.0, 1.0])}, "reset must give no reward"),
            ({"reward": jnp.array([-1.0, 1.0])}, "reset must give no reward"),
            ({"terminated": TRUE}, "reset must not end the episode"),
            ({"truncated": TRUE}, "reset must not end the episode"),
        ],
    )
    def test_reset_gives_and_ends_nothing(self, fields: dict[str, Any], sentence: str):
        assert_breach(ResetWith(**fields), sentence)

    def test_new_episode_that_begins_ended(self):
        """Also after an auto-reset (without single episodes, which would complain before)."""
        assert_breach(ResetWith(terminated=TRUE), "a new episode begins ended", episodes=0)

    def test_breach_late_in_an_episode(self):
        """Every step is looked at, and the message says which."""

        class Late(Corridor):
            def tell(self, state: Places, success: Array) -> tuple[Places, Step]:
                state, step = super().tell(state, jnp.bool_(False))
                return state, step._replace(reward=jnp.where(state.time == 5, jnp.nan, step.reward))

        assert_breach(Late(), "step 5: a reward is not finite")

    def test_success_at_the_horizon_marked_both_ways(self):
        class Twice(Corridor):
            def tell(self, state: Places, success: Array) -> tuple[Places, Step]:
                last = state.time >= self.horizon
                state, step = super().tell(state, last)
                return state, step._replace(truncated=last)

        assert_breach(Twice(), "step 6: ended both ways")

    @pytest.mark.parametrize("method", ["reset", "step"])
    def test_tuple_instead_of_a_step(self, method: str):
        class Bare(Corridor):
            def reset(self, key: Array) -> tuple[Any, Any]:
                state, step = super().reset(key)
                return state, tuple(step) if method == "reset" else step

            def step(self, key: Array, state: Any, actions: Array) -> tuple[Any, Any]:
                state, step = super().step(key, state, actions)
                return state, tuple(step) if method == "step" else step

        assert_breach(Bare(), f"{method}{' 1' * (method == 'step')} must return a Step")
