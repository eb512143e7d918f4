"""docs/semantics.md rule 16: how long a tube and a queue live."""

from tests.support.doors import beanstalk
from tests.support.etcd_client import ONE
from tests.support.world import World
from tests.support.worlds import transcript


async def names(world: World) -> list[str]:
    """Return the queues of the node beside `default`, as both doors list them."""
    a = await world.connect()
    b = await beanstalk(world)
    listed = [one.name for one in (await a.queues("List")).queues]
    assert sorted(await b.names("list-tubes")) == sorted({*listed, "default"})
    a.cut()
    await b.close()
    return [name for name in listed if name != "default"]


@transcript(worlds="memory")
async def test_a_tube_goes_with_what_kept_it(world: World) -> None:
    """Only used over beanstalk, it goes with its last job and connection, and so does its key."""
    a = await world.connect()
    b = await beanstalk(world, "use jobs")
    assert await names(world) == ["jobs"]
    await b.put("x")
    assert await a.get("/q/jobs") == f"{world.node.door.identity.member_id:x}"
    await b.say("use default")
    assert await names(world) == ["jobs"]

    await b.say("delete 1")

    assert await names(world) == []
    assert await a.get("/q/jobs") is None


@transcript(worlds="memory", queue_idle="100")
async def test_a_queue_that_the_etcd_door_used_lingers(world: World) -> None:
    """It is reaped --queue-idle after its last use, through whichever door that was."""
    a = await world.connect()
    b = await beanstalk(world)
    await a.put("/q/jobs/p/k", "x")
    await world.wait(1_000)
    await b.say("delete 1")

    await world.wait(99.999)
    assert await names(world) == ["jobs"]
    assert await a.get("/q/jobs") is not None
    await world.wait(0.001)

    assert await names(world) == []
    assert await a.get("/q/jobs") is None


@transcript(worlds="memory", queue_idle="100")
async def test_it_lingers_after_its_connections(world: World) -> None:
    """Using and watching is use: the time counts from the last connection's end."""
    a = await world.connect()
    watch = await a.watch(f"/q/jobs/c/{ONE}")
    await watch.cancel()
    b = await beanstalk(world, "use jobs", "watch jobs")
    await world.wait(1_000)
    assert await names(world) == ["jobs"]
    await b.close()

    await world.wait(99.999)
    assert await names(world) == ["jobs"]
    await world.wait(0.001)
    assert await names(world) == []


@transcript(worlds="memory", queue_idle="100")
async def test_it_lingers_after_a_flush(world: World) -> None:
    """flush-tube is use as well."""
    a = await world.connect()
    b = await beanstalk(world)
    await a.put("/q/jobs/p/k", "x")
    await world.wait(1_000)
    assert await b.say("flush-tube jobs") == "FLUSHED 1"

    await world.wait(99.999)
    assert await names(world) == ["jobs"]
    await world.wait(0.001)
    assert await names(world) == []


@transcript(worlds="memory")
async def test_a_consumer_keeps_a_tube(world: World) -> None:
    """A tube with an etcd consumer stays when its last beanstalk connection leaves."""
    a = await world.connect()
    b = await beanstalk(world, "watch jobs")
    watch = await a.watch(f"/q/jobs/c/{ONE}")

    await b.close()

    assert await names(world) == ["jobs"]
    await a.put("/q/jobs/p/k", "x")
    assert (await watch.event()).value == "x"


@transcript(worlds="memory")
async def test_looking_creates_nothing(world: World) -> None:
    """Statistics, peeks, kicks and ranges of a queue that does not exist leave it so."""
    a = await world.connect()
    b = await beanstalk(world)

    assert await b.say("stats-tube jobs") == "NOT_FOUND"
    assert await b.say("pause-tube jobs 1") == "NOT_FOUND"
    await a.list("/q/jobs/")
    await a.delete("/q/jobs/p/1")
    await a.queues("Kick", name="jobs", bound=1)

    assert await names(world) == []
