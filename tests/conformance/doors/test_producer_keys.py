"""docs/semantics.md section 4: a job put over beanstalk has its id for a producer key."""

from tests.support.doors import beanstalk
from tests.support.etcd_client import ONE, TWO, index_of
from tests.support.world import World
from tests.support.worlds import transcript

memory = transcript(worlds="memory")


@memory
async def test_delivered_under_its_id(world: World) -> None:
    """The delivery key ends with the id; deleting it acknowledges, and prev_kv has the job."""
    a = await world.connect()
    b = await beanstalk(world, "use jobs")
    watch = await a.watch(f"/q/jobs/c/{ONE}")
    await a.put("/q/other/p/k", "takes id 1")

    assert await b.put("body") == "INSERTED 2"

    event = await watch.event()
    assert event.key == f"/q/jobs/{index_of(event.key):016d}/2"
    assert (event.value, event.kv.version) == ("body", 1)
    assert await a.get(event.key) == "body"
    assert await a.delete(event.key.removesuffix("2")[:-1] + "/3") == 0
    response = await a.delete_full(event.key, prev_kv=True)
    assert response.deleted == 1
    (prev,) = response.prev_kvs
    assert (prev.key.decode(), prev.value) == (event.key, b"body")
    assert await b.say("peek 2") == "NOT_FOUND"


@memory
async def test_read_while_it_lives(world: World) -> None:
    """Its producer key is readable while it waits, is delayed or is held by anyone; not buried."""
    a = await world.connect()
    b = await beanstalk(world, "use jobs", "watch jobs")
    await b.put("body", "0 9 60")

    assert await a.get("/q/jobs/p/1") == "body"
    assert (await a.range("/q/jobs/p/1")).kvs[0].version == 1
    assert await a.get("/q/jobs/p/01") is None
    assert await a.get("/q/mail/p/1") is None
    await world.wait(9)
    assert await b.say("reserve") == "RESERVED 1 4\r\nbody"
    assert await a.get("/q/jobs/producer/1") == "body"
    await b.say("bury 1 0")
    assert await a.get("/q/jobs/p/1") is None
    await b.say("kick-job 1")
    watch = await a.watch(f"/q/jobs/c/{ONE}")
    await watch.event()
    assert await a.get("/q/jobs/p/1") == "body"
    await watch.cancel()
    assert await a.get("/q/jobs/p/1") is None


@memory
async def test_delete_what_waits_under_it(world: World) -> None:
    """Delete of the producer key removes a ready or delayed job, and not one that is held."""
    a = await world.connect()
    b = await beanstalk(world, "use jobs", "watch jobs")
    await b.put("ready")
    await b.put("delayed", "0 60 60")
    await b.put("held", "0 0 60")
    await b.say("reserve-job 3")

    response = await a.delete_full("/q/jobs/p/1", prev_kv=True)

    assert [(kv.key, kv.value) for kv in response.prev_kvs] == [(b"/q/jobs/p/1", b"ready")]
    assert await a.delete("/q/jobs/p/2") == 1
    assert await a.delete("/q/jobs/p/3") == 0
    assert await b.say("delete 3") == "DELETED"
    assert await a.counts("jobs") == (0, 0, 0)


@memory
async def test_an_etcd_key_that_looks_like_an_id(world: World) -> None:
    """Two jobs under one producer key: the oldest is read, a delete removes all, in their order."""
    a = await world.connect()
    b = await beanstalk(world, "use jobs")
    await b.put("by beanstalk")
    await a.put("/q/jobs/p/1", "by etcd")
    await a.put("/q/jobs/p/4", "the older one")
    await b.put("the younger one")

    assert await a.get("/q/jobs/p/1") == "by beanstalk"
    assert await a.get("/q/jobs/p/4") == "the older one"
    response = await a.delete_full("/q/jobs/p/1", prev_kv=True)
    assert [kv.value for kv in response.prev_kvs] == [b"by beanstalk", b"by etcd"]
    response = await a.delete_full("/q/jobs/p/4", prev_kv=True)
    assert [kv.value for kv in response.prev_kvs] == [b"the older one", b"the younger one"]


@memory
async def test_listed_in_line_order_of_keys(world: World) -> None:
    """Range inside the queue lists what waits of both doors, delayed jobs too, in key order."""
    a = await world.connect()
    b = await beanstalk(world, "use jobs", "watch jobs")
    await b.put("one", "5 0 60")
    await a.put("/q/jobs/i/shop/two", "two")
    await b.put("three", "0 60 60")
    await b.put("four", "0 0 60")
    await b.say("reserve-job 4")

    listed = await a.list("/q/jobs/")

    assert [(key.rpartition("/")[2], value) for key, value in listed] == [
        ("1", "one"),
        ("two", "two"),
        ("3", "three"),
    ]
    count = await a.range("/q/jobs/", "/q/jobs0", count_only=True)
    assert count.count == 3
    first, last = listed[0][0], listed[-1][0]
    response = await a.delete_full(first, last + "\0", prev_kv=True)
    assert [kv.key.decode() for kv in response.prev_kvs] == [key for key, _ in listed]
    assert await a.counts("jobs") == (0, 1, 0)


@memory
async def test_priorities_lead_the_line_of_watches(world: World) -> None:
    """Watches get the jobs in beanstalk's order: the smallest priority, then the oldest."""
    a = await world.connect()
    b = await beanstalk(world, "use jobs")
    await a.put("/q/jobs/p/k", "1024")
    await b.put("2000", "2000 0 60")
    await b.put("7, first", "7 0 60")
    await b.put("7, second", "7 0 60")
    watch = await a.watch(f"/q/jobs/c/{TWO}")

    assert await watch.values() == ["7, first", "7, second", "1024", "2000"]


@memory
async def test_an_empty_body(world: World) -> None:
    """A job without a body goes both ways."""
    a = await world.connect()
    b = await beanstalk(world, "use jobs", "watch jobs")
    await a.put("/q/jobs/p/k", "")
    assert await b.say("reserve") == "RESERVED 1 0\r\n"
    await b.say("delete 1")
    watch = await a.watch(f"/q/jobs/c/{ONE}")
    await b.put("")

    event = await watch.event()

    assert (event.value, event.key.rpartition("/")[2]) == ("", "2")
    assert await a.delete(event.key) == 1
