"""One lean HTTP/2 + gRPC client connection on a raw socket.

Lean, not lax: it obeys the server's SETTINGS (streams at once, windows, header table), answers
PING, returns flow-control credit, decodes every header block and checks every grpc-status. What
makes it fast is that whole calls are bytes before they are sent, and that nothing is awaited.
Requests here are small: none fills the window of its stream, so only the connection's is counted.
"""

import select
import socket
import struct

from hpack import Decoder

from bench import frames, headers

_RECEIVE_BYTES = 1 << 18
_SOCKET_TIMEOUT_S = 20


class CallFailedError(RuntimeError):
    """The server ended a call, or the connection, otherwise than with grpc-status 0."""


class Connection:
    """A connection to 127.0.0.1:port, handshake done.

    Public state: `streams_max` and `send_window` as the server set them, `open` streams now;
    `ended` and `messages` gather what arrived, and belong to the caller, who empties them:
    ids of streams that ended well, and (stream, body) of each gRPC message, in order.
    """

    def __init__(self, port: int) -> None:
        self.authority = f"127.0.0.1:{port}"
        self.streams_max = frames.WINDOW_MAX
        self.stream_window = frames.WINDOW_DEFAULT
        self.send_window = frames.WINDOW_DEFAULT
        self.table_bytes = 4096
        self.open = 0
        self.ended: list[int] = []
        self.messages: list[tuple[int, bytes]] = []
        self._next_stream = 1
        self._buffer = b""
        self._pending = b""
        self._partial: dict[int, bytes] = {}
        self._decoder = Decoder()
        self._blocks: dict[bytes, str | None] = {}
        self._fields: dict[str, str] = {}
        self._ready: dict[str, bytes] = {}
        self._unreturned = 0
        self._greeted = False
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=_SOCKET_TIMEOUT_S)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # A blocking socket with kernel timeouts: Python's own poll before every call is spared.
        self._socket.setblocking(True)
        timeout = struct.pack("ll", _SOCKET_TIMEOUT_S, 0)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, timeout)
        self.send(
            frames.PREFACE
            + frames.settings({frames.INITIAL_WINDOW_SIZE: frames.WINDOW_MAX})
            + self._credit(frames.WINDOW_MAX - frames.WINDOW_DEFAULT)
        )
        while not self._greeted:
            self.receive()
        self._encoder = headers.GoEncoder(self.table_bytes)

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def fileno(self) -> int:
        """The socket's descriptor, for select."""
        return self._socket.fileno()

    def take_stream(self) -> int:
        """The next stream id; the caller then sends a call on it."""
        stream = self._next_stream
        self._next_stream += 2
        self.open += 1
        return stream

    def block(self, path: str) -> bytes:
        """The header block of the next call to path, to be sent in the order they were asked."""
        block = self._ready.get(path)
        if block is None:
            added = self._encoder.added
            block = self._encoder.encode(headers.call_fields(path, self.authority))
            if self._encoder.added == added:
                self._ready[path] = block
            else:
                self._ready.clear()
        return block

    def room(self, call_bytes: int) -> int:
        """How many calls with so many bytes of DATA may be sent now."""
        return min(self.streams_max - self.open, self.send_window // call_bytes)

    def send(self, data: bytes | memoryview, flow_bytes: int = 0) -> None:
        """Send frames, flow_bytes of whose payload count against the window; never blocks."""
        self.send_window -= flow_bytes
        if self._pending:
            self._pending += data
        else:
            self._pending = self._push(data)

    def _push(self, data: bytes | memoryview) -> bytes:
        try:
            sent = self._socket.send(data, socket.MSG_DONTWAIT)
        except BlockingIOError:
            sent = 0
        return bytes(data[sent:])

    def receive(self, *, wait: bool = True) -> None:
        """Take what arrived, at least something if wait, and send what could not be sent.

        Raises:
            CallFailedError: see there.
        """
        if self._pending:
            select.select([self], [self], [], _SOCKET_TIMEOUT_S)
            self._pending = self._push(self._pending)
            wait = False
        try:
            data = self._socket.recv(_RECEIVE_BYTES, 0 if wait else socket.MSG_DONTWAIT)
        except BlockingIOError as error:
            if wait:
                raise CallFailedError(f"no answer within {_SOCKET_TIMEOUT_S} s") from error
            return
        if not data:
            raise CallFailedError("the server closed the connection")
        self._parse(self._buffer + data)

    def call(self, path: str, body: bytes) -> bytes:
        """One call, awaited; for preparations and checks. Returns the answer's body."""
        stream = self.take_stream()
        self.send(frames.call(stream, self.block(path), body), len(body) + 5)
        while stream not in self.ended:
            self.receive()
        self.ended.remove(stream)
        answer = next(body for from_, body in self.messages if from_ == stream)
        self.messages = [pair for pair in self.messages if pair[0] != stream]
        return answer

    def _credit(self, size: int) -> bytes:
        return frames.frame(frames.WINDOW_UPDATE, 0, 0, struct.pack(">I", size))

    def _parse(self, buffer: bytes) -> None:
        unpack = frames.HEAD.unpack_from
        size = len(buffer)
        position = 0
        while size - position >= 9:
            high, low, kind, flags, stream = unpack(buffer, position)
            end = position + 9 + (high << 8 | low)
            if end > size:
                break
            payload = buffer[position + 9 : end]
            position = end
            if kind == frames.DATA:
                self._on_data(stream, flags, payload)
            elif kind == frames.HEADERS:
                self._on_headers(stream, flags, payload)
            else:
                self._on_other(kind, flags, stream, payload)
        self._buffer = buffer[position:]
        if self._unreturned > frames.WINDOW_MAX >> 2:
            self.send(self._credit(self._unreturned))
            self._unreturned = 0

    def _on_data(self, stream: int, flags: int, payload: bytes) -> None:
        self._unreturned += len(payload)
        if flags & (frames.PADDED | frames.END_STREAM):
            raise CallFailedError("a gRPC answer ends with trailers, and nobody here pads")
        if stream not in self._partial and int.from_bytes(payload[1:5], "big") == len(payload) - 5:
            self.messages.append((stream, payload[5:]))
            return
        bodies, rest = frames.split_messages(self._partial.pop(stream, b"") + payload)
        self.messages += [(stream, body) for body in bodies]
        if rest:
            self._partial[stream] = rest

    def _on_headers(self, stream: int, flags: int, payload: bytes) -> None:
        if flags & (frames.PADDED | frames.PRIORITY) or not flags & frames.END_HEADERS:
            raise CallFailedError("response headers of a kind this client does not read")
        status = self._blocks.get(payload, "unknown")
        if status == "unknown":
            status = self._decode(payload)
        if flags & frames.END_STREAM:
            if status != "0":
                raise CallFailedError(f"stream {stream}: {self._fields}")
            self.open -= 1
            self.ended.append(stream)

    def _decode(self, payload: bytes) -> str | None:
        """The block's grpc-status; remembered while the decoder's table stands still."""
        table = self._decoder.header_table
        before = (list(table.dynamic_entries), table.maxsize)
        self._fields = {str(name): str(value) for name, value in self._decoder.decode(payload)}
        status = self._fields.get("grpc-status")
        if (list(table.dynamic_entries), table.maxsize) != before:
            self._blocks.clear()
        elif status in ("0", None):
            self._blocks[payload] = status
        return status

    def _on_other(self, kind: int, flags: int, stream: int, payload: bytes) -> None:
        if kind == frames.WINDOW_UPDATE:
            if stream == 0:
                self.send_window += int.from_bytes(payload, "big")
        elif kind == frames.SETTINGS:
            if not flags & frames.ACK:
                self._on_settings(frames.parse_settings(payload))
        elif kind == frames.PING:
            if not flags & frames.ACK:
                self.send(frames.frame(frames.PING, frames.ACK, 0, payload))
        elif kind in (frames.RST_STREAM, frames.GOAWAY):
            raise CallFailedError(f"frame {kind} on stream {stream}: {payload!r}")

    def _on_settings(self, values: dict[int, int]) -> None:
        self._greeted = True
        self.streams_max = values.get(frames.MAX_CONCURRENT_STREAMS, self.streams_max)
        self.stream_window = values.get(frames.INITIAL_WINDOW_SIZE, self.stream_window)
        self.table_bytes = values.get(frames.HEADER_TABLE_SIZE, self.table_bytes)
        self.send(frames.frame(frames.SETTINGS, frames.ACK, 0))
