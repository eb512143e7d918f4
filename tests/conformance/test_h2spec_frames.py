"""h2spec, group `http2`, section 6: frame by frame. A test per case."""

import pytest

from etcdq.server.etcd.transport import frames
from etcdq.server.etcd.transport.frames import ErrorCode, frame, rst_stream, window_update
from tests.support.raw_http2 import PING, POST, Frame, RawClient, data, priority, settings

DUMMY = [(b"x-dummy", b"x" * 40)]
WINDOW = frames.SETTING_INITIAL_WINDOW_SIZE


def texts(client: RawClient) -> list[bytes]:
    """Payloads of the DATA frames sent since the last look."""
    return [one.payload for one in client.take() if one.kind == frames.DATA]


def test_6_1_1_data_on_stream_0() -> None:
    """6.1/1: DATA on stream 0 ends the connection."""
    client = RawClient()
    client.send(data(0, b"test", end=True))
    client.assert_connection_error(ErrorCode.PROTOCOL_ERROR)


def test_6_1_2_data_on_a_stream_not_open() -> None:
    """6.1/2: DATA on a stream its client has ended is a stream error STREAM_CLOSED."""
    client = RawClient((WINDOW, 0))
    client.send(client.headers(1, POST), data(1, b"test", end=True))
    client.assert_stream_error(1, ErrorCode.STREAM_CLOSED)


def test_6_1_3_data_with_invalid_padding() -> None:
    """6.1/3: DATA with padding longer than its payload ends the connection."""
    client = RawClient()
    client.send(client.headers(1, [*POST, (b"content-length", b"4")], end=False))
    client.send(data(1, b"\x06Test", end=True, flags=frames.PADDED))
    client.assert_connection_error(ErrorCode.PROTOCOL_ERROR)


def test_6_2_1_headers_then_priority() -> None:
    """6.2/1: PRIORITY after HEADERS without END_HEADERS ends the connection."""
    client = RawClient()
    client.send(client.headers(1, end=False, end_headers=False), priority(1))
    client.send(client.continuation(1, DUMMY))
    client.assert_connection_error(ErrorCode.PROTOCOL_ERROR)


def test_6_2_2_headers_then_headers_of_another_stream() -> None:
    """6.2/2: HEADERS of another stream before END_HEADERS ends the connection."""
    client = RawClient()
    client.send(client.headers(1, end=False, end_headers=False), client.headers(3))
    client.assert_connection_error(ErrorCode.PROTOCOL_ERROR)


def test_6_2_3_headers_on_stream_0() -> None:
    """6.2/3: HEADERS on stream 0 ends the connection."""
    client = RawClient()
    client.send(client.headers(0))
    client.assert_connection_error(ErrorCode.PROTOCOL_ERROR)


def test_6_2_4_headers_with_invalid_padding() -> None:
    """6.2/4: HEADERS with padding longer than its payload ends the connection."""
    client = RawClient()
    client.send(client.headers(1, b"\x82\x86", flags=frames.PADDED, before=b"\x04"))
    client.assert_connection_error(ErrorCode.PROTOCOL_ERROR)


def test_6_3_1_priority_on_stream_0() -> None:
    """6.3/1: PRIORITY on stream 0 ends the connection."""
    client = RawClient()
    client.send(priority(0))
    client.assert_connection_error(ErrorCode.PROTOCOL_ERROR)


def test_6_3_2_priority_of_a_wrong_size() -> None:
    """6.3/2: PRIORITY of another length than 5 ends the connection with FRAME_SIZE_ERROR."""
    client = RawClient()
    client.send(client.headers(1), frame(frames.PRIORITY, 0, 1, b"\x80\0\0\x01"))
    client.assert_connection_error(ErrorCode.FRAME_SIZE_ERROR)


def test_6_4_1_rst_stream_on_stream_0() -> None:
    """6.4/1: RST_STREAM on stream 0 ends the connection."""
    client = RawClient()
    client.send(rst_stream(0, ErrorCode.CANCEL))
    client.assert_connection_error(ErrorCode.PROTOCOL_ERROR)


def test_6_4_2_rst_stream_on_an_idle_stream() -> None:
    """6.4/2: RST_STREAM on an idle stream ends the connection."""
    client = RawClient()
    client.send(rst_stream(1, ErrorCode.CANCEL))
    client.assert_connection_error(ErrorCode.PROTOCOL_ERROR)


def test_6_4_3_rst_stream_of_a_wrong_size() -> None:
    """6.4/3: RST_STREAM of another length than 4 ends the connection with FRAME_SIZE_ERROR."""
    client = RawClient()
    client.send(client.headers(1), frame(frames.RST_STREAM, 0, 1, b"\0\0\0"))
    client.assert_connection_error(ErrorCode.FRAME_SIZE_ERROR)


