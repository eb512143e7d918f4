"""docs/semantics.md section 2, rules 9 to 11: slow consumers, ended ones, credit."""

import pytest

from etcdq.server.etcd.pb import rpc_pb2
from tests.support.etcd_client import ONE, THREE, TWO, Client, Watch
from tests.support.world import World
from tests.support.worlds import transcript

REFUSED_STREAM = 7


async def stuck_consumer(world: World, uuid: str = ONE) -> tuple[Client, Watch]:
    """A consumer on a connection of its own that gives no window after `created`."""
    client = await world.connect(window=0, reading=False)
    return client, await client.stuck_watch(f"/q/jobs/c/{uuid}")


@transcript
async def test_rule_9_dropped_at_5_s(world: World) -> None:
    """Rule 9: no progress for 5 s: that watch is cancelled with a reason, at exactly 5 s."""
    _, watch = await stuck_consumer(world)
    b = await world.connect()
    await b.put("/q/jobs/p/job-1", "x")
    await world.wait(4.9375)
    assert await b.get(f"/q/jobs/c/{ONE}") is not None

    await world.wait(0.0625)

    assert world.now_s == 5.0
    assert await b.get(f"/q/jobs/c/{ONE}") is None
    await watch.call.widen(10_000)
    assert "no progress" in await watch.cancelled_now()
    assert await watch.is_silent()
    assert not watch.call.call.ended, "its stream goes on"


@transcript
async def test_rule_9_half_sent_is_reset(world: World) -> None:
    """Rule 9: where a message was half sent, its stream is reset, as UNAVAILABLE is read."""
    _, watch = await stuck_consumer(world)
    b = await world.connect()
    await b.put("/q/jobs/p/job-1", "x" * 1_000)
    await watch.call.widen(500)

    await world.until(lambda: watch.call.call.ended)

    assert world.now_s == 5.0
    assert watch.call.call.reset == REFUSED_STREAM
    assert await b.get("/q/jobs/p/job-1") == "x" * 1_000
    assert await b.counts("jobs") == (1, 0, 0)


@transcript
async def test_rule_9_goes_on_to_the_next(world: World) -> None:
    """Rule 9: what it had not taken goes back to its place, in order, and to the next consumer."""
    await stuck_consumer(world)
    b = await world.connect()
    for number in range(3):
        await b.put("/q/jobs/p/k", str(number))
    second = await b.watch(f"/q/jobs/c/{TWO}")
    assert await second.values() == ["1", "2"]
    await b.put("/q/jobs/p/k", "3")

    await world.until(lambda: second.waiting > 1)

    assert world.now_s == 5.0
    assert await second.values() == ["3", "0"]


@transcript
async def test_rule_9_nobody_else_is_delayed(world: World) -> None:
    """Rule 9: nothing further is offered to it; a put meanwhile goes to the next at once."""
    await stuck_consumer(world)
    b = await world.connect()
    second = await b.watch(f"/q/jobs/c/{TWO}")
    await b.put("/q/jobs/p/job-1", "x")
    await world.wait(2)

    await b.put("/q/jobs/p/job-2", "y")

    assert (await second.event()).value == "y"
    assert world.now_s == 2.0
    await world.until(lambda: second.waiting)
    assert (await second.event()).value == "x"
    assert world.now_s == 5.0


@transcript
async def test_rule_9_other_watches_of_its_stream_go_on(world: World) -> None:
    """Rule 9: that watch alone is cancelled: a key watch on the same stream goes on."""
    _, watch = await stuck_consumer(world)
    b = await world.connect()
    call = watch.call
    call.ask("key", watch_id=9)
    await call.let_one_through()
    await call.control()
    await b.put("/q/jobs/p/job-1", "x")
    await world.wait(5)

    await b.put("key", "value")
    await call.widen(10_000)

    assert "no progress" in await watch.cancelled_now()
    assert (await call.watches[9].event()).value == "value"


@transcript
async def test_rule_9_progress_counts(world: World) -> None:
    """Rule 9: any progress with a message starts the 5 s anew."""
    _, watch = await stuck_consumer(world)
    b = await world.connect()
    await b.put("/q/jobs/p/job-1", "x" * 100)
    for _ in range(3):
        await world.wait(4)
        await watch.call.widen(10)

    await world.until(lambda: watch.call.call.ended)

    assert world.now_s == 17.0


@transcript
async def test_rule_9_taken_is_written(world: World) -> None:
    """Rule 9: taken means written within the window, whether the peer looks at it or not."""
    stopped = await world.connect(window=1_000, reading=False)
    await stopped.watch(f"/q/jobs/c/{ONE}")
    b = await world.connect()
    await b.put("/q/jobs/p/job-1", "x" * 500)
    await world.wait(100)

    assert await b.get(f"/q/jobs/c/{ONE}") is not None
    assert await b.counts("jobs") == (0, 1, 0)


