"""Who is let in, who outlives whom, and how it ends; time is Trio's mock clock."""

import errno
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import trio
from trio.testing import MockClock, memory_stream_pair

from etcdq.actors.errors import CoreFault
from etcdq.actors.shell import log_nowhere
from etcdq.server.config import embedded_config
from etcdq.server.daemon import ServeStream, open_daemon, open_sessions
from etcdq.server.listen import ListenError, Listening, listen
from etcdq.server.values import ListenUrl

LOCAL = {"listen_client_urls": "http://127.0.0.1:0"}


class Door:
    """A listener whose connections, and failures, are put in by the test."""

    def __init__(self) -> None:
        self._put, self._arrived = trio.open_memory_channel[Any](100)
        self.accepts: list[float] = []
        self.closed = False
        self.socket = self

    def knock(self, what: OSError | None = None) -> trio.abc.Stream:
        """Connect, or let accept fail with an error."""
        ours, theirs = memory_stream_pair()
        self._put.send_nowait(what or theirs)
        return ours

    async def accept(self) -> Any:
        self.accepts.append(trio.current_time())
        arrived = await self._arrived.receive()
        if isinstance(arrived, OSError):
            raise arrived
        return arrived

    def close(self) -> None:
        self.closed = True

    def serving(self, serve: ServeStream) -> list[tuple[Listening, ServeStream]]:
        return [(Listening(self, ListenUrl("test", 1)), serve)]  # type: ignore[arg-type]


class Log(list[tuple[str, str]]):
    """The lines, as (level, text)."""

    def __call__(self, level: str, event: str, fields: dict[str, Any]) -> None:
        self.append((level, event))


def until(drain: trio.Event) -> Callable[[trio.abc.Stream], Awaitable[None]]:
    """Return a session that echoes until drain."""

    async def serve(stream: trio.abc.Stream) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_echo, stream)
            await drain.wait()
            await stream.send_all(b"bye")
            nursery.cancel_scope.cancel()

    return serve


async def _echo(stream: trio.abc.Stream) -> None:
    while data := await stream.receive_some(100):
        await stream.send_all(data)


async def test_drain_lets_sessions_finish(autojump_clock: MockClock) -> None:
    """At the end listeners close, then sessions say their last word; nobody waits longer."""
    door, drain, log = Door(), trio.Event(), Log()
    async with open_sessions(door.serving(until(drain)), drain, drain_timeout_s=5.0, log=log):
        stream = door.knock()
        await stream.send_all(b"hello")
        assert await stream.receive_some(100) == b"hello"
        assert not door.closed

    assert door.closed
    assert await stream.receive_some(100) == b"bye"
    assert await stream.receive_some(100) == b""
    assert trio.current_time() == 0.0
    assert log == []


async def test_drain_cuts_who_does_not_finish(autojump_clock: MockClock) -> None:
    """A session that ignores drain is cut exactly at the timeout, and that is told."""
    door, drain, log = Door(), trio.Event(), Log()
    async with open_sessions(door.serving(_echo), drain, drain_timeout_s=5.0, log=log):
        stream = door.knock()
        await trio.testing.wait_all_tasks_blocked()

    assert trio.current_time() == 5.0
    assert log == [("warn", "connections were cut: they did not end in time")]
    assert await stream.receive_some(100) == b""


async def test_a_failed_session_ends_alone(autojump_clock: MockClock) -> None:
    """What a session raises is logged and closes its connection; the others go on."""
    door, drain, log = Door(), trio.Event(), Log()

    async def serve(stream: trio.abc.Stream) -> None:
        if await stream.receive_some(100) == b"fail":
            raise RuntimeError("a bug")
        await until(drain)(stream)

    async with open_sessions(door.serving(serve), drain, drain_timeout_s=5.0, log=log):
        good, bad = door.knock(), door.knock()
        await good.send_all(b"x")
        await bad.send_all(b"fail")
        assert await bad.receive_some(100) == b""
        await good.send_all(b"still here")
        assert await good.receive_some(100) == b"still here"

    assert log == [("error", "a session failed, its connection is closed")]


