"""The first words of a server, and the last ones to a peer that does not speak HTTP/2."""

import re
from typing import Final

from etcdq.actors import limits
from etcdq.server.etcd.transport import frames

_TLS_HANDSHAKE: Final = 0x16
_METHODS: Final = (
    b"GET ",
    b"HEAD ",
    b"POST ",
    b"PUT ",
    b"DELETE ",
    b"OPTIONS ",
    b"PATCH ",
    b"TRACE ",
    b"CONNECT ",
)
_LONGEST: Final = max(map(len, _METHODS))
_HTTP_1: Final = re.compile(b"|".join(_METHODS))

_BODY: Final = b"This port speaks gRPC (etcd v3 API) over HTTP/2: use an etcd v3 client.\n"
_HTTP_1_HEAD: Final = (
    b"HTTP/1.1 404 Not Found\r\n"
    b"Content-Type: text/plain; charset=utf-8\r\n"
    b"Content-Length: %d\r\n"
    b"Connection: close\r\n\r\n" % len(_BODY)
)


def greeting(streams_max: int) -> bytes:
    """What a server says once the client's preface has come: SETTINGS, and a wider window."""
    wider = limits.CONNECTION_WINDOW_BYTES - frames.WINDOW_DEFAULT
    return frames.settings(
        {
            frames.SETTING_MAX_CONCURRENT_STREAMS: streams_max,
            frames.SETTING_INITIAL_WINDOW_SIZE: limits.STREAM_WINDOW_BYTES,
            frames.SETTING_MAX_HEADER_LIST_SIZE: limits.HEADER_LIST_BYTES_MAX,
        }
    ) + frames.window_update(0, wider)


def answer(data: bytes) -> bytes | None:
    """The last words to a peer whose first bytes are not the preface and cannot become it.

    Args:
        data: everything received so far, at least one byte.

    Returns:
        Nothing for TLS, a 404 for HTTP/1.1, GOAWAY for anything else; None while more bytes must
        tell.
    """
    if data[0] == _TLS_HANDSHAKE:
        return b""
    if method := _HTTP_1.match(data):
        return _HTTP_1_HEAD if method[0] == b"HEAD " else _HTTP_1_HEAD + _BODY
    if len(data) < _LONGEST and any(known.startswith(data) for known in _METHODS):
        return None
    return frames.goaway(0, frames.ErrorCode.PROTOCOL_ERROR, b"invalid connection preface")
