"""docs/semantics.md section 7: what the rules leave open, as it is built."""

import pytest

from tests.support.etcd_client import ONE, TWO, CallFailed, Client, Watch, index_of
from tests.support.world import World
from tests.support.worlds import transcript

INVALID_ARGUMENT = 3


async def stuck_consumer(world: World, uuid: str = ONE) -> tuple[Client, Watch]:
    """A consumer on a connection of its own that gives no window after `created`."""
    client = await world.connect(window=0, reading=False)
    return client, await client.stuck_watch(f"/q/jobs/c/{uuid}")


@transcript
async def test_a_delivery_key_exists_until_its_job_is_gone(world: World) -> None:
    """Exact Range and Delete find the job in whatever state: waiting, offered, held, buried."""
    b = await world.connect()
    await b.put("/q/jobs/p/job-1", "x")
    ((key, _),) = await b.list("/q/jobs/")
    assert await b.get(key) == "x"

    stuck, _ = await stuck_consumer(world)
    await world.settle()
    assert await b.counts("jobs") == (0, 1, 0)
    assert await b.get(key) == "x"
    stuck.cut()
    await world.settle()

    watch = await b.watch(f"/q/jobs/c/{TWO}")
    await watch.event()
    assert await b.get(key) == "x"
    await watch.cancel()
    assert await b.counts("jobs") == (0, 0, 1)
    assert await b.get(key) == "x"
    assert await b.get(key.replace("job-1", "job-2")) is None
    assert await b.delete(key.replace("job-1", "job-2")) == 0
    assert await b.list("/q/jobs/") == [], "lists show what is ready or delayed"
    assert await b.delete(key) == 1
    assert await b.get(key) is None


@transcript
async def test_an_offered_job_can_be_deleted(world: World) -> None:
    """Delete of a delivery key that is offered and not taken: gone, and nobody gets it again."""
    b = await world.connect()
    await b.put("/q/jobs/p/job-1", "x")
    ((key, _),) = await b.list("/q/jobs/")
    await stuck_consumer(world)
    await world.settle()

    assert await b.delete(key) == 1
    second = await b.watch(f"/q/jobs/c/{TWO}")
    await world.wait(20)

    assert await second.is_silent()
    assert await b.counts("jobs") == (0, 0, 0)


@transcript
async def test_a_range_delete_takes_buried_jobs(world: World) -> None:
    """A range delete is the delete of each delivery key in it, buried jobs included."""
    a = await world.connect()
    watch = await a.watch(f"/q/jobs/c/{ONE}")
    await a.put("/q/jobs/p/job-1", "x")
    await watch.event()
    await watch.cancel()
    await a.put("/q/jobs/p/job-2", "y")

    assert await a.delete("/q/jobs/", "/q/jobs0") == 2
    assert await a.counts("jobs") == (0, 0, 0)


@transcript
@pytest.mark.parametrize(
    ("start", "end"),
    [
        ("/q/jobs/c/", "/q/jobs/c0"),
        ("/q/jobs/c/", "/q/jobs0"),
        (f"/q/jobs/c/{ONE}", "/q/jobs0"),
        ("/q/jobs/c/0/", "/q/jobs/c/f/"),
        ("/queue/jobs/consumer/", "/queue/jobs/consumer0"),
        ("/queue/jobs/consumer/", "/queue/jobs0"),
    ],
)
async def test_a_range_under_c_means_registry_keys(world: World, start: str, end: str) -> None:
    """A range in a queue that begins under /c/ and covers no single consumer's jobs: registry."""
    a = await world.connect()
    watch = await a.watch(f"/q/jobs/c/{ONE}")
    await a.put("/q/jobs/p/job-1", "x")
    await watch.event()
    lead = start[: start.index("/", len("/queue/jobs/") if "queue" in start else 8) + 1]

    response = await a.range(start, end)

    assert [kv.key.decode() for kv in response.kvs] == [lead + ONE]
    assert await a.delete(start, end) == 1
    assert await a.counts("jobs") == (0, 1, 0)
    assert (await a.range(start, end)).count == 1, "it stays while its owner lives"


@transcript
async def test_two_jobs_under_one_producer_key(world: World) -> None:
    """A Range shows the oldest; a delete removes the ready ones; held ones stay with theirs."""
    a = await world.connect()
    await a.put("/q/jobs/p/k", "0")
    watch = await a.watch(f"/q/jobs/c/{ONE}")
    event = await watch.event()
    await a.queues("Pause", name="jobs", pause_s=100)
    await a.put("/q/jobs/p/k", "1")
    await a.put("/q/jobs/p/k", "2")

    assert await a.get("/q/jobs/p/k") == "0"
    assert await a.delete("/q/jobs/p/k") == 2
    assert await a.get("/q/jobs/p/k") == "0"
    assert await a.delete(event.key) == 1


