"""A node whose beanstalk sessions run over memory streams, under the autojump clock."""

import inspect
from collections.abc import Callable, Coroutine
from dataclasses import replace
from functools import wraps
from typing import Any

import trio
from trio.testing import (
    MockClock,
    lockstep_stream_pair,
    memory_stream_pair,
    wait_all_tasks_blocked,
)

from etcdq.server.beanstalk.shell import serve_connection
from etcdq.server.config import embedded_config
from etcdq.server.node import Node


class Talk:
    """A client over a stream: what it says, and what it hears."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    async def say(self, data: bytes) -> None:
        """Send."""
        await self.stream.send_all(data)

    async def hear(self) -> bytes:
        """Return all that has come when everybody waits; b"" if that is nothing, or the end."""
        pieces = []

        async def receive() -> None:
            while data := await self.stream.receive_some(1 << 24):
                pieces.append(data)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(receive)
            await wait_all_tasks_blocked()
            nursery.cancel_scope.cancel()
        return b"".join(pieces)

    async def ask(self, data: bytes) -> bytes:
        """Send, and return what comes of it."""
        await self.say(data)
        return await self.hear()

    async def end(self) -> bytes:
        """Return all that still comes until the other side closes."""
        pieces = []
        while data := await self.stream.receive_some(1 << 24):
            pieces.append(data)
        return b"".join(pieces)


class BeanstalkWorld:
    """A node whose beanstalk sessions run over memory streams."""

    def __init__(self, nursery: trio.Nursery, **settings: Any) -> None:
        self.nursery = nursery
        self.drain = trio.Event()
        self.log_lines: list[tuple[str, str, dict[str, Any]]] = []
        self.node = Node(embedded_config(settings), ["http://memory"], log=self.log)
        self.door = self.node.beanstalk
        self.serving = 0

    def log(self, level: str, event: str, fields: dict[str, Any]) -> None:
        """Keep a line."""
        self.log_lines.append((level, event, fields))

    async def connect(self, *, lockstep: bool = False, **changes: Any) -> Talk:
        """Open a connection; `changes` are made to its door."""
        ours, theirs = lockstep_stream_pair() if lockstep else memory_stream_pair()
        self.nursery.start_soon(self._serve, theirs, replace(self.door, **changes))
        await wait_all_tasks_blocked()
        return Talk(ours)

    async def _serve(self, stream: trio.abc.Stream, door: Any) -> None:
        self.serving += 1
        await serve_connection(stream, door, drain=self.drain, log=self.log)
        self.serving -= 1


Script = Callable[..., Coroutine[Any, Any, None]]


def with_a_node(function: Script) -> Any:
    """Make a test of an async function whose first argument is a `BeanstalkWorld`."""
    return _test_of(function, lambda: MockClock(autojump_threshold=0))


def with_a_node_and_threads(function: Script) -> Any:
    """As `with_a_node`, in real time: a mock clock does not wait for a thread."""
    return _test_of(function, lambda: None)


def _test_of(function: Script, clock: Callable[[], MockClock | None]) -> Any:
    @wraps(function)
    def test(**arguments: Any) -> None:
        trio.run(_run, function, arguments, clock=clock())

    others = list(inspect.signature(function).parameters.values())[1:]
    test.__signature__ = inspect.Signature(others)  # type: ignore[attr-defined]
    return test


async def _run(function: Script, arguments: dict[str, Any]) -> None:
    failure: Exception | None = None
    async with trio.open_nursery() as nursery:
        world = BeanstalkWorld(nursery)
        await world.node.start(nursery)
        try:
            await function(world, **arguments)
        except Exception as error:  # told outside of the nursery, which would wrap it
            failure = error
        nursery.cancel_scope.cancel()
    if failure is not None:
        raise failure
