"""The connection against anything: any bytes in any pieces, and the `h2` library as its client.

The invariant: whatever a peer sends is parsed, or ends with GOAWAY (or a last answer to a peer of
another protocol); nothing raises, and what is kept stays bounded.
"""

from collections import deque
from typing import Any

import h2.config
import h2.connection
import h2.events
import h2.settings
from hypothesis import given, settings
from hypothesis import strategies as st

from etcdq.actors import limits
from etcdq.server.etcd.transport import frames
from etcdq.server.etcd.transport.events import (
    Request,
    StreamGone,
    StreamHalfClosed,
    StreamMessage,
    StreamOpened,
    TransportLimits,
)
from etcdq.server.etcd.transport.grpc import Transport
from tests.support.raw_http2 import METHODS, PUT, RawClient, call, prefixed
from tests.support.raw_http2 import settings as settings_frame

CALL = call()
PREAMBLE = frames.PREFACE + settings_frame()

frame_bytes = st.builds(
    frames.frame,
    st.integers(0, 12),
    st.integers(0, 255),
    st.sampled_from([0, 1, 2, 3, 5, 7, 9, 0x7FFFFFFF, 0x80000001]),
    st.one_of(
        st.binary(max_size=40),
        st.sampled_from(
            [
                RawClient().block(CALL),
                prefixed(b"hello"),
                b"\0" * 8,
                b"\0\x04\0\0\0\x01",
                b"\0\0\0\x01",
                b"\x7f\xff\xff\xff",
            ]
        ),
    ),
)
streams_of_bytes = st.one_of(
    st.binary(max_size=300),
    st.lists(frame_bytes, max_size=30).map(lambda parts: PREAMBLE + b"".join(parts)),
    st.lists(st.one_of(frame_bytes, st.binary(max_size=20)), max_size=30).map(
        lambda parts: PREAMBLE + b"".join(parts)
    ),
)


def answer(transport: Transport, event: Any) -> None:
    """Do as a session does."""
    if isinstance(event, Request):
        transport.reply(event.stream_id, event.message)
    elif isinstance(event, StreamMessage):
        transport.send_message(event.stream_id, event.message)
    elif isinstance(event, StreamHalfClosed):
        transport.finish(event.stream_id)


def run(pieces: list[bytes]) -> tuple[list[Any], bytes, bool]:
    """Feed pieces, answer what comes; the events, the output and whether it closes."""
    transport = Transport(METHODS, TransportLimits(), 0.0)
    events: list[Any] = []
    output = b""
    for piece in pieces:
        for event in transport.receive(piece, 0.0):
            events.append(event)
            answer(transport, event)
        statistics = transport.statistics()
        assert statistics.buffered_request_bytes <= sum(map(len, pieces))
        assert len(transport._partial) <= limits.FRAME_BYTES_MAX + 9
    while transport.has_output:
        output += transport.take_output()
    return events, output, transport.closing


@settings(max_examples=300, deadline=None)
@given(streams_of_bytes, st.data())
def test_any_bytes_in_any_pieces_mean_the_same(sent: bytes, draw: st.DataObject) -> None:
    """Whole, in random pieces, byte by byte: the same events, and nothing ever raises."""
    cuts = sorted(draw.draw(st.sets(st.integers(0, len(sent)), max_size=8)))
    pieces = [sent[start:end] for start, end in zip([0, *cuts], [*cuts, len(sent)], strict=True)]
    whole, _, closing = run([sent])
    parts, _, closing_parts = run(pieces)
    bytewise, output, closing_bytes = run([sent[at : at + 1] for at in range(len(sent))])
    assert closing == closing_parts == closing_bytes
    if not closing:
        # A connection that ends drops what the session did not answer before the end was read.
        assert whole == parts == bytewise
    elif sent.startswith(PREAMBLE):
        assert frames.frame(frames.GOAWAY, 0, 0)[3:] in output


