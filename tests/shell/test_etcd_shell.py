"""The shell of a session under the autojump clock: slow sockets, deadlines, drain, faults."""

from dataclasses import replace
from typing import Any

import trio
from trio.testing import memory_stream_pair

from etcdq.actors import limits
from etcdq.server.etcd.pb import rpc_pb2
from etcdq.server.etcd.shell import peer_of, serve_connection
from tests.support.etcd_client import KV, ONE, TWO, Client
from tests.support.trio_world import TrioLink, TrioWorld
from tests.support.worlds import transcript

UNAVAILABLE, DEADLINE_EXCEEDED = 14, 4
REFUSED_STREAM, CANCEL = 7, 8


in_memory = transcript(worlds="memory")
in_lockstep = transcript(worlds="lockstep")


def link_of(client: Client) -> TrioLink:
    """Return a client's link with the methods that only these worlds have."""
    assert isinstance(client.link, TrioLink)
    return client.link


# slow sockets -------------------------------------------------------------------------------


@in_lockstep
async def test_dropped_at_5_s_on_a_socket_that_nobody_reads(world: TrioWorld) -> None:
    """A never reads its socket; at exactly 5.0 s B gets A's jobs in order, and A is closed."""
    a, b = await world.connect(), await world.connect()
    one = await a.watch(f"/q/jobs/c/{ONE}")
    two = await b.watch(f"/q/jobs/c/{TWO}")
    await b.queues("Pause", name="jobs", pause_s=100)
    for number in range(5):
        await b.put("/q/jobs/p/k", str(number))
    a.link.stop_taking()
    await b.queues("Pause", name="jobs", pause_s=0)

    await world.until(lambda: two.waiting)

    assert trio.current_time() == 5.0
    assert await two.values() == ["0", "1", "2", "3", "4"]
    assert await one.is_silent()
    assert world.serving == 1
    level, event, fields = world.log_lines[-1]
    assert (level, event) == ("info", "connection closed")
    assert ONE in fields["reason"]


@in_lockstep
async def test_nobody_else_waits_for_a_stuck_socket(world: TrioWorld) -> None:
    """A never reads its socket; what is put at 2 s goes to B at 2 s, what A had at 5 s."""
    a, b = await world.connect(), await world.connect()
    await a.watch(f"/q/jobs/c/{ONE}")
    two = await b.watch(f"/q/jobs/c/{TWO}")
    a.link.stop_taking()
    await b.put("/q/jobs/p/k", "first")
    await world.wait(2)

    await b.put("/q/jobs/p/k", "second")

    assert await two.values() == ["second"]
    assert trio.current_time() == 2.0
    await world.until(lambda: two.waiting)
    assert await two.values() == ["first"]
    assert trio.current_time() == 5.0


@in_lockstep
async def test_a_slow_socket_that_moves_is_kept(world: TrioWorld) -> None:
    """Any piece that the socket takes is progress: a large message may take longer than 5 s."""
    a = await world.connect(window=2**22, connection_window=2**23)
    watch = await a.watch(f"/q/jobs/c/{ONE}")
    b = await world.connect()
    a.link.stop_taking()
    await b.put("/q/jobs/p/k", b"x" * 300_000)
    while not watch.waiting:
        await world.wait(4)
        await link_of(a).take_some(limits.RECEIVE_BYTES)

    assert trio.current_time() > 15
    assert len((await watch.event()).value) == 300_000
    assert await b.counts("jobs") == (0, 1, 0)


@in_memory
async def test_other_traffic_is_no_progress(world: TrioWorld) -> None:
    """A half-sent message makes no progress by what other streams of its connection send."""
    a, b = await world.connect(window=0, reading=False), await world.connect()
    watch = await a.stuck_watch(f"/q/jobs/c/{ONE}")
    await b.put("/q/jobs/p/k", "x" * 1_000)
    await watch.call.widen(100)
    other = a.open_watches()
    await other.widen(10_000)
    await other.create("key")

    async def keep_busy() -> None:
        while True:
            await world.wait(1)
            await b.put("key", "value")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(keep_busy)
        await world.until(lambda: watch.call.call.ended)
        nursery.cancel_scope.cancel()

    assert trio.current_time() == 5.0
    assert watch.call.call.reset == REFUSED_STREAM


