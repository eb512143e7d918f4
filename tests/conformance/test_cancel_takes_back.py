"""docs/semantics.md rules 2, 4 and 9: one consumer each, however a watch ends.

A message that a consumer was sent and had not taken goes to the next one, so the first must not
get it after all: whoever ends the watch.
"""

from etcdq.server.etcd.pb import rpc_pb2
from tests.support.etcd_client import ONE, TWO
from tests.support.world import World
from tests.support.worlds import transcript

REFUSED_STREAM, DEADLINE_EXCEEDED, INTERNAL = 7, 4, 13


@transcript
async def test_cancelled_by_its_client(world: World) -> None:
    """A watch that is cancelled before it took its message never gets it."""
    a, b = await world.connect(window=0, reading=False), await world.connect()
    watch = await a.stuck_watch(f"/q/jobs/c/{ONE}")
    await b.put("/q/jobs/p/job-1", "x")
    watch.call.cancel(watch.watch_id)
    await world.settle()

    second = await b.watch(f"/q/jobs/c/{TWO}")

    assert (await second.event()).value == "x"
    await watch.call.widen(10_000)
    assert watch.is_cancelled
    assert await watch.is_silent()


@transcript
async def test_cancelled_by_its_client_when_half_sent(world: World) -> None:
    """Where it is half sent, the stream is reset."""
    a, b = await world.connect(window=0, reading=False), await world.connect()
    watch = await a.stuck_watch(f"/q/jobs/c/{ONE}")
    await b.put("/q/jobs/p/job-1", "x" * 100)
    await watch.call.widen(50)
    watch.call.cancel(watch.watch_id)
    await world.settle()

    second = await b.watch(f"/q/jobs/c/{TWO}")

    assert (await second.event()).value == "x" * 100
    assert watch.call.call.reset == REFUSED_STREAM


@transcript
async def test_its_call_is_too_late(world: World) -> None:
    """A Watch call whose grpc-timeout is over ends with a status, and takes its message back."""
    a, b = await world.connect(window=0, reading=False), await world.connect()
    call = a.open_watches(("grpc-timeout", "500m"))
    watch = await call.create_stuck(f"/q/jobs/c/{ONE}")
    await b.put("/q/jobs/p/job-1", "x")
    second = await b.watch(f"/q/jobs/c/{TWO}")

    await world.until(lambda: second.waiting)

    assert world.now_s == 0.5
    assert call.call.status == DEADLINE_EXCEEDED
    assert await watch.is_silent()


@transcript
async def test_its_call_is_too_late_when_half_sent(world: World) -> None:
    """A Watch call whose grpc-timeout is over is reset where a message is half sent."""
    a, b = await world.connect(window=0, reading=False), await world.connect()
    call = a.open_watches(("grpc-timeout", "500m"))
    await call.create_stuck(f"/q/jobs/c/{ONE}")
    await b.put("/q/jobs/p/job-1", "x" * 100)
    await call.widen(50)
    second = await b.watch(f"/q/jobs/c/{TWO}")

    await world.until(lambda: second.waiting)

    assert world.now_s == 0.5
    assert call.call.reset == REFUSED_STREAM


@transcript
async def test_its_call_is_nonsense(world: World) -> None:
    """A Watch call that says what is no WatchRequest ends, and takes its message back."""
    a, b = await world.connect(window=0, reading=False), await world.connect()
    watch = await a.stuck_watch(f"/q/jobs/c/{ONE}")
    await b.put("/q/jobs/p/job-1", "x")
    watch.call.send(b"\xff\xff\xff")
    await world.settle()

    second = await b.watch(f"/q/jobs/c/{TWO}")

    assert (await second.event()).value == "x"
    assert watch.call.call.status == INTERNAL
    assert await watch.is_silent()


@transcript(worlds="core")
async def test_cancelled_with_its_message_in_a_stuck_socket(world: World) -> None:
    """Where the message waits for the socket, the connection ends: else it would arrive."""
    a, b = await world.connect(), await world.connect()
    watch = await a.watch(f"/q/jobs/c/{ONE}")
    a.link.stop_taking()
    await b.put("/q/jobs/p/job-1", "x")
    watch.call.cancel(watch.watch_id)
    await world.settle()

    second = await b.watch(f"/q/jobs/c/{TWO}")

    assert (await second.event()).value == "x"
    assert a.peer.closed
    assert await watch.is_silent()


@transcript
async def test_taken_over_on_the_same_stream(world: World) -> None:
    """A newer watch on the same stream gets what the older one had not taken, once."""
    a, b = await world.connect(window=0, reading=False), await world.connect()
    old = await a.stuck_watch(f"/q/jobs/c/{ONE}")
    await b.put("/q/jobs/p/job-1", "x")
    call = old.call
    call.ask(f"/q/jobs/c/{ONE}", watch_id=9)
    await world.settle()
    await call.widen(10_000)

    assert "took over" in await old.cancelled_now()
    assert await old.is_silent()
    assert await call.watches[9].values() == ["x"]


@transcript
async def test_one_of_two_on_a_stream_stalls(world: World) -> None:
    """What is taken back from one consumer leaves the messages of others on its stream whole."""
    a, b = await world.connect(window=0, reading=False), await world.connect()
    call = a.open_watches()
    jobs = await call.create_stuck(f"/q/jobs/c/{ONE}")
    mail = await call.create_stuck(f"/q/mail/c/{ONE}")
    keys = await call.create_stuck("key")
    await b.put("/q/jobs/p/j", "j" * 200)
    await b.put("/q/mail/p/m", "m" * 300)
    await b.put("key", "k" * 400)
    jobs.call.cancel(jobs.watch_id)
    await world.settle()
    await b.put("/q/mail/p/m", "n" * 100)

    await call.widen(100_000)

    assert await jobs.is_silent()
    assert jobs.is_cancelled
    assert await mail.values() == ["m" * 300, "n" * 100]
    assert await keys.values() == ["k" * 400]
    assert await b.counts("jobs") == (1, 0, 0)
    assert await b.counts("mail") == (0, 2, 0)


@transcript
async def test_created_comes_before_canceled(world: World) -> None:
    """A watch that is created and cancelled in one breath is told both, in order."""
    a = await world.connect()
    for key in ("key", f"/q/jobs/c/{ONE}"):
        call = a.open_watches()
        call.ask(key, watch_id=3)
        call.cancel(3)
        await world.settle()

        told = [rpc_pb2.WatchResponse.FromString(one) for one in call.call.messages]

        assert [(one.created, one.canceled, one.watch_id) for one in told] == [
            (True, False, 3),
            (False, True, 3),
        ]
    assert await a.list("/q/jobs/c/") == []


@transcript
async def test_one_of_two_on_a_stream_is_dropped(world: World) -> None:
    """One is dropped at 5 s with another's message queued behind its own: that one stays whole."""
    a, b = await world.connect(window=0, reading=False), await world.connect()
    call = a.open_watches()
    jobs = await call.create_stuck(f"/q/jobs/c/{ONE}")
    mail = await call.create_stuck(f"/q/mail/c/{ONE}")
    await b.put("/q/jobs/p/j", "j" * 200)
    await world.wait(2)
    await b.put("/q/mail/p/m", "m" * 300)
    await b.put("/q/mail/p/m", "n" * 100)
    await world.wait(4)
    assert await b.counts("jobs") == (1, 0, 0)

    await call.widen(100_000)

    assert "no progress" in await jobs.cancelled_now()
    assert await jobs.is_silent()
    assert await mail.values() == ["m" * 300, "n" * 100]
    await world.wait(100)
    assert not mail.is_cancelled
