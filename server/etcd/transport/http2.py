"""The receiving half of an HTTP/2 connection, as a server (RFC 9113), without I/O or a clock.

Bytes come in by `receive`; what they mean for calls goes to the layer above by three methods it
overrides; what the protocol itself answers goes into the output. Peer input never raises: what
breaks one stream's rules resets it (`StreamFault`), what breaks the connection's ends it with
GOAWAY (`ConnectionFault`), and after that nothing is read.

The loop over frames handles one case itself: HEADERS and right behind them the DATA that completes
a unary call. It makes no stream object and calls no method. A call whose DATA stands farther back
in the same bytes needs no stream object either. All else goes through a table by frame type.

Where RFC 9113 leaves a choice: DATA on a closed stream is a stream error (budgeted), HEADERS on
one that had been used is a connection error STREAM_CLOSED, on one that was skipped
PROTOCOL_ERROR. Frames on a stream that we reset are let pass while our reset may be under way.
"""

import math
from abc import abstractmethod
from collections.abc import Callable
from struct import Struct
from typing import Final

from etcdq.actors import limits
from etcdq.server.etcd.transport import frames, handshake
from etcdq.server.etcd.transport.control import Control, check_dependency
from etcdq.server.etcd.transport.events import Event, Methods, Request, TransportLimits
from etcdq.server.etcd.transport.frames import ConnectionFault, ErrorCode, StreamFault
from etcdq.server.etcd.transport.head import Head, HeadReader, MalformedError, check_trailers
from etcdq.server.etcd.transport.hpack import HeaderDecoder, HpackError
from etcdq.server.etcd.transport.message_reader import PREFIX
from etcdq.server.etcd.transport.stream import Stream

_FRAME_HEAD: Final = frames.FRAME_HEAD.unpack_from
_PREFIX: Final = PREFIX.unpack_from
_MESSAGE_HEAD: Final = Struct(">IBIBI").unpack_from
_LAST: Final = Struct(">4xBI").pack
"""An empty DATA frame, given END_STREAM and its stream."""

_DATA: Final = frames.DATA
_HEADERS: Final = frames.HEADERS
_END_HEADERS: Final = frames.END_HEADERS
_WORD_MAX: Final = limits.FRAME_BYTES_MAX << 8 | 0xFF


