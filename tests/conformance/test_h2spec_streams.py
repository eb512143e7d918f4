"""h2spec, group `http2`, sections 3 to 5: preface, frames, streams. A test per case.

Where h2spec takes a stream error or a connection error, ours say which of the two we chose.
"""

import pytest

from etcdq.server.etcd.transport import frames
from etcdq.server.etcd.transport.events import TransportLimits
from etcdq.server.etcd.transport.frames import ErrorCode, frame, rst_stream, window_update
from tests.support.raw_http2 import GET, PING, POST, RawClient, data, priority, settings

DUMMY = [(b"x-dummy", b"x" * 40)]
UNKNOWN = frame(0x16, 0, 0, b"\0" * 8)


def test_3_5_1_client_preface() -> None:
    """3.5/1: a valid preface is answered by SETTINGS as the first frame."""
    client = RawClient(greet=False)
    client.send(frames.PREFACE, settings((3, 100)))
    kinds = [one.kind for one in client.take()]
    assert kinds[0] == frames.SETTINGS
    client.assert_alive()


def test_3_5_2_invalid_preface() -> None:
    """3.5/2: an invalid preface ends the connection with PROTOCOL_ERROR."""
    client = RawClient(greet=False)
    client.send(b"INVALID CONNECTION PREFACE\r\n\r\n")
    client.assert_connection_error(ErrorCode.PROTOCOL_ERROR)


def test_4_1_1_unknown_frame_type() -> None:
    """4.1/1: a frame of unknown type is ignored."""
    client = RawClient()
    client.send(UNKNOWN)
    client.assert_alive()


def test_4_1_2_undefined_flag() -> None:
    """4.1/2: undefined flags are ignored."""
    client = RawClient()
    client.send(frame(frames.PING, 0x16, 0, b"\0" * 8))
    assert [one.kind for one in client.take()] == [frames.PING]


def test_4_1_3_reserved_bit() -> None:
    """4.1/3: the reserved bit of a stream id is ignored."""
    client = RawClient()
    client.send(frame(frames.PING, 0, 0x8000_0000, b"\0" * 8))
    assert [one.kind for one in client.take()] == [frames.PING]


def test_4_2_1_data_of_full_size() -> None:
    """4.2/1: a DATA frame of 2^14 octets is taken."""
    client = RawClient()
    client.send(client.headers(1, POST, end=False), data(1, b"x" * 16_384, end=True))
    client.assert_answered(1)


def test_4_2_2_data_over_frame_size() -> None:
    """4.2/2: a DATA frame over SETTINGS_MAX_FRAME_SIZE ends the connection, by its head alone."""
    client = RawClient()
    client.send(client.headers(1, POST, end=False), data(1, b"x" * 16_385, end=True)[:9])
    client.assert_connection_error(ErrorCode.FRAME_SIZE_ERROR)


def test_4_2_3_headers_over_frame_size() -> None:
    """4.2/3: a HEADERS frame over SETTINGS_MAX_FRAME_SIZE ends the connection."""
    client = RawClient()
    client.send(client.headers(1, client.block(GET) + b"\x00" * 16_384))
    client.assert_connection_error(ErrorCode.FRAME_SIZE_ERROR)


def test_4_3_1_invalid_header_block() -> None:
    """4.3/1: an invalid header block ends the connection with COMPRESSION_ERROR."""
    client = RawClient()
    client.send(b"\x00\x00\x01\x01\x05\x00\x00\x00\x01\x40")
    client.assert_connection_error(ErrorCode.COMPRESSION_ERROR)


def test_4_3_2_priority_within_a_header_block() -> None:
    """4.3/2: PRIORITY inside a header block ends the connection."""
    client = RawClient()
    client.send(client.headers(1, end=False, end_headers=False), priority(1))
    client.assert_connection_error(ErrorCode.PROTOCOL_ERROR)


