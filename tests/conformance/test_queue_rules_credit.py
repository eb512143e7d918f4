"""docs/semantics.md section 2, rules 10 and 11: what ended consumers held, and credit."""

import pytest

from etcdq.server.etcd.pb import rpc_pb2
from tests.support.etcd_client import ONE, THREE, TWO
from tests.support.world import World
from tests.support.worlds import transcript


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
    a, b = await world.connect(window=0, reading=False), await world.connect()
    await a.stuck_watch(f"/q/jobs/c/{ONE}")
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
    await a.queues("Pause", name="jobs", pause_s=100)
    for number in range(258):
        a.begin("/etcdserverpb.KV/Put", _put(str(number)))
    await world.settle()
    await a.queues("Pause", name="jobs", pause_s=0)

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
