"""`etcdq work` against a server that says what the test wants, on the mock clock."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import pytest
import trio
from trio.testing import MockClock

from etcdq import beanstalk
from etcdq.cli.beanstalk import ANSWER_S
from etcdq.cli.work import RESERVE_S, Crew
from etcdq.errors import DeadlineExceededError

WATCH = {b"watch t": b"WATCHING 2", b"ignore default": b"WATCHING 1"}
RESERVE = b"reserve-with-timeout %d" % RESERVE_S


@asynccontextmanager
async def scripted(*script: tuple[bytes, bytes | None]) -> AsyncIterator[str]:
    """Serve one connection: expect each command, give its reply, close at its end or at None."""

    async def play(stream: trio.SocketStream) -> None:
        async with stream:
            for command, reply in script:
                assert await stream.receive_some() == command + b"\r\n"
                if reply is not None:
                    await stream.send_all(reply + b"\r\n")

    async with trio.open_nursery() as nursery:
        listeners = await nursery.start(partial(trio.serve_tcp, play, 0, host="127.0.0.1"))
        yield f"127.0.0.1:{listeners[0].socket.getsockname()[1]}"
        nursery.cancel_scope.cancel()


async def test_job_that_is_gone_before_it_runs() -> None:
    """A job that was flushed the moment it was reserved is no reason to stop."""
    script = (
        *WATCH.items(),
        (RESERVE, b"RESERVED 5 4\r\nfail"),
        (b"stats-job 5", b"NOT_FOUND"),
        (RESERVE, b"TIMED_OUT"),
        (RESERVE, None),
    )
    async with scripted(*script) as address:
        with pytest.raises(beanstalk.ConnectionLostError, match="the server closed it"):
            await Crew(address, "t", tries=5).work(1)


async def test_silent_server(autojump_clock: MockClock) -> None:
    """A server that vanished without a word is noticed soon after the reserve was due."""

    async def swallow(stream: trio.SocketStream) -> None:
        assert await stream.receive_some() == b"watch default\r\n"
        await stream.send_all(b"WATCHING 1\r\n")
        async for _ in stream:
            pass

    async with trio.open_nursery() as nursery:
        listeners = await nursery.start(partial(trio.serve_tcp, swallow, 0, host="127.0.0.1"))
        address = f"127.0.0.1:{listeners[0].socket.getsockname()[1]}"
        began_s = trio.current_time()
        with pytest.raises(DeadlineExceededError, match=f"no answer from {address}"):
            await Crew(address, "default", tries=5).work(1)
        waited_s = trio.current_time() - began_s
        nursery.cancel_scope.cancel()

    assert waited_s == pytest.approx(RESERVE_S + ANSWER_S, abs=1)