@transcript
async def test_rule_9_slow_but_in_time(world: World) -> None:
    """Rule 9: a message whose bytes got out within 5 s is taken, and more is offered then."""
    _, watch = await stuck_consumer(world)
    b = await world.connect()
    for number in range(5):
        await b.put("/q/jobs/p/k", str(number))
    await world.wait(4)

    await watch.call.widen(10_000)

    assert await watch.values() == ["0", "1", "2", "3", "4"]
    await world.wait(100)
    assert await b.counts("jobs") == (0, 5, 0)


@transcript(accept_timeout="1500ms")
async def test_rule_9_accept_timeout(world: World) -> None:
    """Rule 9: `--accept-timeout` is that time."""
    _, watch = await stuck_consumer(world)
    b = await world.connect()
    await b.put("/q/jobs/p/job-1", "x" * 100)
    await watch.call.widen(50)

    await world.until(lambda: watch.call.call.ended)

    assert world.now_s == 1.5


@transcript
async def test_rule_9_it_may_come_back(world: World) -> None:
    """Rule 9: it loses its registration only: it may register again, last in rank."""
    _, watch = await stuck_consumer(world)
    b = await world.connect()
    second = await b.watch(f"/q/jobs/c/{TWO}")
    await b.put("/q/jobs/p/job-1", "x")
    await world.wait(5)
    assert await second.values() == ["x"]
    assert not watch.is_cancelled

    again = await b.watch(f"/q/jobs/c/{ONE}")
    await b.put("/q/jobs/p/job-2", "y")

    assert await second.values() == ["y"]
    assert await again.is_silent()
    assert (await b.show("jobs")).dropped_consumers == 1


@transcript
async def test_rule_9_ping_after_silence(world: World) -> None:
    """Rule 9: a connection with consumers is pinged after 5 s of silence; answering keeps it."""
    a = await world.connect()
    watch = await a.watch(f"/q/jobs/c/{ONE}")
    await world.wait(4.9375)
    assert a.peer.pings == 0

    await world.wait(0.0625)
    assert a.peer.pings == 1
    await world.wait(55)
    assert a.peer.pings == 12

    await a.put("/q/jobs/p/job-1", "x")
    assert (await watch.event()).value == "x"


@transcript
async def test_rule_9_a_vanished_peer_ends(world: World) -> None:
    """Rule 9: one that does not answer is closed, 5 s after the ping."""
    a, b = await world.connect(), await world.connect()
    await a.watch(f"/q/jobs/c/{ONE}")
    second = await b.watch(f"/q/jobs/c/{TWO}")
    a.peer.mute = True

    await world.until(lambda: a.peer.closed)

    assert world.now_s == 10.0
    assert await b.get(f"/q/jobs/c/{ONE}") is None
    await b.put("/q/jobs/p/job-1", "x")
    assert (await second.event()).value == "x"


@transcript
async def test_rule_9_no_ping_without_consumers(world: World) -> None:
    """Rule 9: only connections with consumers are pinged."""
    a = await world.connect()
    await a.watch("key")
    watch = await a.watch(f"/q/jobs/c/{ONE}")
    await watch.cancel()
    a.peer.mute = True

    await world.wait(100)

    assert a.peer.pings == 0
    assert not a.peer.closed


@transcript
async def test_rule_10_buried(world: World) -> None:
    """Rule 10: taken and not acknowledged is not handed over again: it is buried."""
    a, b = await world.connect(), await world.connect()
    watch = await a.watch(f"/q/jobs/c/{ONE}")
    await b.put("/q/jobs/p/job-1", "x")
    await b.put("/q/jobs/p/job-2", "y")
    await watch.events(2)

    second = await b.watch(f"/q/jobs/c/{TWO}")
    a.cut()
    await world.wait(1_000)

    assert await second.is_silent()
    assert await b.counts("jobs") == (0, 0, 2)
    buried = (await b.queues("Peek", name="jobs", state="BURIED", limit=9)).jobs
    assert [(job.key, job.body) for job in buried] == [(b"job-1", b"x"), (b"job-2", b"y")]


@transcript
async def test_rule_10_kick_returns_it(world: World) -> None:
    """Rule 10: kick returns it, with a new index, to the end of the line."""
    a, b = await world.connect(), await world.connect()
    watch = await a.watch(f"/q/jobs/c/{ONE}")
    await b.put("/q/jobs/p/job-1", "x")
    old = await watch.event()
    a.cut()
    await world.settle()
    await b.put("/q/jobs/p/job-2", "y")

    assert (await b.queues("Kick", name="jobs", bound=9)).kicked == 1

    second = await b.watch(f"/q/jobs/c/{TWO}")
    other, again = await second.events(2)
    assert (other.value, again.value) == ("y", "x")
    assert again.key > other.key > old.key


