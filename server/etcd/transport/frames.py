"""HTTP/2 frames: types, flags, settings, error codes, and how ours are built (RFC 9113)."""

from enum import IntEnum
from struct import Struct
from typing import Final

from etcdq.actors.errors import RemoteProtocolError

PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

# Plain ints: they are compared once per received frame.
DATA: Final = 0x0
HEADERS: Final = 0x1
PRIORITY: Final = 0x2
RST_STREAM: Final = 0x3
SETTINGS: Final = 0x4
PUSH_PROMISE: Final = 0x5
PING: Final = 0x6
GOAWAY: Final = 0x7
WINDOW_UPDATE: Final = 0x8
CONTINUATION: Final = 0x9

ACK: Final = 0x1
END_STREAM: Final = 0x1
END_HEADERS: Final = 0x4
PADDED: Final = 0x8
HAS_PRIORITY: Final = 0x20

SETTING_HEADER_TABLE_SIZE: Final = 0x1
SETTING_ENABLE_PUSH: Final = 0x2
SETTING_MAX_CONCURRENT_STREAMS: Final = 0x3
SETTING_INITIAL_WINDOW_SIZE: Final = 0x4
SETTING_MAX_FRAME_SIZE: Final = 0x5
SETTING_MAX_HEADER_LIST_SIZE: Final = 0x6

WINDOW_DEFAULT: Final = 65_535
WINDOW_MAX: Final = 0x7FFF_FFFF
STREAM_ID_MAX: Final = 0x7FFF_FFFF
FRAME_BYTES_LEAST_MAX: Final = 16_384
FRAME_BYTES_GREATEST_MAX: Final = 16_777_215

FRAME_HEAD: Final = Struct(">IBI")
"""Length and type in one word (length << 8 | type), flags, stream id."""

U32: Final = Struct(">I")


class ErrorCode(IntEnum):
    """Why a stream or a connection ended (RFC 9113 section 7)."""

    NO_ERROR = 0x0
    PROTOCOL_ERROR = 0x1
    INTERNAL_ERROR = 0x2
    FLOW_CONTROL_ERROR = 0x3
    SETTINGS_TIMEOUT = 0x4
    STREAM_CLOSED = 0x5
    FRAME_SIZE_ERROR = 0x6
    REFUSED_STREAM = 0x7
    CANCEL = 0x8
    COMPRESSION_ERROR = 0x9
    CONNECT_ERROR = 0xA
    ENHANCE_YOUR_CALM = 0xB
    INADEQUATE_SECURITY = 0xC
    HTTP_1_1_REQUIRED = 0xD


class ConnectionFault(RemoteProtocolError):
    """The peer broke the protocol of the connection: GOAWAY with this code, then close."""

    def __init__(self, code: ErrorCode, text: str) -> None:
        super().__init__(text)
        self.code = code


class StreamFault(RemoteProtocolError):
    """The peer broke the protocol of one stream: RST_STREAM with this code, the rest goes on."""

    def __init__(self, stream_id: int, code: ErrorCode, text: str) -> None:
        super().__init__(text)
        self.stream_id = stream_id
        self.code = code


def frame(kind: int, flags: int, stream_id: int, payload: bytes = b"") -> bytes:
    """One frame with its payload."""
    return FRAME_HEAD.pack(len(payload) << 8 | kind, flags, stream_id) + payload


def rst_stream(stream_id: int, code: int) -> bytes:
    """RST_STREAM with an error code."""
    return FRAME_HEAD.pack(4 << 8 | RST_STREAM, 0, stream_id) + U32.pack(code)


def window_update(stream_id: int, increment: int) -> bytes:
    """WINDOW_UPDATE by a number of bytes; stream 0 is the connection."""
    return FRAME_HEAD.pack(4 << 8 | WINDOW_UPDATE, 0, stream_id) + U32.pack(increment)


def goaway(last_stream_id: int, code: int, text: bytes = b"") -> bytes:
    """GOAWAY: streams up to and including the last id were or will be processed."""
    return frame(GOAWAY, 0, 0, U32.pack(last_stream_id) + U32.pack(code) + text)


def settings(values: dict[int, int]) -> bytes:
    """SETTINGS with values in the given order."""
    payload = b"".join(key.to_bytes(2, "big") + U32.pack(value) for key, value in values.items())
    return frame(SETTINGS, 0, 0, payload)


def protocol_error(text: str) -> ConnectionFault:
    """The fault of a peer that broke the rules of the connection in a way without its own code."""
    return ConnectionFault(ErrorCode.PROTOCOL_ERROR, text)


def unpad(flags: int, payload: bytes) -> bytes:
    """The content of a DATA or HEADERS frame without its padding.

    Raises:
        ConnectionFault: the padding does not fit its frame.
    """
    if not flags & PADDED:
        return payload
    if not payload:
        raise ConnectionFault(ErrorCode.FRAME_SIZE_ERROR, "padded frame without a pad length")
    padding = payload[0]
    if padding >= len(payload):
        raise protocol_error("padding longer than its frame")
    return payload[1 : len(payload) - padding]