async def test_accept_backs_off(autojump_clock: MockClock) -> None:
    """Out of descriptors: tried again every 0.1 s, told once, and served when there are some."""
    door, drain, log = Door(), trio.Event(), Log()
    async with open_sessions(door.serving(until(drain)), drain, drain_timeout_s=5.0, log=log):
        for _ in range(3):
            door.knock(OSError(errno.EMFILE, "Too many open files"))
        stream = door.knock()
        await stream.send_all(b"hello")
        assert await stream.receive_some(100) == b"hello"
        door.knock(OSError(errno.ECONNABORTED, "aborted"))
        await trio.sleep(1.0)

    assert door.accepts[:5] == pytest.approx([0.0, 0.1, 0.2, 0.3, 0.3])
    assert log == [("error", "cannot accept connections, trying again")] * 2


async def test_connections_are_bounded(autojump_clock: MockClock) -> None:
    """Beyond the limit nobody is let in until a connection ends."""
    door, drain, log = Door(), trio.Event(), Log()
    async with open_sessions(
        door.serving(until(drain)), drain, drain_timeout_s=5.0, log=log, connections_max=2
    ):
        first, _second, third = door.knock(), door.knock(), door.knock()
        await third.send_all(b"let me in")
        with trio.move_on_after(60.0) as waited:
            await third.receive_some(100)
        assert waited.cancelled_caught
        assert log == [("warn", "no more connections are let in until one ends")]
        drain.set()
        assert await first.receive_some(100) == b"bye"
        assert await third.receive_some(100) != b""


async def test_a_fault_leaves_as_itself(autojump_clock: MockClock) -> None:
    """A core that fails takes the node down with one error that names queue and message."""

    async def run() -> None:
        async with open_daemon(embedded_config(LOCAL), log=log_nowhere) as daemon:
            daemon.node.queue(b"jobs").post("nonsense")
            await trio.sleep_forever()

    with pytest.raises(CoreFault) as caught:
        await run()

    assert caught.value.key == b"jobs"
    assert caught.value.message == "nonsense"


async def test_node_outlives_who_uses_it(autojump_clock: MockClock) -> None:
    """Cancelled from outside, the block ends first and the node's shells after it."""
    ended: list[str] = []

    async def shell() -> None:
        try:
            await trio.sleep_forever()
        finally:
            ended.append("shell")

    with trio.move_on_after(1.0):
        async with open_daemon(embedded_config(LOCAL), log=log_nowhere) as daemon:
            daemon.nursery.start_soon(shell)
            try:
                await trio.sleep_forever()
            finally:
                with trio.CancelScope(shield=True):
                    await trio.sleep(1.0)
                ended.append("block")

    assert ended == ["block", "shell"]


async def test_the_port_is_free_afterwards(autojump_clock: MockClock) -> None:
    """A node listens while its block runs and never longer."""
    async with open_daemon(embedded_config(LOCAL), log=log_nowhere) as daemon:
        port = int(daemon.urls[0].rpartition(":")[2])
        with pytest.raises(ListenError, match="the port is in use"):
            await listen([ListenUrl("127.0.0.1", port)])
        stream = await trio.open_tcp_stream("127.0.0.1", port)

    with pytest.raises(OSError, match="connect"):
        await trio.open_tcp_stream("127.0.0.1", port)
    await stream.aclose()


async def test_no_address_no_node() -> None:
    """What cannot be bound is told as it is, before anything runs."""
    config = embedded_config({"listen_client_urls": "unix:///does/not/exist"})

    with pytest.raises(ListenError, match="unix:///does/not/exist"):
        async with open_daemon(config, log=log_nowhere):
            raise AssertionError("it runs")