@transcript
async def test_rule_10_late_acknowledgement(world: World) -> None:
    """Rule 10: the late acknowledgement of a buried job works until it is kicked, then not."""
    a, b = await world.connect(), await world.connect()
    watch = await a.watch(f"/q/jobs/c/{ONE}")
    for number in range(2):
        await b.put("/q/jobs/p/k", str(number))
    first, second = await watch.events(2)
    await watch.cancel()
    assert await b.counts("jobs") == (0, 0, 2)

    assert await a.delete(first.key) == 1
    assert (await b.queues("Kick", name="jobs", bound=9)).kicked == 1
    assert await a.delete(second.key) == 0
    assert await b.counts("jobs") == (1, 0, 0)


@transcript
async def test_rule_10_untaken_is_not_buried(world: World) -> None:
    """Rules 9 and 10: what an ended consumer had not taken is in its place in the line."""
    a, _watch = await stuck_consumer(world)
    b = await world.connect()
    await b.put("/q/jobs/p/job-1", "x")
    await world.settle()

    a.cut()

    await world.settle()
    assert await b.counts("jobs") == (1, 0, 0)


@transcript
async def test_rule_11_256_messages(world: World) -> None:
    """Rule 11: at most 256 unacknowledged messages; further ones go to the next consumer."""
    a = await world.connect()
    one = await a.watch(f"/q/jobs/c/{ONE}")
    two = await a.watch(f"/q/jobs/c/{TWO}")
    for number in range(258):
        a.begin("/etcdserverpb.KV/Put", _put(str(number)))
    await world.settle()

    events = await one.events(256)
    assert await one.is_silent()
    assert await two.values() == ["256", "257"]
    assert await a.delete(events[0].key) == 1
    await a.put("/q/jobs/p/k", "258")
    assert await one.values() == ["258"]


def _put(value: str) -> bytes:
    return rpc_pb2.PutRequest(key=b"/q/jobs/p/k", value=value.encode()).SerializeToString()


@transcript
async def test_rule_11_a_mebibyte(world: World) -> None:
    """Rule 11: and at most 1 MiB of them; what does not fit goes to the next, or waits."""
    a = await world.connect(window=2**22, connection_window=2**24)
    one = await a.watch(f"/q/jobs/c/{ONE}")
    for letter in "abc":
        await a.put("/q/jobs/p/k", letter * 400_000)

    assert [value[0] for value in await one.values()] == ["a", "b"]
    two = await a.watch(f"/q/jobs/c/{TWO}")
    assert [value[0] for value in await two.values()] == ["c"]


@transcript
async def test_rule_11_always_one(world: World) -> None:
    """Rule 11: but always one, of any size."""
    a = await world.connect(window=2**22, connection_window=2**24)
    one = await a.watch(f"/q/jobs/c/{ONE}")
    await a.put("/q/jobs/p/k", b"x" * 1_500_000)
    await a.put("/q/jobs/p/k", b"y")

    event = await one.event()
    assert len(event.value) == 1_500_000
    assert await one.is_silent()
    assert await a.delete(event.key) == 1
    assert await one.values() == ["y"]


@transcript(consumer_credit="2,10")
async def test_rule_11_consumer_credit(world: World) -> None:
    """Rule 11: `--consumer-credit MESSAGES,BYTES` sets it; further messages wait."""
    a = await world.connect()
    one = await a.watch(f"/q/jobs/c/{ONE}")
    for value in ("123456789", "two", "3", "four"):
        await a.put("/q/jobs/p/k", value)

    first = await one.event()
    assert await one.is_silent()
    await a.delete(first.key)
    assert await one.values() == ["two", "3"]
    assert await a.counts("jobs") == (1, 2, 0)


@transcript(consumer_credit="0,0")
async def test_rule_11_no_limit(world: World) -> None:
    """Rule 11: 0 is no limit."""
    a = await world.connect()
    one = await a.watch(f"/q/jobs/c/{ONE}")
    for number in range(300):
        a.begin("/etcdserverpb.KV/Put", _put(str(number)))

    assert len(await one.values()) == 300


@transcript(consumer_credit="1")
@pytest.mark.parametrize("ended", [False, True])
async def test_rule_11_the_waiting_go_to_who_has_credit(world: World, ended: bool) -> None:
    """Rule 11: what waits for credit goes to the first that has some: by an ack or anew."""
    a, b = await world.connect(), await world.connect()
    one = await a.watch(f"/q/jobs/c/{ONE}")
    two = await b.watch(f"/q/jobs/c/{TWO}")
    for number in range(4):
        await b.put("/q/jobs/p/k", str(number))
    assert (await one.values(), (await two.event()).value) == (["0"], "1")

    if ended:
        await one.cancel()
        assert await (await b.watch(f"/q/jobs/c/{THREE}")).values() == ["2"]
    else:
        ((key, _),) = await a.list(f"/q/jobs/c/{ONE}/")
        await a.delete(key)
        assert await one.values() == ["2"]