@transcript
async def test_order_under_stalls(world: World) -> None:
    """A job that goes back after a stall is later than younger ones that others took meanwhile."""
    stuck, _ = await stuck_consumer(world)
    b = await world.connect()
    two = await b.watch(f"/q/jobs/c/{TWO}")
    for number in range(4):
        await b.put("/q/jobs/p/k", str(number))
    first = await two.events(3)
    stuck.cut()
    await world.settle()

    late = await two.event()

    assert [event.value for event in [*first, late]] == ["1", "2", "3", "0"]
    assert index_of(late.key) < index_of(first[0].key)


@transcript(worlds="core")
async def test_a_drop_on_a_stuck_socket_ends_the_connection(world: World) -> None:
    """Where the peer stopped reading the socket itself, the connection is closed at 5 s."""
    a, b = await world.connect(), await world.connect()
    watch = await a.watch(f"/q/jobs/c/{ONE}")
    second = await b.watch(f"/q/jobs/c/{TWO}")
    a.link.stop_taking()
    await b.put("/q/jobs/p/job-1", "x")

    await world.until(lambda: second.waiting)

    assert world.now_s == 5.0
    assert (await second.event()).value == "x"
    assert a.peer.closed
    assert await watch.is_silent()


@transcript
async def test_registry_keys_make_no_history(world: World) -> None:
    """Registry keys bump the revision, live watches see them, the past shows what still stands."""
    a = await world.connect()
    live = await a.watch("/q/", "/q0")
    before = (await a.put("key", "1")).header.revision
    gone = await a.watch(f"/q/jobs/c/{ONE}")
    stays = await a.watch(f"/q/jobs/c/{TWO}")
    between = (await a.put("key", "1")).header.revision
    await gone.cancel()
    after = (await a.put("key", "2")).header.revision

    assert before + 1 < between < after - 1
    assert [(event.kind, event.key) for event in await live.events(4)] == [
        ("PUT", "/q/jobs"),
        ("PUT", f"/q/jobs/c/{ONE}"),
        ("PUT", f"/q/jobs/c/{TWO}"),
        ("DELETE", f"/q/jobs/c/{ONE}"),
    ]
    assert (await a.range("/q/", "/q0", revision=before)).count == 0
    then = await a.range("/q/", "/q0", revision=between)
    assert [kv.key.decode() for kv in then.kvs] == ["/q/jobs", f"/q/jobs/c/{TWO}"]
    late = await a.watch("/q/", "/q0", start_revision=1)
    await world.settle()
    seen = {event.key for event in await late.events(late.waiting) if event.kind == "PUT"}
    assert seen == {"/q/jobs", f"/q/jobs/c/{TWO}"}
    assert not stays.is_cancelled


@transcript
@pytest.mark.parametrize("key", ["/q/jobs", f"/q/jobs/c/{ONE}", f"/queue/jobs/consumer/{ONE}"])
async def test_a_put_over_a_registry_key(world: World, key: str) -> None:
    """While its owner lives it is answered and changes nothing; else it is INVALID_ARGUMENT."""
    a = await world.connect()
    with pytest.raises(CallFailed) as caught:
        await a.put(key, "mine")
    assert caught.value.code == INVALID_ARGUMENT
    assert "/p/{key}" in caught.value.text
    await a.watch(f"/q/jobs/c/{ONE}")
    value = await a.get(key)
    revision = (await a.put("key", "x")).header.revision

    assert (await a.put(key, "mine")).header.revision == revision

    assert await a.get(key) == value


@transcript
@pytest.mark.parametrize("lead", ["/q/jobs/", "/queue/jobs/"])
async def test_registry_watches_in_both_spellings(world: World, lead: str) -> None:
    """Both spellings answer: a watch on registry keys speaks the spelling that it was asked in."""
    a, b = await world.connect(), await world.connect()
    exact = await a.watch(lead[:-1])
    consumers = await a.watch(lead + "consumer/", lead + "consumer0")
    inside = await a.watch(lead, lead[:-1] + "0")

    await b.watch(f"/q/jobs/c/{ONE}")

    assert (await exact.event()).key == lead[:-1]
    assert (await consumers.event()).key == f"{lead}consumer/{ONE}"
    assert (await inside.event()).key == f"{lead}c/{ONE}"
    b.cut()
    await world.settle()
    assert (await consumers.event()).kind == "DELETE"
    assert await exact.is_silent()


@transcript
async def test_silence(world: World) -> None:
    """Pinged after 5 s of silence, closed after 5 s more without an answer; what comes is life."""
    a, b = await world.connect(), await world.connect()
    await a.watch(f"/q/jobs/c/{ONE}")
    await world.wait(3)
    await a.put("key", "x")
    a.peer.mute = True

    await world.until(lambda: a.peer.closed)

    assert world.now_s == 13.0
    assert a.peer.pings == 1
    assert await b.list("/q/jobs/c/") == []
