"""docs/semantics.md rule 2 and section 4: watches and reserves on one queue, and what holds both
back."""

from tests.support.doors import beanstalk
from tests.support.etcd_client import ONE, TWO
from tests.support.world import World
from tests.support.worlds import transcript

memory = transcript(worlds="memory")


@memory
async def test_watches_and_reserves_take_turns(world: World) -> None:
    """Where both wait on a queue, every other job goes to each side."""
    a = await world.connect()
    watch = await a.watch(f"/q/jobs/c/{ONE}")
    b = await beanstalk(world, "watch jobs", "reserve")
    c = await beanstalk(world, "watch jobs", "reserve")
    got = []
    for number in range(6):
        await a.put("/q/jobs/p/k", str(number))
        got.append((await watch.values(), await b.heard(), await c.heard()))
        for one, reply in ((b, got[-1][1]), (c, got[-1][2])):
            if reply:
                await one.say("reserve")

    assert got == [
        (["0"], "", ""),
        ([], "RESERVED 2 1\r\n1", ""),
        (["2"], "", ""),
        ([], "", "RESERVED 4 1\r\n3"),
        (["4"], "", ""),
        ([], "RESERVED 6 1\r\n5", ""),
    ]


@memory
async def test_turns_within_one_batch(world: World) -> None:
    """Of jobs that become ready at once the first goes to the watch; while that one is under way
    the reserves get the next ones, and the watch what they leave."""
    a = await world.connect()
    b = await beanstalk(world, "use jobs")
    for number in range(4):
        await b.put(str(number))
    await b.say("pause-tube jobs 5")
    watch = await a.watch(f"/q/jobs/c/{ONE}")
    workers = [await beanstalk(world, "watch jobs", "reserve") for _ in range(2)]
    assert await watch.is_silent()

    await world.wait(5)

    assert await watch.values() == ["0", "3"]
    assert [await one.heard() for one in workers] == ["RESERVED 2 1\r\n1", "RESERVED 3 1\r\n2"]


@memory
async def test_a_watch_without_credit_leaves_it_to_reserves(world: World) -> None:
    """What a consumer's credit does not cover goes to a reserve, and the other way round."""
    a = await world.connect()
    watch = await a.open_watches(("etcdq-credit", "1")).create(f"/q/jobs/c/{ONE}")
    b = await beanstalk(world, "watch jobs")
    for number in range(3):
        await a.put("/q/jobs/p/k", str(number))
    first = await watch.event()
    assert first.value == "0"
    assert await watch.is_silent()

    assert await b.say("reserve") == "RESERVED 2 1\r\n1"
    await a.delete(first.key)

    assert (await watch.event()).value == "2"
    assert await b.say("reserve-with-timeout 0") == "TIMED_OUT"


@memory
async def test_pause_holds_back_watches(world: World) -> None:
    """pause-tube and the Queues service's Pause are one pause, over both doors."""
    a = await world.connect()
    b = await beanstalk(world, "use jobs", "watch jobs")
    watch = await a.watch(f"/q/jobs/c/{ONE}")
    assert await b.say("pause-tube jobs 10") == "PAUSED"
    await b.put("one")
    await a.put("/q/jobs/p/k", "two")
    assert 9 < (await a.show("jobs")).paused_s <= 10

    await world.wait(9.999)
    assert await watch.is_silent()
    await world.wait(0.001)
    assert await watch.values() == ["one", "two"]
    await watch.cancel()
    await b.say("kick 2")
    await a.queues("Pause", name="jobs", pause_s=20)
    assert await b.say("reserve-with-timeout 0") == "TIMED_OUT"
    assert (await b.stats("stats-tube jobs"))["pause"] == "20"
    await b.say("reserve")

    assert await b.say("pause-tube other 1") == ""  # behind the reserve
    await a.queues("Pause", name="jobs", pause_s=0)

    assert await b.heard() == "RESERVED 1 3\r\none\r\nNOT_FOUND"


@memory
async def test_a_concurrency_key_holds_back_both(world: World) -> None:
    """A slot taken through one door is missing at the other; however it is freed, both are told."""
    a = await world.connect()
    b = await beanstalk(world, "use jobs", "watch jobs")
    for number in range(4):
        await b.put(str(number), tags="con:key")
    watch = await a.watch(f"/q/jobs/c/{ONE}")
    first = await watch.event()
    assert await watch.is_silent()
    assert await b.say("reserve") == ""

    await a.delete(first.key)

    assert await b.heard() == "RESERVED 2 1\r\n1"
    assert await watch.is_silent()
    await b.say("delete 2")
    assert (await watch.event()).value == "2"
    await b.say("reserve")
    assert await b.heard() == ""
    await watch.cancel()  # its job is buried
    assert await b.heard() == "RESERVED 4 1\r\n3"


@memory
async def test_a_concurrency_key_over_tubes_and_doors(world: World) -> None:
    """The key is one over all queues: a worker of one waits for a consumer of another."""
    a = await world.connect()
    b = await beanstalk(world, "use jobs")
    watch = await a.watch(f"/q/jobs/c/{ONE}")
    await b.put("x", tags="con:key")
    event = await watch.event()
    c = await beanstalk(world, "use mail", "watch mail")
    await c.put("y", tags="con:key")
    assert await c.say("reserve") == ""
    stalled = await beanstalk(world)
    assert (await stalled.stats("stats-tube mail"))["current-jobs-ready"] == "1"

    await a.delete(event.key)

    assert await c.heard() == "RESERVED 2 1\r\ny"


