"""gRPC on one HTTP/2 connection, as a server: the transport that a session drives.

    transport = Transport(methods, TransportLimits(), now_s)
    for event in transport.receive(data, now_s):    # calls and messages
        transport.reply(event.stream_id, answer)
    socket.send(transport.take_output())

A malformed call gets a status and the connection goes on; only what breaks HTTP/2 itself, or
floods, ends it. Whatever a peer sends, what is kept of it is bounded (`limits`, transport).
"""

import math
from typing import Final

from etcdq.actors import limits
from etcdq.server.etcd.transport import codes
from etcdq.server.etcd.transport.events import (
    Event,
    Methods,
    Request,
    StreamFailed,
    StreamHalfClosed,
    StreamMessage,
    StreamOpened,
    TransportLimits,
    TransportStatistics,
)
from etcdq.server.etcd.transport.frames import END_HEADERS, ErrorCode
from etcdq.server.etcd.transport.head import Head, Refusal
from etcdq.server.etcd.transport.hpack import Field, literal_block
from etcdq.server.etcd.transport.http2 import Connection
from etcdq.server.etcd.transport.message_reader import MessageError, MessageReader
from etcdq.server.etcd.transport.sending import status_fields
from etcdq.server.etcd.transport.stream import Stream

_STALL_CHECK_S: Final = limits.ANSWER_STALL_TIMEOUT_S / 4


