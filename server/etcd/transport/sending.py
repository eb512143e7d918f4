"""The sending half of a connection: output, flow control, turns, and gRPC answers.

Bytes leave in one place, `take_output`. An answer that fits one frame and the windows goes there
at once; everything else waits in its stream's queue and is framed in turns of one frame per
stream, so that a big answer holds back nobody's small one.

Flow control counts DATA payload only. A stream takes part in the turns while it has something
queued and its own window is open; the connection's window stops all of them.
"""

from collections import deque
from struct import Struct
from typing import Final

from etcdq.actors import limits
from etcdq.server.etcd.transport import codes, frames
from etcdq.server.etcd.transport.events import TransportLimits
from etcdq.server.etcd.transport.hpack import TABLE_SIZE_ZERO, Field, literal_block
from etcdq.server.etcd.transport.message_reader import PREFIX
from etcdq.server.etcd.transport.stream import Stream

_CONTENT_TYPE: Final[Field] = (b"content-type", b"application/grpc")
_HEADERS_BLOCK: Final = literal_block([(b":status", b"200"), _CONTENT_TYPE])
_OK_BLOCK: Final = literal_block([(b"grpc-status", b"0")])

# A whole unary answer up to its message, and what follows the message.
_LAST: Final = frames.END_HEADERS | frames.END_STREAM
_HEADERS_START: Final = frames.frame(frames.HEADERS, frames.END_HEADERS, 0, _HEADERS_BLOCK)[:5]
_OK_START: Final = frames.frame(frames.HEADERS, _LAST, 0, _OK_BLOCK)[:5]
_ANSWER_HEAD: Final = Struct(f">5sI{len(_HEADERS_BLOCK)}sIxIxI")
_ANSWER_TAIL: Final = Struct(f">5sI{len(_OK_BLOCK)}s")
_ANSWER_BYTES_MAX: Final = limits.FRAME_BYTES_MAX


def status_fields(code: int, text: str) -> list[Field]:
    """The trailers of a gRPC answer; the text is percent-encoded UTF-8 and cut to its limit."""
    fields = [(b"grpc-status", str(code).encode())]
    if text:
        fields.append((b"grpc-message", percent_encode(text)))
    return fields


def percent_encode(text: str) -> bytes:
    """A status message as gRPC writes it: all but printable ASCII, and `%`, in hex."""
    raw = text[: limits.STATUS_TEXT_CHARS_MAX].encode("utf-8", "replace")
    return b"".join(
        b"%c" % byte if 0x20 <= byte <= 0x7E and byte != 0x25 else b"%%%02X" % byte for byte in raw
    )


