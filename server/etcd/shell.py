"""The shell of a session: reads the socket, steps the session, writes what it has to say.

Trio shell. The reader steps the session in place; actors' replies come through the mailbox.
Both write at once as far as the socket takes it; only a socket that would block gets a writer.
"""

import uuid

import trio

from etcdq.actors import limits
from etcdq.actors.shell import WriteLog, log_nowhere
from etcdq.actors.turns import Seat, SeatMailbox
from etcdq.server.byte_stream import byte_stream_of, peer_of
from etcdq.server.etcd.context import Context
from etcdq.server.etcd.door import Door
from etcdq.server.etcd.session import Session


async def serve_connection(
    stream: trio.abc.Stream, door: Door, *, drain: trio.Event, log: WriteLog = log_nowhere
) -> None:
    """Serve one connection until it ends, or until `drain` is set and its calls are answered.

    Contains its own errors: whatever fails here ends this connection and is logged.
    """
    shell = SessionShell(stream, door)
    try:
        await shell.run(drain)
    except* (trio.BrokenResourceError, trio.ClosedResourceError):
        pass  # the peer is gone: what it held is told by the session's end
    except* Exception as group:
        log("error", "a session failed", {"peer": shell.peer, "reason": repr(group.exceptions)})
    finally:
        # First of all: whatever it still heard it would write to a descriptor soon another's.
        shell.mailbox.close()
        shell.session.end(trio.current_time())
        await trio.aclose_forcefully(stream)
    if shell.session.aborted:
        log("info", "connection closed", {"peer": shell.peer, "reason": shell.session.aborted})


class SessionShell:
    """Runs one session over one stream."""

    def __init__(self, stream: trio.abc.Stream, door: Door) -> None:
        self.mailbox = SeatMailbox(door.readers.turns)
        self.peer = peer_of(stream)
        now_s = trio.current_time()
        self.session = Session(Context(door), self.mailbox, uuid.uuid4(), self.peer, now_s)
        self._seat = Seat(self.mailbox, self.session.receive, self._hear_now, self._end_now)
        self._stream = stream
        self._bytes = byte_stream_of(stream, door.readers)
        self._nursery: trio.Nursery | None = None
        self._backlog = b""
        self._written = 0
        self._drained_backlog = trio.Event()
        self._alarm = trio.CancelScope()
        self._peer_left = False

    async def run(self, drain: trio.Event) -> None:
        """Serve until the session is finished or the peer is gone."""
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            nursery.start_soon(self._read)
            nursery.start_soon(self._wait_drain, drain)
            self._flush(trio.current_time())
            await self._hear()
            nursery.cancel_scope.cancel()
        self.session.end(trio.current_time())  # nobody waits for us to see its peer go
        if not (self._peer_left or self.session.aborted):
            await self._linger()

    async def _read(self) -> None:
        while not self.session.transport.closing:
            if not await self._bytes.read(self._seat, self._read_on):
                return
            if self._is_full():
                await self._drained_backlog.wait()

    def _read_on(self) -> bool:
        """Say what the session answered by itself; return whether there is room for more."""
        session = self.session
        self._flush(trio.current_time())
        self._set_alarm()
        if session.finished or session.aborted:
            self.mailbox.wake()
        return not (session.transport.closing or self._is_full())

    def _end_now(self, now_s: float) -> None:
        self._peer_left = True
        self.session.end(now_s)
        self.mailbox.wake()

    def _is_full(self) -> bool:
        return len(self._backlog) > limits.BACKLOG_BYTES_MAX

    def _hear_now(self, now_s: float) -> None:
        if self._peer_left:
            return  # there is nobody to tell
        for message in self.mailbox.take():
            self.session.step(message, now_s)
        self._flush(now_s)
        self._set_alarm()
        if self.session.finished or self.session.aborted:
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
        for message in self.mailbox.take():
            self.session.step(message, now_s)
        if now_s >= self._alarm.deadline:
            self.session.settle(now_s)
        self._flush(now_s)

    def _set_alarm(self) -> None:
        deadline_s = self.session.next_deadline_s()
        if deadline_s < self._alarm.deadline:
            self._alarm.deadline = deadline_s

    def _is_over(self) -> bool:
        if self._peer_left or self.session.aborted:
            return True
        return self.session.finished and not self._backlog

    async def _wait_drain(self, drain: trio.Event) -> None:
        await drain.wait()
        now_s = trio.current_time()
        self.session.drain(now_s)
        self._flush(now_s)
        self.mailbox.wake()

    # writing ----------------------------------------------------------------------------

    def _flush(self, now_s: float) -> None:
        """Write what can be written at once; leave the rest to a writer."""
        transport = self.session.transport
        while transport.has_output and len(self._backlog) <= limits.BACKLOG_BYTES_MAX:
            data = transport.take_output()
            if self._backlog:
                self._backlog += data
                continue
            taken = self._bytes.write_now(data)
            self._written += taken
            if taken < len(data):
                self._backlog = data[taken:]
                assert self._nursery is not None
                self._drained_backlog = trio.Event()
                self._nursery.start_soon(self._write_backlog)
        self.session.written(self._written, bool(self._backlog), now_s)

    async def _write_backlog(self) -> None:
        # Piece by piece, so that the session sees a slow reader's progress.
        while self._backlog:
            taken = await self._bytes.write_some(self._backlog[: limits.WRITE_PIECE_BYTES])
            self._backlog = self._backlog[taken:]
            self._written += taken
            now_s = trio.current_time()
            self.session.written(self._written, bool(self._backlog), now_s)
        self._drained_backlog.set()
        self._flush(trio.current_time())
        self.mailbox.wake()

    async def _linger(self) -> None:
        # Closing with unread bytes would send a reset that overtakes our last words.
        with trio.move_on_after(limits.LINGER_S):
            if isinstance(self._stream, trio.SocketStream):
                await self._stream.send_eof()
                while await self._stream.receive_some(limits.RECEIVE_BYTES):
                    pass
