"""docs/semantics.md section 1: a tube and a queue of the same name are one thing, on both doors."""

import pytest

from tests.support.doors import beanstalk
from tests.support.etcd_client import ONE, CallFailed, index_of
from tests.support.world import World
from tests.support.worlds import transcript

memory = transcript(worlds="memory")


@memory
async def test_put_here_take_there(world: World) -> None:
    """A message put through one door is taken through the other, both ways."""
    a = await world.connect()
    b = await beanstalk(world, "use jobs", "watch jobs")
    assert await b.put("from beanstalk") == "INSERTED 1"
    watch = await a.watch(f"/q/jobs/c/{ONE}")
    event = await watch.event()
    assert event.value == "from beanstalk"
    assert await a.delete(event.key) == 1
    await watch.cancel()

    await a.put("/q/jobs/p/k", "from etcd")

    assert await b.say("reserve") == "RESERVED 2 9\r\nfrom etcd"
    assert await b.say("delete 2") == "DELETED"
    assert await a.counts("jobs") == (0, 0, 0)


@memory
async def test_a_slash_is_spelled_in_keys(world: World) -> None:
    """The "/" of a tube's name is %2F in keys of every form."""
    a = await world.connect()
    b = await beanstalk(world, "use a/b", "watch a/b")
    await b.put("body")

    assert await a.list("/q/") == [("/q/a%2Fb", await a.get("/q/a%2Fb") or "")]
    ((key, value),) = await a.list("/q/a%2Fb/")
    assert value == "body"
    assert key.startswith("/q/a%2Fb/")
    assert key.endswith("/1")
    assert await a.get("/q/a%2Fb/p/1") == "body"
    watch = await a.watch(f"/q/a%2Fb/c/{ONE}")
    assert (await watch.event()).key == key
    assert await a.list("/q/a%2Fb/c/") == [(f"/q/a%2Fb/c/{ONE}", await a.get("/q/a%2Fb") or "")]
    assert [one for one, _ in await a.list(f"/q/a%2Fb/c/{ONE}/")] == [
        f"/q/a%2Fb/c/{ONE}/{index_of(key):016d}/1"
    ]
    assert await a.delete(key) == 1
    await watch.cancel()
    await a.put("/q/a%2Fb/p/k", "back")
    assert await b.say("reserve") == "RESERVED 2 4\r\nback"


@memory
async def test_lower_case_is_the_same(world: World) -> None:
    """%2f is read as %2F, and deliveries come as the consumer spelled its watch."""
    a = await world.connect()
    b = await beanstalk(world, "use a/b/c")
    await b.put("1")
    watch = await a.watch(f"/queue/a%2fb%2Fc/consumer/{ONE}")

    event = await watch.event()

    assert event.key.startswith("/queue/a%2fb%2Fc/")
    assert await a.get(f"/q/a%2Fb%2fc/{index_of(event.key):016d}/1") == "1"
    assert (await a.range(f"/q/a%2fb%2fc/c/{ONE}")).kvs[0].key == f"/q/a%2fb%2fc/c/{ONE}".encode()
    assert await a.list("/q/a%2fb%2fc/c/") == [
        (f"/q/a%2fb%2fc/c/{ONE}", await a.get("/q/a%2Fb%2Fc") or "")
    ]
    assert await a.delete(f"/q/a%2fb%2fc/{index_of(event.key):016d}/1") == 1


@memory
async def test_registry_keys_are_watched_in_any_spelling(world: World) -> None:
    """A watch on a range in a queue tells of its consumers, spelled as the range."""
    a = await world.connect()
    watch = await a.watch("/q/a%2fb/c/", "/q/a%2fb/c0")
    wider = await a.watch("/queue/a%2fb/", "/queue/a%2fb0")

    await a.watch(f"/q/a%2Fb/c/{ONE}")

    assert (await watch.event()).key == f"/q/a%2fb/c/{ONE}"
    assert (await wider.event()).key == f"/queue/a%2fb/c/{ONE}"


@memory
async def test_purge_and_tend_a_tube(world: World) -> None:
    """Range delete and the Queues service know the tube by its spelled name."""
    a = await world.connect()
    b = await beanstalk(world, "use a/b")
    await b.put("1")
    await b.put("2")

    assert (await a.queues("Peek", name="a%2Fb", state="READY")).jobs[0].body == b"1"
    assert [one.name for one in (await a.queues("List")).queues] == ["a%2Fb", "default"]
    assert await a.counts("a%2fb") == (2, 0, 0)
    with pytest.raises(CallFailed, match="no queue name"):
        await a.show("a/b")
    assert await a.delete("/q/a%2Fb/", "/q/a%2Fb0") == 2
    assert await b.say("peek-ready") == "NOT_FOUND"


@memory
async def test_the_longest_names(world: World) -> None:
    """A tube's name has 200 bytes at most, however long its spelling in keys is."""
    a = await world.connect()
    longest = "/" * 200
    b = await beanstalk(world, f"use {longest}", f"watch {longest}")

    await a.put("/q/" + "%2F" * 200 + "/p/k", "x")

    assert await b.say("reserve") == "RESERVED 1 1\r\nx"
    with pytest.raises(CallFailed, match="1 to 200 bytes"):
        await a.put("/q/" + "%2F" * 200 + "a/p/k", "x")


@memory
async def test_what_the_beanstalk_door_cannot_say(world: World) -> None:
    """Queues with such names are left out of its lists; their jobs are there, by their ids."""
    a = await world.connect()
    names = ["with blank", "ü", "-x", "a:b", "100%", "ok"]
    for name in names:
        await a.put(f"/q/{name}/p/k", name)
    b = await beanstalk(world)

    assert await b.names("list-tubes") == ["default", "ok"]
    stats = await b.stats("stats")
    assert (stats["current-tubes"], stats["current-jobs-ready"]) == ("2", "6")
    assert await b.say("peek 1") == "FOUND 1 10\r\nwith blank"
    assert (await b.stats("stats-job 2"))["tube"] == '"ü"'
    assert await b.say("delete 4") == "DELETED"
    assert await a.counts("a:b") == (0, 0, 0)
