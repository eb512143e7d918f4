"""The servers that a random session is played on: a real beanstalkd, and our node in this process.

`heard` returns what a server has said once it has done everything that it was asked. A beanstalkd
is asked over a unix socket, which hands bytes over at once, and takes its connections in turn: by
the time it has answered as many rounds of another connection as it may need turns, it is done. Our
node is done when every task of this process waits.
"""

import socket
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from pathlib import Path
from struct import pack
from typing import Any

import pytest
import trio
import trio.testing

from etcdq.server.beanstalk.shell import serve_connection
from etcdq.server.config import embedded_config
from etcdq.server.node import Node
from tests.support.beanstalk_peer import beanstalkd_program
from tests.support.beanstalk_wire import Inbox
from tests.support.processes import END_S, READY_S

CLOSED = b"(closed)"
ROUND = b"how are you\r\n"
"""An unknown command: the only one that no statistics count."""
ANSWER = b"UNKNOWN_COMMAND\r\n"
BYTES_PER_TURN = 1000
ANSWER_S = 10

Heard = dict[str, list[bytes]]
"""New replies by the name of the connection; the last may be `CLOSED`."""


class Server(ABC):
    """One server and the named connections to it."""

    def __init__(self) -> None:
        self.inboxes: dict[str, Inbox] = {}

    @abstractmethod
    async def connect(self, name: str) -> None:
        """Open a connection."""

    @abstractmethod
    async def send(self, name: str, data: bytes) -> None:
        """Send bytes, or as many as it takes until it closes."""

    @abstractmethod
    async def half_close(self, name: str) -> None:
        """Say that nothing more is sent."""

    @abstractmethod
    async def close(self, name: str) -> None:
        """Leave without a word."""

    @abstractmethod
    async def settle(self) -> None:
        """Wait until it has done all it was asked, and put what it says into the inboxes."""

    @abstractmethod
    async def nudge(self, names: list[str]) -> None:
        """Give a server that may have slept over something a reason to look; say nothing of it."""

    async def heard(self) -> Heard:
        """Return what it has said since the last time."""
        await self.settle()
        said: Heard = {}
        for name, inbox in self.inboxes.items():
            replies = list(iter(inbox.take_reply, None))
            if inbox.closed:
                replies += [inbox.unread, CLOSED] if inbox.unread else [CLOSED]
            if replies:
                said[name] = replies
        for name in [name for name, inbox in self.inboxes.items() if inbox.closed]:
            await self.close(name)
        return said