def test_4_3_3_headers_within_a_header_block() -> None:
    """4.3/3: HEADERS of another stream inside a header block ends the connection."""
    client = RawClient()
    client.send(client.headers(1, end=False, end_headers=False), client.headers(3))
    client.assert_connection_error(ErrorCode.PROTOCOL_ERROR)


def test_5_1_1_idle_data() -> None:
    """5.1/1: DATA on an idle stream ends the connection."""
    client = RawClient()
    client.send(data(1, b"test", end=True))
    client.assert_connection_error(ErrorCode.PROTOCOL_ERROR)


def test_5_1_2_idle_rst_stream() -> None:
    """5.1/2: RST_STREAM on an idle stream ends the connection."""
    client = RawClient()
    client.send(rst_stream(1, ErrorCode.CANCEL))
    client.assert_connection_error(ErrorCode.PROTOCOL_ERROR)


def test_5_1_3_idle_window_update() -> None:
    """5.1/3: WINDOW_UPDATE on an idle stream ends the connection."""
    client = RawClient()
    client.send(window_update(1, 100))
    client.assert_connection_error(ErrorCode.PROTOCOL_ERROR)


def test_5_1_4_idle_continuation() -> None:
    """5.1/4: CONTINUATION on an idle stream ends the connection."""
    client = RawClient()
    client.send(client.continuation(1, GET))
    client.assert_connection_error(ErrorCode.PROTOCOL_ERROR)


# Half closed (remote): SETTINGS_INITIAL_WINDOW_SIZE 0 keeps the answer, and so the stream, open.
HELD = (frames.SETTING_INITIAL_WINDOW_SIZE, 0)


def test_5_1_5_half_closed_data() -> None:
    """5.1/5: DATA on a half-closed (remote) stream is a stream error STREAM_CLOSED."""
    client = RawClient(HELD)
    client.send(client.headers(1), data(1, b"test", end=True))
    client.assert_stream_error(1, ErrorCode.STREAM_CLOSED)


def test_5_1_6_half_closed_headers() -> None:
    """5.1/6: HEADERS on a half-closed (remote) stream is a stream error STREAM_CLOSED."""
    client = RawClient(HELD)
    client.send(client.headers(1), client.headers(1))
    client.assert_stream_error(1, ErrorCode.STREAM_CLOSED)


def test_5_1_7_half_closed_continuation() -> None:
    """5.1/7: CONTINUATION on a half-closed (remote) stream ends the connection."""
    client = RawClient(HELD)
    client.send(client.headers(1), client.continuation(1, DUMMY))
    client.assert_connection_error(ErrorCode.PROTOCOL_ERROR)


def test_5_1_8_data_after_rst_stream() -> None:
    """5.1/8: DATA after the client's RST_STREAM is a stream error STREAM_CLOSED."""
    client = RawClient()
    client.send(client.headers(1, end=False), rst_stream(1, ErrorCode.CANCEL))
    client.send(data(1, b"test", end=True))
    client.assert_stream_error(1, ErrorCode.STREAM_CLOSED)


def test_5_1_9_headers_after_rst_stream() -> None:
    """5.1/9: HEADERS after the client's RST_STREAM ends the connection with STREAM_CLOSED."""
    client = RawClient()
    client.send(client.headers(1, end=False), rst_stream(1, ErrorCode.CANCEL), client.headers(1))
    client.assert_connection_error(ErrorCode.STREAM_CLOSED)


def test_5_1_10_continuation_after_rst_stream() -> None:
    """5.1/10: CONTINUATION after the client's RST_STREAM ends the connection."""
    client = RawClient()
    client.send(client.headers(1, end=False), rst_stream(1, ErrorCode.CANCEL))
    client.send(client.continuation(1, DUMMY))
    client.assert_connection_error(ErrorCode.PROTOCOL_ERROR)


