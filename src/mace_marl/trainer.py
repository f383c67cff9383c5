"""One update of all agents as a pure function, in the order of Algorithm 1."""

from dataclasses import fields
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

from mace_marl import channel, rollout, shards
from mace_marl.agent.encoding import Index, index_columns
from mace_marl.agent.experience import Intrinsic, Rollout, mean_where
from mace_marl.agent.learner import Agent, Learner
from mace_marl.agent.ppo import Chunks
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
        return self.lay_out(jax.jit(self.init_state)(self.settings, jax.random.key(seed)))

    def init_state(self, settings: Settings, key: Array) -> TrainState:
        agents_key, stage_key = jax.random.split(key)
        keys = jax.random.split(agents_key, self.world.num_agents)
        learners = jax.vmap(self.agent.init, in_axes=(None, 0))(settings, keys)
        return TrainState(learners, rollout.begin(self.world, settings, stage_key))

    def lay_out(self, state: TrainState) -> TrainState:
        """The state on its devices: learners on all, environments shared out among them."""
        everywhere = NamedSharding(self.mesh, P())
        shared_out = NamedSharding(self.mesh, P(shards.AXIS))
        return TrainState(
            jax.device_put(state.learners, everywhere), jax.device_put(state.stage, shared_out)
        )

    def update(self, state: TrainState) -> tuple[TrainState, Report]:
        """One iteration of Algorithm 1 for all agents. The old state is used up."""
        return self._update(state, self.settings)

    def compile(self, state: TrainState) -> Any:
        """The compiled update, for states like this one: (state, settings) → (state, report)."""
        return self._update.lower(state, self.settings).compile()

    def _update_on_shard(self, state: TrainState, settings: Settings) -> tuple[TrainState, Report]:
        stage, own_part, episodes = rollout.collect(
            self.world, state.learners, state.stage, settings
        )
        rollouts = agents_first(join_shards(own_part))
        learners, rewards, chunks = jax.vmap(
            self.agent.prepare, in_axes=(0, 0, None), axis_name=channel.AXIS
        )(state.learners, rollouts, settings)
        learners, report = self.improve_each(learners, chunks, settings)
        places = jax.vmap(partial(_by_place, self.places))(rollouts, rewards)
        means = jax.vmap(_mean_rewards)(rollouts, rewards)
        return TrainState(learners, stage), Report(shards.total(episodes), report | means, places)

    def improve_each(
        self, learners: Learner, chunks: Chunks, settings: Settings
    ) -> tuple[Learner, dict[str, Array]]:
        def improve(one: tuple[Learner, Chunks]) -> tuple[Learner, dict[str, Array]]:
            return self.agent.improve(*one, settings, self.layout)

        each = (learners, chunks)
        return jax.lax.map(improve, each) if self.layout.in_turn else jax.vmap(improve)(each)

    def agent_update(
        self, learner: Learner, rollout: Rollout, settings: Settings
    ) -> tuple[Learner, Intrinsic, dict[str, Array]]:
        """The program of one agent, over the axis `channel.AXIS`: all it does after collecting."""
        return self.agent.update(learner, rollout, settings, self.layout)

    def _collect_all(self, state: TrainState) -> Rollout:
        """All agents' rollouts on one device, for their shapes."""
        _, whole, _ = rollout.collect(self.world, state.learners, state.stage, self.settings)
        return agents_first(whole)

    @property
    def places_shape(self) -> tuple[int, int, int]:
        return self.world.num_agents, 3, self.places.size if self.places else 0

    def floats_sent(self) -> float:
        """Floats that cross from one agent to the others per step, read off the program's trace."""
        state = jax.eval_shape(self.init_state, self.settings, jax.random.key(0))
        rollouts = jax.eval_shape(self._collect_all, state)
        one_learner, one_rollout = jax.tree.map(_of_one_agent, (state.learners, rollouts))
        crossings = channel.traffic(
            self.agent_update, self.world.num_agents, one_learner, one_rollout, self.settings
        )
        return sum(crossing.bytes for crossing in crossings) / 4 / self.settings.steps_per_update


def agents_first(rollout: Rollout) -> Rollout:
    """Each agent's own rollout, one after the other  # (num_agents, t, e, …)."""
    axis = {"last_obs": 1, "last_value": 1}  # of the agents; else it is the third
    return Rollout(
        **{name: jnp.moveaxis(x, axis.get(name, 2), 0) for name, x in rollout._asdict().items()}
    )


def _of_one_agent(stacked: Any) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(stacked.shape[1:], stacked.dtype)


def join_shards(part: Rollout) -> Rollout:
    """All devices' environments in one rollout."""
    whole = shards.gather(part, axis=1)
    last_obs, last_value = shards.gather((part.last_obs, part.last_value), axis=0)
    return whole._replace(last_obs=last_obs, last_value=last_value)


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