class Beanstalkd(Server):
    """A real beanstalkd that listens on a unix socket."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self._sockets: dict[str, socket.socket] = {}
        self._rounds = self._open()
        self._turns = 0

    def _open(self) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX)
        for option in (socket.SO_SNDTIMEO, socket.SO_RCVTIMEO):
            connection.setsockopt(socket.SOL_SOCKET, option, pack("ll", ANSWER_S, 0))
        try:
            connection.connect(str(self._path))
        except OSError:
            connection.close()
            raise
        return connection

    async def connect(self, name: str) -> None:
        """Open a connection."""
        self._sockets[name] = self._open()
        self.inboxes[name] = Inbox()
        self._turns += 1

    async def send(self, name: str, data: bytes) -> None:
        """Send bytes; each line may take a turn, and each part of a body that is thrown away."""
        self._turns += 1 + data.count(b"\n") + len(data) // BYTES_PER_TURN
        with suppress(BrokenPipeError, ConnectionResetError):
            self._sockets[name].sendall(data)

    async def half_close(self, name: str) -> None:
        """Shut the sending side down."""
        self._turns += 2
        with suppress(OSError):
            self._sockets[name].shutdown(socket.SHUT_WR)

    async def close(self, name: str) -> None:
        """Close the socket."""
        self._turns += 2
        self._sockets.pop(name).close()
        del self.inboxes[name]

    async def settle(self) -> None:
        """Make it go round as often as it may need turns, and again while it has more to say."""
        more = True
        while more:
            self._go_round(self._turns + 2)
            more = sum(self._read(name) for name in self._sockets) > 0
        self._turns = 0

    def _go_round(self, count: int) -> None:
        self._rounds.sendall(ROUND * count)
        missing = count * len(ANSWER)
        while missing:
            answer = self._rounds.recv(missing)
            assert answer, "beanstalkd is gone"
            missing -= len(answer)

    def _read(self, name: str) -> bool:
        inbox, connection = self.inboxes[name], self._sockets[name]
        has_read = False
        with suppress(BlockingIOError):
            while not inbox.closed:
                inbox.feed(_received(connection))
                has_read = True
        return has_read

    async def nudge(self, names: list[str]) -> None:
        """Speak on connections, for a beanstalkd 1.12 may lose a reservation's end.

        It looks at a connection when its first deadline is there, and forgets the connection until
        it speaks if the clock then shows that very microsecond: about every fifth time.
        """
        for name in names:
            await self.send(name, ROUND)
        await self.settle()
        for name in names:
            assert self.inboxes[name].take_reply() == ANSWER

    def leave(self) -> None:
        """Close every connection."""
        for connection in (self._rounds, *self._sockets.values()):
            connection.close()


def _received(connection: socket.socket) -> bytes:
    try:
        return connection.recv(1 << 20, socket.MSG_DONTWAIT)
    except ConnectionResetError:
        return b""


@contextmanager
def open_beanstalkd(
    folder: Path, kind: type[Beanstalkd] = Beanstalkd, flags: Sequence[str] = ()
) -> Iterator[Beanstalkd]:
    """Run a fresh beanstalkd; its socket lies in `folder`."""
    path = folder / "beanstalkd.sock"
    command = [beanstalkd_program(), "-l", f"unix:{path}", *flags]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        server = _first_connection(path, kind)
        try:
            yield server
        finally:
            server.leave()
    finally:
        process.kill()
        process.wait(END_S)
        path.unlink(missing_ok=True)


def _first_connection(path: Path, kind: type[Beanstalkd]) -> Beanstalkd:
    end_s = time.monotonic() + READY_S
    while time.monotonic() < end_s:
        try:
            return kind(path)
        except (FileNotFoundError, ConnectionRefusedError):
            time.sleep(0.001)
    pytest.fail("beanstalkd did not start")


class InProcess(Server):
    """Our node over memory streams."""

    def __init__(
        self, nursery: trio.Nursery, open_stream: Callable[[], trio.abc.HalfCloseableStream]
    ) -> None:
        super().__init__()
        self._nursery = nursery
        self._open_stream = open_stream
        self._streams: dict[str, trio.abc.HalfCloseableStream] = {}

    async def connect(self, name: str) -> None:
        """Open a stream, and read it from now on."""
        stream = self._streams[name] = self._open_stream()
        inbox = self.inboxes[name] = Inbox()
        self._nursery.start_soon(_read, stream, inbox)
        await trio.testing.wait_all_tasks_blocked()

    async def send(self, name: str, data: bytes) -> None:
        """Send bytes."""
        with suppress(trio.BrokenResourceError):
            await self._streams[name].send_all(data)

    async def half_close(self, name: str) -> None:
        """End the sending side."""
        await self._streams[name].send_eof()

    async def close(self, name: str) -> None:
        """Close both sides."""
        del self.inboxes[name]
        await trio.aclose_forcefully(self._streams.pop(name))

    async def nudge(self, names: list[str]) -> None:
        """Do nothing: what is due comes by itself."""

    async def settle(self) -> None:
        """Wait until nobody has anything to do."""
        await trio.testing.wait_all_tasks_blocked()


async def _read(stream: trio.abc.ReceiveStream, inbox: Inbox) -> None:
    with suppress(trio.ClosedResourceError):
        while not inbox.closed:
            inbox.feed(bytes(await stream.receive_some()))


@asynccontextmanager
async def open_node(**settings: Any) -> AsyncIterator[InProcess]:
    """Run a fresh node of ours whose beanstalk door is reached over memory streams."""
    async with trio.open_nursery() as nursery:
        node = Node(embedded_config(settings), ["http://memory"], log=_fail_on_errors)
        await node.start(nursery)

        def open_stream() -> trio.abc.HalfCloseableStream:
            ours, theirs = trio.testing.memory_stream_pair()
            serve = partial(serve_connection, drain=trio.Event(), log=_fail_on_errors)
            nursery.start_soon(serve, theirs, node.beanstalk)
            return ours

        open_stream()  # a beanstalkd is asked how it is on one more connection: here is its match
        yield InProcess(nursery, open_stream)
        nursery.cancel_scope.cancel()


def _fail_on_errors(level: str, event: str, fields: dict[str, Any]) -> None:
    assert level != "error", f"{event}: {fields}"
