"""One session on a fresh beanstalkd and a fresh node; one that differs is made smaller."""

import time
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import trio

from tests.support.beanstalk_player import Difference, LateError, Play
from tests.support.beanstalk_servers import Server, open_beanstalkd, open_node
from tests.support.beanstalk_steps import Step

TRIES = 5


def our_node() -> AbstractAsyncContextManager[Server]:
    """Open a node that speaks as a beanstalkd does."""
    return open_node(beanstalk_dialect="beanstalkd")


def compare(steps: Sequence[Step], folder: Path) -> int:
    """Play a session on both, again if the machine was too slow; return how many replies came.

    Raises:
        Difference: a reply differs.
    """
    for _ in range(TRIES):
        try:
            return trio.run(_compare, steps, folder)
        except LateError:
            continue
    raise LateError


async def _compare(steps: Sequence[Step], folder: Path) -> int:
    difference: Difference | LateError | None = None
    with open_beanstalkd(folder) as theirs:
        async with our_node() as ours:
            play = Play(theirs, ours)
            try:
                await play.play(steps)
            except (Difference, LateError) as error:  # told outside of the nursery
                difference = error
    if difference is not None:
        raise difference
    return play.replies


def shrink(steps: Sequence[Step], folder: Path, *, limit_s: float) -> Difference:
    """Return how a session differs after as many steps were left out as `limit_s` allows."""
    end_s = time.monotonic() + limit_s
    steps = list(steps)
    last = _difference(steps, folder)
    assert last is not None, "this time it does not differ"
    part = len(steps)
    while part := part // 2:
        begin = 0
        while begin < len(steps) and time.monotonic() < end_s:
            fewer = steps[:begin] + steps[begin + part :]
            if found := _difference(fewer, folder):
                steps, last = fewer, found
            else:
                begin += part
    return last


def _difference(steps: Sequence[Step], folder: Path) -> Difference | None:
    try:
        compare(steps, folder)
    except Difference as difference:
        return difference
    return None
