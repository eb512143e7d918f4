"""docs/semantics.md rule 10 and section 4: what one door holds, the other can look at only."""

from tests.support.doors import beanstalk
from tests.support.etcd_client import ONE, TWO, index_of
from tests.support.world import World
from tests.support.worlds import transcript

memory = transcript(worlds="memory")
LONG_S = 600


@memory
async def test_an_etcd_job_has_no_time_to_run(world: World) -> None:
    """Reserved over beanstalk, a job of the etcd door stays reserved as long as its connection."""
    a = await world.connect()
    b = await beanstalk(world, "watch jobs")
    await a.put("/q/jobs/p/k", "x")
    await b.say("reserve")

    assert await b.say("reserve-with-timeout 0") == "TIMED_OUT"  # and not DEADLINE_SOON
    await world.wait(LONG_S)

    stats = await b.stats("stats-job 1")
    assert (stats["state"], stats["pri"], stats["ttr"]) == ("reserved", "1024", "0")
    assert (stats["time-left"], stats["time-reserved"]) == ("0", str(LONG_S))
    assert (stats["reserves"], stats["timeouts"]) == ("1", "0")
    assert await b.say("touch 1") == "TOUCHED"
    await world.wait(LONG_S)
    assert await b.say("delete 1") == "DELETED"


@memory
async def test_released_to_a_watch(world: World) -> None:
    """Released with priority and delay, it waits for both and then goes to a watch."""
    a = await world.connect()
    b = await beanstalk(world, "watch jobs")
    await a.put("/q/jobs/p/k", "released")
    ((key, _),) = await a.list("/q/jobs/")
    await b.say("reserve")
    assert await b.say("release 1 2000 5") == "RELEASED"
    watch = await a.watch(f"/q/jobs/c/{ONE}")

    await world.wait(4.999)
    assert await watch.is_silent()
    await world.wait(0.001)

    event = await watch.event()
    assert (event.key, event.value) == (key, "released")
    stats = await b.stats("stats-job 1")
    assert (stats["pri"], stats["releases"], stats["reserves"]) == ("2000", "1", "1")


@memory
async def test_a_connection_that_ends_gives_back_to_a_watch(world: World) -> None:
    """What a beanstalk connection held is ready when it ends, and goes to a watch."""
    a = await world.connect()
    b = await beanstalk(world, "watch jobs")
    await a.put("/q/jobs/p/k", "x")
    await b.say("reserve")
    watch = await a.watch(f"/q/jobs/c/{ONE}")
    assert await watch.is_silent()

    await b.close()

    assert (await watch.event()).value == "x"


@memory
async def test_a_time_to_run_ends_in_a_watch(world: World) -> None:
    """A reservation that ends by its TTR makes the job ready; a watch has no TTR."""
    a = await world.connect()
    b = await beanstalk(world, "use jobs", "watch jobs")
    await b.put("x", "0 0 3")
    await b.say("reserve")
    watch = await a.watch(f"/q/jobs/c/{ONE}")

    await world.wait(2.999)
    assert await watch.is_silent()
    await world.wait(0.001)

    event = await watch.event()
    await world.wait(LONG_S)
    stats = await b.stats("stats-job 1")
    assert (stats["state"], stats["timeouts"], stats["time-left"]) == ("reserved", "1", "0")
    assert await b.say("delete 1") == "NOT_FOUND"
    assert await a.delete(event.key) == 1


@memory
async def test_what_a_watch_holds(world: World) -> None:
    """No command by id touches it; it can be looked at."""
    a = await world.connect()
    b = await beanstalk(world, "use jobs", "watch jobs")
    watch = await a.watch(f"/q/jobs/c/{ONE}")
    await b.put("x")
    event = await watch.event()

    lines = ["delete 1", "release 1 0 0", "bury 1 0", "touch 1", "kick-job 1", "reserve-job 1"]
    assert [await b.say(line) for line in lines] == ["NOT_FOUND"] * len(lines)
    assert await b.say("delete-batch 1") == "DELETED_BATCH 0 1"
    assert await b.say("kick 10") == "KICKED 0"
    assert await b.say("reserve-with-timeout 0") == "TIMED_OUT"
    assert await b.say("peek 1") == "FOUND 1 1\r\nx"
    assert await b.say("peek-reserved") == "FOUND 1 1\r\nx"
    assert (await b.stats("stats-job 1"))["state"] == "reserved"
    assert (await b.stats("stats-tube jobs"))["current-jobs-reserved"] == "1"
    assert await a.delete(event.key) == 1


@memory
async def test_what_a_connection_holds(world: World) -> None:
    """It cannot be acknowledged, however well its key is known; a purge takes it all the same."""
    a = await world.connect()
    b = await beanstalk(world, "watch jobs")
    for key in ("k", "l"):
        await a.put(f"/q/jobs/p/{key}", key)
    (first, _), (second, _) = await a.list("/q/jobs/")
    await b.say("reserve")
    await b.say("reserve")

    assert await a.delete(first) == 0
    assert await a.delete("/q/jobs/p/k") == 0
    assert await a.get(first) == "k"
    assert await a.list("/q/jobs/") == []
    assert await b.say("delete 1") == "DELETED"
    assert await a.delete(first, second + "\0") == 1
    assert await b.say("delete 2") == "NOT_FOUND"


