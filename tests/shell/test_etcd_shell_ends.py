"""How a session ends, under the mock clock: drain, timeouts of calls, faults."""

from dataclasses import replace
from functools import partial
from typing import Any

import pytest
import trio
from trio.testing import memory_stream_pair, wait_all_tasks_blocked

from etcdq.actors.effect import Reply
from etcdq.actors.turns import Seat
from etcdq.server.etcd.pb import rpc_pb2
from etcdq.server.etcd.session import Session
from etcdq.server.etcd.shell import SessionShell, serve_connection
from tests.support.door_host import a_door
from tests.support.etcd_client import KV, ONE, TWO, Client
from tests.support.etcd_peer import Peer
from tests.support.trio_world import TrioWorld
from tests.support.worlds import transcript

UNAVAILABLE, DEADLINE_EXCEEDED, REFUSED_STREAM = 14, 4, 7

in_memory = transcript(worlds="memory")


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
async def test_a_fault_at_the_instant_of_an_alarm(world: TrioWorld) -> None:
    """It ends the session, too: whoever wakes the session's task, the error is seen."""
    _, theirs = memory_stream_pair()
    shell = SessionShell(theirs, world.node.door)

    def receive(data: bytes, now_s: float) -> None:
        raise ZeroDivisionError

    seat = shell._seat = Seat(shell.mailbox, receive, shell._hear_now, shell._end_now)
    with trio.fail_after(1), pytest.RaisesGroup(ZeroDivisionError, flatten_subgroups=True):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(shell.run, world.drain)
            await wait_all_tasks_blocked()
            shell._alarm.cancel()
            world.node.door.readers.turns.take([(seat, b"x")])


# what is left -------------------------------------------------------------------------------


async def test_a_late_reply_is_not_kept(autojump_clock: trio.abc.Clock) -> None:
    """What is posted to a connection that is gone goes nowhere, with all that hangs on it."""
    door = a_door()
    ours, theirs = memory_stream_pair()
    peer = Peer()
    call = peer.open(KV + "Range")
    peer.send(call, rpc_pb2.RangeRequest(key=b"key").SerializeToString(), end=True)
    await ours.send_all(peer.take())
    async with trio.open_nursery() as nursery:
        nursery.start_soon(partial(serve_connection, theirs, door, drain=trio.Event()))
        await wait_all_tasks_blocked()
        await ours.aclose()
    keys: Any = door.keys
    to = keys.take().to

    to.handle.post(Reply(to, None))

    assert len(to.handle) == 0


async def test_who_has_ended_hears_nothing_more(
    autojump_clock: trio.abc.Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even if its end fails: its descriptor may be another connection's by then."""
    door = a_door()
    ours, theirs = memory_stream_pair()
    peer = Peer()
    call = peer.open(KV + "Range")
    peer.send(call, rpc_pb2.RangeRequest(key=b"key").SerializeToString(), end=True)
    await ours.send_all(peer.take())
    keys: Any = door.keys

    def fail(session: Session, now_s: float) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(Session, "end", fail)
    with pytest.RaisesGroup(ZeroDivisionError):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(partial(serve_connection, theirs, door, drain=trio.Event()))
            await wait_all_tasks_blocked()
            await ours.aclose()
    to = keys.take().to

    to.handle.post(Reply(to, None))

    assert len(to.handle) == 0
