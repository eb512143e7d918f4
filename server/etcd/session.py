"""One connection's session: calls become messages to actors, their answers become responses.

A core: no I/O, no clock. Its shell (`shell.py`) feeds it bytes and messages, writes what the
transport has for the socket, and tells it how far the socket has come. Posting to a handle is
not I/O: it appends to a mailbox.
"""

import uuid
from typing import Any, assert_never

from google.protobuf.message import DecodeError

from etcdq.actors import limits
from etcdq.actors.core import NEVER_S
from etcdq.actors.effect import Reply
from etcdq.actors.errors import EtcdqError
from etcdq.actors.message import Address, Handle
from etcdq.server.etcd.context import Ask, Context, Unary, Unbuilt, WatchMethod
from etcdq.server.etcd.credit import asked_credit
from etcdq.server.etcd.errors import status_of
from etcdq.server.etcd.methods import METHODS
from etcdq.server.etcd.transport import codes
from etcdq.server.etcd.transport.events import (
    Event,
    Request,
    StreamFailed,
    StreamGone,
    StreamHalfClosed,
    StreamMessage,
    StreamOpened,
    TransportLimits,
)
from etcdq.server.etcd.transport.frames import ErrorCode
from etcdq.server.etcd.transport.grpc import Transport
from etcdq.server.etcd.watch import WatchStream
from etcdq.server.etcd.watches import ConsumerWatch, Watch

_STOPPED = "etcdserver: server stopped"
_TOO_LATE = "context deadline exceeded"


