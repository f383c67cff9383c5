"""A checker that runs the contract of a world, for worlds of the package and of users."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from mace_marl.envs.api import Step, World, auto_reset
from mace_marl.errors import UserError


class ContractError(AssertionError):
    """What in a world breaks the contract, in one sentence."""


def check(world: World, seed: int = 0, episodes: int = 3) -> None:
    """Play random episodes in `world`, jitted and vmapped; raise ContractError at the first breach.

    Checks names, shapes and dtypes; that a reset gives no reward and no end; that an episode never
    ends both ways and at the latest at the horizon; that rewards and observations are finite and
    declared features hold; that some action is always available; that the same key, state and
    actions give the same step; and that auto-reset keeps the final observation. A world outside
    JAX is checked by `mace_marl.host.check`.
    """
    from mace_marl.host.world import Hosted

    if isinstance(world, Hosted):
        _check_host(world.name, seed, episodes)
        return
    _check_sizes(world)
    reset, step = _jitted(world.reset), _jitted(world.step)
    # Traced a second time, for a compiled function repeats whatever it saw when it was traced.
    reset_again, step_again = _jitted(world.reset), _jitted(world.step)
    key = jax.random.key(seed)
    for _ in range(episodes):
        key, reset_key = jax.random.split(key)
        state, first = reset(reset_key)
        _check_step(world, first, "reset")
        _require(not np.any(first.reward), "reset must give no reward")
        _require(not (first.terminated or first.truncated), "reset must not end the episode")
        _require(_same((state, first), reset_again(reset_key)), "reset must be pure")
        now = first
        for time in range(1, world.horizon + 1):
            key, action_key, step_key = jax.random.split(key, 3)
            actions = _random_actions(action_key, now)
            previous = state
            state, now = step(step_key, state, actions)
            _check_step(world, now, f"step {time}")
            if time == 1:
                _require(_same_structure(previous, state), "step must keep the state's shapes")
                again = step_again(step_key, previous, actions)
                _require(_same((state, now), again), "step must be pure")
            if now.terminated or now.truncated:
                break
        _require(
            bool(now.terminated or now.truncated),
            f"an episode must end at the horizon ({world.horizon} steps) at the latest",
        )
    _check_auto_reset(world, key)


def _check_host(name: str, seed: int, episodes: int) -> None:
    from mace_marl import host
    from mace_marl.host.worlds import make_host

    world = make_host(name)
    try:
        host.check(world, seed, episodes)
    except UserError as error:
        raise ContractError(str(error)) from None
    finally:
        world.close()


def _check_sizes(world: World) -> None:
    for name in ("num_agents", "num_actions", "observation_size", "horizon"):
        value = getattr(world, name, None)
        _require(type(value) is int and value > 0, f"{name} must be a whole number above 0")
    if world.features:
        _require(
            len(world.features) == world.observation_size,
            "features must have one entry for every number of the observation",
        )
    for column in world.place:
        feature = world.features[column] if 0 <= column < len(world.features) else None
        _require(
            feature is not None and feature.exact,
            f"place names number {column} of the observation, which is not a discrete feature",
        )


def _check_step(world: World, step: Step, where: str) -> None:
    agents = world.num_agents
    wanted = {
        "obs": ((agents, world.observation_size), jnp.float32),
        "reward": ((agents,), jnp.float32),
        "terminated": ((), jnp.bool_),
        "truncated": ((), jnp.bool_),
        "available": ((agents, world.num_actions), jnp.bool_),
        "alive": ((agents,), jnp.bool_),
    }
    _require(isinstance(step, Step), f"{where} must return a Step")
    for name, (shape, dtype) in wanted.items():
        value = getattr(step, name)
        _require(
            value.shape == shape and value.dtype == dtype,
            f"{where}: {name} must be {np.dtype(dtype).name} of shape {shape},"
            f" not {value.dtype} of shape {value.shape}",
        )
    obs = np.asarray(step.obs)
    _require(np.isfinite(obs).all(), f"{where}: an observation is not finite")
    _require(np.isfinite(step.reward).all(), f"{where}: a reward is not finite")
    _require(
        not (step.terminated and step.truncated), f"{where}: ended both ways; a success terminates"
    )
    _require(
        np.asarray(step.available).any(axis=1).all(), f"{where}: an agent has no available action"
    )
    _check_features(world, obs, where)


def _check_features(world: World, obs: np.ndarray, where: str) -> None:
    """`obs`  # (num_agents, observation_size)"""
    declared = [
        (column, feature)
        for column, feature in enumerate(world.features)
        if feature and feature.exact
    ]
    if not declared:
        return
    columns = np.array([column for column, _ in declared])
    level = obs[:, columns] / [feature.step for _, feature in declared]
    level -= [feature.least for _, feature in declared]
    whole = np.round(level)
    known = (whole >= 0) & (whole < [feature.levels for _, feature in declared])
    for column in columns[~(known & np.isclose(level, whole, atol=1e-3)).all(axis=0)]:
        raise ContractError(
            f"{where}: number {column} of an observation is none of the values declared for it."
        )


def _check_auto_reset(world: World, key: jax.Array) -> None:
    """Over many worlds at once: the final observation is kept, and the next episode begins."""
    envs = 4
    reset_keys, play_key = jax.random.split(key, envs), jax.random.fold_in(key, 1)
    states, ahead = jax.jit(jax.vmap(world.reset))(reset_keys)
    choose = jax.jit(jax.vmap(_random_actions))
    step = jax.jit(jax.vmap(lambda key, state, actions: auto_reset(world, key, state, actions)))
    for time in range(world.horizon):
        keys = jax.random.split(jax.random.fold_in(play_key, time), (2, envs))
        actions = choose(keys[0], ahead)
        states, now, ahead = step(keys[1], states, actions)
        ended = np.asarray(now.terminated | now.truncated)
        _require(not np.any(ahead.terminated | ahead.truncated), "a new episode begins ended")
        kept = np.asarray(now.obs)[~ended] == np.asarray(ahead.obs)[~ended]
        _require(kept.all(), "auto-reset changed an observation within an episode")
        if ended.any():
            return
    raise ContractError("no episode ended within the horizon in vmapped play.")


@jax.jit
def _random_actions(key: jax.Array, step: Step) -> jax.Array:
    return jax.random.categorical(key, jnp.where(step.available, 0.0, -1e9))


def _jitted(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, traced anew and compiled; where JAX cannot trace it, that is a breach."""
    compiled = jax.jit(lambda *inputs: function(*inputs))

    def call(*inputs: Any) -> Any:
        try:
            return compiled(*inputs)
        except (jax.errors.JAXTypeError, jax.errors.JAXIndexError) as error:
            problem = str(error).splitlines()[0].rstrip(".")
            raise ContractError(f"{function.__name__} cannot be jitted: {problem}.") from error

    return call


def _same(one: Any, other: Any) -> bool:
    return _same_structure(one, other) and all(
        np.array_equal(_numbers(a), _numbers(b), equal_nan=True)
        for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    )


def _numbers(leaf: jax.Array) -> np.ndarray:
    is_key = jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
    return np.asarray(jax.random.key_data(leaf) if is_key else leaf)


def _same_structure(one: Any, other: Any) -> bool:
    def shapes(tree: Any) -> list[Any]:
        return [(jnp.shape(leaf), jnp.result_type(leaf)) for leaf in jax.tree.leaves(tree)]

    return jax.tree.structure(one) == jax.tree.structure(other) and shapes(one) == shapes(other)


def _require(good: Any, sentence: str) -> None:
    if not good:
        raise ContractError(sentence + ".")
