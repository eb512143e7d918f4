"""An etcd client's end of a connection on the `h2` library: bytes in, bytes out, no I/O.

It answers what HTTP/2 wants answered and gives window back as it reads, unless it is told not to.
"""

from collections import deque
from dataclasses import dataclass, field
from struct import Struct

import h2.config
import h2.connection
import h2.events
import h2.settings

PREFIX = Struct(">BI")
WINDOW_BYTES = 65_535
GOAWAY = 7


@dataclass
class Call:
    """One call as its client sees it. `status` is set when it is over, `reset` if by a reset."""

    stream_id: int
    messages: deque[bytes] = field(default_factory=deque)
    answered: bool = False
    status: int | None = None
    text: str = ""
    http_status: str = ""
    reset: int | None = None
    reading: bool = True
    ended: bool = False
    buffer: bytearray = field(default_factory=bytearray)
    unread_bytes: int = 0

    @property
    def half_received_bytes(self) -> int:
        """Bytes of a message that did not come whole."""
        return len(self.buffer)


class Peer:
    """One connection's client.

    Args:
        window: initial window of each of its streams.
        reading: whether streams give window back as they read, to begin with.
        connection_window: of all of its streams together.
    """

    def __init__(
        self,
        *,
        window: int = WINDOW_BYTES,
        reading: bool = True,
        connection_window: int = WINDOW_BYTES,
    ) -> None:
        config = h2.config.H2Configuration(
            client_side=True, validate_outbound_headers=False, validate_inbound_headers=True
        )
        self.h2 = h2.connection.H2Connection(config)
        codes = h2.settings.SettingCodes
        self.h2.local_settings = h2.settings.Settings(
            client=True,
            initial_values={
                codes.ENABLE_PUSH: 0,
                codes.INITIAL_WINDOW_SIZE: window,
                codes.MAX_CONCURRENT_STREAMS: 100,
            },
        )
        self.h2.initiate_connection()
        if connection_window > WINDOW_BYTES:
            self.h2.increment_flow_control_window(connection_window - WINDOW_BYTES)
        self.calls: dict[int, Call] = {}
        self.reading = reading
        self.mute = False
        """Whether it says nothing any more, not even what HTTP/2 demands."""
        self.goaway: int | None = None
        """Error code of the last GOAWAY."""
        self.closed = False
        """Whether the server closed the connection."""
        self.pings = 0
        self._unsent: dict[int, tuple[bytearray, bool]] = {}
        self._raw = bytearray()
        self._received = bytearray()

    # what the client does ---------------------------------------------------------------

    def open(self, path: str, *headers: tuple[str, str]) -> Call:
        """Begin a call."""
        stream_id = self.h2.get_next_available_stream_id()
        fields = [
            (":method", "POST"),
            (":scheme", "http"),
            (":path", path),
            (":authority", "test"),
            ("te", "trailers"),
            ("content-type", "application/grpc"),
            *headers,
        ]
        self.h2.send_headers(stream_id, fields)
        call = self.calls[stream_id] = Call(stream_id, reading=self.reading)
        return call

    def send(self, call: Call, message: bytes, *, end: bool) -> None:
        """Send one message of a call, as fast as the server's window lets it."""
        self.send_data(call, PREFIX.pack(0, len(message)) + message, end=end)

    def send_data(self, call: Call, data: bytes, *, end: bool) -> None:
        """Send bytes of a call as they are."""
        waiting, _ = self._unsent.get(call.stream_id, (bytearray(), False))
        self._unsent[call.stream_id] = (waiting + data, end)
        self._push()

    def end(self, call: Call) -> None:
        """End this side of a call."""
        self.send_data(call, b"", end=True)

    def reset(self, call: Call, code: int = 8) -> None:
        """Reset a call."""
        self._unsent.pop(call.stream_id, None)
        self.h2.reset_stream(call.stream_id, code)

    def widen(self, size: int, call: Call | None = None) -> None:
        """Give the server more window, on a call or on the connection."""
        self.h2.increment_flow_control_window(size, call.stream_id if call else None)

    def read_on(self, call: Call) -> None:
        """Give back the window of what came while the call was not read, and of what comes."""
        call.reading = True
        self._give_back(call)

    def raw(self, data: bytes) -> None:
        """Send bytes past the HTTP/2 library."""
        self._raw += self.h2.data_to_send() + data

    def take(self) -> bytes:
        """Return the bytes to be sent now."""
        data = bytes(self._raw) + self.h2.data_to_send()
        self._raw.clear()
        return b"" if self.mute else data

    # what the server says ---------------------------------------------------------------

    def feed(self, data: bytes) -> None:
        """Take bytes of the server; none means that it closed the connection."""
        if not data:
            self._over()
            return
        for event in self.h2.receive_data(self._without_goaway(data)):
            self._hear(event)
        self._push()

    def _without_goaway(self, data: bytes) -> bytes:
        # The library takes nothing more after a GOAWAY; yet one with NO_ERROR lets calls end.
        self._received += data
        passed = bytearray()
        while len(self._received) >= 9:
            end = 9 + int.from_bytes(self._received[:3], "big")
            if len(self._received) < end:
                break
            if self._received[3] == GOAWAY:
                self.goaway = int.from_bytes(self._received[13:17], "big")
            else:
                passed += self._received[:end]
            del self._received[:end]
        return bytes(passed)

    def _over(self) -> None:
        self.closed = True
        for call in self.calls.values():
            call.ended = True

    def _hear(self, event: h2.events.Event) -> None:
        if isinstance(event, h2.events.PingReceived):
            self.pings += 1
            return
        stream_id = getattr(event, "stream_id", None)
        call = self.calls.get(stream_id) if stream_id else None
        if call is None:
            return
        if isinstance(event, h2.events.ResponseReceived | h2.events.TrailersReceived):
            self._hear_headers(call, dict(event.headers or ()))
        elif isinstance(event, h2.events.DataReceived):
            self._hear_data(call, event)
        elif isinstance(event, h2.events.StreamReset):
            if not call.ended:
                call.reset = int(event.error_code or 0)
            call.ended = True
            self._unsent.pop(call.stream_id, None)
        elif isinstance(event, h2.events.StreamEnded):
            call.ended = True
            self._unsent.pop(call.stream_id, None)

    def _hear_headers(self, call: Call, headers: dict[bytes, bytes]) -> None:
        call.answered = True
        if b":status" in headers:
            call.http_status = headers[b":status"].decode()
        if b"grpc-status" in headers:
            call.status = int(headers[b"grpc-status"])
            call.text = headers.get(b"grpc-message", b"").decode()

    def _hear_data(self, call: Call, event: h2.events.DataReceived) -> None:
        size = event.flow_controlled_length or 0
        call.unread_bytes += size
        call.buffer += event.data or b""
        while len(call.buffer) >= PREFIX.size:
            _, length = PREFIX.unpack_from(call.buffer)
            if len(call.buffer) < PREFIX.size + length:
                break
            call.messages.append(bytes(call.buffer[PREFIX.size : PREFIX.size + length]))
            del call.buffer[: PREFIX.size + length]
        if size:
            # The connection's window is always given back: a stream that is not read stalls alone.
            self.h2.increment_flow_control_window(size)
        if call.reading:
            self._give_back(call)

    def _give_back(self, call: Call) -> None:
        size, call.unread_bytes = call.unread_bytes, 0
        if size and not call.ended:
            stream = self.h2.streams.get(call.stream_id)
            if stream is not None and not stream.closed:
                self.h2.increment_flow_control_window(size, call.stream_id)

    def _push(self) -> None:
        for stream_id, (data, end) in list(self._unsent.items()):
            while data:
                room = self.h2.local_flow_control_window(stream_id)
                size = min(room, self.h2.max_outbound_frame_size, len(data))
                if size <= 0:
                    break
                self.h2.send_data(stream_id, bytes(data[:size]))
                del data[:size]
            if data:
                continue
            del self._unsent[stream_id]
            if end:
                self.h2.end_stream(stream_id)