@in_lockstep
async def test_a_backlog_stops_reading(world: TrioWorld) -> None:
    """While a peer leaves more than 1 MiB unread in the socket, nothing more is read from it."""
    a = await world.connect(window=2**24, connection_window=2**25)
    await a.put("key", b"x" * 1_500_000)
    a.link.stop_taking()
    first, second = (a.begin(KV + "Range", rpc_pb2.RangeRequest(key=b"key")) for _ in range(2))
    await world.settle()
    a.begin(KV + "Put", rpc_pb2.PutRequest(key=b"under way"))
    await world.settle()
    put = a.begin(KV + "Put", rpc_pb2.PutRequest(key=b"late"))
    b = await world.connect()
    await world.wait(1)
    assert await b.get("late") is None

    a.link.take_on()

    for call in (first, second):
        assert len((await a.finish(call, rpc_pb2.RangeResponse)).kvs[0].value) == 1_500_000
    await a.finish(put, rpc_pb2.PutResponse)
    assert await b.get("late") == ""


# answers nobody takes -----------------------------------------------------------------------


@in_memory
async def test_an_answer_without_window_is_reset(world: TrioWorld) -> None:
    """A unary answer that its peer gives no window for is dropped after a minute."""
    a, b = await world.connect(window=0, reading=False), await world.connect()
    await b.put("key", "x" * 1_000)
    call = a.begin(KV + "Range", rpc_pb2.RangeRequest(key=b"key"))

    await world.until(lambda: call.ended)

    assert trio.current_time() == limits.ANSWER_STALL_TIMEOUT_S
    assert call.reset == CANCEL
    other = a.begin(KV + "Range", rpc_pb2.RangeRequest(key=b"key"))
    await world.settle()
    a.peer.widen(10_000, other)
    a.link.flush()
    assert (await a.finish(other, rpc_pb2.RangeResponse)).count == 1


@in_memory
async def test_an_answer_that_moves_is_not_reset(world: TrioWorld) -> None:
    """A unary answer may take any time, as long as its peer takes some of it now and then."""
    a, b = await world.connect(window=100, reading=False), await world.connect()
    await b.put("key", "x" * 1_000)
    call = a.begin(KV + "Range", rpc_pb2.RangeRequest(key=b"key"))
    while not call.ended:
        await world.wait(40)
        a.peer.widen(100, call)
        a.link.flush()
        await world.settle()

    assert trio.current_time() > 300
    assert len((await a.finish(call, rpc_pb2.RangeResponse)).kvs[0].value) == 1_000


# what does not come -------------------------------------------------------------------------


@in_memory
async def test_no_preface(world: TrioWorld) -> None:
    """A connection that says nothing is closed after 10 s."""
    ours, theirs = memory_stream_pair()
    world.nursery.start_soon(lambda: serve_connection(theirs, world.node.door, drain=world.drain))

    while await ours.receive_some(1_000):
        pass

    assert trio.current_time() == limits.PREFACE_TIMEOUT_S


@in_memory
async def test_half_a_request_then_silence(world: TrioWorld) -> None:
    """A call that is not completed gets DEADLINE_EXCEEDED in a minute; its connection goes on."""
    a = await world.connect()
    call = a.peer.open(KV + "Put")
    a.peer.send_data(call, b"\0\0\0\0\x20half", end=False)
    a.link.flush()

    await world.until(lambda: call.ended)

    assert trio.current_time() == limits.REQUEST_TIMEOUT_S
    assert call.status == DEADLINE_EXCEEDED
    await a.put("key", "value")


@in_memory
async def test_peer_leaves(world: TrioWorld) -> None:
    """When the peer closes, the session ends: its consumers too."""
    a, b = await world.connect(), await world.connect()
    await a.watch(f"/q/jobs/c/{ONE}")
    assert world.serving == 2

    a.cut()
    await world.settle()

    assert world.serving == 1
    assert await b.list("/q/jobs/c/") == []
    assert world.log_lines == []


# drain --------------------------------------------------------------------------------------


