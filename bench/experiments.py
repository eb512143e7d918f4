"""What is done to a server to get the figures of some rows."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from uuid import uuid4

from bench import calls, h2load
from bench.connection import Connection
from bench.generator import generate
from bench.processes import ETCD, KINDS, OURS, Server, rss_bytes
from bench.rows import GENERATOR
from etcdq.server.etcd.pb import rpc_pb2

_KEY_BYTES = 10
_TAKES = 20_000


@dataclass(frozen=True, slots=True)
class Extent:
    """How long and how much. `pin`: the CPU list of every load generator."""

    pin: str
    seconds: float = 0.8
    waiting: int = 200_000
    keyed: int = 100_000
    watchers: int = 10_000
    probe_calls: int = 5_000
    client_messages: int = 500


Figures = dict[str, float]


@dataclass(frozen=True, slots=True)
class Experiment:
    """A measurement of the servers of `kinds`. Where `fresh`, each run gets a server of its own.

    `measure` returns a figure for each row it knows; `rows` are those with names that do not begin
    with its own.
    """

    name: str
    measure: Callable[[Server, Extent], Figures]
    kinds: tuple[str, ...] = KINDS
    fresh: bool = False
    rows: tuple[str, ...] = ()


_numbers = count(1)


def new_name() -> str:
    """Name a queue that no load of this run has used."""
    # A load leaves messages behind; on its queue the next one would measure that backlog.
    return f"bench-{next(_numbers)}"


def _landed(connection: Connection, key: bytes, queue: bytes | None) -> int:
    """How many puts have reached key: messages that wait in queue, or the key's version."""
    if queue is not None:
        answer = connection.call(calls.RANGE, calls.count(queue))
        return rpc_pb2.RangeResponse.FromString(answer).count
    answer = connection.call(calls.RANGE, calls.get(key))
    kvs = rpc_pb2.RangeResponse.FromString(answer).kvs
    return kvs[0].version if kvs else 0


def _key(server: Server, *, producer: bool) -> tuple[bytes, bytes | None]:
    """A key nobody put yet, and, where it is a producer key of ours, its queue's prefix."""
    name = new_name()
    if not producer:
        return b"/bench/%b" % name.encode(), None
    prefix = b"/q/%b/" % name.encode()
    return prefix + b"p/k", prefix if server.ours else None


def _put_h2load(
    server: Server, extent: Extent, *, producer: bool, connections: int, streams: int
) -> h2load.Result:
    """Put with h2load, and see that every call it counts has really put (grpc-status 0)."""
    key, queue = _key(server, producer=producer)
    body = calls.put(key)
    result = h2load.run(
        server.port,
        calls.PUT,
        body,
        connections=connections,
        streams=streams,
        seconds=extent.seconds,
        pin=extent.pin,
    )
    connection = Connection(server.port)
    landed = _landed(connection, key, queue)
    if landed < result.succeeded:
        raise RuntimeError(f"h2load counts {result.succeeded} puts, the server has {landed}")
    if queue is not None:
        connection.call(calls.DELETE, calls.purge(queue))
    connection.close()
    return result


def _put_8x8(name: str, *, producer: bool) -> Experiment:
    def measure(server: Server, extent: Extent) -> Figures:
        result = _put_h2load(server, extent, producer=producer, connections=8, streams=8)
        return {name: result.calls_per_s}

    return Experiment(name, measure)


def _put_1x1(name: str, *, producer: bool) -> Experiment:
    def measure(server: Server, extent: Extent) -> Figures:
        result = _put_h2load(server, extent, producer=producer, connections=1, streams=1)
        return {name: result.mean_us}

    return Experiment(name, measure)


def _put_fresh(name: str, *, producer: bool) -> Experiment:
    def measure(server: Server, extent: Extent) -> Figures:
        key, queue = _key(server, producer=producer)
        figures = generate(
            "put_fresh",
            extent.pin,
            port=server.port,
            key=key,
            connections=8,
            streams=8,
            seconds=extent.seconds,
        )
        if queue is not None:
            _purge(server, queue)
        return {name: figures["calls_per_s"], name + GENERATOR: figures["generator_cpu"]}

    return Experiment(name, measure)


def _purge(server: Server, prefix: bytes) -> None:
    connection = Connection(server.port)
    connection.call(calls.DELETE, calls.purge(prefix))
    connection.close()


