"""The two kinds of stream under a session: a socket, written and read with as few system calls as
can be, and any other Trio stream. Every door uses them.

A peer that asks one thing at a time, and the next as soon as it is answered, is soon back: to sleep
and be woken would take longer than its answer. So where nobody else is busy its socket is looked at
a few more times before we sleep (ADR 0008).

Trio shell. What the world does to a stream comes out as Trio's BrokenResourceError.
"""

import os
import time
from typing import Protocol

import trio

from etcdq.actors import limits


class ByteStream(Protocol):
    """Bytes in, bytes out; `write_now` never waits."""

    async def receive(self, *, alone: bool = False) -> bytes:
        """Wait for bytes of the peer; b"" when it has ended.

        Args:
            alone: nobody else had anything to do lately, so a moment may be spent on this peer.
        """
        ...

    def write_now(self, data: bytes) -> int:
        """Write what can be written without waiting; return how many bytes that was."""
        ...

    async def write_some(self, data: bytes) -> int:
        """Wait until at least one byte can be written; return how many were."""
        ...


class SocketByteStream:
    """A TCP or UNIX socket: the peer sees our bytes as soon as the kernel has room for them."""

    def __init__(self, stream: trio.SocketStream) -> None:
        self._socket = stream.socket
        self._fileno = stream.socket.fileno()
        self._answered = False
        """Whether anything was written since the last bytes came."""
        self._is_quick = False
        """Whether the last bytes came soon."""
        self._looks = 0
        """How often in a row they came while we looked, with no turn for other tasks."""
        self._rest = 0
        """How often we do not look, since it was in vain: the peer may need our very CPU."""

    async def receive(self, *, alone: bool = False) -> bytes:
        """Wait first, then read: a read that finds nothing would cost a system call per batch."""
        looks_on = alone and self._answered and self._is_quick
        self._answered = False
        if self._rest:
            self._rest -= 1
        elif looks_on and self._looks < limits.LOOKS_IN_A_ROW_MAX:
            data = self._look()
            if data is not None:
                self._looks += 1
                return data
            self._rest = limits.LOOKS_REST
        self._looks = 0
        began_s = time.perf_counter()
        while True:
            await trio.lowlevel.wait_readable(self._socket)
            self._is_quick = time.perf_counter() - began_s < limits.QUICK_PEER_S
            data = self._read()
            if data is not None:
                return data

    def _look(self) -> bytes | None:
        """Read, if anything comes within some 50 µs."""
        for _ in range(limits.LOOKS_MAX):
            data = self._read()
            if data is not None:
                return data
        return None

    def _read(self) -> bytes | None:
        try:
            return os.read(self._fileno, limits.RECEIVE_BYTES)
        except BlockingIOError:
            return None
        except OSError as error:
            raise trio.BrokenResourceError from error

    def write_now(self, data: bytes) -> int:
        """Write as much as the kernel takes."""
        self._answered = True
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

    def __init__(self, stream: trio.abc.Stream) -> None:
        self._stream = stream

    async def receive(self, *, alone: bool = False) -> bytes:
        """Read some."""
        return bytes(await self._stream.receive_some(limits.RECEIVE_BYTES))

    def write_now(self, data: bytes) -> int:
        """Nothing: a Trio stream has no such call."""
        return 0

    async def write_some(self, data: bytes) -> int:
        """Write all of it."""
        await self._stream.send_all(data)
        return len(data)


def byte_stream_of(stream: trio.abc.Stream) -> ByteStream:
    """Return what a session needs of `stream`."""
    return (
        SocketByteStream(stream)
        if isinstance(stream, trio.SocketStream)
        else TrioByteStream(stream)
    )


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
