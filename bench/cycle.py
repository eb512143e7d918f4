"""put -> deliver -> acknowledge, pipelined on one connection by a lean client."""

import time
from collections import deque

from bench import calls, frames
from bench.connection import CallFailedError, Connection
from etcdq.server.etcd.pb import rpc_pb2

_WARM_UP_S = 0.2
_DELETED_ONE = b"\x10\x01"
"""How a DeleteRangeResponse that deleted one key ends: field 2, value 1."""


class Cycles:
    """At most `depth` messages under way, each in turn put, seen in a watch, and deleted.

    The same code drives both servers: on ours the watch is a consumer's, on etcd one on a prefix
    that filters out deletes; on both the delivered key is deleted. `waiting` messages are under
    way from the start: the queue has them already.
    """

    def __init__(
        self, connection: Connection, put_prefix: bytes, depth: int, waiting: int = 0
    ) -> None:
        self._connection = connection
        self._put_prefix = put_prefix
        self._depth = depth
        self._number = 0
        self._deletes: set[int] = set()
        self._to_delete: deque[bytes] = deque()
        self._watch_stream = 0
        self._under_way = waiting
        self.done = 0

    def register(self, watch: bytes) -> None:
        """Open the watch and wait until it is created."""
        connection = self._connection
        self._watch_stream = stream = connection.take_stream()
        block = connection.block(calls.WATCH)
        connection.send(frames.call(stream, block, watch, half_close=False), len(watch) + 5)
        while not connection.messages:
            connection.receive()
        _, body = connection.messages.pop(0)
        if not rpc_pb2.WatchResponse.FromString(body).created:
            raise CallFailedError("the watch was not created")
        self._note()  # what waited may have come with it

    def send(self, *, more: bool = True) -> None:
        """Delete what was delivered, then put (if more) up to depth, as far as there is room."""
        connection = self._connection
        flow = 0
        out = []
        while self._to_delete and connection.room(256):
            body = calls.delete(self._to_delete.popleft())
            stream = connection.take_stream()
            self._deletes.add(stream)
            out.append(frames.call(stream, connection.block(calls.DELETE), body))
            flow += len(body) + 5
        while more and self._under_way < self._depth and connection.room(256 + flow):
            body = calls.put(b"%b%010d" % (self._put_prefix, self._number))
            self._number += 1
            self._under_way += 1
            out.append(frames.call(connection.take_stream(), connection.block(calls.PUT), body))
            flow += len(body) + 5
        if out:
            connection.send(b"".join(out), flow)

    def receive(self) -> None:
        """Wait for something, and note what was delivered and what is deleted.

        Raises:
            CallFailedError: a delete found nothing, or the watch ended.
        """
        self._connection.receive()
        self._note()

    def _note(self) -> None:
        connection = self._connection
        for stream, body in connection.messages:
            if stream == self._watch_stream:
                events = rpc_pb2.WatchResponse.FromString(body).events
                self._to_delete += [event.kv.key for event in events]
            elif stream in self._deletes:
                if not body.endswith(_DELETED_ONE):
                    raise CallFailedError("a delivered key was not there to delete")
                self._deletes.remove(stream)
                self.done += 1
                self._under_way -= 1
        connection.messages.clear()
        if self._watch_stream in connection.ended:
            raise CallFailedError("the watch ended")
        connection.ended.clear()

    def finish(self) -> None:
        """Await what is under way, so that nothing stays in the queue."""
        while self._under_way > 0:
            self.send(more=False)
            self.receive()


def run(
    port: int, *, watch: bytes, put_prefix: bytes, depth: int, seconds: float
) -> dict[str, float]:
    """Cycles per second at a depth; `watch` is the WatchRequest to open with."""
    connection = Connection(port)
    cycles = Cycles(connection, put_prefix, depth)
    cycles.register(watch)
    warm_until = time.perf_counter() + _WARM_UP_S
    stop_at = warm_until + seconds
    started, done, cpu = 0.0, 0, 0.0
    while (now := time.perf_counter()) < stop_at:
        if not started and now >= warm_until:
            started, done, cpu = now, cycles.done, time.process_time()
        cycles.send()
        cycles.receive()
    elapsed = now - started
    result = {
        "cycles_per_s": (cycles.done - done) / elapsed,
        "generator_cpu": (time.process_time() - cpu) / elapsed,
    }
    cycles.finish()
    connection.close()
    return result


def drain(port: int, *, watch: bytes, messages: int) -> dict[str, float]:
    """Messages per second that a consumer takes and acknowledges, of a queue that has them."""
    connection = Connection(port)
    cycles = Cycles(connection, b"", 0, waiting=messages)
    start = time.perf_counter()
    cycles.register(watch)
    cycles.finish()
    elapsed = time.perf_counter() - start
    connection.close()
    return {"messages_per_s": messages / elapsed}
