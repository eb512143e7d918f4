"""Thousands of idle watchers, and what they cost: resident memory, and the longest pause."""

import time
from itertools import islice

from bench import calls, frames
from bench.connection import Connection
from bench.processes import rss_bytes
from etcdq.server.etcd.pb import rpc_pb2

_CONNECTIONS = 10
_STREAMS = 10
_PROBE_KEY = b"/bench/probe"


class _Watches:
    """One Watch stream that carries many watches."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._stream = 0

    def create(self, keys: list[bytes]) -> None:
        """Send a create request for each key."""
        connection = self._connection
        out = b""
        flow_bytes = 0
        for key in keys:
            body = calls.watch(key)
            flow_bytes += len(body) + 5
            if self._stream:
                out += frames.frame(frames.DATA, 0, self._stream, frames.message(body))
            else:
                self._stream = connection.take_stream()
                block = connection.block(calls.WATCH)
                out += frames.call(self._stream, block, body, half_close=False)
        connection.send(out, flow_bytes)

    def await_created(self, count: int) -> None:
        """Wait until so many watches answered `created`."""
        while count:
            self._connection.receive()
            for _, body in self._connection.messages:
                response = rpc_pb2.WatchResponse.FromString(body)
                assert response.created, response
                assert not response.canceled, response
                count -= 1
            self._connection.messages.clear()


def _probe_ms(connection: Connection, calls_count: int) -> list[float]:
    """Durations of puts of an ordinary key, one after another, in milliseconds."""
    durations = []
    for _ in range(calls_count):
        start = time.perf_counter()
        connection.call(calls.PUT, calls.put(_PROBE_KEY))
        durations.append((time.perf_counter() - start) * 1e3)
    return durations


def run(port: int, pid: int, *, keys: list[bytes], probe_calls: int) -> dict[str, float]:
    """Watch every key, over 100 streams on 10 connections, and do nothing with them.

    Returns:
        megabytes: growth of the server's resident memory, in 10^6 bytes, with its connections.
        pause_ms: the longest of the puts made meanwhile and `probe_calls` afterwards. An upper
            bound for a pause of the server's garbage collector: a put that meets one waits for
            it, but it may also have waited for other things.
    """
    prober = Connection(port)
    _probe_ms(prober, 200)
    before = rss_bytes(pid)
    pool = [Connection(port) for _ in range(_CONNECTIONS)]
    left = iter(keys)
    share = -(-len(keys) // (_CONNECTIONS * _STREAMS))
    pauses = []
    for connection in pool:
        for _ in range(_STREAMS):
            chosen = list(islice(left, share))
            watches = _Watches(connection)
            watches.create(chosen)
            watches.await_created(len(chosen))
            pauses += _probe_ms(prober, 5)
    pauses += _probe_ms(prober, probe_calls)
    growth = rss_bytes(pid) - before
    for connection in [*pool, prober]:
        connection.close()
    return {"megabytes": growth / 1e6, "pause_ms": max(pauses)}