class Pair:
    """An `h2` client and a transport, with nothing between them."""

    def __init__(self, **changed: int) -> None:
        config = h2.config.H2Configuration(client_side=True, header_encoding="utf-8")
        self.client = h2.connection.H2Connection(config)
        self.client.initiate_connection()
        if changed:
            self.client.update_settings(
                {getattr(h2.settings.SettingCodes, name): value for name, value in changed.items()}
            )
        self.transport = Transport(METHODS, TransportLimits(), 0.0)
        self.events: deque[Any] = deque()
        self.received: dict[int, bytearray] = {}
        self.trailers: dict[int, dict[str, str]] = {}
        self.data_frames = 0
        self.credit = True
        """Whether the client gives credit back for what it reads."""
        self.pump()

    def pump(self) -> None:
        """Move bytes until neither side has any."""
        while True:
            to_server = self.client.data_to_send()
            if to_server:
                self.events += self.transport.receive(to_server, 0.0)
            to_client = self.transport.take_output() if self.transport.has_output else b""
            for event in self.client.receive_data(to_client):
                self._take(event)
            if not to_server and not to_client:
                return

    def _take(self, event: Any) -> None:
        if isinstance(event, h2.events.DataReceived):
            self.data_frames += 1
            self.received.setdefault(event.stream_id, bytearray()).extend(event.data)
            if self.credit and event.flow_controlled_length:
                self.client.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, h2.events.TrailersReceived | h2.events.ResponseReceived):
            self.trailers.setdefault(event.stream_id, {}).update(event.headers)

    def call(self, fields: Any = CALL) -> int:
        """Open a call."""
        stream_id = self.client.get_next_available_stream_id()
        self.client.send_headers(stream_id, fields)
        return stream_id

    def upload(self, stream_id: int, body: bytes) -> None:
        """Send a body as far as windows go, again and again, and end the stream."""
        while body:
            window = self.client.local_flow_control_window(stream_id)
            size = min(window, self.client.max_outbound_frame_size, len(body))
            assert size > 0, "the server gave no credit"
            self.client.send_data(stream_id, body[:size])
            body = body[size:]
            self.pump()
        self.client.end_stream(stream_id)
        self.pump()


