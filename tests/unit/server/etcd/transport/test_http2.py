"""Frames in: cut anywhere, interleaved, on streams in every state; windows of ours; timeouts."""

import math

from etcdq.actors import limits
from etcdq.server.etcd.transport import frames
from etcdq.server.etcd.transport.events import (
    Request,
    StreamHalfClosed,
    StreamMessage,
    StreamOpened,
)
from etcdq.server.etcd.transport.frames import ErrorCode
from etcdq.server.etcd.transport.hpack import literal_block
from tests.support.raw_http2 import (
    PING,
    PUT,
    WATCH,
    WATCH_CALL,
    RawClient,
    call,
    data,
    prefixed,
    settings,
)

CALL = call()


def test_whole_bytewise_and_with_trailing_bytes() -> None:
    """Two calls and the head of a third: the same events whole and byte by byte."""
    expected = [
        Request(1, PUT, None, b"one"),
        StreamOpened(3, WATCH, None),
        StreamMessage(3, b"two"),
        StreamHalfClosed(3),
    ]
    for size in (10_000, 1):
        client = RawClient()
        sent = (
            client.headers(1, CALL, end=False)
            + data(1, prefixed(b"one"), end=True)
            + client.headers(3, WATCH_CALL, end=False)
            + data(3, prefixed(b"two"))
            + data(3, b"", end=True)
            + client.headers(5, CALL)[:12]
        )
        for at in range(0, len(sent), size):
            client.send(sent[at : at + size])
        assert client.events == expected


def test_1000_calls_in_one_segment() -> None:
    """However many calls a segment holds, each has its event, in order."""
    client = RawClient()
    sent = b"".join(
        client.headers(stream_id, CALL, end=False)
        + data(stream_id, prefixed(b"%d" % stream_id), end=True)
        for stream_id in range(1, 2_001, 2)
    )
    events = client.send(sent)
    assert [event.stream_id for event in events] == list(range(1, 2_001, 2))
    assert client.transport.open_streams == 1_000


def test_message_of_another_call_behind_headers() -> None:
    """DATA right behind HEADERS may belong to an older call."""
    client = RawClient()
    client.send(client.headers(1, CALL, end=False))
    client.send(client.headers(3, CALL, end=False) + data(1, prefixed(b"one"), end=True))
    assert client.events == [Request(1, PUT, None, b"one")]
    client.send(data(3, prefixed(b"three"), end=True))
    assert client.events[1:] == [Request(3, PUT, None, b"three")]


def test_deadline_is_the_timeout_from_arrival() -> None:
    """The deadline of a call counts from the chunk it came in."""
    client = RawClient()
    client.now_s = 100.0
    fields = call(b"/test.KV/Put", (b"grpc-timeout", b"250m"))
    client.send(client.headers(1, fields, end=False), data(1, prefixed(b"x"), end=True))
    client.send(client.headers(3, fields, end=False))
    client.send(data(3, prefixed(b"x")), data(3, b"", end=True))
    assert client.events == [Request(1, PUT, 100.25, b"x"), Request(3, PUT, 100.25, b"x")]


def test_fresh_timeout_in_every_call() -> None:
    """Blocks that differ in every call, with an index that shifts, are all understood."""
    client = RawClient()
    for number in range(300):
        fields = call(b"/test.KV/Put", (b"grpc-timeout", b"%du" % (5_000_000 - number)))
        stream_id = 2 * number + 1
        client.send(client.headers(stream_id, fields, end=False))
        (event,) = client.send(data(stream_id, prefixed(b"x"), end=True))
        assert isinstance(event, Request)
        assert event.deadline_s == (5_000_000 - number) * 1e-6
        client.transport.reply(stream_id, b"")


def test_stale_block_is_not_taken_for_the_new_one() -> None:
    """The same bytes mean another deadline once the table has moved under them."""
    client = RawClient()
    plain = literal_block(CALL)
    client.send(client.headers(1, plain + b"\x40\x0cgrpc-timeout\x021S", end=False))
    again = plain + b"\xbe"
    client.send(client.headers(3, again, end=False), client.headers(5, again, end=False))
    client.send(client.headers(7, plain + b"\x40\x0cgrpc-timeout\x022S", end=False))
    client.send(client.headers(9, again, end=False))
    body = prefixed(b"x")
    client.send(*(data(stream_id, body, end=True) for stream_id in (1, 3, 5, 7, 9)))
    deadlines = [event.deadline_s for event in client.events if isinstance(event, Request)]
    assert deadlines == [1.0, 1.0, 1.0, 2.0, 2.0]


def test_trailers_end_a_request() -> None:
    """Request trailers mean END_STREAM and nothing else."""
    client = RawClient()
    client.send(client.headers(1, CALL, end=False), data(1, prefixed(b"x")))
    client.send(client.headers(1, [(b"x-checksum", b"1")]))
    assert client.events == [Request(1, PUT, None, b"x")]


def test_padded_call_is_the_same_call() -> None:
    """Padding in HEADERS and DATA changes nothing but the windows."""
    client = RawClient()
    client.send(
        client.headers(1, CALL, end=False, flags=frames.PADDED, before=b"\x02", after=b"\0\0")
    )
    body = b"\x05" + prefixed(b"padded") + b"\0" * 5
    client.send(data(1, body, end=True, flags=frames.PADDED))
    assert client.events == [Request(1, PUT, None, b"padded")]


def test_half_closed_watch_goes_on() -> None:
    """A client that ends its side of a watch still gets what comes."""
    client = RawClient()
    client.send(client.headers(1, WATCH_CALL, end=False), data(1, prefixed(b"create"), end=True))
    assert client.events[-1] == StreamHalfClosed(1)
    for _ in range(3):
        client.transport.send_message(1, b"event")
    kinds = [one.kind for one in client.take()]
    assert kinds == [frames.HEADERS] + [frames.DATA] * 3
    assert client.transport.open_streams == 1


