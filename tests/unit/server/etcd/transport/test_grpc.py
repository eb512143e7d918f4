"""Calls that are not as they should be get a status, and the connection goes on."""

import gzip

import pytest

from etcdq.actors import limits
from etcdq.server.etcd.transport import frames
from etcdq.server.etcd.transport.events import (
    Request,
    StreamFailed,
    StreamHalfClosed,
    StreamMessage,
    StreamOpened,
    TransportLimits,
)
from etcdq.server.etcd.transport.frames import ErrorCode, rst_stream
from tests.support.raw_http2 import (
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
WINDOW = frames.SETTING_INITIAL_WINDOW_SIZE
SMALL = TransportLimits(message_bytes_max=1_000)

BAD_BODIES = {
    "4-GiB-prefix": (b"\0\xff\xff\xff\xff", 8, "grpc: received message larger than max"),
    "over-the-limit": (prefixed(b"x" * 1_001), 8, "grpc: received message larger than max (1001"),
    "flag-2": (prefixed(b"x", 2), 13, "grpc: received unexpected payload format 2"),
    "compressed-without-encoding": (prefixed(b"x", 1), 13, "grpc: compressed flag set"),
    "two-messages": (prefixed(b"x") * 2, 13, "grpc: more than one message"),
    "none": (b"", 13, "grpc: no message"),
    "half-a-message": (prefixed(b"xyz")[:-1], 13, "unexpected EOF"),
    "half-a-prefix": (b"\0\0", 13, "unexpected EOF"),
}


@pytest.mark.parametrize("together", [True, False], ids=["one-chunk", "in-pieces"])
@pytest.mark.parametrize(("body", "code", "text"), BAD_BODIES.values(), ids=list(BAD_BODIES))
def test_bad_body_gets_a_status(body: bytes, code: int, text: str, together: bool) -> None:
    """Each malformed body is a status of its own call; the next call goes on as usual."""
    client = RawClient(transport_limits=SMALL)
    head, rest = client.headers(1, CALL, end=False), data(1, body, end=True)
    if together:
        client.send(head + rest)
    else:
        client.send(head)
        client.send(rest)
    assert client.events == []
    got_code, got_text = client.status(1)
    assert got_code == code
    assert got_text.startswith(text)
    client.send(client.headers(3, CALL, end=False), data(3, prefixed(b"ok"), end=True))
    assert client.events == [Request(3, PUT, None, b"ok")]
    assert client.transport.statistics().buffered_request_bytes == 0


def test_message_at_the_limit_passes() -> None:
    """The limit itself is allowed, in one frame and over several."""
    client = RawClient(transport_limits=SMALL)
    body = prefixed(b"x" * 1_000)
    client.send(client.headers(1, CALL, end=False), data(1, body, end=True))
    client.send(client.headers(3, CALL, end=False), data(3, body[:500]))
    client.send(data(3, body[500:], end=True))
    assert client.events == [Request(n, PUT, None, b"x" * 1_000) for n in (1, 3)]


def session_ends(client: RawClient, failed: object) -> int:
    """Do what a session does about a call that failed; return the code."""
    assert isinstance(failed, StreamFailed)
    client.transport.finish(failed.stream_id, failed.code, failed.text)
    return failed.code


def test_bad_message_on_a_stream_is_the_sessions_to_end() -> None:
    """On a streaming call the session is told how to end it; what comes later is ignored."""
    client = RawClient(transport_limits=SMALL)
    client.send(client.headers(1, WATCH_CALL, end=False), data(1, prefixed(b"x", 7)))
    client.send(data(1, prefixed(b"late")), data(1, prefixed(b"y", 7)))
    opened, failed = client.events
    assert opened == StreamOpened(1, WATCH, None)
    assert session_ends(client, failed) == 13
    assert client.status(1)[0] == 13
    client.send(data(1, prefixed(b"late")))
    client.assert_alive()


def test_bad_message_while_an_answer_waits() -> None:
    """The status comes behind the messages that were queued, and later input is ignored."""
    client = RawClient((WINDOW, 0), transport_limits=SMALL)
    client.send(client.headers(1, WATCH_CALL, end=False))
    client.transport.send_message(1, b"event")
    client.send(data(1, prefixed(b"x", 7)), data(1, prefixed(b"y")))
    opened, failed = client.events
    assert opened == StreamOpened(1, WATCH, None)
    session_ends(client, failed)
    client.send(data(1, prefixed(b"z"), end=True))
    assert len(client.events) == 2
    client.send(settings((WINDOW, 100)))
    taken = client.take()
    assert [one.payload for one in taken if one.kind == frames.DATA] == [prefixed(b"event")]
    assert dict(taken[-1].fields)[b"grpc-status"] == b"13"


@pytest.mark.parametrize(
    ("fields", "code", "text"),
    [
        (call(b"/test.Nope/Put"), 12, "unknown service test.Nope"),
        (call(b"/test.KV/Nope"), 12, "unknown method Nope for service test.KV"),
        (call(b"/test.KV/Put", (b"grpc-timeout", b"5x")), 13, 'malformed grpc-timeout: "5x"'),
        (call(b"/test.KV/Put", (b"x", b"v" * 17_000)), 8, "header list larger than max"),
    ],
    ids=["service", "method", "timeout", "header-list"],
)
def test_refused_call(fields: list[tuple[bytes, bytes]], code: int, text: str) -> None:
    """A call that its headers rule out is answered before its body came; the body passes."""
    client = RawClient()
    block = client.block(fields)
    client.send(client.headers(1, block[:9_000], end=False, end_headers=False))
    client.send(client.continuation(1, block[9_000:]))
    got_code, got_text = client.status(1)
    assert got_code == code
    assert got_text.startswith(text)
    client.send(data(1, prefixed(b"body"), end=True))
    assert client.events == []
    client.assert_alive()


def test_many_refused_calls_are_no_flood() -> None:
    """A client that keeps calling what we do not have is answered for ever."""
    client = RawClient()
    for stream_id in range(1, 10_001, 2):
        client.send(
            client.headers(stream_id, call(b"/test.No/No"), end=False),
            data(stream_id, prefixed(b"x"), end=True),
        )
        client.take()
    client.assert_alive()


def test_unknown_encoding_names_the_known_ones() -> None:
    """An unknown grpc-encoding is UNIMPLEMENTED with grpc-accept-encoding."""
    client = RawClient()
    client.send(client.headers(1, call(b"/test.KV/Put", (b"grpc-encoding", b"snappy"))))
    fields = dict(client.take()[0].fields)
    assert fields[b"grpc-status"] == b"12"
    assert fields[b"grpc-accept-encoding"] == b"identity,gzip"


def test_gzip_call() -> None:
    """A gzip call is unpacked before the session sees it."""
    client = RawClient()
    fields = call(b"/test.KV/Put", (b"grpc-encoding", b"gzip"))
    body = prefixed(gzip.compress(b"hello"), 1)
    client.send(client.headers(1, fields, end=False), data(1, body, end=True))
    assert client.events == [Request(1, PUT, None, b"hello")]


def test_gzip_bomb_is_refused() -> None:
    """A message that would unpack over the limit is RESOURCE_EXHAUSTED."""
    client = RawClient(transport_limits=SMALL)
    fields = call(b"/test.KV/Put", (b"grpc-encoding", b"gzip"))
    body = prefixed(gzip.compress(bytes(300_000)), 1)
    client.send(client.headers(1, fields, end=False), data(1, body, end=True))
    assert client.status(1)[0] == 8


def test_415_for_what_is_no_grpc() -> None:
    """Another content type gets HTTP 415 and a text when the request is complete."""
    client = RawClient()
    fields = [*call()[:4], (b"content-type", b"application/json")]
    client.send(client.headers(1, fields, end=False), data(1, b"{}"))
    assert client.take() == []
    client.send(data(1, b"", end=True))
    taken = client.assert_answered(1)
    assert dict(taken[0].fields)[b":status"] == b"415"
    assert b"speaks gRPC" in taken[1].payload


def test_timeout_of_0_is_a_deadline_in_the_past() -> None:
    """0n and 1n are deadlines, not none."""
    client = RawClient()
    client.now_s = 5.0
    for stream_id, text in ((1, b"0n"), (3, b"1n")):
        fields = call(b"/test.KV/Put", (b"grpc-timeout", text))
        client.send(client.headers(stream_id, fields, end=False))
        (event,) = client.send(data(stream_id, prefixed(b"x"), end=True))
        assert isinstance(event, Request)
        assert event.deadline_s == pytest.approx(5.0)


def test_call_with_an_end_of_its_own() -> None:
    """A call whose END_STREAM comes in an empty frame is the same call."""
    client = RawClient()
    client.send(client.headers(1, CALL, end=False), data(1, prefixed(b"x")))
    assert client.events == []
    client.send(data(1, b"", end=True))
    assert client.events == [Request(1, PUT, None, b"x")]
    client.transport.reply(1, b"y")
    client.assert_answered(1)


def test_end_of_its_own_in_the_same_chunk() -> None:
    """HEADERS, DATA and the empty DATA that ends the call in one chunk, and calls behind it."""
    client = RawClient()
    sent = b"".join(
        client.headers(stream_id, CALL, end=False)
        + data(stream_id, prefixed(b"x%d" % stream_id))
        + data(stream_id, b"", end=True)
        for stream_id in (1, 3, 5)
    )
    client.send(sent)
    assert client.events == [Request(n, PUT, None, b"x%d" % n) for n in (1, 3, 5)]
    for stream_id in (1, 3, 5):
        client.transport.reply(stream_id, b"y")
    assert [one.stream_id for one in client.take() if one.ends] == [1, 3, 5]


def test_end_of_another_stream_behind_a_call_is_not_its_end() -> None:
    """An empty DATA frame that ends another call leaves this one open."""
    client = RawClient()
    client.send(client.headers(1, WATCH_CALL, end=False))
    client.send(
        client.headers(3, CALL, end=False) + data(3, prefixed(b"x")) + data(1, b"", end=True)
    )
    assert client.events == [StreamOpened(1, WATCH, None), StreamHalfClosed(1)]
    client.send(data(3, b"", end=True))
    assert client.events[-1] == Request(3, PUT, None, b"x")


def test_complete_call_with_a_window_of_its_own() -> None:
    """A window the client gave before its call was complete counts for the answer."""
    client = RawClient((WINDOW, 0))
    client.send(client.headers(1, CALL, end=False), frames.window_update(1, 6))
    client.send(data(1, prefixed(b"x"), end=True))
    client.transport.reply(1, b"y")
    client.assert_answered(1)


def test_half_a_request_then_silence() -> None:
    """A unary call that is not complete within 60 s is DEADLINE_EXCEEDED; others go on."""
    client = RawClient()
    client.send(client.headers(1, CALL, end=False), data(1, prefixed(b"xyz")[:6]))
    assert client.transport.next_deadline_s() == limits.REQUEST_TIMEOUT_S
    assert client.transport.expire(59.9) == []
    assert client.take() == []
    assert client.transport.expire(60.0) == []
    assert client.status(1) == (4, "request was not complete in time")
    assert client.transport.open_streams == 0
    client.assert_alive()


def test_half_a_request_has_its_own_shorter_deadline() -> None:
    """A half request under a grpc-timeout ends with that."""
    client = RawClient()
    fields = call(b"/test.KV/Put", (b"grpc-timeout", b"2S"))
    client.send(client.headers(1, fields, end=False))
    assert client.transport.next_deadline_s() == 2.0
    client.transport.expire(2.0)
    assert client.status(1)[0] == 4


def test_half_a_message_on_a_stream() -> None:
    """A message on a streaming call that stays half ends the call; a whole one has no limit."""
    client = RawClient()
    client.send(client.headers(1, WATCH_CALL, end=False), data(1, prefixed(b"whole")))
    assert client.transport.next_deadline_s() == float("inf")
    client.send(data(1, prefixed(b"half")[:7]))
    (failed,) = client.transport.expire(client.transport.next_deadline_s())
    assert session_ends(client, failed) == 4
    assert client.status(1)[0] == 4
    assert client.transport.next_deadline_s() == float("inf")


def test_completed_message_lifts_the_deadline() -> None:
    """Once its message is complete a call has no such deadline."""
    client = RawClient()
    client.send(client.headers(1, WATCH_CALL, end=False), data(1, prefixed(b"half")[:7]))
    client.send(data(1, prefixed(b"half")[7:]))
    assert client.transport.next_deadline_s() == float("inf")
    client.transport.expire(1_000.0)
    assert client.transport.open_streams == 1


def test_reset_in_the_middle_of_a_put_leaves_nothing() -> None:
    """1,000 calls reset in the middle of their body, at an honest pace, leave no byte behind."""
    client = RawClient()
    for stream_id in range(1, 2_001, 2):
        client.now_s += 1.0
        client.send(client.headers(stream_id, CALL, end=False))
        client.send(data(stream_id, prefixed(b"x" * 1_000)[:500]))
        client.send(rst_stream(stream_id, ErrorCode.CANCEL))
    assert client.events == []
    got = client.transport.statistics()
    assert (got.streams_open, got.buffered_request_bytes) == (0, 0)
    assert client.transport.next_deadline_s() == float("inf")


def test_newest_upload_fails_when_all_buffers_are_full() -> None:
    """Beyond the budget the newest call is RESOURCE_EXHAUSTED, and the older ones complete."""
    bounds = TransportLimits(message_bytes_max=10_000, buffered_request_bytes_max=25_000)
    client = RawClient(transport_limits=bounds)
    body = prefixed(b"x" * 9_995)
    for stream_id in (1, 3, 5):
        client.send(client.headers(stream_id, CALL, end=False), data(stream_id, body[:-1]))
    assert client.status(5)[0] == 8
    client.send(data(1, body[-1:], end=True), data(3, body[-1:], end=True))
    assert [event.stream_id for event in client.events] == [1, 3]


def test_answer_that_nobody_takes_is_dropped() -> None:
    """A finished answer whose window stays shut for 60 s is reset and costs nothing more."""
    client = RawClient((WINDOW, 4))
    client.send(client.headers(1, CALL, end=False), data(1, prefixed(b"x"), end=True))
    client.transport.reply(1, b"0123456789")
    client.take()
    now_s = 0.0
    while client.transport.queued_bytes_total:
        now_s = client.transport.next_deadline_s()
        client.transport.expire(now_s)
    assert limits.ANSWER_STALL_TIMEOUT_S <= now_s <= 1.3 * limits.ANSWER_STALL_TIMEOUT_S
    (reset,) = client.take()
    assert (reset.kind, reset.error) == (frames.RST_STREAM, ErrorCode.CANCEL)


def test_stalled_watch_is_left_to_its_session() -> None:
    """The transport never drops a call that its session has not finished."""
    client = RawClient((WINDOW, 4))
    client.send(client.headers(1, WATCH_CALL, end=False))
    client.transport.send_message(1, b"0123456789")
    client.take()
    client.transport.expire(1_000.0)
    assert client.take() == []
    assert client.transport.open_streams == 1


def test_stream_messages_in_any_pieces() -> None:
    """Messages of a streaming call come in order, however DATA frames cut them."""
    client = RawClient()
    client.send(client.headers(1, WATCH_CALL, end=False))
    body = b"".join(prefixed(b"m%d" % number) for number in range(5))
    for at in range(0, len(body), 3):
        client.send(data(1, body[at : at + 3]))
    client.send(data(1, b"", end=True))
    assert client.events == [
        StreamOpened(1, WATCH, None),
        *(StreamMessage(1, b"m%d" % number) for number in range(5)),
        StreamHalfClosed(1),
    ]
