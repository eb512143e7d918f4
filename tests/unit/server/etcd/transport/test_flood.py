"""Floods end with GOAWAY ENHANCE_YOUR_CALM within a budget that honest clients never meet."""

from collections.abc import Callable

import pytest

from etcdq.actors import limits
from etcdq.server.etcd.transport import frames
from etcdq.server.etcd.transport.events import Request, StreamGone, StreamOpened
from etcdq.server.etcd.transport.flood import Budget
from etcdq.server.etcd.transport.frames import ErrorCode, frame, rst_stream, window_update
from tests.support.raw_http2 import (
    PING,
    WATCH_CALL,
    RawClient,
    call,
    data,
    prefixed,
    priority,
    settings,
)

CALL = call()
PUT = prefixed(b"put")


def assert_calmed(client: RawClient, text: bytes) -> None:
    """The connection ended with GOAWAY ENHANCE_YOUR_CALM and this debug text."""
    goaway = client.take()[-1]
    assert (goaway.kind, goaway.error) == (frames.GOAWAY, ErrorCode.ENHANCE_YOUR_CALM)
    assert goaway.payload[8:] == text
    assert client.transport.closing


def survived(client: RawClient, make: Callable[[int], bytes], count: int) -> int:
    """How many of `count` floods, each in a chunk of its own, pass before the end."""
    for number in range(count):
        client.send(make(number))
        if client.transport.closing:
            return number
    return count


def test_budget_leaks_with_time_and_is_earned_back() -> None:
    """A budget holds its burst, comes back with time and with work."""
    budget = Budget(2, 1.0, 0.0)
    assert [budget.spend(0.0) for _ in range(3)] == [True, True, False]
    assert budget.spend(2.0)
    budget.earn(10)
    assert [budget.spend(2.0) for _ in range(3)] == [True, True, False]


def test_rapid_reset() -> None:
    """HEADERS and RST_STREAM 20,000 times end within the budget of 100 (CVE-2023-44487)."""
    client = RawClient()

    def pair(number: int) -> bytes:
        stream_id = 2 * number + 1
        return client.headers(stream_id, CALL, end=False) + rst_stream(stream_id, 8)

    assert survived(client, pair, 20_000) == limits.RESETS_MAX
    assert_calmed(client, b"too_many_resets")


def test_rapid_reset_in_one_burst() -> None:
    """The same in one chunk: nothing behind the budget is handled."""
    client = RawClient()
    burst = b"".join(
        client.headers(stream_id, CALL, end=False)
        + data(stream_id, PUT, end=True)
        + rst_stream(stream_id, 8)
        for stream_id in range(1, 40_001, 2)
    )
    events = client.send(burst)
    assert sum(isinstance(event, Request) for event in events) == limits.RESETS_MAX + 1
    assert sum(isinstance(event, StreamGone) for event in events) == limits.RESETS_MAX + 1
    assert_calmed(client, b"too_many_resets")


def test_rapid_reset_of_watches() -> None:
    """Watches opened and reset unanswered end as well."""
    client = RawClient()

    def pair(number: int) -> bytes:
        stream_id = 2 * number + 1
        return client.headers(stream_id, WATCH_CALL, end=False) + rst_stream(stream_id, 8)

    assert survived(client, pair, 20_000) == limits.RESETS_MAX
    assert client.transport.open_streams == 0


def test_answered_watches_reset_for_ever() -> None:
    """Watches that were answered have a larger budget, yet 20,000 in a burst exceed it."""
    client = RawClient()
    for number in range(20_000):
        stream_id = 2 * number + 1
        client.send(client.headers(stream_id, WATCH_CALL, end=False))
        client.transport.open_answer(stream_id)
        client.take()
        client.send(rst_stream(stream_id, 8))
        if client.transport.closing:
            break
    assert number == limits.CANCELS_MAX
    assert_calmed(client, b"too_many_cancels")


def test_1000_watches_cancelled_at_once_are_honest() -> None:
    """A client that ends its 1,000 answered watches in one burst goes on."""
    client = RawClient()
    ids = range(1, 2_001, 2)
    client.send(*(client.headers(stream_id, WATCH_CALL, end=False) for stream_id in ids))
    for stream_id in ids:
        client.transport.open_answer(stream_id)
    client.take()
    client.send(*(rst_stream(stream_id, 8) for stream_id in ids))
    client.assert_alive()