def test_6_5_1_settings_ack_with_payload() -> None:
    """6.5/1: a SETTINGS acknowledgement with payload ends the connection."""
    client = RawClient()
    client.send(frame(frames.SETTINGS, frames.ACK, 0, b"\0"))
    client.assert_connection_error(ErrorCode.FRAME_SIZE_ERROR)


def test_6_5_2_settings_on_a_stream() -> None:
    """6.5/2: SETTINGS on a stream ends the connection."""
    client = RawClient()
    client.send(frame(frames.SETTINGS, 0, 1, b"\0\x03\0\0\0\x64"))
    client.assert_connection_error(ErrorCode.PROTOCOL_ERROR)


def test_6_5_3_settings_of_a_wrong_size() -> None:
    """6.5/3: SETTINGS whose length is no multiple of 6 ends the connection."""
    client = RawClient()
    client.send(frame(frames.SETTINGS, 0, 0, b"\0\x03\0"))
    client.assert_connection_error(ErrorCode.FRAME_SIZE_ERROR)


@pytest.mark.parametrize(
    ("key", "value", "code"),
    [
        (frames.SETTING_ENABLE_PUSH, 2, ErrorCode.PROTOCOL_ERROR),
        (WINDOW, 2**31, ErrorCode.FLOW_CONTROL_ERROR),
        (frames.SETTING_MAX_FRAME_SIZE, 16_383, ErrorCode.PROTOCOL_ERROR),
        (frames.SETTING_MAX_FRAME_SIZE, 2**24, ErrorCode.PROTOCOL_ERROR),
    ],
    ids=["enable-push", "initial-window-size", "frame-size-below", "frame-size-above"],
)
def test_6_5_2_1_to_4_setting_out_of_range(key: int, value: int, code: ErrorCode) -> None:
    """6.5.2/1 to 6.5.2/4: a defined setting out of its range ends the connection."""
    client = RawClient()
    client.send(settings((key, value)))
    client.assert_connection_error(code)


def test_6_5_2_5_unknown_setting() -> None:
    """6.5.2/5: an unknown setting is ignored."""
    client = RawClient()
    client.send(settings((0xFF, 1)))
    client.assert_alive()


def test_6_5_3_1_values_in_order() -> None:
    """6.5.3/1: of several values of one setting the last counts."""
    client = RawClient()
    client.send(settings((WINDOW, 100), (WINDOW, 1)))
    assert client.take() == [Frame(frames.SETTINGS, frames.ACK, 0, b"")]
    client.send(client.headers(1))
    assert texts(client) == [b"i"]


def test_6_5_3_2_settings_are_acknowledged() -> None:
    """6.5.3/2: SETTINGS is acknowledged at once."""
    client = RawClient()
    client.send(settings((frames.SETTING_ENABLE_PUSH, 0)))
    assert client.take() == [Frame(frames.SETTINGS, frames.ACK, 0, b"")]


def test_6_7_1_ping() -> None:
    """6.7/1: PING is acknowledged with its payload."""
    client = RawClient()
    client.send(PING)
    assert client.take() == [Frame(frames.PING, frames.ACK, 0, b"rawping!")]


def test_6_7_2_ping_ack_is_not_answered() -> None:
    """6.7/2: a PING acknowledgement, even one nobody asked for, is not answered."""
    client = RawClient()
    client.send(frame(frames.PING, frames.ACK, 0, b"invalid!"), PING)
    assert client.take() == [Frame(frames.PING, frames.ACK, 0, b"rawping!")]


def test_6_7_3_ping_on_a_stream() -> None:
    """6.7/3: PING on a stream ends the connection."""
    client = RawClient()
    client.send(frame(frames.PING, 0, 1, b"\0" * 8))
    client.assert_connection_error(ErrorCode.PROTOCOL_ERROR)


def test_6_7_4_ping_of_a_wrong_size() -> None:
    """6.7/4: PING of another length than 8 ends the connection."""
    client = RawClient()
    client.send(frame(frames.PING, 0, 0, b"\0" * 6))
    client.assert_connection_error(ErrorCode.FRAME_SIZE_ERROR)


def test_6_8_1_goaway_on_a_stream() -> None:
    """6.8/1: GOAWAY on a stream ends the connection."""
    client = RawClient()
    client.send(frame(frames.GOAWAY, 0, 1, b"\0" * 8))
    client.assert_connection_error(ErrorCode.PROTOCOL_ERROR)


@pytest.mark.parametrize("stream_id", [0, 1], ids=["connection", "stream"])
def test_6_9_1_2_window_update_by_0(stream_id: int) -> None:
    """6.9/1, 6.9/2: WINDOW_UPDATE by 0 is a connection error, on a stream a stream error."""
    client = RawClient()
    client.send(client.headers(1, POST, end=False), window_update(stream_id, 0))
    if stream_id:
        client.assert_stream_error(1, ErrorCode.PROTOCOL_ERROR)
    else:
        client.assert_connection_error(ErrorCode.PROTOCOL_ERROR)


