"""A worker: a process that holds a share of the worlds and steps it when it is told to.

It is started as a program of its own (`python -m mace_marl.host.worker`), not forked, for JAX's
threads do not survive that; and not by `multiprocessing`, which would run a user's script again.
Commands and answers are single bytes on pipes; all numbers pass through the board. When the
trainer ends, in whatever way, its end of the pipes does too, and then so does the worker.
"""

import json
import os
import signal
import sys
from typing import NamedTuple

from mace_marl.host.api import HostWorld, WorldError
from mace_marl.host.board import Board, Sizes, linger
from mace_marl.host.share import Share, failure

STEP, TAKE_UP, DONE, FAILED = b"s", b"t", b".", b"!"


class Orders(NamedTuple):
    """What a worker is started with."""

    world: str  # the name of the task
    sizes: tuple[int, ...]
    copies: int  # of all workers together
    start: int  # the first world of this worker
    stop: int
    board: int  # file descriptors, here and below
    commands: int
    answers: int
    lingers: bool  # has a core of its own on which to wait awake


def main() -> None:
    orders = Orders(*json.loads(sys.argv[1]))
    for number in (signal.SIGINT, signal.SIGTERM):  # the trainer's business
        signal.signal(number, signal.SIG_IGN)
    share = None
    try:
        board = Board(Sizes(*orders.sizes), orders.copies, orders.board)
        share = Share(orders.world, _make(orders, board.sizes), board, orders.start)
        _serve(share, orders.commands, orders.answers, orders.lingers)
    except WorldError as error:
        _tell(orders.answers, str(error))
    except Exception as error:  # while the worlds were made
        _tell(orders.answers, f"{orders.world} cannot be made: {failure(error)}.")
    finally:
        if share:
            share.close()


def _make(orders: Orders, sizes: Sizes) -> list[HostWorld]:
    from mace_marl.host.worlds import make_host

    worlds = []
    for _ in range(orders.start, orders.stop):
        worlds.append(make_host(orders.world))
        if Sizes.of(worlds[-1]) != sizes:
            raise WorldError(f"{orders.world}: not all copies of the world have the same sizes.")
    return worlds


def _serve(share: Share, commands: int, answers: int, lingers: bool) -> None:
    asked, done, place = share.board.asked, share.board.done, share.numbers[0]
    os.write(answers, DONE)
    while True:
        if lingers:
            linger(asked, place, done[place] + 1)
        command = os.read(commands, 1)
        if not command:
            return
        if command == STEP:
            share.step()
        else:
            share.take_up()
        os.write(answers, DONE)
        done[place] += 1


def _tell(answers: int, problem: str) -> None:
    """One sentence, and the end: the trainer reads it up to the end of the stream."""
    os.write(answers, FAILED + problem.encode())


if __name__ == "__main__":
    main()
