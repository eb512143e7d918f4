"""What a stream is when it begins, and what an idle one costs."""

import tracemalloc

from etcdq.server.etcd.transport.frames import window_update
from etcdq.server.etcd.transport.head import Head
from etcdq.server.etcd.transport.stream import Stream
from tests.support.raw_http2 import PUT, WATCH_CALL, RawClient, data, prefixed


def test_stream_made_for_a_complete_call() -> None:
    """Without a head the call was complete: its client has ended, its session knows it."""
    stream = Stream(1, None, 100)
    assert (stream.remote_closed, stream.told, stream.send_window) == (True, True, 100)


def test_stream_of_a_call_that_begins() -> None:
    """With a head it is open, and the session has not heard of it."""
    stream = Stream(1, Head(plain=True, method=PUT), 100)
    assert (stream.remote_closed, stream.told, stream.queue) == (False, False, None)


def test_idle_watch_costs_little() -> None:
    """10,000 idle watches must fit beside everything else: each under 600 bytes here."""
    client = RawClient()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for stream_id in range(1, 2_001, 2):
            client.send(client.headers(stream_id, WATCH_CALL, end=False))
            client.send(data(stream_id, prefixed(b"create")), window_update(0, 100))
            client.transport.send_message(stream_id, b"created")
            client.take()
            client.events.clear()
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert client.transport.open_streams == 1_000
    assert grown / 1_000 < 600
