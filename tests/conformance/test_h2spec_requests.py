"""h2spec, group `http2`, sections 7 and 8: error codes and requests. A test per case."""

import pytest

from etcdq.server.etcd.transport import frames
from etcdq.server.etcd.transport.frames import ErrorCode, frame, rst_stream
from tests.support.raw_http2 import GET, POST, RawClient, data

METHOD, SCHEME, PATH, AUTHORITY = GET


def test_7_1_goaway_with_unknown_code() -> None:
    """7/1: GOAWAY with an unknown error code is taken."""
    client = RawClient()
    client.send(frames.goaway(0, 0xFF))
    client.assert_alive()


def test_7_2_rst_stream_with_unknown_code() -> None:
    """7/2: RST_STREAM with an unknown error code is taken."""
    client = RawClient()
    client.send(client.headers(1, POST, end=False), rst_stream(1, 0xFF))
    client.assert_alive()


def test_8_1_1_second_headers_without_end_stream() -> None:
    """8.1/1: a second HEADERS frame without END_STREAM is a stream error."""
    client = RawClient()
    client.send(client.headers(1, POST, end=False), data(1, b"test"))
    client.send(client.headers(1, [(b"x-test", b"ok")], end=False))
    client.assert_stream_error(1, ErrorCode.PROTOCOL_ERROR)


MALFORMED = {
    "8.1.2/1 upper-case name": [*GET, (b"X-TEST", b"ok")],
    "8.1.2.1/1 unknown pseudo-header": [*GET, (b":test", b"ok")],
    "8.1.2.1/2 response pseudo-header": [*GET, (b":status", b"200")],
    "8.1.2.1/4 pseudo-header after a regular one": [
        METHOD,
        SCHEME,
        (b"x-test", b"ok"),
        PATH,
        AUTHORITY,
    ],
    "8.1.2.2/1 connection-specific header": [*GET, (b"connection", b"keep-alive")],
    "8.1.2.2/2 te other than trailers": [
        *GET,
        (b"trailers", b"test"),
        (b"te", b"trailers, deflate"),
    ],
    "8.1.2.3/1 empty :path": [METHOD, SCHEME, (b":path", b""), AUTHORITY],
    "8.1.2.3/2 no :method": [SCHEME, PATH, AUTHORITY],
    "8.1.2.3/3 no :scheme": [METHOD, PATH, AUTHORITY],
    "8.1.2.3/4 no :path": [METHOD, SCHEME, AUTHORITY],
    "8.1.2.3/5 :method twice": [METHOD, *GET],
    "8.1.2.3/6 :scheme twice": [*GET, SCHEME],
    "8.1.2.3/7 :path twice": [*GET, PATH],
}


@pytest.mark.parametrize("fields", MALFORMED.values(), ids=list(MALFORMED))
def test_8_1_2_malformed_request(fields: list[tuple[bytes, bytes]]) -> None:
    """8.1.2 to 8.1.2.3: a malformed request is a stream error, and the connection goes on."""
    client = RawClient()
    client.send(client.headers(1, fields))
    client.assert_stream_error(1, ErrorCode.PROTOCOL_ERROR)


def test_8_1_2_1_3_pseudo_header_in_trailers() -> None:
    """8.1.2.1/3: a pseudo-header field in trailers is a stream error."""
    client = RawClient()
    client.send(client.headers(1, POST, end=False), data(1, b"test"))
    client.send(client.headers(1, [(b":method", b"POST")]))
    client.assert_stream_error(1, ErrorCode.PROTOCOL_ERROR)


@pytest.mark.parametrize("parts", [1, 2])
def test_8_1_2_6_content_length(parts: int) -> None:
    """8.1.2.6/1, 8.1.2.6/2: a content-length that is not the sum of DATA is a stream error."""
    client = RawClient()
    client.send(client.headers(1, [*POST, (b"content-length", b"1")], end=False))
    client.send(*[data(1, b"test")] * (parts - 1), data(1, b"test", end=True))
    client.assert_stream_error(1, ErrorCode.PROTOCOL_ERROR)


def test_8_2_1_push_promise() -> None:
    """8.2/1: PUSH_PROMISE from a client ends the connection."""
    client = RawClient()
    client.send(client.headers(1, end=False))
    promise = b"\0\0\0\x03" + client.block(GET)
    client.send(frame(frames.PUSH_PROMISE, frames.END_HEADERS, 1, promise))
    client.assert_connection_error(ErrorCode.PROTOCOL_ERROR)
