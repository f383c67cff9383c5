"""One update of all agents as a pure function, in the order of Algorithm 1."""

from collections.abc import Callable
from dataclasses import fields
from functools import partial
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
from jax import Array
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

from mace_marl import channel, rollout, shards
from mace_marl.agent.encoding import Index, index_columns
from mace_marl.agent.experience import Heard, Intrinsic, Rollout, Values, mean_where
from mace_marl.agent.learner import Agent, Learner
from mace_marl.envs.api import World
from mace_marl.machine import Layout
from mace_marl.methods import Method
from mace_marl.settings import Settings


class TrainState(NamedTuple):
    """Everything that training is, between two updates."""

    learners: Learner  # stacked: (num_agents, …), the same on all devices
    stage: rollout.Stage  # (num_envs, …), each device its share


class Report(NamedTuple):
    """What one update tells."""

    episodes: rollout.Episodes
    agents: dict[str, Array]  # each (num_agents,)
    places: Array  # (num_agents, 3, places): novelty rewards, hindsight rewards, visits; summed


class Trainer:
    """The program that trains one method in one world."""

    def __init__(self, world: World, method: Method, settings: Settings, layout: Layout) -> None:
        self.world = world
        self.settings = settings
        self.layout = layout
        self.agent = Agent.of(world, method, settings)
        self.places = (
            index_columns(world, world.place, "a heat map", "no `place`") if world.place else None
        )
        self.mesh = shards.mesh(layout.devices)
        specs = TrainState(learners=P(), stage=P(shards.AXIS))  # pyright: ignore[reportArgumentType]
        self._update = jax.jit(
            jax.shard_map(
                self._update_on_shard,
                mesh=self.mesh,
                in_specs=(specs, P()),
                out_specs=(specs, P()),
                check_vma=False,
            ),
            donate_argnums=0,
        )

    def init(self, seed: int) -> TrainState:
        """The state before the first update."""
        init = jax.jit(self.init_state, out_shardings=self.laid_out)
        return init(self.settings, jax.random.key(seed))

    def init_state(self, settings: Settings, key: Array) -> TrainState:
        agents_key, stage_key = jax.random.split(key)
        learners = self.init_learners(settings, agents_key)
        return TrainState(learners, rollout.begin(self.world, settings, stage_key))

    def init_learners(self, settings: Settings, key: Array) -> Learner:
        keys = jax.random.split(key, self.world.num_agents)
        return jax.vmap(self.agent.init, in_axes=(None, 0))(settings, keys)

    @property
    def shapes(self) -> TrainState:
        """A state's arrays without their numbers."""
        return jax.eval_shape(self.init_state, self.settings, jax.random.key(0))

    @property
    def laid_out(self) -> Any:
        """Where the parts of a state are: learners on all devices, environments shared out."""
        everywhere = NamedSharding(self.mesh, P())
        shared_out = NamedSharding(self.mesh, P(shards.AXIS))
        return TrainState(everywhere, shared_out)  # pyright: ignore[reportArgumentType]

    def lay_out(self, state: TrainState) -> TrainState:
        """The state on its devices."""
        return TrainState(*map(jax.device_put, state, self.laid_out))

    def update(self, state: TrainState) -> tuple[TrainState, Report]:
        """One iteration of Algorithm 1 for all agents. The old state is used up."""
        return self._update(state, self.settings)

    def compile(self, state: TrainState) -> Any:
        """The compiled update, for states like this one: (state, settings) → (state, report)."""
        return self._update.lower(state, self.settings).compile()

    def _update_on_shard(self, state: TrainState, settings: Settings) -> tuple[TrainState, Report]:
        learners, stage = state
        stage, part, episodes = rollout.collect(self.world, learners, stage, settings)
        return self.learn_on_shard(TrainState(learners, stage), part, episodes, settings)

    def learn_on_shard(
        self, state: TrainState, part: Rollout, episodes: rollout.Episodes, settings: Settings
    ) -> tuple[TrainState, Report]:
        """All that follows collecting, wherever the worlds run."""
        learners, stage = state
        rollouts = agents_first(part)
        values, stage = self.appraise(learners, rollouts, stage, settings)
        rollouts, values = join_shards(rollouts), join_shards(values)
        learners, heard = self.exchange(learners, rollouts, settings)
        learners, rewards, report = self.each(
            partial(self.agent.learn, settings=settings, layout=self.layout),
            (learners, rollouts, values, heard),
        )
        places = jax.vmap(partial(_by_place, self.places))(rollouts, rewards)
        means = jax.vmap(_mean_rewards)(rollouts, rewards)
        return TrainState(learners, stage), Report(shards.total(episodes), report | means, places)

    def appraise(
        self, learners: Learner, rollouts: Rollout, stage: rollout.Stage, settings: Settings
    ) -> tuple[Values, rollout.Stage]:
        """All critics' values of this device's part, and the stage with their memory after it."""
        views = jax.vmap(self.agent.look, axis_name=channel.AXIS)(rollouts)
        values, hidden = self.each(
            partial(self.agent.appraise, settings=settings),
            (learners, rollouts, views, stage.critic_hidden.swapaxes(0, 1)),
        )
        return values, stage._replace(critic_hidden=hidden.swapaxes(0, 1))

    def exchange(
        self, learners: Learner, rollouts: Rollout, settings: Settings
    ) -> tuple[Learner, Heard]:
        """Novelties of all rollouts, told and heard."""
        return jax.vmap(
            partial(self.agent.exchange, settings=settings),
            axis_name=channel.AXIS,
        )(learners, rollouts)

    def each(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        """The function of every agent, mapped *without* the agents' axis: nothing can cross."""
        if self.layout.in_turn:
            return jax.lax.map(lambda one: function(*one), arguments)
        return jax.vmap(function)(*arguments)

    def agent_update(
        self, learner: Learner, rollout: Rollout, critic_hidden: Array, settings: Settings
    ) -> tuple[Learner, Intrinsic, dict[str, Array]]:
        """The program of one agent, over the axis `channel.AXIS`: all it does after collecting."""
        return self.agent.update(learner, rollout, critic_hidden, settings, self.layout)

    def collect_all(self, state: TrainState) -> tuple[Learner, Rollout, Array]:
        """What every agent has after collecting on one device: the input of `agent_update`."""
        _, whole, _ = rollout.collect(self.world, state.learners, state.stage, self.settings)
        return state.learners, agents_first(whole), state.stage.critic_hidden.swapaxes(0, 1)

    def open(self) -> None:
        """Try the worlds, so that what is wrong with them is known before anything is written."""

    def close(self) -> None:
        """Give back what the worlds hold: nothing, where they are functions."""

    @property
    def places_shape(self) -> tuple[int, int, int]:
        return self.world.num_agents, 3, self.places.size if self.places else 0

    def floats_sent(self) -> float:
        """Floats that cross from one agent to the others per step, read off the program's trace."""
        one = jax.tree.map(_of_one_agent, jax.eval_shape(self.collect_all, self.shapes))
        crossings = channel.traffic(self.agent_update, self.world.num_agents, *one, self.settings)
        return sum(crossing.bytes for crossing in crossings) / 4 / self.settings.steps_per_update


def agents_first(rollout: Rollout) -> Rollout:
    """Each agent's own rollout, one after the other  # (num_agents, t, e, …)."""
    last_obs = jnp.moveaxis(rollout.last_obs, 1, 0)
    rest = {name: x for name, x in rollout._asdict().items() if name != "last_obs"}
    return Rollout(**{name: jnp.moveaxis(x, 2, 0) for name, x in rest.items()}, last_obs=last_obs)


def _of_one_agent(stacked: Any) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(stacked.shape[1:], stacked.dtype)


_Part = TypeVar("_Part", Rollout, Values)


def join_shards(part: _Part) -> _Part:
    """All devices' environments together  # (num_agents, t, e, …), `last…` (num_agents, e, …)."""
    return type(part)(
        **{
            name: shards.gather(x, axis=1 if name.startswith("last") else 2)
            for name, x in part._asdict().items()
        }
    )


def _mean_rewards(rollout: Rollout, rewards: Intrinsic) -> dict[str, Array]:
    return {
        "novelty_reward": mean_where(rewards.novelty, rollout.alive),
        "hindsight_reward": mean_where(rewards.hindsight, rollout.alive),
    }


def _by_place(places: Index | None, rollout: Rollout, rewards: Intrinsic) -> Array:
    """Sums over a rollout for every place  # (3, places): both rewards, and visits."""
    size = places.size if places else 0
    sums = jnp.zeros((3, size))
    if places is None:
        return sums
    alive = rollout.alive.astype(jnp.float32)
    numbers = jnp.stack([rewards.novelty * alive, rewards.hindsight * alive, alive])
    return sums.at[:, places(rollout.obs).reshape(-1)].add(numbers.reshape(3, -1))


def _register_settings() -> None:
    """Floats become leaves of the compiled program's input; the rest shapes the program."""
    floats = [f.name for f in fields(Settings) if f.type in (float, float | None)]
    others = [f.name for f in fields(Settings) if f.name not in floats]

    def flatten(settings: Settings) -> tuple[list[Any], tuple[Any, ...]]:
        return [getattr(settings, name) for name in floats], tuple(
            getattr(settings, name) for name in others
        )

    def unflatten(shape: tuple[Any, ...], values: Any) -> Settings:
        settings = object.__new__(Settings)  # without its checks: values may be tracers
        for name, value in (*zip(floats, values, strict=True), *zip(others, shape, strict=True)):
            object.__setattr__(settings, name, value)
        return settings

    jax.tree_util.register_pytree_node(Settings, flatten, unflatten)


_register_settings()
