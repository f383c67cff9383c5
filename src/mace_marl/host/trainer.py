"""Training in worlds outside JAX: they are played from Python, the rest is the same program."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

from mace_marl.agent.experience import Rollout
from mace_marl.agent.learner import Learner
from mace_marl.envs.api import World
from mace_marl.host.board import Row
from mace_marl.host.collect import Collector, HostStage, Lived, Running, first_stage, take_apart
from mace_marl.host.world import Hosted
from mace_marl.machine import Layout
from mace_marl.methods import Method
from mace_marl.settings import Settings
from mace_marl.trainer import Report, Trainer, TrainState, agents_first


class _Memory(NamedTuple):
    """As much of a stage as learning needs."""

    critic_hidden: Array  # (envs, num_agents, hidden_size)


class HostTrainer(Trainer):
    """A trainer whose worlds run in worker processes. Its update is not pure: its worlds move on.

    But a state says where they stand, and given one from elsewhere they are brought there.
    """

    world: Hosted

    def __init__(self, world: Hosted, method: Method, settings: Settings, layout: Layout) -> None:
        super().__init__(world, method, settings, layout)
        self.collector = Collector(world, settings)
        self._learn = jax.jit(
            jax.shard_map(
                self._learn_on_shard,
                mesh=self.mesh,
                in_specs=P(),
                out_specs=P(),
                check_vma=False,
            ),
            in_shardings=self.everywhere,  # wherever a state comes from, one program serves it
            donate_argnums=0,
        )

    def init(self, seed: int) -> TrainState:
        state = jax.jit(self.init_state)(self.settings, jax.random.key(seed))
        root = jnp.array([seed, 0], jnp.uint32)
        return self.lay_out(state._replace(stage=self._stage(state)._replace(root=root)))

    def init_state(self, settings: Settings, key: Array) -> TrainState:
        agents_key, stage_key = jax.random.split(key)
        return TrainState(
            self.init_learners(settings, agents_key),
            first_stage(self.world, settings, stage_key),  # pyright: ignore[reportArgumentType]
        )

    def lay_out(self, state: TrainState) -> TrainState:
        """There is one device, and most of the stage is for Python."""
        stage = self._stage(state)
        memory = jax.device_put((stage.actor_hidden, stage.critic_hidden), self.everywhere)
        stage = stage._replace(actor_hidden=memory[0], critic_hidden=memory[1])
        learners = jax.device_put(state.learners, self.everywhere)
        return TrainState(learners, stage)  # pyright: ignore[reportArgumentType]

    def update(self, state: TrainState) -> tuple[TrainState, Report]:
        stage, lived = self.collector.collect(state.learners, self._stage(state))
        return self.learn(state.learners, stage, lived)

    def learn(self, learners: Learner, stage: HostStage, lived: Lived) -> tuple[TrainState, Report]:
        """What follows collecting. The old learners are used up."""
        memory = _Memory(stage.critic_hidden)
        learners, memory, running, report = self._learn(
            learners, memory, lived, stage.running, self.settings
        )
        stage = stage._replace(critic_hidden=memory.critic_hidden, running=running)
        return TrainState(learners, stage), report  # pyright: ignore[reportArgumentType]

    def collect_all(self, state: TrainState) -> tuple[Learner, Rollout, Array]:
        """The shapes of what every agent has after collecting; nothing is played."""
        steps, envs = self.settings.rollout_length, self.settings.num_envs
        rows = jnp.zeros((steps, envs, self.row.width))
        acted = jnp.zeros((steps, envs, self.world.num_agents, 2))
        stage = self._stage(state)
        hidden = [stage.actor_hidden] * (steps // self.settings.chunk_length)
        whole, _, _ = take_apart(self.row, Lived(rows, rows, acted, rows[0], hidden), stage.running)
        return state.learners, agents_first(whole), stage.critic_hidden.swapaxes(0, 1)

    def open(self) -> None:
        self.collector.open()

    def close(self) -> None:
        self.collector.close()

    @property
    def everywhere(self) -> NamedSharding:
        return NamedSharding(self.mesh, P())

    @property
    def row(self) -> Row:
        return Row(self.world.sizes)

    def _learn_on_shard(
        self,
        learners: Learner,
        memory: _Memory,
        lived: Lived,
        running: Running,
        settings: Settings,
    ) -> tuple[Learner, _Memory, Running, Report]:
        part, episodes, running = take_apart(self.row, lived, running)
        state = TrainState(learners, memory)  # pyright: ignore[reportArgumentType]
        state, report = self.learn_on_shard(state, part, episodes, settings)
        return state.learners, state.stage, running, report  # pyright: ignore[reportReturnType]

    def _stage(self, state: TrainState) -> HostStage:
        assert isinstance(state.stage, HostStage)
        return state.stage


def make_trainer(world: World, method: Method, settings: Settings, layout: Layout) -> Trainer:
    """The trainer of a world, wherever it runs."""
    if isinstance(world, Hosted):
        return HostTrainer(world, method, settings, layout)
    return Trainer(world, method, settings, layout)