def test_1000_watches_and_calls_beside_them() -> None:
    """1,000 watches on one connection: calls beside them go through, and each gets its event."""
    client = RawClient()
    ids = range(1, 2_001, 2)
    client.send(*(client.headers(stream_id, WATCH_CALL, end=False) for stream_id in ids))
    client.send(client.headers(2_001, CALL, end=False), data(2_001, prefixed(b"x"), end=True))
    client.transport.reply(2_001, b"ok")
    assert client.assert_answered(2_001)
    for stream_id in ids:
        client.transport.send_message(stream_id, b"event")
    sent = [one.stream_id for one in client.take() if one.kind == frames.DATA]
    assert sent == list(ids)


def test_advertised_settings() -> None:
    """The server says its stream limit, its stream window and its header list limit."""
    client = RawClient(greet=False)
    client.send(frames.PREFACE, settings())
    first, update, ack = client.take()
    values = {
        int.from_bytes(first.payload[at : at + 2], "big"): int.from_bytes(
            first.payload[at + 2 : at + 6], "big"
        )
        for at in range(0, len(first.payload), 6)
    }
    assert values == {
        frames.SETTING_MAX_CONCURRENT_STREAMS: limits.STREAMS_MAX,
        frames.SETTING_INITIAL_WINDOW_SIZE: limits.STREAM_WINDOW_BYTES,
        frames.SETTING_MAX_HEADER_LIST_SIZE: limits.HEADER_LIST_BYTES_MAX,
    }
    assert (update.kind, update.stream_id) == (frames.WINDOW_UPDATE, 0)
    assert (ack.kind, ack.flags) == (frames.SETTINGS, frames.ACK)


def test_first_frame_must_be_settings() -> None:
    """Another frame, or an acknowledgement, right behind the preface ends the connection."""
    for first in (PING, frames.frame(frames.SETTINGS, frames.ACK, 0)):
        client = RawClient(greet=False)
        client.send(frames.PREFACE, first)
        client.assert_connection_error(ErrorCode.PROTOCOL_ERROR)


def test_credit_is_given_back_on_arrival() -> None:
    """A stream may send for ever: half a window's worth of bytes is credited as it comes."""
    client = RawClient()
    client.send(client.headers(1, WATCH_CALL, end=False))
    chunk = prefixed(b"x" * 16_379)
    total = 3 * limits.CONNECTION_WINDOW_BYTES
    for _ in range(total // len(chunk)):
        client.send(data(1, chunk))
    given = [one for one in client.take() if one.kind == frames.WINDOW_UPDATE]
    for stream_id, window in (
        (0, limits.CONNECTION_WINDOW_BYTES),
        (1, limits.STREAM_WINDOW_BYTES),
    ):
        credit = sum(
            int.from_bytes(one.payload, "big") for one in given if one.stream_id == stream_id
        )
        assert total - window // 2 < credit <= total


def test_slow_preface_is_closed() -> None:
    """A connection that says nothing, or half a preface, or no SETTINGS, is closed at 10 s."""
    for said in (b"", frames.PREFACE[:20], frames.PREFACE):
        client = RawClient(greet=False)
        client.send(said)
        assert client.transport.next_deadline_s() == limits.PREFACE_TIMEOUT_S
        client.transport.expire(9.9)
        assert not client.transport.closing
        client.transport.expire(10.0)
        assert client.transport.closing


def test_slow_frame_is_closed() -> None:
    """A frame of which a byte comes every 5 s is not waited for longer than 20 s."""
    client = RawClient()
    assert client.transport.next_deadline_s() == math.inf
    sent = client.headers(1, CALL)
    for number, byte in enumerate(sent):
        client.now_s = 1.0 + 5.0 * number
        if client.now_s >= client.transport.next_deadline_s():
            client.transport.expire(client.now_s)
            break
        client.send(bytes((byte,)))
    assert client.now_s == 21.0
    goaway = client.take()[-1]
    assert (goaway.kind, goaway.error) == (frames.GOAWAY, ErrorCode.ENHANCE_YOUR_CALM)


def test_slow_header_block_is_closed() -> None:
    """A header block that goes on in ever new CONTINUATIONs has 20 s as well."""
    client = RawClient()
    client.send(client.headers(1, CALL, end_headers=False))
    deadline_s = client.transport.next_deadline_s()
    for _ in range(4):
        client.now_s += 4.0
        client.send(client.continuation(1, b"\0\x01a\x01b", end_headers=False))
        assert client.transport.next_deadline_s() == deadline_s
    client.send(client.continuation(1, b""))
    assert client.transport.next_deadline_s() > deadline_s


def test_complete_frames_leave_no_deadline() -> None:
    """A connection without anything half done has no deadline, so a watch may wait for ever."""
    client = RawClient()
    client.send(client.headers(1, WATCH_CALL, end=False), data(1, prefixed(b"x")))
    assert client.transport.next_deadline_s() == math.inf


def test_counts() -> None:
    """Statistics count what was opened, finished, reset and received."""
    client = RawClient()
    client.send(client.headers(1, CALL, end=False), data(1, prefixed(b"x"), end=True))
    client.transport.reply(1, b"y")
    client.send(client.headers(3, WATCH_CALL, end=False), frames.rst_stream(3, 8), PING)
    got = client.transport.statistics()
    assert (got.streams_opened, got.streams_finished, got.streams_open) == (2, 1, 0)
    assert (got.resets_received, got.pings_received) == (1, 1)
    assert got.header_blocks_decoded == 2