class Sender:
    """Everything a connection sends. Calls on a stream that is gone do nothing."""

    def __init__(self, transport_limits: TransportLimits, now_s: float) -> None:
        self._limits = transport_limits
        self._now_s = now_s
        self._streams: dict[int, Stream | None] = {}
        self._out = bytearray()
        self._taken = 0
        self._send_window = frames.WINDOW_DEFAULT
        self._peer_window = frames.WINDOW_DEFAULT
        """What a new stream's send window is."""
        self._turns: deque[Stream] = deque()
        self._lingering: dict[int, None] = {}
        """Streams that we reset, the newest: what their peer had under way is let pass."""
        self._swift = True
        """False while even a plain answer needs a closer look."""
        self._owes_table_size = self._said_table_size = False
        self._draining = False
        self._frames_sent = 0
        self._finished = 0
        self.queued_bytes_total = 0

    # What a session calls ---------------------------------------------------------------

    def reply(self, stream_id: int, message: bytes) -> None:
        """Answer a unary call with OK and its one message."""
        size = len(message) + 5
        streams = self._streams
        if (
            size <= _ANSWER_BYTES_MAX
            and size <= self._send_window
            and size <= self._peer_window
            and self._swift
            and not self._turns
            and streams.get(stream_id, self) is None
        ):
            del streams[stream_id]
            self._send_window -= size
            self._finished += 1
            self._out += b"".join(
                (
                    _ANSWER_HEAD.pack(
                        _HEADERS_START, stream_id, _HEADERS_BLOCK, size << 8, stream_id, size - 5
                    ),
                    message,
                    _ANSWER_TAIL.pack(_OK_START, stream_id, _OK_BLOCK),
                )
            )
            return
        waiting = self.queued_bytes_total
        if waiting and waiting + size > self._limits.queued_answer_bytes_max:
            text = f"{waiting} bytes of answers wait for this connection's window"
            self.finish(stream_id, codes.RESOURCE_EXHAUSTED, text)
            return
        self.send_message(stream_id, message)
        self.finish(stream_id)

    def open_answer(self, stream_id: int) -> None:
        """Send the response headers of a streaming call now, before its first message."""
        stream = self._object(stream_id)
        if stream is not None and stream.trailers is None:
            self._answer(stream)

    def send_message(self, stream_id: int, message: bytes) -> int:
        """Send or queue a message of an answer.

        Returns:
            The stream position of its end: DATA payload bytes framed or queued so far, each
            message with its prefix of 5 bytes; 0 if the stream is gone.
        """
        stream = self._object(stream_id)
        if stream is None or stream.trailers is not None:
            return 0
        self._answer(stream)
        self._send(stream, PREFIX.pack(0, len(message)) + message)
        return stream.framed + stream.queued

    def finish(self, stream_id: int, code: int = 0, text: str = "") -> None:
        """End a call with a status, after everything that is queued on it."""
        stream = self._object(stream_id)
        if stream is None or stream.trailers is not None:
            return
        fields = status_fields(code, text)
        if not stream.answered:
            fields = [(b":status", b"200"), _CONTENT_TYPE, *fields]
        self._end(stream, literal_block(fields))

    def reset(self, stream_id: int, error_code: int) -> None:
        """End a call at once with RST_STREAM; what is queued on it is dropped."""
        if stream_id in self._streams:
            self._forget(stream_id)
            self._reset(stream_id, error_code)

    def withdraw(self, stream_id: int, end: int) -> bool:
        """Take back a queued message; what is queued behind it moves up by its size.

        Args:
            end: the stream position of its end, as `send_message` returned it.

        Returns:
            Whether it was taken back: False if a byte of it is framed. True if the stream is gone.
        """
        stream = self._streams.get(stream_id)
        if stream is None:
            return True
        if stream.queue is None:
            return False
        position = stream.framed - stream.offset
        for place, data in enumerate(stream.queue):
            position += len(data)
            if position < end:
                continue
            if position > end or (place == 0 and stream.offset):
                return False
            del stream.queue[place]
            stream.queued -= len(data)
            self.queued_bytes_total -= len(data)
            if not stream.queue:
                self._emptied(stream)
            return True
        return False

    def room(self, stream_id: int) -> int:
        """DATA payload bytes a message could have now and be framed without waiting for a
        window; 0 while something is queued on the stream."""
        stream = self._streams.get(stream_id, self)
        if stream is self:
            return 0
        room = self._send_window
        for other in self._turns:
            room -= max(0, min(other.queued, other.send_window))
            if room <= 0:
                return 0
        if not isinstance(stream, Stream):
            return max(0, min(room, self._peer_window))
        return max(0, min(room, stream.send_window)) if not stream.queue else 0

    def framed(self, stream_id: int) -> int:
        """The stream position up to which DATA moved into the output; 0 if it is gone."""
        stream = self._streams.get(stream_id)
        return stream.framed if stream is not None else 0

    def queued_bytes(self, stream_id: int) -> int:
        """DATA payload bytes of a stream that wait for a window or a turn."""
        stream = self._streams.get(stream_id)
        return stream.queued if stream is not None else 0

    @property
    def output_position(self) -> int:
        """Bytes that ever went into the output."""
        return self._taken + len(self._out)

    @property
    def has_output(self) -> bool:
        """Whether `take_output` would return something."""
        if not self._out:
            self._take_turns()
        return bool(self._out)

    def take_output(self) -> bytes:
        """Frames for the socket, in order; what waits only for its turn comes with later calls,
        so call until `has_output` is False."""
        if self._turns:
            self._take_turns()
        output = bytes(self._out)
        self._out.clear()
        self._taken += len(output)
        return output

    @property
    def open_streams(self) -> int:
        """Calls that are not ended: by their session, by their peer, or by a last flush."""
        return len(self._streams)

    # The machinery ----------------------------------------------------------------------

    @property
    def _activity(self) -> int:
        """Grows with every HEADERS or DATA sent: what forgives pings and window updates."""
        return self._frames_sent + self._finished

    def _object(self, stream_id: int) -> Stream | None:
        """The object of an open stream, made if it had none; None if the stream is gone."""
        stream = self._streams.get(stream_id)
        if stream is None and stream_id in self._streams:
            stream = Stream(stream_id, None, self._peer_window)
            self._streams[stream_id] = stream
        return stream

    def _answer(self, stream: Stream) -> None:
        if not stream.answered:
            stream.answered = True
            self._headers(stream.stream_id, _HEADERS_BLOCK, frames.END_HEADERS)

    def _headers(self, stream_id: int, block: bytes, flags: int) -> None:
        if self._owes_table_size:
            self._owes_table_size = False
            self._swift = not self._draining
            block = TABLE_SIZE_ZERO + block
        self._frames_sent += 1
        self._out += frames.frame(frames.HEADERS, flags, stream_id, block)

    def _send(self, stream: Stream, data: bytes) -> None:
        """Frame DATA at once if nothing is before it and it fits, else queue it."""
        size = len(data)
        if (
            not stream.queue
            and not self._turns
            and size <= limits.FRAME_BYTES_MAX
            and size <= stream.send_window
            and size <= self._send_window
        ):
            self._frame(stream, data)
            return
        if stream.queue is None:
            stream.queue = deque()
            stream.moved_s = self._now_s
        stream.queue.append(data)
        stream.queued += size
        self.queued_bytes_total += size
        self._line_up(stream)

    def _frame(self, stream: Stream, data: bytes | memoryview) -> None:
        size = len(data)
        stream.send_window -= size
        stream.framed += size
        self._send_window -= size
        self._frames_sent += 1
        self._out += frames.FRAME_HEAD.pack(size << 8 | frames.DATA, 0, stream.stream_id)
        self._out += data

    def _line_up(self, stream: Stream) -> None:
        """Let a stream take part in the turns, if it has something to send and may."""
        if stream.queue and stream.send_window > 0 and not stream.in_turn:
            stream.in_turn = True
            self._turns.append(stream)

    def _take_turns(self) -> None:
        """Frame what waits, a frame per stream in turn, as far as windows and one output go."""
        turns = self._turns
        while turns and self._send_window > 0 and len(self._out) < limits.OUTPUT_TURN_BYTES:
            stream = turns.popleft()
            stream.in_turn = False
            if not stream.queue:
                continue
            data = stream.queue[0]
            start = stream.offset
            window = min(stream.send_window, self._send_window, limits.FRAME_BYTES_MAX)
            size = min(len(data) - start, window)
            if size <= 0:
                continue
            self._frame(stream, memoryview(data)[start : start + size])
            stream.moved_s = self._now_s
            stream.queued -= size
            self.queued_bytes_total -= size
            stream.offset += size
            if stream.offset == len(data):
                stream.queue.popleft()
                stream.offset = 0
            if stream.queue:
                self._line_up(stream)
            else:
                self._emptied(stream)

    def _emptied(self, stream: Stream) -> None:
        """Nothing waits on a stream any longer: an empty deque is 760 bytes, so it goes."""
        stream.queue = None
        if stream.trailers is not None:
            self._close(stream, stream.trailers)

    def _end(self, stream: Stream, block: bytes) -> None:
        """End a stream with this block, now or once its queue is empty."""
        if stream.queue:
            stream.trailers = block
        else:
            self._close(stream, block)

    def _close(self, stream: Stream, block: bytes) -> None:
        self._headers(stream.stream_id, block, _LAST)
        self._finished += 1
        self._forget(stream.stream_id)
        if not stream.remote_closed:
            # RFC 9113 section 8.1: a client that still uploads is told to stop, without error.
            self._reset(stream.stream_id, frames.ErrorCode.NO_ERROR)

    def _forget(self, stream_id: int) -> Stream | None:
        """Take a stream out of the table, with all that waits on it."""
        stream = self._streams.pop(stream_id)
        if stream is not None:
            stream.gone = True
            self.queued_bytes_total -= stream.queued
            stream.queue = None
            stream.queued = 0
        return stream

    def _reset(self, stream_id: int, error_code: int) -> None:
        self._out += frames.rst_stream(stream_id, error_code)
        self._lingering[stream_id] = None
        if len(self._lingering) > limits.LINGERING_STREAMS_MAX:
            del self._lingering[next(iter(self._lingering))]