def test_6_9_3_window_update_of_a_wrong_size() -> None:
    """6.9/3: WINDOW_UPDATE of another length than 4 ends the connection."""
    client = RawClient()
    client.send(frame(frames.WINDOW_UPDATE, 0, 0, b"\0\0\x01"))
    client.assert_connection_error(ErrorCode.FRAME_SIZE_ERROR)


def test_6_9_1_1_window_of_1() -> None:
    """6.9.1/1: with an initial window of 1 exactly one octet comes."""
    client = RawClient((WINDOW, 1))
    client.send(client.headers(1))
    assert texts(client) == [b"i"]


def test_6_9_1_2_connection_window_overflow() -> None:
    """6.9.1/2: a connection window over 2^31-1 ends the connection."""
    client = RawClient()
    client.send(window_update(0, 2**31 - 1), window_update(0, 2**31 - 1))
    client.assert_connection_error(ErrorCode.FLOW_CONTROL_ERROR)


def test_6_9_1_3_stream_window_overflow() -> None:
    """6.9.1/3: a stream window over 2^31-1 resets the stream."""
    client = RawClient()
    client.send(client.headers(1, POST, end=False))
    client.send(window_update(1, 2**31 - 1), window_update(1, 2**31 - 1))
    resets = [one for one in client.take() if one.kind == frames.RST_STREAM]
    assert [one.error for one in resets] == [ErrorCode.FLOW_CONTROL_ERROR]


def test_6_9_2_1_window_changed_after_headers() -> None:
    """6.9.2/1: a later SETTINGS_INITIAL_WINDOW_SIZE moves the window of an open stream."""
    client = RawClient((WINDOW, 0))
    client.send(client.headers(1))
    assert texts(client) == []
    client.send(settings((WINDOW, 1)))
    assert texts(client) == [b"i"]


def test_6_9_2_2_negative_window() -> None:
    """6.9.2/2: a window may turn negative and is tracked: 3 sent, then 2, then 2 more make 1."""
    client = RawClient((WINDOW, 3))
    client.send(client.headers(1))
    assert texts(client) == [b"inv"]
    client.send(settings((WINDOW, 2)))
    assert texts(client) == []
    client.send(window_update(1, 2))
    assert texts(client) == [b"a"]


def test_6_9_2_3_initial_window_over_the_maximum() -> None:
    """6.9.2/3: SETTINGS_INITIAL_WINDOW_SIZE over 2^31-1 ends the connection."""
    client = RawClient()
    client.send(settings((WINDOW, 0x8000_0000)))
    client.assert_connection_error(ErrorCode.FLOW_CONTROL_ERROR)


def test_6_10_1_several_continuations() -> None:
    """6.10/1: several CONTINUATION frames after HEADERS are taken."""
    client = RawClient()
    client.send(client.headers(1, end_headers=False))
    client.send(client.continuation(1, DUMMY, end_headers=False), client.continuation(1, DUMMY))
    client.assert_answered(1)


def test_6_10_2_continuation_then_another_frame() -> None:
    """6.10/2: another frame after CONTINUATION without END_HEADERS ends the connection."""
    client = RawClient()
    client.send(client.headers(1, POST, end=False, end_headers=False))
    client.send(client.continuation(1, DUMMY, end_headers=False), data(1, b"test", end=True))
    client.assert_connection_error(ErrorCode.PROTOCOL_ERROR)


def test_6_10_3_continuation_on_stream_0() -> None:
    """6.10/3: CONTINUATION on stream 0 ends the connection."""
    client = RawClient()
    client.send(client.headers(1, end_headers=False), client.continuation(0, DUMMY))
    client.assert_connection_error(ErrorCode.PROTOCOL_ERROR)


def test_6_10_4_continuation_after_end_headers() -> None:
    """6.10/4: CONTINUATION after HEADERS with END_HEADERS ends the connection."""
    client = RawClient()
    client.send(client.headers(1), client.continuation(1, DUMMY))
    client.assert_connection_error(ErrorCode.PROTOCOL_ERROR)


def test_6_10_5_continuation_after_the_last_one() -> None:
    """6.10/5: CONTINUATION after one with END_HEADERS ends the connection."""
    client = RawClient()
    client.send(client.headers(1, end_headers=False))
    client.send(client.continuation(1, DUMMY), client.continuation(1, DUMMY))
    client.assert_connection_error(ErrorCode.PROTOCOL_ERROR)


def test_6_10_6_continuation_after_data() -> None:
    """6.10/6: DATA, then CONTINUATION, inside a header block ends the connection."""
    client = RawClient()
    client.send(client.headers(1, POST, end=False, end_headers=False), data(1, b"test", end=True))
    client.send(client.continuation(1, DUMMY, end_headers=False), client.continuation(0, DUMMY))
    client.assert_connection_error(ErrorCode.PROTOCOL_ERROR)
