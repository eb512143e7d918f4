"""docs/semantics.md section 2, rule 9: slow consumers, and vanished ones."""

from tests.support.etcd_client import ONE, TWO, Client, Watch
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


@transcript
async def test_rule_9_larger_than_its_window(world: World) -> None:
    """Rule 9: a message larger than a reader's window goes through it, window by window."""
    a, b = await world.connect(), await world.connect()
    watch = await a.watch(f"/q/jobs/c/{ONE}")
    await b.put("/q/jobs/p/k", b"x" * 1_000_000)
    await b.put("/q/jobs/p/k", b"y" * 10_000)

    assert [len(event.value) for event in await watch.events(2)] == [1_000_000, 10_000]
    assert world.now_s == 0.0


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
