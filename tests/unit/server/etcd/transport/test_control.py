"""Pings of ours, draining, and the table of what ends what."""

from etcdq.server.etcd.transport import frames
from etcdq.server.etcd.transport.events import StreamGone
from etcdq.server.etcd.transport.frames import ErrorCode, frame, rst_stream
from tests.support.raw_http2 import WATCH_CALL, RawClient, call, data, prefixed


def test_our_ping_is_tracked_until_it_is_answered() -> None:
    """The time of the oldest unanswered ping is known, and gone with its answer."""
    client = RawClient()
    transport = client.transport
    transport.ping(7.0)
    transport.ping(12.0)
    assert transport.unacknowledged_ping_since_s == 7.0
    ping = client.take()[0]
    client.now_s = 13.0
    client.send(frame(frames.PING, frames.ACK, 0, ping.payload))
    assert transport.unacknowledged_ping_since_s is None
    assert transport.last_received_s == 13.0


def test_foreign_acknowledgement_is_not_ours() -> None:
    """An acknowledgement of other bytes answers no ping of ours."""
    client = RawClient()
    client.transport.ping(1.0)
    client.send(frame(frames.PING, frames.ACK, 0, b"anything"))
    assert client.transport.unacknowledged_ping_since_s == 1.0


def test_peer_reset_is_told_once() -> None:
    """A reset of a call that the session knows is an event; late frames of ours do nothing."""
    client = RawClient()
    client.send(client.headers(1, WATCH_CALL, end=False))
    assert client.send(rst_stream(1, ErrorCode.CANCEL)) == [StreamGone(1)]
    assert client.send(rst_stream(1, ErrorCode.CANCEL)) == []
    assert client.transport.open_streams == 0


def test_reset_of_a_call_the_session_does_not_know_is_silent() -> None:
    """Half a unary call, reset: nothing happened."""
    client = RawClient()
    client.send(client.headers(1, call(), end=False), data(1, prefixed(b"put")[:4]))
    assert client.send(rst_stream(1, ErrorCode.CANCEL)) == []


def test_drain_goes_in_two_steps() -> None:
    """First a GOAWAY without a bound and a PING; after its answer one with the last stream."""
    client = RawClient()
    client.send(client.headers(1, WATCH_CALL, end=False))
    client.transport.drain()
    client.transport.drain()
    first, ping = client.take()
    assert first.payload[:8] == b"\x7f\xff\xff\xff\0\0\0\0"
    client.send(client.headers(3, call(), end=False))
    refused = client.take()[-1]
    assert (refused.stream_id, refused.error) == (3, ErrorCode.REFUSED_STREAM)
    client.send(frame(frames.PING, frames.ACK, 0, ping.payload))
    assert client.take()[0].payload[:8] == b"\0\0\0\x03\0\0\0\0"
    assert not client.transport.closing
    client.transport.send_message(1, b"last")
    client.transport.finish(1, 14, "draining")
    assert client.transport.closing
    assert any(one.ends for one in client.take())


def test_drain_of_an_idle_connection_closes_on_the_answer() -> None:
    """Without open calls the connection closes as soon as the client knows."""
    client = RawClient()
    client.transport.drain()
    _, ping = client.take()
    assert not client.transport.closing
    client.send(frame(frames.PING, frames.ACK, 0, ping.payload))
    assert client.transport.closing


def test_drain_before_the_preface_closes_at_once() -> None:
    """Who has not said a word yet is not waited for."""
    client = RawClient(greet=False)
    client.transport.drain()
    assert client.transport.closing


def test_many_window_settings_in_one_frame_count_once() -> None:
    """A frame full of SETTINGS_INITIAL_WINDOW_SIZE ends with the last one's effect."""
    client = RawClient()
    client.send(client.headers(1, WATCH_CALL, end=False))
    pair = (4).to_bytes(2, "big")
    payload = b"".join(pair + (n % 7).to_bytes(4, "big") for n in range(2_730))
    client.send(frame(frames.SETTINGS, 0, 0, payload))
    assert client.transport.room(1) == 2_729 % 7


def test_window_of_an_open_stream_may_not_overflow_by_settings() -> None:
    """SETTINGS that would lift a stream's window over 2^31-1 end the connection."""
    client = RawClient()
    client.send(client.headers(1, WATCH_CALL, end=False), frames.window_update(1, 2**30))
    client.send(frame(frames.SETTINGS, 0, 0, b"\0\x04\x7f\xff\xff\xff"))
    client.assert_connection_error(ErrorCode.FLOW_CONTROL_ERROR)
