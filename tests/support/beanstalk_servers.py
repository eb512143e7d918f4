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
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
import trio
import trio.testing

from tests.support.beanstalk_peer import beanstalkd_program
from tests.support.beanstalk_wire import Inbox
from tests.support.processes import END_S, READY_S

CLOSED = b"(closed)"
ROUND = b"how are you\r\n"
"""An unknown command: the only one that no statistics count."""
BYTES_PER_TURN = 1000
ANSWER_S = 10.0

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
        connection.settimeout(ANSWER_S)
        connection.connect(str(self._path))
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
        """Make it go round as often as it may need turns, then read every connection."""
        for _ in range(self._turns + 2):
            self._rounds.sendall(ROUND)
            assert self._rounds.recv(100) == b"UNKNOWN_COMMAND\r\n"
        self._turns = 0
        for name, connection in self._sockets.items():
            inbox = self.inboxes[name]
            with suppress(BlockingIOError):
                while not inbox.closed:
                    inbox.feed(_received(connection))

    def leave(self) -> None:
        """Close everything."""
        for connection in (self._rounds, *self._sockets.values()):
            connection.close()


def _received(connection: socket.socket) -> bytes:
    try:
        return connection.recv(1 << 20, socket.MSG_DONTWAIT)
    except ConnectionResetError:
        return b""


@asynccontextmanager
async def open_beanstalkd(folder: Path) -> AsyncIterator[Beanstalkd]:
    """Run a fresh beanstalkd; its socket lies in `folder`."""
    path = folder / "beanstalkd.sock"
    process = subprocess.Popen([beanstalkd_program(), "-l", f"unix:{path}"])
    try:
        server = _first_connection(path)
        yield server
        server.leave()
    finally:
        process.kill()
        process.wait(END_S)
        path.unlink(missing_ok=True)


def _first_connection(path: Path) -> Beanstalkd:
    end_s = time.monotonic() + READY_S
    while time.monotonic() < end_s:
        try:
            return Beanstalkd(path)
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

    async def settle(self) -> None:
        """Wait until nobody has anything to do."""
        await trio.testing.wait_all_tasks_blocked()


async def _read(stream: trio.abc.ReceiveStream, inbox: Inbox) -> None:
    with suppress(trio.ClosedResourceError):
        while not inbox.closed:
            inbox.feed(bytes(await stream.receive_some()))