@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, 300_000),
    st.lists(st.integers(1, 100_000), max_size=6),
    st.integers(1, 70_000),
)
def test_answer_through_changing_windows(size: int, windows: list[int], first: int) -> None:
    """An answer of any size comes whole while SETTINGS_INITIAL_WINDOW_SIZE changes under it."""
    pair = Pair(INITIAL_WINDOW_SIZE=first)
    pair.credit = False
    stream_id = pair.call()
    pair.upload(stream_id, prefixed(b"go"))
    pair.transport.reply(stream_id, bytes(range(256)) * (size // 256))
    pair.pump()
    for window in windows:
        pair.client.update_settings({h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: window})
        pair.pump()
    pair.client.increment_flow_control_window(1_000_000)
    if stream_id not in pair.trailers or "grpc-status" not in pair.trailers[stream_id]:
        pair.client.increment_flow_control_window(1_000_000, stream_id)
    pair.pump()
    assert pair.received[stream_id] == prefixed(bytes(range(256)) * (size // 256))
    assert pair.trailers[stream_id]["grpc-status"] == "0"
    assert pair.transport.open_streams == 0


def test_300_kB_answer_through_the_default_window() -> None:
    """300 kB come whole through a window of 64 kB that the client opens as it reads."""
    pair = Pair()
    stream_id = pair.call()
    pair.upload(stream_id, prefixed(b"go"))
    pair.transport.reply(stream_id, b"x" * 300_000)
    pair.pump()
    assert pair.received[stream_id] == prefixed(b"x" * 300_000)


def test_300_kB_answer_through_a_window_of_1000_bytes() -> None:
    """300 kB come whole through windows of 1,000 bytes, in frames of at most that."""
    pair = Pair(INITIAL_WINDOW_SIZE=1_000)
    stream_id = pair.call()
    pair.upload(stream_id, prefixed(b"go"))
    pair.transport.reply(stream_id, b"x" * 300_000)
    pair.pump()
    assert pair.received[stream_id] == prefixed(b"x" * 300_000)
    assert pair.data_frames >= 301


def test_5_MB_upload() -> None:
    """A stream of messages of 5 MB in all comes whole: credit is given back on arrival."""
    pair = Pair()
    stream_id = pair.call(call(b"/test.Watch/Watch"))
    messages = [bytes([number]) * 1_000_000 for number in range(5)]
    pair.upload(stream_id, b"".join(prefixed(message) for message in messages))
    kinds = [type(event) for event in pair.events]
    assert kinds == [StreamOpened, *[StreamMessage] * 5, StreamHalfClosed]
    assert [event.message for event in list(pair.events)[1:6]] == messages


def test_many_uploads_at_once_all_complete() -> None:
    """16 uploads of 1.5 MB side by side, frame by frame in turn, starve none of each other."""
    pair = Pair()
    ids = [pair.call() for _ in range(16)]
    body = prefixed(b"x" * 1_500_000)
    for start in range(0, len(body), 16_000):
        for stream_id in ids:
            pair.client.send_data(stream_id, body[start : start + 16_000])
        pair.pump()
    for stream_id in ids:
        pair.client.end_stream(stream_id)
    pair.pump()
    assert [event.stream_id for event in pair.events] == ids
    assert all(len(event.message) == 1_500_000 for event in pair.events)


calls = st.lists(
    st.tuples(
        st.sampled_from(["put", "watch", "cancel"]),
        st.binary(max_size=3_000),
        st.integers(0, 40_000),
    ),
    max_size=25,
)


@settings(max_examples=60, deadline=None)
@given(calls, st.integers(100, 70_000))
def test_interleaved_calls_with_h2(steps: list[tuple[str, bytes, int]], window: int) -> None:
    """Calls, watches and cancels of an honest client: each gets its own bytes, none is lost."""
    pair = Pair(INITIAL_WINDOW_SIZE=window)
    expected: dict[int, bytes] = {}
    watches: list[int] = []
    for kind, body, size in steps:
        if kind == "cancel" and watches:
            stream_id = watches.pop()
            pair.client.reset_stream(stream_id, 8)
            expected.pop(stream_id)
        else:
            stream_id = pair.call(CALL if kind == "put" else call(b"/test.Watch/Watch"))
            pair.upload(stream_id, prefixed(body)) if kind == "put" else watches.append(stream_id)
            expected[stream_id] = b""
        pair.pump()
        while pair.events:
            event = pair.events.popleft()
            if isinstance(event, Request):
                assert event.method is PUT
                assert event.message == body
                pair.transport.reply(event.stream_id, body * 3)
                expected[event.stream_id] += prefixed(body * 3)
            elif isinstance(event, StreamGone):
                assert event.stream_id not in expected
        for stream_id in watches:
            pair.transport.send_message(stream_id, b"e" * size)
            expected[stream_id] += prefixed(b"e" * size)
        pair.pump()
    for stream_id in watches:
        pair.transport.finish(stream_id, 14, "bye")
    pair.pump()
    for stream_id, body in expected.items():
        assert bytes(pair.received.get(stream_id, b"")) == body
        assert pair.trailers[stream_id]["grpc-status"] in ("0", "14")
    assert pair.transport.open_streams == 0
    assert pair.transport.queued_bytes_total == 0


kinds_of_actions = st.sampled_from(
    ["send", "send", "send", "withdraw", "withdraw", "finish", "reset", "open", "window"]
)
actions = st.lists(
    st.tuples(kinds_of_actions, st.integers(0, 1), st.sampled_from([0, 7, 900, 20_000, 50_000])),
    min_size=10,
    max_size=40,
)


@settings(max_examples=100, deadline=None)
@given(actions, st.sampled_from([1, 100, 20_000]))
def test_whatever_a_session_does_the_books_are_right(
    steps: list[tuple[str, int, int]], window: int
) -> None:
    """Sends, take-backs, ends and resets on several watches: every byte is where it belongs."""
    pair = Pair(INITIAL_WINDOW_SIZE=window)
    pair.credit = False
    transport = pair.transport
    ids = [pair.call(call(b"/test.Watch/Watch")) for _ in range(2)]
    pair.pump()
    waiting: dict[int, list[tuple[int, bytes]]] = {stream_id: [] for stream_id in ids}
    whole: dict[int, bytes] = dict.fromkeys(ids, b"")
    over: set[int] = set()
    for action, which, size in steps:
        stream_id = ids[which]
        if action == "send" and stream_id not in over:
            message = bytes((len(whole[stream_id]) % 251,)) * size
            end = transport.send_message(stream_id, message)
            whole[stream_id] += prefixed(message)
            assert end == len(whole[stream_id])
            waiting[stream_id].append((end, prefixed(message)))
        elif action == "withdraw" and waiting[stream_id] and stream_id not in over:
            end, body = waiting[stream_id].pop()
            unbegun = transport.framed(stream_id) <= end - len(body)
            assert transport.withdraw(stream_id, end) is unbegun
            if unbegun:
                whole[stream_id] = whole[stream_id][: -len(body)]
        elif action == "finish":
            transport.finish(stream_id, 14, "bye")
            over.add(stream_id)
        elif action == "reset" and stream_id not in over:
            transport.reset(stream_id, 8)
            over.add(stream_id)
            whole[stream_id] = bytes(pair.received.get(stream_id, b""))
        elif action == "window":
            changed = {h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: size}
            pair.client.update_settings(changed)
        elif action == "open":
            pair.client.increment_flow_control_window(1 + size)
        pair.pump()
        queued = [transport.queued_bytes(one) for one in ids]
        assert transport.queued_bytes_total == sum(queued)
        for one in set(ids) - over:
            assert transport.framed(one) + transport.queued_bytes(one) == len(whole[one])
            assert len(pair.received.get(one, b"")) == transport.framed(one)
    pair.client.update_settings({h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: 10_000_000})
    pair.client.increment_flow_control_window(10_000_000)
    pair.pump()
    for one in ids:
        assert bytes(pair.received.get(one, b"")) == whole[one]
    assert transport.queued_bytes_total == 0
