"""The shell of a session: reads the socket, steps the session, writes what it has to say.

Trio shell. The session is stepped in place by who reads (`readers.py`); actors' replies come
through the mailbox, many at a time, and what they make leaves in one write. Only a socket that
would block gets a writer.
"""

import trio

from etcdq.actors import limits
from etcdq.actors.core import NEVER_S
from etcdq.actors.shell import WriteLog, log_nowhere
from etcdq.actors.turns import Seat, SeatMailbox
from etcdq.server.beanstalk.door import BeanstalkDoor
from etcdq.server.beanstalk.session import Session
from etcdq.server.byte_stream import byte_stream_of, peer_of


async def serve_connection(
    stream: trio.abc.Stream, door: BeanstalkDoor, *, drain: trio.Event, log: WriteLog = log_nowhere
) -> None:
    """Serve one connection until it ends, or until `drain` is set and its commands are answered.

    Contains its own errors: whatever fails here ends this connection and is logged.
    """
    shell = SessionShell(stream, door)
    peer = peer_of(stream)
    try:
        await shell.run(drain)
    except* (trio.BrokenResourceError, trio.ClosedResourceError):
        pass  # the peer is gone: what it held is told by the session's end
    except* Exception as group:  # whatever it is, it is our bug, and nobody else's connection
        log("error", "a session failed", {"peer": peer, "reason": repr(group.exceptions)})
    finally:
        # First of all: whatever it still heard it would write to a descriptor soon another's.
        shell.mailbox.close()
        shell.session.end()
        await trio.aclose_forcefully(stream)
    if shell.session.aborted:
        log("info", "connection closed", {"peer": peer, "reason": shell.session.aborted})


class SessionShell:
    """Runs one session over one stream."""

    def __init__(self, stream: trio.abc.Stream, door: BeanstalkDoor) -> None:
        self.mailbox = SeatMailbox(door.readers.turns)
        self.session = Session(door, self.mailbox)
        self._seat = Seat(self.mailbox, self.session.receive, self._hear_now, self._end_now)
        self._stream = stream
        self._bytes = byte_stream_of(stream, door.readers)
        self._nursery: trio.Nursery | None = None
        self._backlog = bytearray()
        self._alarm = trio.CancelScope()
        self._room = trio.Event()
        self._peer_is_silent = False
        """The peer has closed its side: there is nothing to read until the end."""

    async def run(self, drain: trio.Event) -> None:
        """Serve until the session is finished or the peer is gone."""
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            nursery.start_soon(self._read)
            nursery.start_soon(self._wait_drain, drain)
            await self._hear()
            nursery.cancel_scope.cancel()
        self.session.end()  # what it held is ready before we wait for its peer to go
        if not (self._peer_is_silent or self.session.aborted):
            await self._linger()

    async def _read(self) -> None:
        session = self.session
        while not session.finished:
            if not await self._bytes.read(self._seat, self._read_on):
                break
            if not self._may_read():
                await self._wait_room()
        self.mailbox.wake()

    def _read_on(self) -> bool:
        """Say what the session answered by itself; return whether there is room for more."""
        if self.session.has_output:
            self._flush()
        self._set_alarm()
        return self._may_read() and not self.session.finished

    def _end_now(self, _now_s: float) -> None:
        self._peer_is_silent = True
        self.session.hang_up()

    def _may_read(self) -> bool:
        return len(self._backlog) <= limits.BACKLOG_BYTES_MAX and self.session.wants_input

    async def _wait_room(self) -> None:
        self.session.reading = False
        while not self._may_read():
            self._room = trio.Event()
            await self._room.wait()
        self.session.read_on(trio.current_time())
        self._set_alarm()

    def _hear_now(self, _now_s: float) -> None:
        self.session.hear(self.mailbox.take())
        self._flush()
        self._set_alarm()
        if not self.session.reading:
            self._room.set()
        if self.session.finished:
            self.mailbox.wake()

    async def _hear(self) -> None:
        while not self._is_over():
            # One alarm for many waits, set anew only when something is due earlier.
            with trio.CancelScope(deadline=self.session.next_deadline_s()) as self._alarm:
                while not self._is_over():
                    await self.mailbox.wait_posted()
                    self._turn()
                    self._set_alarm()
            self._turn()

    def _turn(self) -> None:
        self._seat.check()
        now_s = trio.current_time()
        if now_s >= self._alarm.deadline:
            self.session.settle(now_s)
        self._hear_now(now_s)

    def _set_alarm(self) -> None:
        deadline_s = self.session.next_deadline_s()
        if deadline_s != NEVER_S and deadline_s < self._alarm.deadline:
            self._alarm.deadline = deadline_s

    def _is_over(self) -> bool:
        session = self.session
        if session.aborted:
            return True
        return session.finished and not (self._backlog or session.has_output)

    async def _wait_drain(self, drain: trio.Event) -> None:
        await drain.wait()
        self.session.drain()
        self.mailbox.wake()

    # writing ----------------------------------------------------------------------------

    def _flush(self) -> None:
        """Write what can be written at once; leave the rest to a writer."""
        session = self.session
        while session.has_output and len(self._backlog) <= limits.BACKLOG_BYTES_MAX:
            data = session.take_output()
            if self._backlog:
                self._backlog += data
                continue
            taken = self._bytes.write_now(data)
            if taken < len(data):
                self._backlog += memoryview(data)[taken:]
                assert self._nursery is not None
                self._nursery.start_soon(self._write_backlog)

    async def _write_backlog(self) -> None:
        while self._backlog:
            piece = bytes(self._backlog[: limits.WRITE_PIECE_BYTES])
            del self._backlog[: await self._bytes.write_some(piece)]
        self.mailbox.wake()

    async def _linger(self) -> None:
        # Closing with unread bytes would send a reset that overtakes our last words.
        with trio.move_on_after(limits.LINGER_S):
            if isinstance(self._stream, trio.SocketStream):
                await self._stream.send_eof()
                while await self._stream.receive_some(limits.RECEIVE_BYTES):
                    pass