class Connection(Control):
    """Frames in, events out. See the module's text for its rules."""

    def __init__(self, methods: Methods, transport_limits: TransportLimits, now_s: float) -> None:
        super().__init__(transport_limits, now_s)
        self._decoder: HeaderDecoder[Head] = HeaderDecoder(HeadReader(methods))
        self._message_bytes_max = transport_limits.message_bytes_max
        self._settled = False
        """Whether the client's first SETTINGS came."""
        self._partial = b""
        """The bytes of a frame that is not complete."""
        self._skipped: list[range] = []
        """Stream ids the client left out: its newest gaps."""
        self._mark_s = now_s
        self._last_at_mark = -1
        self._block_stream_id = 0
        """The stream whose header block is not complete, or 0."""
        self._block = bytearray()
        self._block_flags = self._continuations = 0
        self._bytes_received = 0
        self._opened = self._refused = self._blocks_decoded = 0

    # What the layer above decides -------------------------------------------------------

    @abstractmethod
    def _begin(self, stream: Stream, head: Head) -> None:
        """A call began that did not arrive whole."""

    @abstractmethod
    def _feed(self, stream: Stream, data: bytes) -> None:
        """Bytes came on a call that its client has not ended."""

    @abstractmethod
    def _half_close(self, stream: Stream) -> None:
        """The client ended its side of a call."""

    # Receiving --------------------------------------------------------------------------

    def receive(self, data: bytes, now_s: float) -> list[Event]:
        """Take bytes from the peer, in any pieces; never raises on what they are.

        Returns:
            What they mean, in order. Output and `closing` may have changed.
        """
        if self.closing:
            return []
        self._now_s = self.last_received_s = now_s
        self._bytes_received += len(data)
        if now_s - self._mark_s >= limits.YOUNG_CALL_S:
            self._young_after = self._last_at_mark
            self._last_at_mark = self._last_stream_id
            self._mark_s = now_s
        if self._partial:
            data = self._partial + data
        try:
            rest = self._parse(data) if self._greeted else self._greet(data)
        except ConnectionFault as fault:
            self._fail(fault.code, fault.text)
        except HpackError as fault:
            self._fail(ErrorCode.COMPRESSION_ERROR, fault.text)
        else:
            self._keep(data, rest)
        events = self._events
        self._events = []
        return events

    def _greet(self, data: bytes) -> int:
        """Take the preface and what follows it, or say farewell to who speaks no HTTP/2."""
        if data.startswith(frames.PREFACE):
            self._greeted = True
            self._out += handshake.greeting(self._streams_max)
            size = len(frames.PREFACE)
            return size + self._parse(data[size:])
        if not frames.PREFACE.startswith(data):
            answer = handshake.answer(data)
            if answer is not None:
                self._out += answer
                self._end_connection()
        return 0

    def _keep(self, data: bytes, rest: int) -> None:
        """Keep the bytes of a frame that is not complete, and the time by which it must be."""
        self._partial = data[rest:]
        if not self._settled:
            return
        if not self._partial and not self._block_stream_id:
            self._frame_deadline_s = math.inf
        elif self._frame_deadline_s == math.inf or (rest and not self._block_stream_id):
            self._frame_deadline_s = self._now_s + limits.FRAME_TIMEOUT_S

    def _parse(self, data: bytes) -> int:
        """Handle every complete frame; the position behind the last one."""
        pos, size, got = 0, len(data), 0
        streams, cache, events = self._streams, self._decoder.cache, self._events
        bytes_max = self._message_bytes_max
        begun: dict[int, Head] = {}  # plain calls whose message did not come right behind
        while size - pos >= 9:
            word, flags, stream_id = _FRAME_HEAD(data, pos)
            if word > _WORD_MAX:
                raise ConnectionFault(ErrorCode.FRAME_SIZE_ERROR, "frame over the size we allow")
            start = pos + 9
            end = start + (word >> 8)
            if end > size:
                break
            if stream_id in begun and word & 0xFF == _DATA:
                last = self._take_begun(begun, data, start, end, flags, stream_id)
                if last:
                    got += end - start
                    pos = last
                    continue
            if not (
                word & 0xFF == _HEADERS
                and flags == _END_HEADERS
                and stream_id == self._last_stream_id + 2
                and self._settled
                and not self._block_stream_id
                and len(streams) + len(begun) < self._streams_max
            ):
                if begun:
                    self._open_all(begun)
                self._handle(word & 0xFF, flags, stream_id, data[start:end])
                pos = end
                continue
            # A new call, its header block in one frame; its message mostly comes soon.
            self._last_stream_id = stream_id
            self._opened += 1
            block = data[start:end]
            head = cache.get(block) or self._read_head(stream_id, block)
            pos = end
            if head is None:
                continue
            if not head.plain:
                self._open(stream_id, head, end_stream=False)
                continue
            if size - pos >= 14:
                word, flags, next_id, compressed, length = _MESSAGE_HEAD(data, pos)
                end = pos + 14 + length
                if (
                    next_id == stream_id
                    and word == length + 5 << 8 <= _WORD_MAX  # DATA, one whole message
                    and flags == 1
                    and not compressed
                    and end <= size
                    and length <= bytes_max
                    and (head.content_length is None or head.content_length == length + 5)
                ):
                    streams[stream_id] = None
                    timeout_s = head.timeout_s
                    deadline_s = None if timeout_s is None else self._now_s + timeout_s
                    message = data[pos + 14 : end]
                    events.append(Request(stream_id, head.method, deadline_s, message))
                    got += length + 5
                    pos = end
                    continue
            begun[stream_id] = head
        if begun:
            self._open_all(begun)
        if got:
            self._count_received(got)
        return pos

    def _take_begun(
        self, begun: dict[int, Head], data: bytes, start: int, end: int, flags: int, stream_id: int
    ) -> int:
        """Take DATA of a call whose headers are in the same bytes, if it is its whole message.

        Returns:
            Where the call ends, which may be behind an empty frame; 0: it is not that simple.
        """
        head = begun[stream_id]
        if flags > 1 or end - start < 5:
            return 0
        compressed, length = _PREFIX(data, start)
        last = end if flags else end + 9
        if (
            compressed
            or not length == end - start - 5 <= self._message_bytes_max
            or not (flags or data[end:last] == _LAST(1, stream_id))
            or head.content_length not in (None, end - start)
        ):
            return 0
        del begun[stream_id]
        self._streams[stream_id] = None
        timeout_s = head.timeout_s
        deadline_s = None if timeout_s is None else self._now_s + timeout_s
        message = data[start + 5 : end]
        self._events.append(Request(stream_id, head.method, deadline_s, message))
        return last

    def _open_all(self, begun: dict[int, Head]) -> None:
        """These calls did not come whole."""
        for stream_id, head in begun.items():
            self._open(stream_id, head, end_stream=False)
        begun.clear()

    def _handle(self, kind: int, flags: int, stream_id: int, payload: bytes) -> None:
        """Handle any one frame."""
        stream_id &= frames.STREAM_ID_MAX  # the reserved bit means nothing
        if self._block_stream_id:
            if kind != frames.CONTINUATION or stream_id != self._block_stream_id:
                raise frames.protocol_error("header block interrupted by another frame")
        elif not self._settled:
            if kind != frames.SETTINGS or flags & frames.ACK:
                raise frames.protocol_error("the first frame is not SETTINGS")
            self._settled = True
        try:
            if kind < len(_HANDLERS):
                _HANDLERS[kind](self, flags, stream_id, payload)
            else:
                self._on_unknown(flags, stream_id, payload)
        except StreamFault as fault:
            self._fault(fault)

    # Calls ------------------------------------------------------------------------------

    def _read_head(self, stream_id: int, block: bytes) -> Head | None:
        """Decode a block that is not cached; None if the request is malformed and reset."""
        self._blocks_decoded += 1
        try:
            return self._decoder.read(block)
        except MalformedError as error:
            self._fault(StreamFault(stream_id, ErrorCode.PROTOCOL_ERROR, error.text))
            return None

    def _open(self, stream_id: int, head: Head, *, end_stream: bool) -> None:
        """Begin a call that did not arrive whole, or refuse it."""
        if len(self._streams) >= self._streams_max:
            self._refused += 1
            self._reset(stream_id, ErrorCode.REFUSED_STREAM)
            self._flood.cancel(self._now_s)
            return
        stream = Stream(stream_id, head, self._peer_window)
        self._streams[stream_id] = stream
        stream.remote_closed = end_stream
        self._begin(stream, head)
        if end_stream and not stream.gone:
            self._end_of(stream)

    def _end_of(self, stream: Stream) -> None:
        """END_STREAM came."""
        stream.remote_closed = True
        expected = stream.head.content_length if stream.head is not None else None
        if expected is not None and expected != stream.content_bytes:
            text = f"content-length {expected}, but {stream.content_bytes} bytes came"
            raise StreamFault(stream.stream_id, ErrorCode.PROTOCOL_ERROR, text)
        self._half_close(stream)

    def _on_headers(self, flags: int, stream_id: int, payload: bytes) -> None:
        if stream_id == 0:
            raise frames.protocol_error("HEADERS on stream 0")
        fragment = frames.unpad(flags, payload)
        if flags & frames.HAS_PRIORITY:
            if len(fragment) < 5:
                raise ConnectionFault(ErrorCode.FRAME_SIZE_ERROR, "HEADERS of a wrong size")
            check_dependency(stream_id, fragment)
            fragment = fragment[5:]
        if flags & frames.END_HEADERS:
            self._on_block(flags, stream_id, fragment)
            return
        self._block_stream_id = stream_id
        self._block_flags = flags
        self._block[:] = fragment
        self._continuations = 0

    def _on_continuation(self, flags: int, stream_id: int, payload: bytes) -> None:
        if not self._block_stream_id:
            raise frames.protocol_error("CONTINUATION without an open header block")
        self._continuations += 1
        self._block += payload
        if (
            self._continuations > limits.CONTINUATIONS_MAX
            or len(self._block) > limits.HEADER_BLOCK_BYTES_MAX
        ):
            raise ConnectionFault(ErrorCode.ENHANCE_YOUR_CALM, "header block without end")
        if flags & frames.END_HEADERS:
            block = bytes(self._block)
            self._block.clear()
            self._block_stream_id = 0
            self._on_block(self._block_flags, stream_id, block)

    def _on_block(self, flags: int, stream_id: int, block: bytes) -> None:
        """A complete header block: a new call, or the trailers of one."""
        end_stream = bool(flags & frames.END_STREAM)
        if stream_id % 2 == 0:
            raise frames.protocol_error("stream id of a client is even")
        if stream_id > self._last_stream_id:
            if stream_id > self._last_stream_id + 2:
                self._skipped.append(range(self._last_stream_id + 2, stream_id, 2))
                del self._skipped[: -limits.SKIPPED_RANGES_MAX]
            self._last_stream_id = stream_id
            self._opened += 1
            head = self._decoder.cache.get(block) or self._read_head(stream_id, block)
            if head is not None:
                self._open(stream_id, head, end_stream=end_stream)
            return
        fields = self._decoder.decode(block)
        if stream_id in self._streams:
            stream = self._open_side(stream_id)
            try:
                check_trailers(fields)
            except MalformedError as error:
                raise StreamFault(stream_id, ErrorCode.PROTOCOL_ERROR, error.text) from error
            if not end_stream:
                raise StreamFault(stream_id, ErrorCode.PROTOCOL_ERROR, "HEADERS twice")
            self._end_of(stream)
        elif stream_id in self._lingering:
            self._pass(stream_id, flags)
        elif any(stream_id in skip for skip in self._skipped):
            raise frames.protocol_error("stream ids of a client do not rise")
        else:
            raise ConnectionFault(ErrorCode.STREAM_CLOSED, "HEADERS on a closed stream")

    def _on_data(self, flags: int, stream_id: int, payload: bytes) -> None:
        if stream_id == 0 or self._is_idle(stream_id):
            raise frames.protocol_error("DATA on an idle stream")
        self._count_received(len(payload))
        data = frames.unpad(flags, payload)
        end_stream = flags & frames.END_STREAM
        if not data and not end_stream:
            self._flood.empty(self._now_s)
        if stream_id not in self._streams:
            if stream_id not in self._lingering:
                raise StreamFault(stream_id, ErrorCode.STREAM_CLOSED, "DATA on a closed stream")
            self._pass(stream_id, flags)
            return
        stream = self._open_side(stream_id)
        stream.content_bytes += len(data)
        if data:
            self._feed(stream, data)
        if stream.gone:
            # Answered already: its END_STREAM, if this was it, has nothing left to end.
            self._pass(stream_id, flags)
            return
        if end_stream:
            self._end_of(stream)
            return
        stream.uncredited += len(payload)
        if stream.uncredited >= limits.STREAM_WINDOW_BYTES // 2:
            self._out += frames.window_update(stream_id, stream.uncredited)
            stream.uncredited = 0


_HANDLERS: Final[tuple[Callable[[Connection, int, int, bytes], None], ...]] = (
    Connection._on_data,
    Connection._on_headers,
    Connection._on_priority,
    Connection._on_rst_stream,
    Connection._on_settings,
    Connection._on_push_promise,
    Connection._on_ping,
    Connection._on_goaway,
    Connection._on_window_update,
    Connection._on_continuation,
)
