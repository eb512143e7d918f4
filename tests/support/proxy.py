"""A TCP proxy that misbehaves on demand: cuts its connections, refuses new ones, passes nothing."""

import random
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import trio
import trio.testing

import etcdq


class Proxy:
    """Stands before one server. `port` stays the same, whether it listens or not."""

    def __init__(self, nursery: trio.Nursery, target: str) -> None:
        host, _, port = target.removeprefix("http://").partition(":")
        self._target = host, int(port)
        self._nursery = nursery
        self._streams: dict[int, tuple[trio.SocketStream, trio.SocketStream]] = {}
        self._listening: trio.CancelScope | None = None
        self._gates: dict[int, trio.Event] = {}
        self.port = 0
        self.connections = 0
        self.passed_bytes = 0
        """Both ways."""

    @property
    def endpoint(self) -> str:
        """Where clients connect."""
        return f"127.0.0.1:{self.port}"

    async def listen(self) -> None:
        """Take connections (again)."""
        listeners = await trio.open_tcp_listeners(self.port, host="127.0.0.1")
        self.port = listeners[0].socket.getsockname()[1]
        self._listening = trio.CancelScope()

        async def serve(scope: trio.CancelScope) -> None:
            with scope:
                await trio.serve_listeners(self._pass, listeners, handler_nursery=self._nursery)

        self._nursery.start_soon(serve, self._listening)

    async def refuse(self) -> None:
        """Take no more connections, and cut those that are there."""
        assert self._listening is not None
        self._listening.cancel()
        await trio.testing.wait_all_tasks_blocked()
        await self.cut()

    async def cut(self, *, reset: bool = False, only_held: bool = False) -> None:
        """Cut every connection; with a reset, as by a router that has forgotten it.

        Args:
            reset: let both sides hear a reset, not an end.
            only_held: leave those that are newer than the last `hold`.
        """
        numbers = [n for n, gate in self._gates.items() if not (only_held and gate.is_set())]
        streams = [stream for number in numbers for stream in self._streams[number]]
        if reset:
            for stream in streams:
                if stream.socket.fileno() == -1:
                    continue  # its other side was quicker
                stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        for stream in streams:
            await trio.aclose_forcefully(stream)
        for number in numbers:
            if number in self._gates:  # else it has ended meanwhile
                self._gates[number].set()

    def hold(self) -> None:
        """Pass nothing more over the connections that are there, no end either, until the cut."""
        self._gates = {number: trio.Event() for number in self._gates}

    async def _pass(self, client: trio.SocketStream) -> None:
        self.connections += 1
        number = self.connections
        try:
            server = await trio.open_tcp_stream(*self._target)
        except OSError:
            await trio.aclose_forcefully(client)
            return
        self._streams[number] = client, server
        self._gates[number] = trio.Event()
        self._gates[number].set()
        with client.socket, server.socket:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._pump, number, client, server, True)
                nursery.start_soon(self._pump, number, server, client, False)
        del self._streams[number], self._gates[number]

    async def look(self, number: int, data: bytes, *, to_server: bool) -> None:
        """Be shown what is about to be passed on; it is passed on when this returns.

        Args:
            number: of the connection, from 1.
            data: what came.
            to_server: whether a client sent it.
        """

    async def _pump(
        self,
        number: int,
        source: trio.SocketStream,
        sink: trio.SocketStream,
        to_server: bool,
    ) -> None:
        try:
            async for data in source:
                await self.look(number, bytes(data), to_server=to_server)
                await self._gates[number].wait()
                self.passed_bytes += len(data)
                await sink.send_all(data)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            pass
        await self._gates[number].wait()
        await trio.aclose_forcefully(source)
        await trio.aclose_forcefully(sink)


@asynccontextmanager
async def open_proxy(target: str) -> AsyncIterator[Proxy]:
    """Open a proxy that listens; close it with everything it passes."""
    async with trio.open_nursery() as nursery:
        proxy = Proxy(nursery, target)
        await proxy.listen()
        yield proxy
        nursery.cancel_scope.cancel()


@asynccontextmanager
async def behind_proxy() -> AsyncIterator[tuple[Proxy, etcdq.Client, etcdq.Client]]:
    """A node, a client behind a proxy, and one that goes to the node directly."""
    async with (
        etcdq.open_node() as node,
        open_proxy(node.endpoint) as proxy,
        etcdq.connect(proxy.endpoint, rng=random.Random(1)) as client,
        etcdq.connect(node.endpoint) as direct,
    ):
        yield proxy, client, direct