@memory
async def test_buried_by_a_dead_consumer(world: World) -> None:
    """peek-buried shows it, and its late acknowledgement works."""
    a = await world.connect()
    b = await beanstalk(world, "use jobs", "watch jobs")
    watch = await a.watch(f"/q/jobs/c/{ONE}")
    await b.put("one")
    await a.put("/q/jobs/p/k", "two")
    one, two = await watch.events(2)
    assert await b.say("peek-buried") == "NOT_FOUND"

    await watch.cancel()

    assert await b.say("peek-buried") == "FOUND 1 3\r\none"
    stats = await b.stats("stats-tube jobs")
    assert (stats["current-jobs-buried"], stats["total-buries"]) == ("2", "2")
    assert (await b.stats("stats-job 2"))["state"] == "buried"
    assert await a.delete(one.key) == 1
    assert await b.say("peek-buried") == "FOUND 2 3\r\ntwo"
    assert await b.say("kick 10") == "KICKED 1"
    assert await a.delete(two.key) == 0
    assert await b.say("reserve") == "RESERVED 2 3\r\ntwo"


@memory
async def test_a_kick_gives_it_a_new_index(world: World) -> None:
    """Kicked over beanstalk it goes to the end of its priority, and its old key hits nothing."""
    a = await world.connect()
    b = await beanstalk(world, "use jobs", "watch jobs")
    watch = await a.watch(f"/q/jobs/c/{ONE}")
    for body in ("kick", "kick-job"):
        await b.put(body, "7 0 60")
    old = await watch.events(2)
    await watch.cancel()
    await b.put("younger", "7 0 60")
    await b.put("less urgent", "8 0 60")

    assert await b.say("kick 1") == "KICKED 1"
    assert await b.say("kick-job 2") == "KICKED"

    assert [await a.delete(event.key) for event in old] == [0, 0]
    again = await a.watch(f"/q/jobs/c/{TWO}")
    new = await again.events(4)
    assert [event.value for event in new] == ["younger", "kick", "kick-job", "less urgent"]
    assert index_of(new[1].key) > index_of(new[3].key) > index_of(old[1].key)
    assert (await b.stats("stats-job 1"))["kicks"] == "1"
    assert [await a.delete(event.key) for event in new] == [1, 1, 1, 1]


@memory
async def test_a_kick_keeps_the_place_of_what_no_watch_had(world: World) -> None:
    """A job that only beanstalk had goes back to its place: its index is still the same."""
    a = await world.connect()
    b = await beanstalk(world, "use jobs", "watch jobs")
    await a.put("/q/jobs/p/k", "first")
    await a.put("/q/jobs/p/l", "second")
    listed = await a.list("/q/jobs/")
    await b.say("reserve")
    await b.say("bury 1 1024")

    assert await b.say("kick 1") == "KICKED 1"

    assert await a.list("/q/jobs/") == listed
    watch = await a.watch(f"/q/jobs/c/{ONE}")
    assert await watch.values() == ["first", "second"]


@memory
async def test_reserved_by_id_after_its_consumer_died(world: World) -> None:
    """Taken by reserve-job, it was handed out again: the key of the hand-over before hits nothing,
    whatever becomes of it."""
    a = await world.connect()
    b = await beanstalk(world, "use jobs", "watch jobs")
    watch = await a.watch(f"/q/jobs/c/{ONE}")
    await b.put("x")
    old = await watch.event()
    await watch.cancel()

    assert await b.say("reserve-job 1") == "RESERVED 1 1\r\nx"
    assert await a.delete(old.key) == 0
    assert await b.say("release 1 0 0") == "RELEASED"
    assert await a.delete(old.key) == 0
    assert await a.get(old.key) is None

    again = await a.watch(f"/q/jobs/c/{TWO}")
    new = await again.event()
    assert index_of(new.key) > index_of(old.key)
    assert await a.delete(new.key) == 1


@memory
async def test_buried_by_a_connection(world: World) -> None:
    """A job that beanstalk buried is kicked through the etcd door, and goes to a watch."""
    a = await world.connect()
    b = await beanstalk(world, "watch jobs")
    await a.put("/q/jobs/p/k", "x")
    await b.say("reserve")
    await b.say("bury 1 9")
    watch = await a.watch(f"/q/jobs/c/{ONE}")
    assert await watch.is_silent()
    (job,) = (await a.queues("Peek", name="jobs", state="BURIED")).jobs
    assert (job.job_id, job.priority, job.holder) == (1, 9, "")

    assert (await a.queues("Kick", name="jobs", bound=5)).kicked == 1

    assert (await watch.event()).value == "x"


@memory
async def test_who_holds_it_is_shown(world: World) -> None:
    """Peek through the etcd door names the connection or the consumer that holds a job."""
    a = await world.connect()
    b = await beanstalk(world, "use jobs", "watch jobs")
    await b.put("one")
    await b.say("reserve")
    await a.watch(f"/q/jobs/c/{ONE}")
    await b.put("two")

    jobs = (await a.queues("Peek", name="jobs", state="RESERVED", limit=9)).jobs

    assert [(job.body, job.holder) for job in jobs] == [(b"one", "connection 1"), (b"two", ONE)]
    assert [job.ttr_s for job in jobs] == [60, 60]