def test_5_1_11_closed_data() -> None:
    """5.1/11: DATA on a closed stream is a stream error STREAM_CLOSED."""
    client = RawClient()
    client.send(client.headers(1))
    client.assert_answered(1)
    client.send(data(1, b"test", end=True))
    client.assert_stream_error(1, ErrorCode.STREAM_CLOSED)


def test_5_1_12_closed_headers() -> None:
    """5.1/12: HEADERS on a closed stream ends the connection with STREAM_CLOSED."""
    client = RawClient()
    client.send(client.headers(1))
    client.assert_answered(1)
    client.send(client.headers(1))
    client.assert_connection_error(ErrorCode.STREAM_CLOSED)


def test_5_1_13_closed_continuation() -> None:
    """5.1/13: CONTINUATION on a closed stream ends the connection."""
    client = RawClient()
    client.send(client.headers(1))
    client.assert_answered(1)
    client.send(client.continuation(1, DUMMY))
    client.assert_connection_error(ErrorCode.PROTOCOL_ERROR)


def test_5_1_1_1_even_stream_id() -> None:
    """5.1.1/1: an even stream id ends the connection."""
    client = RawClient()
    client.send(client.headers(2))
    client.assert_connection_error(ErrorCode.PROTOCOL_ERROR)


def test_5_1_1_2_smaller_stream_id() -> None:
    """5.1.1/2: a stream id smaller than one before, never used, ends the connection."""
    client = RawClient()
    client.send(client.headers(5), client.headers(3))
    client.assert_connection_error(ErrorCode.PROTOCOL_ERROR)


def test_5_1_2_1_stream_limit() -> None:
    """5.1.2/1: a stream over the advertised limit is refused, and works when there is room."""
    client = RawClient(HELD, transport_limits=TransportLimits(streams_max=3))
    client.send(*(client.headers(stream_id) for stream_id in (1, 3, 5, 7)))
    client.assert_stream_error(7, ErrorCode.REFUSED_STREAM)
    client.send(rst_stream(1, ErrorCode.CANCEL), client.headers(9))
    assert [one.stream_id for one in client.take()] == [9]


@pytest.mark.parametrize("framed", ["headers", "priority"])
def test_5_3_1_self_dependency(framed: str) -> None:
    """5.3.1/1, 5.3.1/2: a stream that depends on itself ends the connection (RFC 9113 dropped
    priorities, and to reset a stream for each would be work on demand)."""
    client = RawClient()
    if framed == "priority":
        client.send(priority(1, depends_on=1))
    else:
        client.send(client.headers(1, flags=frames.HAS_PRIORITY, before=b"\0\0\0\x01\xff"))
    client.assert_connection_error(ErrorCode.PROTOCOL_ERROR)


def test_5_4_1_1_invalid_frame_closes() -> None:
    """5.4.1/1: after a connection error the connection closes."""
    client = RawClient()
    client.send(frame(frames.PING, 0, 3, b"\0" * 8))
    assert client.transport.closing
    assert client.transport.receive(PING, 0.0) == []


def test_5_4_1_2_invalid_frame_sends_goaway() -> None:
    """5.4.1/2: a connection error sends GOAWAY with the last stream that was processed."""
    client = RawClient()
    client.send(client.headers(1), frame(frames.PING, 0, 3, b"\0" * 8))
    last = client.take()[-1]
    assert (last.kind, last.payload[:4]) == (frames.GOAWAY, b"\0\0\0\x01")


def test_5_5_1_unknown_extension_frame() -> None:
    """5.5/1: an unknown extension frame is ignored."""
    client = RawClient()
    client.send(UNKNOWN)
    client.assert_alive()


def test_5_5_2_unknown_extension_frame_in_a_header_block() -> None:
    """5.5/2: an unknown extension frame inside a header block ends the connection."""
    client = RawClient()
    client.send(client.headers(1, end_headers=False), UNKNOWN)
    client.assert_connection_error(ErrorCode.PROTOCOL_ERROR)