class Session:
    """The session of one connection.

    Args:
        handle: its own mailbox: where actors reply to.
        connection: tells this connection's consumers without a UUID from all others'.
        peer: the address that people are shown.

    Attributes:
        blocked: whether the socket has not taken all output (set by the shell through `written`).
        aborted: why the connection must be closed at once; "" while it need not.
    """

    def __init__(
        self, context: Context, handle: Handle, connection: uuid.UUID, peer: str, now_s: float
    ) -> None:
        settings = context.door.settings
        self.context = context
        self.handle = handle
        self.peer = peer
        self.blocked = False
        self.aborted = ""
        bytes_max = settings.request_bytes_max + limits.RECEIVE_OVERHEAD_BYTES
        self.transport = Transport(METHODS, TransportLimits(message_bytes_max=bytes_max), now_s)
        self._connection = connection
        self._calls: dict[int, Ask] = {}
        self._deadlines: dict[int, float] = {}
        self._earliest_s = NEVER_S
        self._streams: dict[int, WatchStream] = {}
        self._watches: dict[int, Watch] = {}
        self._progress: dict[int, WatchStream] = {}
        self._unwritten: dict[Watch, None] = {}
        self._consumers = 0
        self._written = 0
        self._moved_s = now_s
        """When a socket that was not free took something."""
        self._last_tag = 0
        self._draining = False

    # what the shell calls ---------------------------------------------------------------

    def receive(self, data: bytes, now_s: float) -> None:
        """Take bytes of the peer."""
        self._take(self.transport.receive(data, now_s), now_s)

    def step(self, message: Any, now_s: float) -> None:
        """Take one message of an actor."""
        if type(message) is not Reply:
            watch = self._watches.get(message.watch.tag)
            if watch is not None:
                watch.hear(message, now_s)
            return
        tag: int = message.to.tag
        if tag > 0:
            asked = self._calls.pop(tag, None)
            if asked is not None:
                if self._deadlines:
                    self._deadlines.pop(tag, None)
                self._answer(tag, asked, message.value)
            return
        watch = self._watches.get(tag)
        if watch is not None:
            watch.stream.answered(watch, message.value, now_s)
        elif tag in self._progress:
            self._progress.pop(tag).progress(message.value)

    def settle(self, now_s: float) -> None:
        """Do what is due: timeouts of calls, consumers, silent peers."""
        self._take(self.transport.expire(now_s), now_s)
        if self._earliest_s <= now_s:
            self._expire_calls(now_s)
        for watch in list(self._unwritten):
            if watch.next_deadline_s() <= now_s:
                watch.settle(now_s)
        if self._consumers:
            self._ask_for_life(now_s)

    def written(self, position: int, blocked: bool, now_s: float) -> None:
        """Hear that the socket has taken the output up to `position`."""
        if blocked and position > self._written:
            self._moved_s = now_s
        self._written = position
        self.blocked = blocked
        if self._unwritten:
            for watch in list(self._unwritten):
                if not watch.look(position, now_s):
                    self._unwritten.pop(watch, None)

    def next_deadline_s(self) -> float:
        """Return when `settle` must be called at the latest."""
        deadline_s = min(self.transport.next_deadline_s(), self._earliest_s)
        for watch in self._unwritten:
            deadline_s = min(deadline_s, watch.next_deadline_s())
        if self._consumers:
            deadline_s = min(deadline_s, self._life_deadline_s())
        return deadline_s

    def drain(self, now_s: float) -> None:
        """Take no new calls, end the watches with a status; running calls are answered."""
        self._draining = True
        self.transport.drain()
        for stream_id in list(self._streams):
            self._close_stream(stream_id, codes.UNAVAILABLE, _STOPPED, now_s)

    @property
    def finished(self) -> bool:
        """Whether the connection should be closed once its output is written."""
        if self.transport.closing:
            return True
        return self._draining and not self.transport.open_streams

    def end(self, now_s: float) -> None:
        """The connection is over: consumers end, calls are forgotten."""
        for stream in list(self._streams.values()):
            stream.gone(now_s)
        self._streams.clear()
        self._calls.clear()
        self._progress.clear()

    # calls ------------------------------------------------------------------------------

    def _take(self, events: list[Event], now_s: float) -> None:
        for event in events:
            match event:
                case Request():
                    self._call(event, now_s)
                case StreamMessage():
                    self._stream_message(event, now_s)
                case StreamOpened():
                    self._open(event, now_s)
                case StreamGone():
                    self._gone(event.stream_id, now_s)
                case StreamFailed():
                    if event.stream_id in self._streams:
                        self._close_stream(event.stream_id, event.code, event.text, now_s)
                case StreamHalfClosed():
                    pass  # it ends nothing: events go on until the client resets the stream
                case _:
                    assert_never(event)

    def _call(self, event: Request, now_s: float) -> None:
        stream_id = event.stream_id
        method = event.method
        if type(method) is not Unary:
            return self._unbuilt(stream_id, method)
        deadline_s = event.deadline_s
        if deadline_s is not None and not self._keep_deadline(stream_id, deadline_s, now_s):
            return self._too_late(stream_id)
        try:
            request = method.request_type.FromString(event.message)
            asked = method.ask(self.context, request, Address(self.handle, stream_id))
        except EtcdqError as error:
            return self._refuse(stream_id, error)
        except DecodeError as error:
            return self._not_a_message(stream_id, error)
        if type(asked) is Ask:
            self._calls[stream_id] = asked
            asked.handle.post(asked.message)
        else:
            self._deadlines.pop(stream_id, None)
            self.transport.reply(stream_id, asked)
        return None

    def _answer(self, stream_id: int, asked: Ask, value: Any) -> None:
        if isinstance(value, EtcdqError):
            return self._refuse(stream_id, value)
        try:
            answer = asked.answer(self.context, value, asked)
        except EtcdqError as error:
            return self._refuse(stream_id, error)
        self.transport.reply(stream_id, answer)
        return None

    def _refuse(self, stream_id: int, error: EtcdqError) -> None:
        self._deadlines.pop(stream_id, None)
        code, text = status_of(error)
        self.transport.finish(stream_id, code, text)

    def _not_a_message(self, stream_id: int, error: DecodeError) -> None:
        self._deadlines.pop(stream_id, None)
        text = f"grpc: error unmarshalling request: {error}"
        self.transport.finish(stream_id, codes.INTERNAL, text)

    def _keep_deadline(self, stream_id: int, deadline_s: float, now_s: float) -> bool:
        """Remember until when a call must be answered; False: that is over."""
        if deadline_s <= now_s:
            return False
        self._deadlines[stream_id] = deadline_s
        self._earliest_s = min(self._earliest_s, deadline_s)
        return True

    def _too_late(self, stream_id: int) -> None:
        self.transport.finish(stream_id, codes.DEADLINE_EXCEEDED, _TOO_LATE)

    def _unbuilt(self, stream_id: int, method: Any) -> None:
        assert type(method) is Unbuilt, method
        text = f"etcdq: {method.path} is not built yet"
        self.transport.finish(stream_id, codes.UNIMPLEMENTED, text)

    def _expire_calls(self, now_s: float) -> None:
        for stream_id, deadline_s in list(self._deadlines.items()):
            if deadline_s <= now_s:
                del self._deadlines[stream_id]
                self._calls.pop(stream_id, None)
                if stream_id in self._streams:
                    self._close_stream(stream_id, codes.DEADLINE_EXCEEDED, _TOO_LATE, now_s)
                else:
                    self._too_late(stream_id)
        self._earliest_s = min(self._deadlines.values(), default=NEVER_S)

    # streams ----------------------------------------------------------------------------

    def _open(self, event: StreamOpened, now_s: float) -> None:
        stream_id = event.stream_id
        if type(event.method) is not WatchMethod:
            return self._unbuilt(stream_id, event.method)
        deadline_s = event.deadline_s
        if deadline_s is not None and not self._keep_deadline(stream_id, deadline_s, now_s):
            return self._too_late(stream_id)
        try:
            credit = asked_credit(event.metadata, self.context.door.settings.credit)
        except EtcdqError as error:
            return self._refuse(stream_id, error)
        self._streams[stream_id] = WatchStream(self, stream_id, credit)
        self.transport.open_answer(stream_id)
        return None

    def _stream_message(self, event: StreamMessage, now_s: float) -> None:
        stream_id = event.stream_id
        stream = self._streams.get(stream_id)
        if stream is None:
            return
        try:
            stream.take(event.message, now_s)
        except DecodeError as error:
            text = f"grpc: error unmarshalling request: {error}"
            self._close_stream(stream_id, codes.INTERNAL, text, now_s)

    def _close_stream(self, stream_id: int, code: int, text: str, now_s: float) -> None:
        """End a Watch call from our side: by a reset where a message is half sent."""
        self._deadlines.pop(stream_id, None)
        if self._streams.pop(stream_id).close(now_s):
            self.transport.finish(stream_id, code, text)
        else:
            self.transport.reset(stream_id, ErrorCode.REFUSED_STREAM)

    def _gone(self, stream_id: int, now_s: float) -> None:
        self._calls.pop(stream_id, None)
        self._deadlines.pop(stream_id, None)
        stream = self._streams.pop(stream_id, None)
        if stream is not None:
            stream.gone(now_s)

    # what the watches need --------------------------------------------------------------

    def new_address(self) -> Address:
        """Return an address for a matter that is no unary call: its tag is negative."""
        self._last_tag -= 1
        return Address(self.handle, self._last_tag)

    def identity_for(self, segment: bytes) -> str:
        """Return the identity of a consumer without a UUID: of this connection and segment."""
        return str(uuid.uuid5(self._connection, segment.hex()))

    def enter_watch(self, watch: Watch) -> None:
        """Let actors reach `watch`."""
        self._watches[watch.address.tag] = watch
        self._consumers += type(watch) is ConsumerWatch

    def forget_watch(self, watch: Watch) -> None:
        """Nothing reaches `watch` any more."""
        del self._watches[watch.address.tag]
        self._unwritten.pop(watch, None)
        self._consumers -= type(watch) is ConsumerWatch

    def look_after_write(self, watch: Watch) -> None:
        """Have `watch.look` called after the next write."""
        self._unwritten[watch] = None

    def expect_progress(self, to: Address, stream: WatchStream) -> None:
        """Bring the reply to `to` to `stream`."""
        self._progress[to.tag] = stream

    def reset_stream(self, stream_id: int, code: ErrorCode, now_s: float) -> None:
        """Reset a stream from our side."""
        self.transport.reset(stream_id, code)
        self._gone(stream_id, now_s)

    def abort(self, reason: str) -> None:
        """Ask the shell to close the connection at once."""
        self.aborted = reason

    def _life_deadline_s(self) -> float:
        since_s = self.transport.unacknowledged_ping_since_s
        heard_s = max(self.transport.last_received_s, self._moved_s)
        if since_s is not None:  # whatever comes is life: the answer may stand behind it
            return max(since_s, heard_s) + limits.PING_TIMEOUT_S
        return heard_s + limits.SILENCE_S

    def _ask_for_life(self, now_s: float) -> None:
        if now_s < self._life_deadline_s():
            return
        if self.transport.unacknowledged_ping_since_s is not None:
            self.abort("it holds consumers and did not answer a ping")
        else:
            self.transport.ping(now_s)
