"""A client of raw frames against one `Transport` in memory: what no honest library would send."""

from typing import Any, NamedTuple

from hpack import Decoder, Encoder

from etcdq.server.etcd.transport import frames
from etcdq.server.etcd.transport.events import Event, TransportLimits
from etcdq.server.etcd.transport.frames import ErrorCode, frame
from etcdq.server.etcd.transport.grpc import Transport

GET = [
    (b":method", b"GET"),
    (b":scheme", b"http"),
    (b":path", b"/"),
    (b":authority", b"127.0.0.1:2379"),
]
POST = [(b":method", b"POST"), *GET[1:]]
PING = frame(frames.PING, 0, 0, b"rawping!")


class Method:
    """A method of the tests: unary, or streaming."""

    def __init__(self, *, streaming: bool) -> None:
        self.streaming = streaming


PUT = Method(streaming=False)
WATCH = Method(streaming=True)
METHODS = {b"/test.KV/Put": PUT, b"/test.Watch/Watch": WATCH}


def call(path: bytes = b"/test.KV/Put", *more: tuple[bytes, bytes]) -> list[tuple[bytes, bytes]]:
    """The fields of a gRPC call."""
    return [
        (b":method", b"POST"),
        (b":scheme", b"http"),
        (b":path", path),
        (b":authority", b"127.0.0.1:2379"),
        (b"content-type", b"application/grpc"),
        (b"te", b"trailers"),
        *more,
    ]


WATCH_CALL = call(b"/test.Watch/Watch")


def prefixed(message: bytes, flag: int = 0) -> bytes:
    """A gRPC message with its prefix."""
    return bytes((flag,)) + len(message).to_bytes(4, "big") + message


def data(stream_id: int, payload: bytes = b"", *, end: bool = False, flags: int = 0) -> bytes:
    """A DATA frame."""
    return frame(frames.DATA, flags | (frames.END_STREAM if end else 0), stream_id, payload)


def priority(stream_id: int, depends_on: int = 0, weight: int = 255) -> bytes:
    """A PRIORITY frame."""
    return frame(frames.PRIORITY, 0, stream_id, depends_on.to_bytes(4, "big") + bytes((weight,)))


def settings(*pairs: tuple[int, int]) -> bytes:
    """A SETTINGS frame with these values, in this order, twice the same if given so."""
    payload = b"".join(key.to_bytes(2, "big") + value.to_bytes(4, "big") for key, value in pairs)
    return frame(frames.SETTINGS, 0, 0, payload)


class Frame(NamedTuple):
    """A frame the server sent; `fields` where it is HEADERS."""

    kind: int
    flags: int
    stream_id: int
    payload: bytes
    fields: tuple[tuple[bytes, bytes], ...] = ()

    @property
    def ends(self) -> bool:
        """Whether it ends its stream."""
        return self.kind in (frames.DATA, frames.HEADERS) and bool(self.flags & frames.END_STREAM)

    @property
    def error(self) -> int:
        """The error code of a RST_STREAM or GOAWAY."""
        start = 4 if self.kind == frames.GOAWAY else 0
        return int.from_bytes(self.payload[start : start + 4], "big")


class RawClient:
    """Sends bytes and keeps what the server sent since it was last looked at."""

    def __init__(
        self,
        *pairs: tuple[int, int],
        greet: bool = True,
        transport_limits: TransportLimits | None = None,
    ) -> None:
        self.now_s = 0.0
        self.transport = Transport(METHODS, transport_limits or TransportLimits(), 0.0)
        self.encoder = Encoder()
        self._decoder = Decoder()
        self.events: list[Event] = []
        if greet:
            self.send(frames.PREFACE, settings(*pairs))
            self.take()

    def send(self, *chunks: bytes) -> list[Event]:
        """Deliver chunks in one piece; what they meant is returned and kept in `events`."""
        events = self.transport.receive(b"".join(chunks), self.now_s)
        self.events += events
        return events

    def block(self, fields: list[tuple[bytes, bytes]]) -> bytes:
        """Encode fields with this connection's encoder."""
        return bytes(self.encoder.encode(fields))

    def headers(
        self,
        stream_id: int,
        fields: list[tuple[bytes, bytes]] | bytes = GET,
        *,
        end: bool = True,
        end_headers: bool = True,
        flags: int = 0,
        before: bytes = b"",
        after: bytes = b"",
    ) -> bytes:
        """A HEADERS frame of fields or of a raw block."""
        block = fields if isinstance(fields, bytes) else self.block(fields)
        flags |= frames.END_STREAM if end else 0
        flags |= frames.END_HEADERS if end_headers else 0
        return frame(frames.HEADERS, flags, stream_id, before + block + after)

    def continuation(
        self, stream_id: int, fields: list[tuple[bytes, bytes]] | bytes, *, end_headers: bool = True
    ) -> bytes:
        """A CONTINUATION frame."""
        block = fields if isinstance(fields, bytes) else self.block(fields)
        flags = frames.END_HEADERS if end_headers else 0
        return frame(frames.CONTINUATION, flags, stream_id, block)

    def take(self) -> list[Frame]:
        """The frames the server sent since the last look."""
        output = b""
        while self.transport.has_output:
            output += self.transport.take_output()
        taken = []
        pos = 0
        while pos < len(output):
            word, flags, stream_id = frames.FRAME_HEAD.unpack_from(output, pos)
            end = pos + 9 + (word >> 8)
            payload = output[pos + 9 : end]
            fields: Any = ()
            if word & 0xFF == frames.HEADERS:
                fields = tuple(
                    (bytes(name), bytes(value))
                    for name, value in self._decoder.decode(payload, raw=True)
                )
            taken.append(Frame(word & 0xFF, flags, stream_id, payload, fields))
            pos = end
        return taken

    # Verdicts ---------------------------------------------------------------------------

    def assert_connection_error(self, *codes: ErrorCode) -> None:
        """The server ended the connection with one of these codes."""
        goaways = [one for one in self.take() if one.kind == frames.GOAWAY]
        assert [one.error in codes for one in goaways] == [True], (goaways, codes)
        assert self.transport.closing
        assert self.transport.receive(PING, self.now_s) == []
        assert not self.transport.has_output

    def assert_stream_error(self, stream_id: int, *codes: ErrorCode) -> None:
        """The server reset the stream with one of these codes and is alive."""
        resets = [one for one in self.take() if one.kind == frames.RST_STREAM]
        assert [one.stream_id for one in resets] == [stream_id]
        assert resets[0].error in codes
        self.assert_alive()

    def assert_alive(self) -> None:
        """The connection answers a PING."""
        self.send(PING)
        assert Frame(frames.PING, frames.ACK, 0, b"rawping!") in self.take()
        assert not self.transport.closing

    def assert_answered(self, stream_id: int) -> list[Frame]:
        """The stream was answered to its end; returns its frames."""
        taken = [one for one in self.take() if one.stream_id == stream_id]
        assert taken[0].kind == frames.HEADERS
        assert taken[-1].ends
        self.assert_alive()
        return taken

    def status(self, stream_id: int) -> tuple[int, str]:
        """The gRPC status that ended a stream."""
        for one in self.take():
            if one.stream_id == stream_id and one.ends:
                fields = dict(one.fields)
                message = fields.get(b"grpc-message", b"").decode()
                return int(fields[b"grpc-status"]), message
        raise AssertionError(f"stream {stream_id} has not ended")
