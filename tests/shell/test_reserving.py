"""Jobs gathered by one call, whose caller goes away at any moment: none stays held for nobody."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
import trio
from trio.testing import (
    MockClock,
    lockstep_stream_pair,
    memory_stream_pair,
    wait_all_tasks_blocked,
)

from etcdq import beanstalk
from etcdq.beanstalk import Client, Job
from etcdq.beanstalk.connection import open_connection
from etcdq.endpoint import Endpoint

RESERVE = b"reserve-with-timeout 9\r\n"
BATCH = b"reserve-batch 2\r\n"
JOB_1 = b"RESERVED 1 1\r\na\r\n"
JOBS_2_3 = b"RESERVED_BATCH 2\r\nRESERVED 2 1\r\nb\r\nRESERVED 3 1\r\nc\r\n"
JOBS = (Job(1, b"a"), Job(2, b"b"), Job(3, b"c"))


class Server:
    """The other end of the stream."""

    def __init__(self, stream: trio.abc.Stream) -> None:
        self._stream = stream

    async def hear(self, command: bytes) -> None:
        """Expect exactly this."""
        with trio.fail_after(1):
            assert bytes(await self._stream.receive_some(1_000)) == command

    async def say(self, reply: bytes) -> None:
        """Say that, and let it be read."""
        await self._stream.send_all(reply)
        await wait_all_tasks_blocked()

    async def answer(self, command: bytes, reply: bytes) -> None:
        """Expect exactly this, and say that."""
        await self.hear(command)
        await self.say(reply)


@asynccontextmanager
async def open_pair(
    pair: Callable[[], tuple[trio.abc.Stream, trio.abc.Stream]] = memory_stream_pair,
) -> AsyncIterator[tuple[Client, Server]]:
    """Give a client and the other end."""
    ours, theirs = pair()
    async with open_connection(ours, Endpoint("here", 11300)) as connection:
        yield Client(connection), Server(theirs)


async def reserve(client: Client, found: list[Job], scope: trio.CancelScope) -> None:
    """Reserve up to three jobs, unless cancelled."""
    with scope:
        found += await client.reserve_up_to(3, 9)


async def test_a_batch(autojump_clock: MockClock) -> None:
    """One job is waited for, the others come by one more command."""
    found: list[Job] = []
    async with open_pair() as (client, server), trio.open_nursery() as nursery:
        nursery.start_soon(reserve, client, found, trio.CancelScope())
        await server.answer(RESERVE, JOB_1)
        await server.answer(BATCH, JOBS_2_3)
    assert tuple(found) == JOBS


async def test_nothing_came(autojump_clock: MockClock) -> None:
    """It is told as by `reserve`, and nothing more is asked."""
    async with open_pair() as (client, server), trio.open_nursery() as nursery:
        nursery.start_soon(server.answer, RESERVE, b"TIMED_OUT\r\n")
        with pytest.raises(beanstalk.TimedOutError):
            await client.reserve_up_to(3, 9)


async def test_no_other_reserve_in_between(autojump_clock: MockClock) -> None:
    """One that waits for ever would hold up the batch, and the job that is held already."""
    found: list[Job] = []
    async with open_pair() as (client, server), trio.open_nursery() as nursery:
        nursery.start_soon(reserve, client, found, trio.CancelScope())
        await wait_all_tasks_blocked()
        nursery.start_soon(client.reserve)
        await server.answer(RESERVE, JOB_1)
        await server.answer(BATCH, JOBS_2_3)
        await server.answer(b"reserve\r\n", JOB_1)


async def test_cancelled_while_the_batch_is_due(autojump_clock: MockClock) -> None:
    """What came before and what comes late go back, before the next reserve is sent."""
    scope, found = trio.CancelScope(), list[Job]()
    async with open_pair() as (client, server), trio.open_nursery() as nursery:
        nursery.start_soon(reserve, client, found, scope)
        await server.answer(RESERVE, JOB_1)
        scope.cancel()
        await wait_all_tasks_blocked()
        nursery.start_soon(client.reserve)
        await server.answer(BATCH, JOBS_2_3)
        await server.answer(
            b"stats-job 1\r\nstats-job 2\r\nstats-job 3\r\n", b"OK 11\r\n---\npri: 7\n\r\n" * 3
        )
        await server.answer(
            b"release 1 7 0\r\nrelease 2 7 0\r\nrelease 3 7 0\r\n", b"RELEASED\r\n" * 3
        )
        await server.answer(b"reserve\r\n", JOB_1)
    assert found == []


async def test_cancelled_before_the_batch_was_sent(autojump_clock: MockClock) -> None:
    """The job that came goes back, and no batch is asked for."""
    scope, found = trio.CancelScope(), list[Job]()
    async with open_pair(lockstep_stream_pair) as (client, server), trio.open_nursery() as nursery:
        nursery.start_soon(reserve, client, found, scope)
        await server.hear(RESERVE)
        nursery.start_soon(client.list_tubes)  # whose command the server does not read yet
        await wait_all_tasks_blocked()
        await server.say(JOB_1)
        scope.cancel()
        await wait_all_tasks_blocked()
        await server.hear(b"list-tubes\r\n")
        await server.answer(b"stats-job 1\r\n", b"OK 4\r\n---\n\r\nOK 11\r\n---\npri: 7\n\r\n")
        await server.answer(b"release 1 7 0\r\n", b"RELEASED\r\n")
    assert found == []