class Transport(Connection):
    """One connection. It does no I/O and knows no clock; see the module's text for its use.

    Args:
        methods: what can be called, by path (`b"/etcdserverpb.KV/Put"`).
        transport_limits: the bounds an operator sets.
        now_s: the shell's clock at the start of the connection.
    """

    def __init__(self, methods: Methods, transport_limits: TransportLimits, now_s: float) -> None:
        super().__init__(methods, transport_limits, now_s)
        self._buffered = 0
        self._half: dict[int, float] = {}
        """Calls with an incomplete message, and the time by which it must be complete."""
        self._half_floor_s = math.inf
        """No such time is earlier; it may be of a call that is complete by now."""
        self._stall_check_s = now_s

    def next_deadline_s(self) -> float:
        """When to call `expire`, on the shell's clock; infinity for never."""
        deadline_s = self._frame_deadline_s
        if self._half:
            deadline_s = min(deadline_s, self._half_floor_s)
        if self.queued_bytes_total:
            deadline_s = min(deadline_s, self._stall_check_s)
        return deadline_s

    def expire(self, now_s: float) -> list[Event]:
        """End what a peer began and did not go on with: its preface, a frame, a header block, a
        message; and finished answers whose window it does not open.

        Returns:
            The ends a session must know of.
        """
        self._now_s = now_s
        if now_s >= self._frame_deadline_s:
            if self._settled:
                self._fail(ErrorCode.ENHANCE_YOUR_CALM, "frame not complete in time")
            else:
                self._end_connection()
        if now_s >= self._half_floor_s:
            self._expire_half()
        if self.queued_bytes_total and now_s >= self._stall_check_s:
            self._expire_stalled()
        events = self._events
        self._events = []
        return events

    def statistics(self) -> TransportStatistics:
        """Counts since the connection began."""
        return TransportStatistics(
            bytes_received=self._bytes_received,
            bytes_sent=self._taken,
            streams_opened=self._opened,
            streams_finished=self._finished,
            streams_open=len(self._streams),
            streams_refused=self._refused,
            resets_received=self._resets_received,
            resets_sent=self._resets_sent,
            pings_received=self._pings_received,
            header_blocks_decoded=self._blocks_decoded,
            queued_bytes=self.queued_bytes_total,
            buffered_request_bytes=self._buffered,
        )

    # Calls that did not arrive whole ----------------------------------------------------

    def _begin(self, stream: Stream, head: Head) -> None:
        refusal = head.refusal
        if refusal is not None:
            if refusal.http_status == 200:
                self._end(stream, literal_block(_refusal_fields(refusal)))
            else:
                self._expect_more(stream)  # HTTP answers a request when it is complete
            return
        if head.timeout_s is not None:
            stream.deadline_s = self._now_s + head.timeout_s
        stream.reader = MessageReader(self._message_bytes_max, gzip=head.gzip)
        if head.method.streaming:
            stream.told = True
            opened = StreamOpened(stream.stream_id, head.method, stream.deadline_s, head.metadata)
            self._events.append(opened)
        else:
            self._expect_more(stream)

    def _feed(self, stream: Stream, data: bytes) -> None:
        reader = stream.reader
        if reader is None or stream.trailers is not None:
            return  # answered, or to be answered, whatever else comes
        try:
            messages = reader.feed(data)
        except MessageError as error:
            self._fail_call(stream, error.code, error.text)
            return
        assert stream.head is not None
        if stream.head.method.streaming:
            stream_id = stream.stream_id
            self._events += [StreamMessage(stream_id, message) for message in messages]
            self._account(stream, reader.buffered_bytes)
            if not reader.buffered_bytes:
                self._half.pop(stream_id, None)
            elif stream_id not in self._half:
                self._expect_more(stream)
        else:
            if len(messages) + (stream.message is not None) > 1:
                text = "grpc: more than one message on a call that takes one"
                self._fail_call(stream, codes.INTERNAL, text)
                return
            if messages:
                stream.message = messages[0]
            self._account(stream, reader.buffered_bytes + len(stream.message or b""))
        if self._buffered > self._limits.buffered_request_bytes_max:
            self._relieve()

    def _half_close(self, stream: Stream) -> None:
        if stream.trailers is not None:
            return
        assert stream.head is not None
        head = stream.head
        if head.refusal is not None:
            self._answer_http(stream, head.refusal)
        elif stream.reader is not None and stream.reader.buffered_bytes:
            self._fail_call(stream, codes.INTERNAL, "unexpected EOF in a message")
        elif head.method.streaming:
            self._events.append(StreamHalfClosed(stream.stream_id))
        elif stream.message is None:
            text = "grpc: no message on a call that takes one"
            self._fail_call(stream, codes.INTERNAL, text)
        else:
            self._complete(stream, head, stream.message)

    def _complete(self, stream: Stream, head: Head, message: bytes) -> None:
        """A unary call is complete: hand it over; its object has done its work."""
        stream_id = stream.stream_id
        if stream.send_window == self._peer_window:
            self._forget(stream_id)
            self._streams[stream_id] = None
        else:
            self._release(stream)
            stream.message = None
            stream.told = True
        self._events.append(Request(stream_id, head.method, stream.deadline_s, message))

    def _answer_http(self, stream: Stream, refusal: Refusal) -> None:
        """Answer a request that is no gRPC call, in words that a person at a browser can read."""
        stream.answered = True
        status: list[Field] = [
            (b":status", str(refusal.http_status).encode()),
            (b"content-type", b"text/plain; charset=utf-8"),
        ]
        self._headers(stream.stream_id, literal_block(status), END_HEADERS)
        self._send(stream, f"{refusal.text}: this port speaks gRPC (etcd v3 API)\n".encode())
        self._end(stream, literal_block(status_fields(refusal.code, refusal.text)))

    def _fail_call(self, stream: Stream, code: int, text: str) -> None:
        """End a call with a status that the session did not choose. A streaming call is the
        session's to end: it takes back what waits there."""
        self._release(stream)
        if stream.told and stream.trailers is None:
            self._events.append(StreamFailed(stream.stream_id, code, text))
        else:
            self.finish(stream.stream_id, code, text)

    # What is kept, and for how long -----------------------------------------------------

    def _forget(self, stream_id: int) -> Stream | None:
        stream = super()._forget(stream_id)
        if stream is not None:
            self._release(stream)
        return stream

    def _release(self, stream: Stream) -> None:
        """What was received of a call is not kept any longer."""
        self._account(stream, 0)
        stream.reader = None
        self._half.pop(stream.stream_id, None)

    def _account(self, stream: Stream, kept_bytes: int) -> None:
        self._buffered += kept_bytes - stream.buffered
        stream.buffered = kept_bytes

    def _relieve(self) -> None:
        """Too much is half received: the newest call that takes part in it fails, so that the
        older ones can complete."""
        for stream in reversed(self._streams.values()):
            if stream is not None and stream.buffered:
                text = f"{self._buffered} bytes of incomplete messages on one connection"
                self._fail_call(stream, codes.RESOURCE_EXHAUSTED, text)
                return

    def _expect_more(self, stream: Stream) -> None:
        deadline_s = self._now_s + limits.REQUEST_TIMEOUT_S
        if stream.deadline_s is not None:
            deadline_s = min(deadline_s, stream.deadline_s)
        self._half[stream.stream_id] = deadline_s
        self._half_floor_s = min(self._half_floor_s, deadline_s)

    def _expire_half(self) -> None:
        for stream_id, deadline_s in list(self._half.items()):
            stream = self._streams[stream_id]
            if deadline_s <= self._now_s and stream is not None:
                text = "request was not complete in time"
                self._fail_call(stream, codes.DEADLINE_EXCEEDED, text)
        self._half_floor_s = min(self._half.values(), default=math.inf)

    def _expire_stalled(self) -> None:
        """Only answers their session has finished: of the others it keeps the time itself."""
        limit_s = self._now_s - limits.ANSWER_STALL_TIMEOUT_S
        for stream in list(self._streams.values()):
            if stream is not None and stream.trailers is not None and stream.moved_s <= limit_s:
                self.reset(stream.stream_id, ErrorCode.CANCEL)
        self._stall_check_s = self._now_s + _STALL_CHECK_S


def _refusal_fields(refusal: Refusal) -> list[Field]:
    fields: list[Field] = [(b":status", b"200"), (b"content-type", b"application/grpc")]
    fields += status_fields(refusal.code, refusal.text)
    if refusal.accept_encoding:
        fields.append((b"grpc-accept-encoding", b"identity,gzip"))
    return fields
