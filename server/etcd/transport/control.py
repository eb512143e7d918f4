"""The frames that steer a connection: SETTINGS, PING, GOAWAY, WINDOW_UPDATE, RST_STREAM, PRIORITY.

Each handler takes (flags, stream id, payload) of a complete frame and either applies it, or
raises: `StreamFault` ends one stream, `ConnectionFault` all of them.
"""

import math
from typing import Final

from etcdq.actors import limits
from etcdq.server.etcd.transport import frames
from etcdq.server.etcd.transport.events import Event, StreamGone, TransportLimits
from etcdq.server.etcd.transport.flood import Flood
from etcdq.server.etcd.transport.frames import (
    ConnectionFault,
    ErrorCode,
    StreamFault,
    protocol_error,
)
from etcdq.server.etcd.transport.sending import Sender
from etcdq.server.etcd.transport.stream import Stream

_PING_KEEPALIVE: Final = b"etcdq-ka"
_PING_DRAIN: Final = b"etcdq-dr"


class Control(Sender):
    """A connection's state beyond its streams, and what ends them."""

    def __init__(self, transport_limits: TransportLimits, now_s: float) -> None:
        super().__init__(transport_limits, now_s)
        self.last_received_s = now_s
        self.unacknowledged_ping_since_s: float | None = None
        """When the oldest of our pings without an answer was sent."""
        self._events: list[Event] = []
        self._uncredited = 0
        """DATA received since credit was given back for it last."""
        self._flood = Flood(now_s)
        self._ended = False
        self._drained = False
        self._greeted = False
        """Whether the client said its preface."""
        self._streams_max = transport_limits.streams_max
        self._last_stream_id = -1
        """The newest stream of the client; -1 so that the first is 2 more as well."""
        self._young_after = -1
        """Streams up to this one were opened at least `YOUNG_CALL_S` ago."""
        self._frame_deadline_s = now_s + limits.PREFACE_TIMEOUT_S
        self._resets_received = self._resets_sent = self._pings_received = 0

    @property
    def closing(self) -> bool:
        """The output so far is the last: write it, then close the connection."""
        return self._ended or (self._drained and not self._streams)

    def ping(self, now_s: float) -> None:
        """Send a PING; `unacknowledged_ping_since_s` tells until it is answered since when."""
        if self.unacknowledged_ping_since_s is None:
            self.unacknowledged_ping_since_s = now_s
        self._out += frames.frame(frames.PING, 0, 0, _PING_KEEPALIVE)

    def drain(self) -> None:
        """Refuse new calls from now on and let open ones end; then `closing` turns true.

        GOAWAY goes twice (RFC 9113 section 6.8): first without a bound, then, when the client has
        answered a PING and so knows, with the last stream there was.
        """
        if self._draining or self._ended:
            return
        self._draining = True
        self._swift = False
        self._streams_max = 0
        if not self._greeted:
            self._ended = True
            return
        self._out += frames.goaway(frames.STREAM_ID_MAX, ErrorCode.NO_ERROR, b"draining")
        self._out += frames.frame(frames.PING, 0, 0, _PING_DRAIN)

    # Ends -------------------------------------------------------------------------------

    def _fail(self, code: ErrorCode, text: str) -> None:
        """End the connection: GOAWAY, and every stream is gone."""
        self._out += frames.goaway(max(0, self._last_stream_id), code, text.encode())
        self._end_connection()

    def _end_connection(self) -> None:
        self._ended = True
        for stream_id in list(self._streams):
            self._forget(stream_id)
        self._turns.clear()
        self._frame_deadline_s = math.inf

    def _fault(self, fault: StreamFault) -> None:
        """Reset the stream of a fault; the session hears of it if it knows the call."""
        if fault.stream_id in self._streams:
            self._drop(fault.stream_id)
        self._reset(fault.stream_id, fault.code)
        self._resets_sent += 1
        self._flood.reset(self._now_s, self._finished)

    def _drop(self, stream_id: int) -> Stream | None:
        """Forget a stream that the session did not end, and tell it if it knows the call."""
        stream = self._forget(stream_id)
        if stream is None:
            self._events.append(StreamGone(stream_id))
        else:
            self._drop_told(stream)
        return stream

    def _drop_told(self, stream: Stream) -> None:
        if stream.told and stream.trailers is None:
            self._events.append(StreamGone(stream.stream_id))

    def _open_side(self, stream_id: int) -> Stream:
        """The stream in the table, if its client may still send on it."""
        stream = self._streams[stream_id]
        if stream is None or stream.remote_closed:
            raise StreamFault(stream_id, ErrorCode.STREAM_CLOSED, "the client had ended its side")
        return stream

    def _pass(self, stream_id: int, flags: int) -> None:
        """Let a late frame of a stream that we reset pass; its END_STREAM is the last one."""
        if flags & frames.END_STREAM:
            self._lingering.pop(stream_id, None)

    def _count_received(self, size: int) -> None:
        """Give credit for DATA back on arrival: what is kept of it has a budget of its own. A
        peer can so never be seen to overrun its window, and need not be."""
        self._uncredited += size
        if self._uncredited >= limits.CONNECTION_WINDOW_BYTES // 2:
            self._out += frames.window_update(0, self._uncredited)
            self._uncredited = 0

    def _is_idle(self, stream_id: int) -> bool:
        return stream_id > self._last_stream_id or stream_id % 2 == 0

    # Frames -----------------------------------------------------------------------------

    def _on_priority(self, flags: int, stream_id: int, payload: bytes) -> None:
        if stream_id == 0:
            raise protocol_error("PRIORITY on stream 0")
        if len(payload) != 5:
            raise ConnectionFault(ErrorCode.FRAME_SIZE_ERROR, "PRIORITY of a wrong size")
        check_dependency(stream_id, payload)
        self._flood.ignored(self._now_s)

    def _on_rst_stream(self, flags: int, stream_id: int, payload: bytes) -> None:
        if len(payload) != 4:
            raise ConnectionFault(ErrorCode.FRAME_SIZE_ERROR, "RST_STREAM of a wrong size")
        if stream_id == 0 or self._is_idle(stream_id):
            raise protocol_error("RST_STREAM on an idle stream")
        self._resets_received += 1
        if stream_id in self._streams:
            stream = self._drop(stream_id)
            if stream_id <= self._young_after or (stream is not None and stream.answered):
                self._flood.cancel(self._now_s)
            else:
                self._flood.reset(self._now_s, self._finished)
        elif stream_id in self._lingering:
            del self._lingering[stream_id]
        else:
            self._flood.ignored(self._now_s)

    def _on_settings(self, flags: int, stream_id: int, payload: bytes) -> None:
        if stream_id != 0:
            raise protocol_error("SETTINGS on a stream")
        if flags & frames.ACK:
            if payload:
                raise ConnectionFault(ErrorCode.FRAME_SIZE_ERROR, "SETTINGS ACK with content")
            self._flood.ignored(self._now_s)
            return
        if len(payload) % 6:
            raise ConnectionFault(ErrorCode.FRAME_SIZE_ERROR, "SETTINGS of a wrong size")
        self._flood.settings(self._now_s)
        window = self._peer_window
        for pos in range(0, len(payload), 6):
            key = payload[pos] << 8 | payload[pos + 1]
            (value,) = frames.U32.unpack_from(payload, pos + 2)
            _check_setting(key, value)
            if key == frames.SETTING_INITIAL_WINDOW_SIZE:
                window = value
            elif key == frames.SETTING_HEADER_TABLE_SIZE:
                self._limit_table(value)
        # Once for all: each change walks every stream, and a frame has room for 2,730.
        self._change_window(window)
        self._out += frames.frame(frames.SETTINGS, frames.ACK, 0)

    def _limit_table(self, size: int) -> None:
        """Our blocks never use the table, yet a lowered size must be acknowledged in one."""
        if size < limits.HEADER_TABLE_BYTES_MAX and not self._said_table_size:
            self._said_table_size = self._owes_table_size = True
            self._swift = False

    def _change_window(self, window: int) -> None:
        """SETTINGS_INITIAL_WINDOW_SIZE moves the window of every open stream, below 0 too."""
        change = window - self._peer_window
        if not change:
            return
        self._peer_window = window
        for stream in self._streams.values():
            if stream is None:
                continue  # it has sent nothing: its window is the initial one
            stream.send_window += change
            if stream.send_window > frames.WINDOW_MAX:
                raise ConnectionFault(ErrorCode.FLOW_CONTROL_ERROR, "stream window overflow")
            self._line_up(stream)

    def _on_push_promise(self, flags: int, stream_id: int, payload: bytes) -> None:
        raise protocol_error("PUSH_PROMISE from a client")

    def _on_ping(self, flags: int, stream_id: int, payload: bytes) -> None:
        if stream_id != 0:
            raise protocol_error("PING on a stream")
        if len(payload) != 8:
            raise ConnectionFault(ErrorCode.FRAME_SIZE_ERROR, "PING of a wrong size")
        if not flags & frames.ACK:
            self._pings_received += 1
            self._out += frames.frame(frames.PING, frames.ACK, 0, payload)
            self._flood.ping(self._now_s, self._activity)
        elif payload == _PING_KEEPALIVE and self.unacknowledged_ping_since_s is not None:
            self.unacknowledged_ping_since_s = None
        elif payload == _PING_DRAIN and self._draining and not self._drained:
            self._drained = True
            last = max(0, self._last_stream_id)
            self._out += frames.goaway(last, ErrorCode.NO_ERROR, b"draining")
        else:
            self._flood.ignored(self._now_s)

    def _on_goaway(self, flags: int, stream_id: int, payload: bytes) -> None:
        """A client that says it goes: its open calls are served on, it opens no others."""
        if stream_id != 0:
            raise protocol_error("GOAWAY on a stream")
        if len(payload) < 8:
            raise ConnectionFault(ErrorCode.FRAME_SIZE_ERROR, "GOAWAY of a wrong size")
        self._flood.ignored(self._now_s)

    def _on_window_update(self, flags: int, stream_id: int, payload: bytes) -> None:
        if len(payload) != 4:
            raise ConnectionFault(ErrorCode.FRAME_SIZE_ERROR, "WINDOW_UPDATE of a wrong size")
        self._flood.window_update(self._now_s, self._activity)
        increment = frames.U32.unpack(payload)[0] & frames.WINDOW_MAX
        if stream_id == 0:
            if increment == 0:
                raise protocol_error("WINDOW_UPDATE by 0")
            self._send_window += increment
            if self._send_window > frames.WINDOW_MAX:
                raise ConnectionFault(ErrorCode.FLOW_CONTROL_ERROR, "connection window overflow")
        elif stream_id in self._streams:
            if increment == 0:
                raise StreamFault(stream_id, ErrorCode.PROTOCOL_ERROR, "WINDOW_UPDATE by 0")
            self._widen(stream_id, increment)
        elif self._is_idle(stream_id):
            raise protocol_error("WINDOW_UPDATE on an idle stream")

    def _widen(self, stream_id: int, increment: int) -> None:
        stream = self._object(stream_id)
        assert stream is not None
        stream.send_window += increment
        if stream.send_window > frames.WINDOW_MAX:
            raise StreamFault(stream_id, ErrorCode.FLOW_CONTROL_ERROR, "stream window overflow")
        self._line_up(stream)

    def _on_unknown(self, flags: int, stream_id: int, payload: bytes) -> None:
        self._flood.ignored(self._now_s)


def check_dependency(stream_id: int, priority: bytes) -> None:
    """Refuse a stream that depends on itself: RFC 9113 dropped priorities, yet nobody honest
    sends this, and to reset a stream for each would be work a peer can ask for."""
    if frames.U32.unpack_from(priority)[0] & frames.STREAM_ID_MAX == stream_id:
        raise protocol_error("stream depends on itself")


def _check_setting(key: int, value: int) -> None:
    if key == frames.SETTING_ENABLE_PUSH and value > 1:
        raise protocol_error("SETTINGS_ENABLE_PUSH is neither 0 nor 1")
    if key == frames.SETTING_INITIAL_WINDOW_SIZE and value > frames.WINDOW_MAX:
        raise ConnectionFault(ErrorCode.FLOW_CONTROL_ERROR, "SETTINGS_INITIAL_WINDOW_SIZE")
    if key == frames.SETTING_MAX_FRAME_SIZE and not (
        frames.FRAME_BYTES_LEAST_MAX <= value <= frames.FRAME_BYTES_GREATEST_MAX
    ):
        raise protocol_error("SETTINGS_MAX_FRAME_SIZE out of range")