@in_memory
async def test_drain(world: TrioWorld) -> None:
    """Running calls are answered, watches end UNAVAILABLE, new calls are refused, it closes."""
    a = await world.connect()
    keys = await a.watch("key")
    consumer = await a.watch(f"/q/jobs/c/{ONE}")
    call = a.peer.open(KV + "Put")
    data = rpc_pb2.PutRequest(key=b"key", value=b"value").SerializeToString()
    a.peer.send_data(call, b"\0" + len(data).to_bytes(4, "big") + data[:3], end=False)
    a.link.flush()
    await world.settle()

    world.drain.set()
    await world.settle()
    late = a.begin(KV + "Range", rpc_pb2.RangeRequest(key=b"key"))
    await world.settle()

    for watch in (keys, consumer):
        assert watch.call.call.status == UNAVAILABLE
        assert watch.call.call.text == "etcdserver: server stopped"
    assert late.reset == REFUSED_STREAM
    assert world.serving == 1, "a call still runs"
    a.peer.send_data(call, data[3:], end=True)
    a.link.flush()
    await a.finish(call, rpc_pb2.PutResponse)
    assert a.peer.closed
    assert a.peer.goaway == 0
    assert world.serving == 0
    assert trio.current_time() == 0.0


@in_memory
async def test_drain_of_an_idle_connection(world: TrioWorld) -> None:
    """A connection without calls closes at once, whether it said its preface or not."""
    a = await world.connect()
    ours, theirs = memory_stream_pair()
    silent = trio.Event()

    async def serve() -> None:
        await serve_connection(theirs, world.node.door, drain=world.drain)
        silent.set()

    world.nursery.start_soon(serve)
    await world.settle()
    world.drain.set()
    await world.settle()

    assert a.peer.closed
    assert silent.is_set()
    assert world.serving == 0
    await ours.aclose()


@in_memory
async def test_drain_takes_half_sent_messages_back(world: TrioWorld) -> None:
    """A consumer with a message half sent is reset at drain: the message is not delivered."""
    a, b = await world.connect(window=0, reading=False), await world.connect()
    watch = await a.stuck_watch(f"/q/jobs/c/{ONE}")
    await b.put("/q/jobs/p/k", "x" * 1_000)
    await watch.call.widen(100)

    world.drain.set()
    await world.settle()

    assert watch.call.call.reset == REFUSED_STREAM
    (status,) = world.node.census()
    assert (status.ready, status.reserved, status.buried) == (1, 0, 0)


# timeouts of calls --------------------------------------------------------------------------


class Silence:
    """An actor that answers nothing."""

    def post(self, message: Any) -> None:
        """Forget it."""


class Faulty:
    """An actor's handle with a fault."""

    def post(self, message: Any) -> None:
        """Fail."""
        raise ZeroDivisionError("a fault in the handle")


async def serve_with(world: TrioWorld, keys: Any) -> Client:
    """Return a client of a session whose key space is another one."""
    ours, theirs = memory_stream_pair()
    door = replace(world.node.door, keys=keys)

    async def serve() -> None:
        await serve_connection(theirs, door, drain=world.drain, log=world.log)

    world.nursery.start_soon(serve)
    return await world.connect_over(ours)


@in_memory
async def test_grpc_timeout_of_a_call(world: TrioWorld) -> None:
    """A call that is not answered within its grpc-timeout gets DEADLINE_EXCEEDED then."""
    a = await serve_with(world, Silence())
    slow = a.begin(KV + "Range", rpc_pb2.RangeRequest(key=b"key"), ("grpc-timeout", "2S"))
    fast = a.begin(KV + "Range", rpc_pb2.RangeRequest(key=b"key"), ("grpc-timeout", "500m"))
    never = a.begin(KV + "Range", rpc_pb2.RangeRequest(key=b"key"))

    await world.until(lambda: fast.ended)
    assert trio.current_time() == 0.5
    assert (fast.status, fast.text) == (DEADLINE_EXCEEDED, "context deadline exceeded")
    await world.until(lambda: slow.ended)
    assert trio.current_time() == 2.0
    await world.wait(1_000)
    assert not never.ended


@in_memory
async def test_grpc_timeout_of_a_watch(world: TrioWorld) -> None:
    """A watch ends at its grpc-timeout with a status, and its watcher is gone."""
    a, b = await world.connect(), await world.connect()
    call = a.open_watches(("grpc-timeout", "500m"))
    await call.create("key")
    consumer = a.open_watches(("grpc-timeout", "750m"))
    await consumer.create(f"/q/jobs/c/{ONE}")

    await world.until(lambda: call.call.ended)

    assert trio.current_time() == 0.5
    assert call.call.status == DEADLINE_EXCEEDED
    assert world.node.door.keys_statistics().watchers == 0
    await world.until(lambda: consumer.call.ended)
    assert trio.current_time() == 0.75
    assert await b.list("/q/jobs/c/") == []


