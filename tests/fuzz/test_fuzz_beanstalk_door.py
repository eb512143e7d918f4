"""Whole beanstalk sessions of mutated bytes on a node: any bytes get replies or a close, the others
go on, and nothing of who left is left.

A failure prints the seed that replays it: ETCDQ_SEED=N sets the first seed, ETCDQ_FUZZ how many
worlds there are, each with its own seed and some sessions.
"""

import os
from random import Random

import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from etcdq.server.beanstalk.door import Dialect, DoorSettings
from tests.support.beanstalk_lines import SINGLE_LINES
from tests.support.beanstalk_world import BeanstalkWorld, Talk
from tests.support.fuzzing import cut, flip, insert, repeat

WORLDS = int(os.environ.get("ETCDQ_FUZZ", "30"))
SESSIONS = 12
STEPS = 40
BODY_BYTES_MAX = 200
ODD = [line + b"\r\n" for line, *_ in SINGLE_LINES]
DIALECTS: tuple[Dialect, ...] = ("tuber", "beanstalkd")
HONEST = [
    b"put 5 0 1 3\r\nabc\r\n", b"put 0 1 2 0 idp:k:9 con:c\r\n\r\n",
    b"put 9 0 9 1 grp:g\r\nx\r\n", b"put 9 0 9 1 aft:g con:c:2\r\nx\r\n",
    b"reserve-with-timeout 0\r\n", b"reserve-with-timeout 3\r\n", b"reserve-batch 5\r\n",
    b"reserve-job 2\r\n", b"delete 1\r\n", b"delete 2\r\ndelete 3\r\n", b"delete-batch 1 2 3 4\r\n",
    b"release 1 2 1\r\n", b"bury 1 5\r\n", b"touch 1\r\n", b"kick 9\r\n", b"kick-job 1\r\n",
    b"use a\r\n", b"watch a 3\r\n", b"ignore default\r\n", b"reserve-mode weighted\r\n",
    b"peek 1\r\n", b"peek-ready\r\n", b"peek-buried\r\n", b"stats-job 1\r\n", b"stats-tube a\r\n",
    b"pause-tube a 1\r\n", b"flush-tube a\r\n", b"list-tubes\r\n", b"stats\r\n",
]  # fmt: skip


def piece(rng: Random) -> bytes:
    """Return commands, or what is left of them."""
    data = b"".join(rng.choices(HONEST, k=rng.randint(1, 4)))
    if rng.random() < 0.3:
        data += rng.choice(ODD)
    for _ in range(rng.choice([0, 0, 0, 1, 2])):
        data = rng.choice([cut, flip, insert, repeat])(rng, data) or b"\r\n"
    return data


async def one_session(rng: Random, client: Talk) -> None:
    """Say things until we leave, or the door has had enough."""
    for _ in range(rng.randint(1, STEPS)):
        try:
            await client.say(piece(rng))
            if rng.random() < 0.5:
                await client.hear()
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            break
        if rng.random() < 0.1:
            await trio.sleep(rng.choice([0.5, 1.0, 3.0]))
    if rng.random() < 0.3:
        await client.stream.send_stream.aclose()
        await client.hear()
    await client.stream.aclose()


async def one_world(seed: int) -> None:
    """Sessions at the same time; then an honest one, and nothing is left."""
    rng = Random(seed)
    async with trio.open_nursery() as nursery:
        world = BeanstalkWorld(nursery)
        await world.node.start(nursery)
        settings = DoorSettings(BODY_BYTES_MAX, rng.choice(DIALECTS))
        async with trio.open_nursery() as sessions:
            for number in range(SESSIONS):
                client = await world.connect(settings=settings)
                sessions.start_soon(one_session, Random(seed * 1_000 + number), client)
        await trio.sleep(100.0)
        await wait_all_tasks_blocked()
        assert world.serving == 0
        assert [line for line in world.log_lines if line[0] == "error"] == []
        counts = world.door.counts
        assert (counts.connections, counts.producers, counts.workers) == (0, 0, 0)
        await leave_nothing(world)
        nursery.cancel_scope.cancel()


async def leave_nothing(world: BeanstalkWorld) -> None:
    """Take everything off the node, as a client can, and see that it is gone."""
    client = await world.connect()
    assert (await client.ask(b"put 0 0 9 2\r\nok\r\n")).startswith((b"INSERTED", b"DRAINING"))
    await client.ask(b"undrain\r\n")
    for tube in world.door.tubes():
        assert (await client.ask(b"flush-tube %b\r\n" % tube)).startswith(b"FLUSHED")
    await trio.sleep(100.0)
    totals = world.door.totals()
    assert (totals.ready, totals.reserved, totals.delayed, totals.buried) == (0, 0, 0, 0)
    assert (totals.waiting, totals.jobs_bytes, totals.drift_events) == (0, 0, 0)
    assert (totals.tubes, totals.concurrency_keys) == (1, 0)
    assert world.door.group(b"g") is None
    await client.stream.aclose()


def test_mutated_sessions(seed: int) -> None:
    """Whatever a peer sends ends at most its own connection."""
    for number in range(seed, seed + WORLDS):
        try:
            trio.run(one_world, number, clock=MockClock(autojump_threshold=0))
        except BaseException:
            print(f"replay with ETCDQ_SEED={number} ETCDQ_FUZZ=1")
            raise