def test_old_unanswered_calls_cancelled_at_once_are_honest() -> None:
    """Calls that waited a while may be cancelled together, as when a deadline passes."""
    client = RawClient()
    ids = range(1, 1_001, 2)
    client.send(*(client.headers(stream_id, WATCH_CALL, end=False) for stream_id in ids))
    client.now_s = 1.1
    client.send(PING)
    client.now_s = 2.2
    client.send(*(rst_stream(stream_id, 8) for stream_id in ids))
    client.assert_alive()


def test_finished_calls_earn_resets_and_cost_nothing() -> None:
    """100,000 good calls are no flood, and every ten of them earn a cancel."""
    client = RawClient()
    stream_id = 1
    for _ in range(1_000):
        chunk = b""
        for _ in range(10):
            chunk += client.headers(stream_id, CALL, end=False) + data(stream_id, PUT, end=True)
            stream_id += 2
        for event in client.send(chunk):
            assert isinstance(event, Request)
            client.transport.reply(event.stream_id, b"")
        client.take()
        client.send(window_update(0, 50))
        client.send(client.headers(stream_id, CALL, end=False), rst_stream(stream_id, 8))
        stream_id += 2
    client.assert_alive()


def made_to_reset(client: RawClient, way: str, stream_id: int) -> bytes:
    """A call that we have to reset (MadeYouReset, CVE-2025-8671)."""
    if way == "malformed":
        return client.headers(stream_id, [*CALL, (b"connection", b"x")])
    opened = client.headers(stream_id, WATCH_CALL, end=way == "data-after-end")
    if way == "headers-twice":
        return opened + client.headers(stream_id, [(b"x", b"y")], end=False)
    if way == "data-after-end":
        return opened + data(stream_id, PUT)
    return opened + window_update(stream_id, 0 if way == "window-update-0" else 2**31 - 1)


@pytest.mark.parametrize(
    "way",
    ["window-update-0", "window-overflow", "data-after-end", "headers-twice", "malformed"],
)
def test_made_you_reset(way: str) -> None:
    """However a peer provokes our resets, 10,000 streams of it end within the budget."""
    client = RawClient()
    passed = survived(client, lambda number: made_to_reset(client, way, 2 * number + 1), 10_000)
    assert passed == limits.RESETS_MAX
    assert_calmed(client, b"too_many_resets")
    opened = sum(isinstance(event, StreamOpened) for event in client.events)
    gone = sum(isinstance(event, StreamGone) for event in client.events)
    assert opened == gone


def test_streams_over_the_limit_for_ever() -> None:
    """A client that ignores the limit is refused for long, not for ever."""
    client = RawClient()
    stream_id = 1
    while not client.transport.closing:
        client.send(client.headers(stream_id, WATCH_CALL, end=False))
        stream_id += 2
    assert stream_id // 2 == limits.STREAMS_MAX + limits.CANCELS_MAX + 1
    assert_calmed(client, b"too_many_cancels")


def test_ping_flood_is_acknowledged_and_ended() -> None:
    """Pings on end: each is acknowledged, the fourth is one too many (CVE-2019-9512)."""
    client = RawClient()
    client.send(PING * 50_000)
    taken = client.take()
    assert [one.kind for one in taken] == [frames.PING] * 4 + [frames.GOAWAY]
    assert taken[-1].payload[8:] == b"too_many_pings"


@pytest.mark.parametrize("with_watch", [False, True])
@pytest.mark.parametrize(
    ("interval_s", "cut"), [(0.25, True), (4.0, True), (5.0, False), (6.0, False), (10.0, False)]
)
def test_keepalive_pings(interval_s: float, cut: bool, with_watch: bool) -> None:
    """Closer than 5 s is cut with too_many_pings, from 5 s on never; idle or with a watch."""
    client = RawClient()
    if with_watch:
        client.send(client.headers(1, WATCH_CALL, end=False))
        client.transport.open_answer(1)
        client.take()
    for _ in range(600):
        client.now_s += interval_s
        client.send(PING)
        if client.transport.closing:
            break
    assert client.transport.closing is cut
    if cut:
        assert_calmed(client, b"too_many_pings")


def test_pings_with_jitter_pass() -> None:
    """A tenth of a second of jitter is no strike."""
    client = RawClient()
    for number in range(100):
        client.now_s += 4.9 if number % 2 else 5.1
        client.send(PING)
    assert not client.transport.closing


def test_what_we_send_forgives_strikes() -> None:
    """A ping after every answer, as clients measure bandwidth, is never a flood."""
    client = RawClient()
    client.send(client.headers(1, WATCH_CALL, end=False))
    for _ in range(1_000):
        client.transport.send_message(1, b"event")
        client.take()
        client.send(PING, window_update(0, 10), window_update(1, 10))
    client.assert_alive()


