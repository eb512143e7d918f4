"""The two kinds of stream under a session: a socket, written and read with as few system calls as
can be, and any other Trio stream. Every door uses them.

Trio shell. What the world does to a stream comes out as Trio's BrokenResourceError.
"""

import os
from collections.abc import Callable
from typing import Protocol

import trio

from etcdq.actors import limits
from etcdq.actors.turns import Seat
from etcdq.server.readers import Readers


class ByteStream(Protocol):
    """Bytes in, bytes out; `write_now` never waits."""

    async def read(self, seat: Seat, after: Callable[[], bool]) -> bool:
        """Take turns with what comes; as `Readers.read`."""
        ...

    def write_now(self, data: bytes) -> int:
        """Write what can be written without waiting; return how many bytes that was."""
        ...

    async def write_some(self, data: bytes) -> int:
        """Wait until at least one byte can be written; return how many were."""
        ...


class SocketByteStream:
    """A TCP or UNIX socket: the peer sees our bytes as soon as the kernel has room for them."""

    def __init__(self, stream: trio.SocketStream, readers: Readers) -> None:
        self._socket = stream.socket
        self._fileno = stream.socket.fileno()
        self._readers = readers

    async def read(self, seat: Seat, after: Callable[[], bool]) -> bool:
        """Lend the socket to the task that reads all of them."""
        return await self._readers.read(self._socket, seat, after)

    def write_now(self, data: bytes) -> int:
        """Write as much as the kernel takes."""
        try:
            return os.write(self._fileno, data)
        except BlockingIOError:
            return 0
        except OSError as error:
            raise trio.BrokenResourceError from error

    async def write_some(self, data: bytes) -> int:
        """Wait for room in the kernel."""
        try:
            return await self._socket.send(data)
        except OSError as error:
            raise trio.BrokenResourceError from error


class TrioByteStream:
    """Any other stream: nothing is known to be written before `send_all` has returned."""

    def __init__(self, stream: trio.abc.Stream, readers: Readers) -> None:
        self._stream = stream
        self._turns = readers.turns

    async def read(self, seat: Seat, after: Callable[[], bool]) -> bool:
        """Read in the session's own task."""
        while True:
            data = await self._stream.receive_some(limits.RECEIVE_BYTES)
            self._turns.take([(seat, bytes(data))])
            if not data:
                return False
            if not after():
                return True

    def write_now(self, data: bytes) -> int:
        """Nothing: a Trio stream has no such call."""
        return 0

    async def write_some(self, data: bytes) -> int:
        """Write all of it."""
        await self._stream.send_all(data)
        return len(data)


def byte_stream_of(stream: trio.abc.Stream, readers: Readers) -> ByteStream:
    """Return what a session needs of `stream`."""
    if isinstance(stream, trio.SocketStream):
        return SocketByteStream(stream, readers)
    return TrioByteStream(stream, readers)


def peer_of(stream: trio.abc.Stream) -> str:
    """Name the other end for people: host:port, or unix."""
    if not isinstance(stream, trio.SocketStream):
        return "memory"
    try:
        address = stream.socket.getpeername()
    except OSError:
        return "gone"  # reset before it was let in, as port scans do
    if isinstance(address, tuple):
        return f"{address[0]}:{address[1]}"
    return "unix"
