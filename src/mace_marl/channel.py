"""The only doors between agents.

Everything an agent does after collecting is one program over a named axis, `agent`, and
`exchange` is the one place where numbers cross that axis: one float32 per agent and step.
(`show` is a second one, for centralised critics: a baseline's, and no decentralised method's.)
`traffic` reads off the trace of such a program what really crosses.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax
from jax.extend import core as jax_core

from mace_marl import shards

AXIS = "agent"


def exchange(novelty: Array) -> Array:
    """Send this agent's novelties to all others and receive theirs.

    `novelty`  # (steps, envs) float32
    Returns the inbox  # (num_agents − 1, steps, envs), the agents after this one first.
    """
    everyone = lax.all_gather(novelty.astype(jnp.float32), AXIS)
    return jnp.roll(everyone, -lax.axis_index(AXIS), axis=0)[1:]


def show(obs: Array) -> Array:
    """Show this agent's observations to all others and see theirs, for a centralised critic.

    `obs`  # (…, observation_size) float32
    Returns everyone's  # (…, num_agents · observation_size), one's own first, then as in `exchange`
    """
    everyone = lax.all_gather(obs, AXIS)
    ordered = jnp.roll(everyone, -lax.axis_index(AXIS), axis=0)
    return jnp.concatenate(list(ordered), axis=-1)


@dataclass(frozen=True)
class Crossing:
    """One collective on the agent axis: what one agent sends through it."""

    primitive: str
    dtypes: tuple[str, ...]
    numbers: float  # infinite where it is sent in a loop without a fixed end
    bytes: float


def traffic(program: Callable[..., Any], num_agents: int, *arguments: Any) -> list[Crossing]:
    """Everything that crosses between agents in `program`, the program of *one* agent.

    The program is traced with the agent axis bound by name. (Under vmap, collectives are batched
    away and nothing could be seen.) An operation on the axis cannot hide: whatever it is called,
    it must name the axis in its parameters.
    """
    axes = [(AXIS, num_agents), (shards.AXIS, 1)]
    trace = jax.make_jaxpr(program, axis_env=axes)(*arguments)
    return list(_crossings(trace.jaxpr, 1))


def _crossings(jaxpr: Any, times: float) -> Iterator[Crossing]:
    """`times`: how often the program runs through this part of it."""
    for equation in jaxpr.eqns:
        names_axis = any(_mentions_axis(value) for value in equation.params.values())
        if names_axis and equation.primitive.name != "axis_index":
            avals = [variable.aval for variable in equation.invars]
            yield Crossing(
                primitive=equation.primitive.name,
                dtypes=tuple(str(aval.dtype) for aval in avals),
                numbers=times * sum(aval.size for aval in avals),
                bytes=times * sum(aval.size * aval.dtype.itemsize for aval in avals),
            )
        for inner in jax_core.jaxprs_in_params(equation.params):
            yield from _crossings(inner, times * _runs(equation))


def _runs(equation: Any) -> float:
    """How often an operation runs through the programs inside it."""
    return {"scan": equation.params.get("length", 1), "while": math.inf}.get(
        equation.primitive.name, 1
    )


def _mentions_axis(value: Any) -> bool:
    return (
        value == AXIS
        if isinstance(value, str)
        else (isinstance(value, tuple | list | frozenset | set) and any(map(_mentions_axis, value)))
    )