def test_an_answer_forgives_the_strikes_before_it() -> None:
    """Two strikes, an answer, and two more strikes end nothing; the third in a row does."""
    client = RawClient()
    client.send(client.headers(1, WATCH_CALL, end=False))
    for _ in range(3):
        client.transport.send_message(1, b"")
        client.send(PING, PING, PING)
        assert not client.transport.closing
    client.send(PING)
    assert_calmed(client, b"too_many_pings")


FLOODS = {
    "settings": (limits.SETTINGS_MAX - 1, settings((3, 100)), b"too_many_settings"),
    "settings-ack": (
        limits.IGNORED_FRAMES_MAX,
        frame(frames.SETTINGS, frames.ACK, 0),
        b"too_many_ignored_frames",
    ),
    "ping-ack": (
        limits.IGNORED_FRAMES_MAX,
        frame(frames.PING, frames.ACK, 0, b"unasked!"),
        b"too_many_ignored_frames",
    ),
    "priority": (limits.IGNORED_FRAMES_MAX, priority(1), b"too_many_ignored_frames"),
    "unknown": (limits.IGNORED_FRAMES_MAX, frame(0x42, 0, 0), b"too_many_ignored_frames"),
    "goaway": (limits.IGNORED_FRAMES_MAX, frames.goaway(0, 0), b"too_many_ignored_frames"),
    "empty-data": (limits.EMPTY_FRAMES_MAX, data(1), b"too_many_empty_frames"),
    "padding-only": (
        limits.EMPTY_FRAMES_MAX,
        data(1, b"\x03\0\0\0", flags=frames.PADDED),
        b"too_many_empty_frames",
    ),
    "window-update": (
        limits.WINDOW_UPDATES_MAX,
        window_update(0, 1),
        b"too_many_window_updates",
    ),
}


@pytest.mark.parametrize(("budget", "sent", "text"), FLOODS.values(), ids=list(FLOODS))
def test_flood_of_frames(budget: int, sent: bytes, text: bytes) -> None:
    """50,000 frames of one kind, read or unread, end exactly behind their budget."""
    client = RawClient()
    client.send(client.headers(1, WATCH_CALL, end=False))
    assert survived(client, lambda number: sent, 50_000) == budget
    assert client.transport.output_position < 10_000
    assert_calmed(client, text)


@pytest.mark.parametrize(("budget", "sent", "text"), FLOODS.values(), ids=list(FLOODS))
def test_the_same_frames_at_an_honest_pace(budget: int, sent: bytes, text: bytes) -> None:
    """Twice the budget of the same frames, one per two seconds, passes."""
    client = RawClient()
    client.send(client.headers(1, WATCH_CALL, end=False))
    for _ in range(2 * budget):
        client.now_s += 2.0
        client.send(sent)
    client.assert_alive()


def test_continuation_without_end() -> None:
    """A header block that never ends is cut at 64 KiB (CONTINUATION flood)."""
    client = RawClient()
    client.send(client.headers(1, CALL, end_headers=False))
    part = client.continuation(1, b"\0" * 16_384, end_headers=False)
    assert survived(client, lambda number: part, 100) == 3
    assert_calmed(client, b"header block without end")


def test_empty_continuations_without_end() -> None:
    """CONTINUATION frames of nothing are counted, not measured."""
    client = RawClient()
    client.send(client.headers(1, CALL, end_headers=False))
    part = client.continuation(1, b"", end_headers=False)
    assert survived(client, lambda number: part, 1_000) == limits.CONTINUATIONS_MAX
    assert_calmed(client, b"header block without end")


def test_10000_headers() -> None:
    """10,000 header fields in one block end the connection."""
    client = RawClient()
    client.send(client.headers(1, client.block(CALL) + b"\x90" * 10_000))
    assert_calmed(client, b"header list of 600293 bytes")


def test_hpack_bomb() -> None:
    """A table entry of 4 kB named 16,000 times ends the connection, and unpacks nothing."""
    client = RawClient()
    entry = b"\x40\x01a" + b"\x7f" + bytes((0xA1, 0x1E)) + b"x" * 4_000
    client.send(client.headers(1, entry + b"\xbe" * 12_000))
    goaway = client.take()[-1]
    assert (goaway.kind, goaway.error) == (frames.GOAWAY, ErrorCode.ENHANCE_YOUR_CALM)
