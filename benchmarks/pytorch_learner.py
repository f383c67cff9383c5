"""A plain PyTorch learner of the same networks and update, beside ours, in one run.

    pip install -r benchmarks/requirements.txt
    python benchmarks/pytorch_learner.py [--task gridworld/pass]

Both learn from one rollout of the paper's size: all epochs, whole batch, actor and critic of every
agent. The PyTorch one is written as its users would: nn.GRU over whole chunks, autograd, Adam, all
cores. Each is given as a fraction of the machine's matmul peak, measured in the same run.
"""

import argparse
import json
import subprocess
import sys
import time

import numpy as np
import torch  # pyright: ignore[reportMissingImports]
from torch import nn  # pyright: ignore[reportMissingImports]

from mace_marl.settings import Settings
from mace_marl.tasks import get_task, task_settings
from mace_marl.worlds import make_world


class Net(nn.Module):
    def __init__(self, inputs: int, outputs: int, size: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(inputs, size), nn.ReLU(), nn.Linear(size, size), nn.ReLU()
        )
        self.gru = nn.GRU(size, size)
        self.head = nn.Linear(size, outputs)

    def forward(self, obs: torch.Tensor, hidden: torch.Tensor) -> torch.Tensor:
        return self.head(self.gru(self.body(obs), hidden)[0])


def learn(actor: Net, critic: Net, batch: dict[str, torch.Tensor], settings: Settings) -> None:
    """All epochs of one agent's update, on the whole batch."""
    actor_adam = torch.optim.Adam(actor.parameters(), lr=7e-4, eps=1e-5)
    critic_adam = torch.optim.Adam(critic.parameters(), lr=7e-4, eps=1e-5)
    for _ in range(settings.epochs):
        policy = torch.distributions.Categorical(logits=actor(batch["obs"], batch["hidden"]))
        ratio = torch.exp(policy.log_prob(batch["action"]) - batch["log_prob"])
        clipped = ratio.clamp(1 - settings.clip, 1 + settings.clip)
        surrogate = torch.minimum(ratio * batch["advantage"], clipped * batch["advantage"])
        actor_adam.zero_grad()
        (-surrogate - settings.entropy_weight * policy.entropy()).mean().backward()
        nn.utils.clip_grad_norm_(actor.parameters(), settings.max_grad_norm)
        actor_adam.step()
        value = critic(batch["obs"], batch["hidden"])[..., 0]
        critic_adam.zero_grad()
        nn.functional.huber_loss(value, batch["target"], delta=settings.huber_delta).backward()
        nn.utils.clip_grad_norm_(critic.parameters(), settings.max_grad_norm)
        critic_adam.step()


def torch_seconds(task: str, repeats: int = 3) -> tuple[float, float]:
    """Seconds of one update of all agents, the best of several, and its textbook GFLOP."""
    found = get_task(task)
    settings = task_settings(found, "paper")
    world = make_world(found.name, found.map)
    length, chunks = settings.chunk_length, settings.steps_per_update // settings.chunk_length
    rng = np.random.default_rng(0)

    def numbers(*shape: int) -> torch.Tensor:
        return torch.from_numpy(rng.standard_normal(shape, dtype=np.float32))

    batch = {
        "obs": numbers(length, chunks, world.observation_size),
        "hidden": numbers(1, chunks, settings.hidden_size),
        "action": torch.from_numpy(rng.integers(0, world.num_actions, (length, chunks))),
        "log_prob": torch.full((length, chunks), -np.log(world.num_actions)),
        "advantage": numbers(length, chunks),
        "target": numbers(length, chunks),
    }
    agents = [
        (
            Net(world.observation_size, world.num_actions, settings.hidden_size),
            Net(world.observation_size, 1, settings.hidden_size),
        )
        for _ in range(world.num_agents)
    ]
    times = []
    for _ in range(repeats + 1):
        began = time.perf_counter()
        for actor, critic in agents:
            learn(actor, critic, batch, settings)
        times.append(time.perf_counter() - began)
    weights = sum(
        parameter.numel()
        for pair in agents
        for net in pair
        for parameter in net.parameters()
        if parameter.ndim == 2
    )
    work = 6 * weights * settings.steps_per_update * settings.epochs / 1e9
    return min(times[1:]), work


def main() -> None:
    parser = argparse.ArgumentParser(description="A plain PyTorch learner beside ours.")
    parser.add_argument("--task", default="gridworld/pass")
    task = parser.parse_args().task
    command = [sys.executable, "-m", "mace_marl", "bench", "--task", task, "--json"]
    ours = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    figures = ours["tasks"][task]
    seconds, work = torch_seconds(task)
    peak = ours["peak_gflops"]
    our_seconds = figures["textbook_gflop_per_update"] / figures["learner_gflops"]
    print(f"{task}, {work:.0f} textbook GFLOP an update, matmul peak {peak:.0f} GFLOP/s")
    print(f"PyTorch {torch.__version__}, {torch.get_num_threads()} threads:")
    print(f"  learner {seconds:6.2f} s, {work / seconds / peak:.2f} of peak")
    print(f"  ours    {our_seconds:6.2f} s, {work / our_seconds / peak:.2f} of peak")
    print(f"  ratio   {seconds / our_seconds:6.2f}")


if __name__ == "__main__":
    main()
