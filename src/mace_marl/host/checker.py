"""A checker that runs the contract of a world outside JAX, in this process."""

import numpy as np

from mace_marl.host.api import HostWorld, WorldError, check_sizes
from mace_marl.host.board import Board, Sizes
from mace_marl.host.share import Share


def check(world: HostWorld, seed: int = 0, episodes: int = 3) -> None:
    """Play random episodes in `world`; raise WorldError, in one sentence, at the first breach.

    Checks sizes and shapes; that a reset gives no reward and no end; that an episode never ends
    both ways; that rewards and observations are finite and some action is always available; and,
    of a world that calls itself repeatable, that a seed and actions lead to the same again.
    """
    check_sizes(world)
    name = type(world).__name__
    board = Board(Sizes.of(world), copies=1)
    share = Share(name, [world], board, 0)
    chance = np.random.default_rng(seed)
    board.root[:] = seed, 0
    share.take_up()
    while board.episode[0] < episodes:
        available = board.row.part(board.ahead, "available")[0]
        board.actions[0] = [chance.choice(np.flatnonzero(mask)) for mask in available]
        share.step()
        if world.repeatable and board.time[0] in (1, 7):
            share.take_up()
            if board.row.part(board.ahead, "lost")[0]:
                raise WorldError(
                    f"{name}: the same seed and actions led to other observations; let everything"
                    " depend on the seed, or set repeatable to False."
                )
