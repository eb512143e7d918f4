"""The shell of a session under the autojump clock: slow sockets, deadlines, drain, faults."""

from typing import Any

import trio
from trio.testing import memory_stream_pair

from etcdq.actors import limits
from etcdq.server.byte_stream import peer_of
from etcdq.server.etcd.pb import rpc_pb2
from etcdq.server.etcd.shell import serve_connection
from tests.support.etcd_client import KV, ONE, TWO, Client
from tests.support.trio_world import TrioLink, TrioWorld
from tests.support.worlds import transcript

DEADLINE_EXCEEDED, REFUSED_STREAM, CANCEL = 4, 7, 8


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
        await link_of(a).take_some(limits.WRITE_PIECE_BYTES)

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


@in_lockstep
async def test_a_slow_download_is_life(world: TrioWorld) -> None:
    """A consumer's connection whose socket moves is not silent, though nothing is read from it."""
    b = await world.connect(window=2**22, connection_window=2**23)
    for number in range(3):
        await b.put(f"key{number}", b"x" * 1_000_000)
    a = await world.connect(window=2**23, connection_window=2**24)
    watch = await a.watch(f"/q/jobs/c/{ONE}")
    a.link.stop_taking()
    request = rpc_pb2.RangeRequest(key=b"key", range_end=b"kez")
    call = a.begin(KV + "Range", request)
    for _ in range(20):
        await world.wait(3)
        await link_of(a).take_some(limits.WRITE_PIECE_BYTES)
    assert not a.peer.closed

    a.link.take_on()

    assert (await a.finish(call, rpc_pb2.RangeResponse)).count == 3
    await b.put("/q/jobs/p/k", "x")
    assert (await watch.event()).value == "x"


@in_lockstep
async def test_a_stuck_download_is_silence(world: TrioWorld) -> None:
    """A consumer's connection whose socket takes nothing more ends 10 s after its last sign."""
    a, b = await world.connect(window=2**22, connection_window=2**23), await world.connect()
    await a.put("key", b"x" * 1_000_000)
    await a.watch(f"/q/jobs/c/{ONE}")
    two = await b.watch("/q/jobs/c/", "/q/jobs/c0")
    a.link.stop_taking()
    a.begin(KV + "Range", rpc_pb2.RangeRequest(key=b"key"))
    await world.wait(3)
    await link_of(a).take_some(limits.WRITE_PIECE_BYTES)

    await world.until(lambda: two.waiting)

    assert (await two.event()).kind == "DELETE"
    assert trio.current_time() == 13.0


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


# sockets ----------------------------------------------------------------------------------


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