def _cycle(depth: int) -> Experiment:
    name = f"cycle-{depth}"

    def measure(server: Server, extent: Extent) -> Figures:
        if server.ours:
            queue = f"/q/{new_name()}/".encode()
            watch = calls.watch(b"%bc/%b" % (queue, str(uuid4()).encode()))
            put_prefix = queue + b"p/"
        else:
            put_prefix = f"/bench/{new_name()}/".encode()
            watch = calls.watch(put_prefix, prefix=True)
        figures = generate(
            "cycle",
            extent.pin,
            port=server.port,
            watch=watch,
            put_prefix=put_prefix,
            depth=depth,
            seconds=extent.seconds,
        )
        return {name: figures["cycles_per_s"], name + GENERATOR: figures["generator_cpu"]}

    return Experiment(name, measure)


def _fill(server: Server, extent: Extent, prefix: bytes, messages: int) -> tuple[float, float]:
    """Put so many messages; returns bytes each beyond body and key, and puts per second."""
    before = rss_bytes(server.pid)
    figures = generate(
        "fill", extent.pin, port=server.port, prefix=prefix, messages=messages, timeout_s=300
    )
    grown = rss_bytes(server.pid) - before
    return grown / messages - calls.VALUE_BYTES - _KEY_BYTES, figures["calls_per_s"]


def warm_up(server: Server, extent: Extent) -> None:
    """Let the server load and allocate what it needs for any load at all."""
    queue = f"/q/{new_name()}/".encode()
    generate("fill", extent.pin, port=server.port, prefix=queue + b"p/", messages=5_000)
    _purge(server, queue)


def _waiting(server: Server, extent: Extent) -> Figures:
    warm_up(server, extent)
    prefix = f"/q/{new_name()}/p/".encode()
    each, puts_per_s = _fill(server, extent, prefix, extent.waiting)
    return {"waiting-memory": each, "waiting-fill": puts_per_s}


def _take(server: Server, extent: Extent, queue: bytes) -> float:
    """Messages per second that one consumer takes from a queue and acknowledges."""
    watch = calls.watch(b"%bc/%b" % (queue, str(uuid4()).encode()))
    figures = generate("drain", extent.pin, port=server.port, watch=watch, messages=_TAKES)
    return figures["messages_per_s"]


def _million(server: Server, extent: Extent) -> Figures:
    puts_before = _put_h2load(server, extent, producer=True, connections=8, streams=8).calls_per_s
    small = f"/q/{new_name()}/".encode()
    _fill(server, extent, small + b"p/", _TAKES)
    takes_before = _take(server, extent, small)
    large = f"/q/{new_name()}/".encode()
    each, _ = _fill(server, extent, large + b"p/", 1_000_000)
    puts_after = h2load.run(
        server.port,
        calls.PUT,
        calls.put(large + b"p/k"),
        connections=8,
        streams=8,
        seconds=extent.seconds,
        pin=extent.pin,
    ).calls_per_s
    takes_after = _take(server, extent, large)
    return {
        "million-memory": each,
        "million-puts-before": puts_before,
        "million-puts-after": puts_after,
        "million-puts-ratio": puts_after / puts_before,
        "million-takes-before": takes_before,
        "million-takes-after": takes_after,
        "million-takes-ratio": takes_after / takes_before,
    }


def _idle(server: Server, extent: Extent) -> Figures:
    template = f"/q/idle-%05d/c/{uuid4()}" if server.ours else "/bench/idle-%05d"
    figures = generate(
        "idle",
        extent.pin,
        port=server.port,
        pid=server.pid,
        watchers=extent.watchers,
        template=template,
        probe_calls=extent.probe_calls,
    )
    return {"idle-memory": figures["megabytes"], "idle-pause": figures["pause_ms"]}


def _client(server: Server, extent: Extent) -> Figures:
    figures = generate(
        "client",
        extent.pin,
        endpoint=f"127.0.0.1:{server.port}",
        seconds=extent.seconds / 2,
        messages=extent.client_messages,
    )
    return {f"client-{name}": value for name, value in figures.items()}


EXPERIMENTS = (
    _put_8x8("put-queue-8x8", producer=True),
    _put_8x8("put-key-8x8", producer=False),
    _put_fresh("put-queue-fresh", producer=True),
    _put_fresh("put-key-fresh", producer=False),
    _put_1x1("put-queue-1x1", producer=True),
    _put_1x1("put-key-1x1", producer=False),
    *(_cycle(depth) for depth in (1, 8, 64, 512)),
    Experiment("client", _client, kinds=(OURS, ETCD)),
    Experiment("waiting", _waiting, kinds=(OURS,), fresh=True),
    Experiment("idle", _idle, kinds=(OURS, ETCD), fresh=True),
)

FULL = (Experiment("million", _million, kinds=(OURS,), fresh=True),)
