"""µs of CPU per queue put through session and queue core, without sockets and Trio.

    python -m bench.door_micro [--profile]

Batches of 64 calls as eight connections of eight streams bring them. Prints, asserts nothing.
"""

import cProfile
import pstats
import sys
import time
import uuid
from collections import deque
from struct import pack
from typing import Any

from etcdq.actors.queue.context import JobsBudget, Numbers, QueueContext
from etcdq.actors.queue.core import QueueCore
from etcdq.actors.stage import Stage
from etcdq.server.etcd.context import Context
from etcdq.server.etcd.door import Door, Identity
from etcdq.server.etcd.pb import rpc_pb2
from etcdq.server.etcd.session import Session

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
CALLS = 8


class Posted:
    """A mailbox without a reader."""

    def __init__(self) -> None:
        self.items: deque[Any] = deque()

    def post(self, message: Any) -> None:
        """Keep it."""
        self.items.append(message)


class Keyed:
    """A handle to the stage."""

    def __init__(self, posted: Posted, key: bytes) -> None:
        self._posted, self._key = posted, key

    def post(self, message: Any) -> None:
        """Keep it under the key."""
        self._posted.post((self._key, message))


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """One HTTP/2 frame."""
    return pack(">I", len(payload))[1:] + bytes((kind, flags)) + pack(">I", stream) + payload


def requests(first_stream: int, split: bool) -> bytes:
    """A batch of puts; `split`: all HEADERS first, as h2load sends them."""
    head = b"".join(
        b"\0" + bytes((len(name),)) + name + bytes((len(value),)) + value
        for name, value in (
            (b":path", b"/etcdserverpb.KV/Put"),
            (b":method", b"POST"),
            (b":scheme", b"http"),
            (b":authority", b"127.0.0.1"),
            (b"content-type", b"application/grpc"),
            (b"te", b"trailers"),
        )
    )
    put = rpc_pb2.PutRequest(key=b"/q/bench/p/job-1", value=b"x" * 100).SerializeToString()
    body = b"\0" + pack(">I", len(put)) + put
    streams = range(first_stream, first_stream + 2 * CALLS, 2)
    heads = [frame(1, 4, stream, head) for stream in streams]
    bodies = [frame(0, 1, stream, body) for stream in streams]
    if split:
        return b"".join(heads) + b"".join(bodies)
    return b"".join(a + b for a, b in zip(heads, bodies, strict=True))


def run(split: bool, rounds: int) -> float:
    """Return µs of CPU per put."""
    board: dict[str, Any] = {"revision": 1}
    inbox = Posted()
    context = QueueContext(
        node_id=b"1", registry=Posted(), numbers=Numbers(1), prefix=b"/q/", budget=JobsBudget(0)
    )
    stage = Stage(lambda name: QueueCore(name, context))
    door = Door(
        identity=Identity("bench", 1, 2, "3.5.0", ()),
        board=board,
        keys=Posted(),
        queue=lambda name: Keyed(inbox, name),
        census=list,
        keys_statistics=lambda: None,
    )
    outbox = Posted()
    session = Session(Context(door), outbox, uuid.uuid4(), "bench", 0.0)
    session.receive(PREFACE + frame(4, 0, 0), 0.0)
    # A connection's window is opened wide once, as clients do.
    session.receive(frame(8, 0, 0, pack(">I", 1 << 30)), 0.0)
    batches = [requests(1 + 2 * CALLS * number, split) for number in range(rounds)]
    started = time.process_time()
    for data in batches:
        session.receive(data, 0.0)
        session.transport.take_output()
        items, inbox.items = inbox.items, deque()
        outcome = stage.run(items, 0.0)
        for reply in outcome.replies:
            session.step(reply, 0.0)
        session.settle(0.0)
        session.transport.take_output()
        session.written(0, False, 0.0)
    return (time.process_time() - started) * 1e6 / (rounds * CALLS)


def main() -> None:
    """Print both orders of frames."""
    if "--profile" in sys.argv:
        profile = cProfile.Profile()
        profile.runcall(run, True, 4000)
        pstats.Stats(profile).sort_stats("tottime").print_stats(30)
        return
    for split in (False, True):
        best = min(run(split, 60) for _ in range(300))
        order = "all HEADERS first" if split else "HEADERS, DATA in turn"
        print(f"{order}: {best:.2f} µs per put")


if __name__ == "__main__":
    main()