# faults -------------------------------------------------------------------------------------


@in_memory
async def test_a_faulty_session_ends_alone(world: TrioWorld) -> None:
    """A session whose code raises ends alone, with a log line that names peer and reason."""
    good, bad = await world.connect(), await serve_with(world, Faulty())
    watch = await good.watch(f"/q/jobs/c/{ONE}")
    held = await bad.watch(f"/q/jobs/c/{TWO}")

    bad.begin(KV + "Range", rpc_pb2.RangeRequest(key=b"key"))
    await world.settle()

    assert bad.peer.closed
    assert not held.is_cancelled
    level, event, fields = world.log_lines[-1]
    assert (level, event) == ("error", "a session failed")
    assert fields["peer"] == "memory"
    assert "a fault in the handle" in fields["reason"]
    await good.put("/q/jobs/p/k", "x")
    assert (await watch.event()).value == "x"
    assert [key for key, _ in await good.list("/q/jobs/c/")] == [f"/q/jobs/c/{ONE}"]


@in_memory
async def test_a_peer_that_breaks_the_protocol(world: TrioWorld) -> None:
    """Nonsense on one connection ends that one, with GOAWAY, and logs no error."""
    a, b = await world.connect(), await world.connect()
    await a.watch(f"/q/jobs/c/{ONE}")
    a.peer.raw(b"\0\0\0\xff\0\0\0\0\0" * 3_000)
    a.link.flush()
    await world.settle()

    assert a.peer.closed
    assert a.peer.goaway == 11  # ENHANCE_YOUR_CALM
    assert await b.list("/q/jobs/c/") == []
    assert [line for line in world.log_lines if line[0] == "error"] == []


@in_memory
async def test_peer_of_a_socket(world: TrioWorld) -> None:
    """People are shown host and port; a peer that is gone already is no error."""
    (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
    port = listener.socket.getsockname()[1]
    ours = await trio.open_tcp_stream("127.0.0.1", port)
    theirs = await listener.accept()
    local = ours.socket.getsockname()

    assert peer_of(theirs) == f"{local[0]}:{local[1]}"
    await ours.aclose()
    await listener.aclose()
    await theirs.aclose()
    assert peer_of(theirs) == "gone"
    assert peer_of(memory_stream_pair()[0]) == "memory"
    assert world.serving == 0


@in_memory
async def test_one_byte_at_a_time(world: TrioWorld) -> None:
    """Bytes may come in any pieces: every call is answered as usual."""
    ours, theirs = memory_stream_pair()

    world.nursery.start_soon(lambda: serve_connection(theirs, world.node.door, drain=world.drain))
    a, b = await world.connect_over(OneByteStream(ours)), await world.connect()
    call = a.begin(KV + "Put", rpc_pb2.PutRequest(key=b"/q/jobs/p/k", value=b"x" * 50))
    await world.until(lambda: call.ended)
    watches = a.open_watches()
    watches.ask(f"/q/jobs/c/{ONE}")
    await world.until(lambda: watches.call.messages)
    watch = (watches.sort(), watches.watches[0])[1]
    await world.until(lambda: watch.waiting)

    event = await watch.event()

    assert event.value == "x" * 50
    assert call.status == 0
    assert await b.delete(event.key) == 1


class OneByteStream(trio.abc.Stream):
    """Sends and receives every byte on its own."""

    def __init__(self, stream: trio.StapledStream[Any, Any]) -> None:
        self._stream = stream

    async def send_all(self, data: bytes) -> None:
        """Send; the server reads each byte before the next one comes."""
        for byte in data:
            await self._stream.send_all(bytes((byte,)))
            await trio.sleep(0.001)

    async def wait_send_all_might_not_block(self) -> None:
        """Never waits."""

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        """Receive."""
        return bytes(await self._stream.receive_some(1))

    async def aclose(self) -> None:
        """Close."""
        await self._stream.aclose()