@memory
async def test_an_after_group_holds_back_both(world: World) -> None:
    """A job behind a group goes to a watch when the group's last member is acknowledged there."""
    a = await world.connect()
    b = await beanstalk(world, "use jobs", "watch jobs")
    watch = await a.watch(f"/q/jobs/c/{ONE}")
    await b.put("member", tags="grp:g")
    await b.put("after", tags="aft:g")
    member = await watch.event()
    assert await watch.is_silent()
    assert await b.say("reserve-with-timeout 0") == "TIMED_OUT"
    assert [value for _, value in await a.list("/q/jobs/")] == ["after"]
    await watch.cancel()
    assert (await b.stats("stats-group g"))["buried"] == "1"

    assert await a.delete(member.key) == 1

    assert await b.say("reserve-with-timeout 0") == "RESERVED 2 5\r\nafter"


@memory
async def test_an_idempotency_key_is_freed_by_an_acknowledgement(world: World) -> None:
    """A duplicate of a job that a consumer holds is told so; acknowledged, the key is free."""
    a = await world.connect()
    b = await beanstalk(world, "use jobs")
    watch = await a.watch(f"/q/jobs/c/{ONE}")
    await b.put("x", tags="idp:key:7")
    event = await watch.event()
    assert await b.put("again", tags="idp:key:7") == "INSERTED 1 RESERVED"

    await a.delete(event.key)

    assert await b.put("again", tags="idp:key:7") == "INSERTED 1 DELETED"
    await world.wait(7)
    assert await b.put("again", tags="idp:key:7") == "INSERTED 2"
    assert (await watch.event()).value == "again"


@memory
async def test_consumers_count_as_watching_and_waiting(world: World) -> None:
    """An etcd consumer watches, and waits while it has credit; so the tube and the node count."""
    a = await world.connect()
    b = await beanstalk(world, "use jobs")
    before = await b.stats("stats")

    async def counts() -> list[str]:
        tube, node = await b.stats("stats-tube jobs"), await b.stats("stats")
        assert node["current-waiting"] == tube["current-waiting"]
        summary = (await a.show("jobs")).summary
        assert str(summary.waiting) == tube["current-waiting"]
        assert str(summary.consumers) == tube["current-watching"]
        return [tube["current-watching"], tube["current-waiting"]]

    await b.put("x")
    assert before["current-waiting"] == "0"
    assert await counts() == ["0", "0"]
    watches = a.open_watches(("etcdq-credit", "1"))
    one = await watches.create(f"/q/jobs/c/{ONE}")
    assert await counts() == ["1", "0"]
    await watches.create(f"/q/jobs/c/{TWO}")
    assert await counts() == ["2", "1"]
    c = await beanstalk(world, "watch jobs", "ignore default", "reserve")
    assert await counts() == ["3", "2"]
    await a.delete((await one.event()).key)
    assert await counts() == ["3", "3"]
    await c.close()
    assert await counts() == ["2", "2"]
    await one.cancel()
    assert await counts() == ["1", "1"]


@memory
async def test_a_watch_that_waits_is_before_a_later_reserve(world: World) -> None:
    """A put and a reserve in one packet: the job is the watch's that waited before the reserve."""
    a = await world.connect()
    watch = await a.watch(f"/q/jobs/c/{ONE}")
    b = await beanstalk(world, "use jobs", "watch jobs")

    reply = await b.say("put 0 0 60 1", "x", "reserve-with-timeout 0")

    assert reply == "INSERTED 1\r\nTIMED_OUT"
    assert await watch.values() == ["x"]


@memory
async def test_turns_within_one_packet(world: World) -> None:
    """A batch takes no more than its turn where a watch waits; what it leaves goes on in turns."""
    a = await world.connect()
    b = await beanstalk(world, "use jobs", "watch jobs")
    watch = await a.watch(f"/q/jobs/c/{ONE}")
    await b.put("1")
    puts = [line for body in "23456" for line in ("put 0 0 60 1", body)]
    reply = await b.say(*puts, "reserve-batch 2", "reserve", "reserve")

    assert await watch.values() == ["1", "3", "6"]
    assert reply.replace("\r\n", " ").partition("INSERTED 6 ")[2] == (
        "RESERVED_BATCH 1 RESERVED 2 1 2 RESERVED 4 1 4 RESERVED 5 1 5"
    )


@memory
async def test_what_a_slow_consumer_does_not_take_goes_to_a_reserve(world: World) -> None:
    """Nobody waits for it; dropped after 5 s, it loses what it had not taken to a reserve."""
    stuck = await world.connect(window=0, reading=False)
    await stuck.stuck_watch(f"/q/jobs/c/{ONE}")
    b = await beanstalk(world, "use jobs")
    await b.put("stalled")
    c = await beanstalk(world, "watch jobs", "reserve")
    await world.wait(2)
    await b.put("next")
    assert await c.heard() == "RESERVED 2 4\r\nnext"
    await c.say("reserve")

    await world.wait(2.9375)
    assert await c.heard() == ""
    await world.wait(0.0625)

    assert await c.heard() == "RESERVED 1 7\r\nstalled"
    assert (await b.stats("stats-tube jobs"))["current-watching"] == "1"
