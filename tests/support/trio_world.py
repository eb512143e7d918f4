"""The worlds under Trio's autojump clock: memory streams, and a node that listens."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import trio
import trio.testing

from etcdq.server.config import embedded_config
from etcdq.server.daemon import open_daemon
from etcdq.server.etcd.session import Session
from etcdq.server.etcd.shell import serve_connection
from etcdq.server.node import Node
from tests.support.etcd_client import Client
from tests.support.etcd_peer import Peer
from tests.support.world import LIMIT_S, Link, World


class TrioLink(Link):
    """A client over a stream: one task reads, one writes."""

    def __init__(self, world: "TrioWorld", stream: trio.abc.Stream, peer: Peer) -> None:
        self.peer = peer
        self._world = world
        self._stream = stream
        self._kick = trio.Event()
        self._taking = trio.Event()
        self._taking.set()
        self._receiving = trio.CancelScope()
        self._scope = trio.CancelScope()

    def flush(self) -> None:
        """Wake the writer."""
        self._kick.set()

    def cut(self) -> None:
        """End both tasks; the stream is closed on the way out."""
        self._scope.cancel()

    def stop_taking(self) -> None:
        """Read no more, from now on."""
        self._taking = trio.Event()
        self._receiving.cancel()

    def take_on(self) -> None:
        """Read again."""
        self._taking.set()

    async def run(self) -> None:
        """Carry bytes until either side closes."""
        try:
            with self._scope:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(self._write)
                    await self._read()
                    nursery.cancel_scope.cancel()
        finally:
            await trio.aclose_forcefully(self._stream)

    async def _read(self) -> None:
        while True:
            await self._taking.wait()
            with trio.CancelScope() as self._receiving:
                data = await self._receive(65_536)
            if not self._receiving.cancelled_caught and not data:
                return

    async def take_some(self, size: int) -> None:
        """Read once, although it takes nothing any more."""
        assert not self._taking.is_set()
        await self._receive(size)

    async def _receive(self, size: int) -> bytes:
        try:
            data = bytes(await self._stream.receive_some(size))
        except trio.BrokenResourceError:
            data = b""
        self.peer.feed(data)
        self._world.stir()
        self.flush()
        return data

    async def _write(self) -> None:
        while True:
            self._kick = trio.Event()
            data = self.peer.take()
            if data:
                try:
                    await self._stream.send_all(data)
                except (trio.BrokenResourceError, trio.ClosedResourceError):
                    return
            else:
                await self._kick.wait()


class TrioWorld(World):
    """A node and its clients as Trio tasks; a way to open a stream is given."""

    def __init__(
        self, kind: str, nursery: trio.Nursery, open_stream: Callable[[], Awaitable[Any]]
    ) -> None:
        super().__init__()
        self.kind = kind
        self.nursery = nursery
        self.drain = trio.Event()
        self.serving = 0
        """Sessions that run, in the memory world."""
        self._open_stream = open_stream
        self._stirred = trio.Event()

    @property
    def now_s(self) -> float:
        """What the clock says."""
        return trio.current_time()

    @property
    def sessions(self) -> list[Session]:
        """They are out of reach."""
        return []

    async def connect(self, **peer: Any) -> Client:
        """Open a connection."""
        return await self.connect_over(await self._open_stream(), **peer)

    async def connect_over(self, stream: trio.abc.Stream, **peer: Any) -> Client:
        """Be the client on a stream."""
        link = TrioLink(self, stream, Peer(**peer))
        self.nursery.start_soon(link.run)
        await self.settle()
        return Client(self, link)

    async def settle(self) -> None:
        """Wait until every task waits for something outside, or for time."""
        await trio.testing.wait_all_tasks_blocked()

    async def wait(self, seconds: float) -> None:
        """Sleep, and let what is due then happen."""
        await self.settle()
        await trio.sleep(seconds)
        await self.settle()

    async def until(self, predicate: Callable[[], Any]) -> None:
        """Look at every arrival."""
        with trio.fail_after(LIMIT_S):
            await self.settle()
            while not predicate():
                self._stirred = trio.Event()
                await self._stirred.wait()
                await self.settle()

    def stir(self) -> None:
        """Something arrived at a client."""
        self._stirred.set()


@asynccontextmanager
async def memory_world(
    settings: dict[str, Any],
    pair: Callable[[], tuple[Any, Any]] = trio.testing.memory_stream_pair,
) -> AsyncIterator[TrioWorld]:
    """A node whose sessions run over memory streams; `world.drain` makes them end."""
    async with trio.open_nursery() as nursery:

        async def open_stream() -> trio.abc.Stream:
            ours, theirs = pair()
            nursery.start_soon(serve, theirs)
            return ours

        async def serve(stream: trio.abc.Stream) -> None:
            world.serving += 1
            await serve_connection(stream, world.node.door, drain=world.drain, log=world.log)
            world.serving -= 1

        world = TrioWorld("memory", nursery, open_stream)
        world.node = Node(embedded_config(settings), ["http://memory"], log=world.log)
        await world.node.start(nursery)
        yield world
        nursery.cancel_scope.cancel()


def lockstep_world(settings: dict[str, Any]) -> AbstractAsyncContextManager[TrioWorld]:
    """The same over streams on which a write ends only when it was read."""
    return memory_world(settings, trio.testing.lockstep_stream_pair)


@asynccontextmanager
async def tcp_world(settings: dict[str, Any]) -> AsyncIterator[TrioWorld]:
    """A node that listens on a port of its own."""
    lines: list[tuple[str, str, dict[str, Any]]] = []

    def log(level: str, event: str, fields: dict[str, Any]) -> None:
        lines.append((level, event, fields))

    config = embedded_config({"listen_client_urls": "http://127.0.0.1:0", **settings})
    async with open_daemon(config, log=log) as daemon, trio.open_nursery() as nursery:
        port = int(daemon.urls[0].rpartition(":")[2])

        async def open_stream() -> trio.abc.Stream:
            return await trio.open_tcp_stream("127.0.0.1", port)

        world = TrioWorld("tcp", nursery, open_stream)
        world.kernel_pauses_max = 5_000
        world.log_lines = lines
        world.node = daemon.node
        yield world
        nursery.cancel_scope.cancel()
