"""HTTP/2 frames and gRPC messages as bytes: what the lean client sends and takes apart."""

import struct

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE = 0, 1, 3, 4, 6, 7, 8
END_STREAM = ACK = 0x1
END_HEADERS = 0x4
PADDED = 0x8
PRIORITY = 0x20

HEADER_TABLE_SIZE, MAX_CONCURRENT_STREAMS, INITIAL_WINDOW_SIZE = 1, 3, 4
WINDOW_MAX = (1 << 31) - 1
WINDOW_DEFAULT = 65_535

HEAD = struct.Struct(">HBBBI")
"""Length (upper 16 bits, lower 8), type, flags, stream."""


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """One frame."""
    length = len(payload)
    return HEAD.pack(length >> 8, length & 0xFF, kind, flags, stream) + payload


def settings(values: dict[int, int]) -> bytes:
    """A SETTINGS frame of identifier: value."""
    return frame(SETTINGS, 0, 0, b"".join(struct.pack(">HI", *pair) for pair in values.items()))


def parse_settings(payload: bytes) -> dict[int, int]:
    """Identifier: value of a SETTINGS payload."""
    return dict(struct.iter_unpack(">HI", payload))


def message(body: bytes) -> bytes:
    """A gRPC message: one byte for "not compressed", four of length, the body."""
    return b"\0" + struct.pack(">I", len(body)) + body


def call(stream: int, block: bytes, body: bytes, *, half_close: bool = True) -> bytes:
    """HEADERS and DATA of a call whose only (or first) message is body."""
    return frame(HEADERS, END_HEADERS, stream, block) + frame(
        DATA, END_STREAM if half_close else 0, stream, message(body)
    )


def split_messages(buffer: bytes) -> tuple[list[bytes], bytes]:
    """Bodies of the whole gRPC messages at the start of buffer, and the bytes left over."""
    bodies = []
    position = 0
    while len(buffer) - position >= 5:
        end = position + 5 + int.from_bytes(buffer[position + 1 : position + 5], "big")
        if end > len(buffer):
            break
        bodies.append(buffer[position + 5 : end])
        position = end
    return bodies, buffer[position:]
