"""Lean loads of puts: a header that differs in every call, and a queue filled with messages."""

import select
import time
from collections.abc import Callable
from itertools import islice

from bench import calls, frames, headers
from bench.connection import Connection

_WARM_UP_S = 0.2
_FASTEST_CALLS_PER_S = 200_000
"""Calls prepared per second of a run, over all connections: more than any server here answers."""

Source = Callable[[int], int]
"""Sends up to so many calls on its connection and returns how many it sent."""


def drive(sources: dict[Connection, Source], streams: int, stop: Callable[[int], bool]) -> int:
    """Keep so many calls in flight per connection until stop(calls done), then await the rest.

    Returns:
        How many calls were done when stop said so.
    """
    poll = select.epoll()
    by_fd = {connection.fileno(): connection for connection in sources}
    for connection, source in sources.items():
        poll.register(connection, select.EPOLLIN)
        source(streams)
    done = 0
    stopped_at = None
    while stopped_at is None or any(connection.open for connection in sources):
        for fd, _ in poll.poll(20):
            connection = by_fd[fd]
            connection.receive(wait=False)
            done += len(connection.ended)
            connection.ended.clear()
            connection.messages.clear()
            if stopped_at is None:
                sources[connection](streams - connection.open)
        if stopped_at is None and stop(done):
            stopped_at = done
    return stopped_at


class Script:
    """Calls of one connection, encoded beforehand: all its streams and its whole HPACK history.

    Connections to one server can send the same script, since each starts with stream 1 and an
    empty table.
    """

    def __init__(self, authority: str, table_bytes: int, body: bytes, count: int) -> None:
        encoder = headers.GoEncoder(table_bytes)
        data = bytearray()
        self.offsets = [0]
        for i, timeout in enumerate(islice(headers.fresh_timeouts(), count)):
            block = encoder.encode(headers.call_fields(calls.PUT, authority, timeout))
            data += frames.call(1 + 2 * i, block, body)
            self.offsets.append(len(data))
        self.data = memoryview(data)
        self.flow_bytes = len(body) + 5

    def source(self, connection: Connection) -> Source:
        """Sends this script on connection, which nobody else may use."""
        at = 0

        def send(count: int) -> int:
            nonlocal at
            count = min(count, connection.room(self.flow_bytes), len(self.offsets) - 1 - at)
            if count > 0:
                view = self.data[self.offsets[at] : self.offsets[at + count]]
                connection.send(view, count * self.flow_bytes)
                connection.open += count
                at += count
            return count

        return send


def put_fresh(
    port: int, *, key: bytes, connections: int, streams: int, seconds: float
) -> dict[str, float]:
    """Put under key with a fresh grpc-timeout in every call, encoded as grpc-go encodes."""
    pool = [Connection(port) for _ in range(connections)]
    count = round((seconds + _WARM_UP_S) * _FASTEST_CALLS_PER_S / connections)
    script = Script(pool[0].authority, pool[0].table_bytes, calls.put(key), count)
    warm_until = time.perf_counter() + _WARM_UP_S
    stop_at = warm_until + seconds
    warm: tuple[float, int, float] | None = None

    def stop(done: int) -> bool:
        nonlocal warm
        now = time.perf_counter()
        if warm is None and now >= warm_until:
            warm = (now, done, time.process_time())
        return now >= stop_at or done == count * connections

    done = drive({connection: script.source(connection) for connection in pool}, streams, stop)
    elapsed = time.perf_counter()
    for connection in pool:
        connection.close()
    assert warm is not None, "the script is long enough for the warm-up"
    return {
        "calls_per_s": (done - warm[1]) / (elapsed - warm[0]),
        "generator_cpu": (time.process_time() - warm[2]) / (elapsed - warm[0]),
    }


def fill(port: int, *, prefix: bytes, messages: int) -> dict[str, float]:
    """Put so many messages of distinct 10-byte keys and distinct 100-byte bodies under prefix."""
    pool = [Connection(port) for _ in range(4)]
    numbers = iter(range(messages))
    flow_bytes = len(calls.put(prefix + b"0" * 10)) + 5

    def source(connection: Connection) -> Source:
        def send(count: int) -> int:
            chosen = list(islice(numbers, min(count, connection.room(flow_bytes))))
            out = []
            for number in chosen:
                body = calls.put(b"%b%010d" % (prefix, number), b"%0100d" % number)
                stream = connection.take_stream()
                out.append(frames.call(stream, connection.block(calls.PUT), body))
            connection.send(b"".join(out), len(out) * flow_bytes)
            return len(out)

        return send

    start = time.perf_counter()
    sources = {connection: source(connection) for connection in pool}
    done = drive(sources, 64, lambda done: done == messages)
    elapsed = time.perf_counter() - start
    for connection in pool:
        connection.close()
    return {"calls_per_s": done / elapsed}
