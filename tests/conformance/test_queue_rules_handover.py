"""docs/semantics.md section 1 and section 2, rules 1 to 4: who is handed what, and when."""

import pytest

from tests.support.etcd_client import ONE, THREE, TWO, index_of
from tests.support.world import World
from tests.support.worlds import transcript


@transcript
async def test_job_of_an_etcd_put(world: World) -> None:
    """Section 1: an etcd put makes a job with priority 1024, no delay and no TTR, ready."""
    a = await world.connect()
    await a.put("/q/jobs/p/job-1", "payload")

    (job,) = (await a.queues("Peek", name="jobs", state="READY", limit=10)).jobs

    assert (job.priority, job.delay_s, job.ttr_s) == (1024, 0.0, 0.0)
    assert (job.key, job.body, job.holder) == (b"job-1", b"payload", "")


@transcript
async def test_handed_over_is_held(world: World) -> None:
    """Section 1: a job handed over through a watch is held (reserved, without TTR) by it."""
    a = await world.connect()
    await a.watch(f"/q/jobs/c/{ONE}")
    await a.put("/q/jobs/p/job-1", "payload")
    await world.wait(300)

    (job,) = (await a.queues("Peek", name="jobs", state="RESERVED", limit=10)).jobs

    assert (job.holder, job.ttr_s) == (ONE, 0.0)
    assert await a.counts("jobs") == (0, 1, 0)


@transcript
async def test_job_ids_and_indexes(world: World) -> None:
    """Section 1: ids count from 1 over the node; an index has 16 digits and rises."""
    a = await world.connect()
    for queue in ("jobs", "mail", "jobs"):
        await a.put(f"/q/{queue}/p/k", "x")

    jobs = [
        *(await a.queues("Peek", name="jobs", state="READY", limit=9)).jobs,
        *(await a.queues("Peek", name="mail", state="READY", limit=9)).jobs,
    ]

    jobs.sort(key=lambda job: job.job_id)
    assert [job.job_id for job in jobs] == [1, 2, 3]
    assert sorted({job.index for job in jobs}) == [job.index for job in jobs]
    assert {len(str(job.index)) for job in jobs} == {16}


@transcript
async def test_an_index_is_given_anew_by_a_kick(world: World) -> None:
    """Section 1: the index is given anew by a kick, is higher, and is never used twice."""
    a = await world.connect()
    watch = await a.watch(f"/q/jobs/c/{ONE}")
    await a.put("/q/jobs/p/job-1", "x")
    first = index_of((await watch.event()).key)
    await watch.cancel()
    await a.put("/q/jobs/p/job-2", "y")

    assert (await a.queues("Kick", name="jobs", bound=1)).kicked == 1
    (_, other), (key, _) = [(0, 0), *await a.list("/q/jobs/")][-2:]

    assert index_of(key) > first
    assert key.endswith("/job-1")
    assert other == "y"


@transcript
async def test_names(world: World) -> None:
    """Section 1: names are UTF-8, 1 to 200 bytes, without control characters and without `/`."""
    a = await world.connect()
    for name in ("x", "n" * 200, "ü" * 100, "with blank", "a%2Fb", "p", "c", "1764525600000001"):
        await a.put(f"/q/{name}/p/k", name)
        assert await a.get(f"/q/{name}/p/k") == name


@transcript
async def test_rule_1_put_creates(world: World) -> None:
    """Rule 1: no set-up: the first put creates the queue, and this node is its dispatcher."""
    a = await world.connect()
    assert (await a.queues("List")).queues == []

    response = await a.put("/q/jobs/p/job-1", "x")

    assert await a.get("/q/jobs") == f"{response.header.member_id:x}"
    assert [one.name for one in (await a.queues("List")).queues] == ["jobs"]


@transcript
async def test_rule_1_watch_creates(world: World) -> None:
    """Rule 1: no set-up: the first watch creates the queue."""
    a = await world.connect()

    await a.watch(f"/q/jobs/c/{ONE}")

    assert await a.get("/q/jobs") is not None


@transcript
async def test_rule_2_fifo(world: World) -> None:
    """Rule 2: jobs are handed out in the order in which they entered the line."""
    a = await world.connect()
    for number in range(10):
        await a.put(f"/q/jobs/p/{9 - number}", str(number))

    watch = await a.watch(f"/q/jobs/c/{ONE}")
    for number in range(10, 20):
        await a.put("/q/jobs/p/k", str(number))

    assert await watch.values() == [str(number) for number in range(20)]


@transcript
async def test_rule_2_one_consumer_each(world: World) -> None:
    """Rule 2: each job goes to one consumer, the first registered one: there is no balancing."""
    a, b = await world.connect(), await world.connect()
    first = await b.watch(f"/q/jobs/c/{TWO}")
    second = await a.watch(f"/q/jobs/c/{ONE}")
    for number in range(10):
        await a.put("/q/jobs/p/k", str(number))

    assert await first.values() == [str(number) for number in range(10)]
    assert await second.is_silent()


@transcript
async def test_rule_2_queues_are_apart(world: World) -> None:
    """Rule 2: a queue's jobs go to that queue's consumers only."""
    a = await world.connect()
    jobs = await a.watch(f"/q/jobs/c/{ONE}")
    mail = await a.watch(f"/q/mail/c/{ONE}")
    await a.put("/q/mail/p/k", "m")
    await a.put("/q/jobs/p/k", "j")

    assert (await jobs.values(), await mail.values()) == (["j"], ["m"])


@transcript
async def test_rule_3_messages_wait(world: World) -> None:
    """Rule 3: messages wait while nobody consumes, and go to the first consumer that registers."""
    a = await world.connect()
    await a.put("/q/jobs/p/job-1", "x")
    await world.wait(86_400)

    b = await world.connect()
    watch = await b.watch(f"/q/jobs/c/{ONE}")

    assert (await watch.event()).value == "x"


@transcript
@pytest.mark.parametrize(
    "form", [ONE.upper(), ONE.replace("-", ""), f"{{{ONE}}}", f"urn:uuid:{ONE}"]
)
async def test_rule_4_forms_of_a_uuid(world: World, form: str) -> None:
    """Rule 4: a UUID in any form; its lower-case hyphenated form is its identity."""
    a = await world.connect()
    old = await a.watch(f"/q/jobs/c/{ONE}")

    new = await a.watch(f"/q/jobs/c/{form}")
    await a.put("/q/jobs/p/job-1", "x")

    assert "took over" in await old.cancelled_now()
    assert (await new.event()).value == "x"
    assert await a.list("/q/jobs/c/") == [(f"/q/jobs/c/{ONE}", await a.get("/q/jobs"))]


@transcript
async def test_rule_4_no_uuid(world: World) -> None:
    """Rule 4: what is no UUID is an identity of its connection *and* segment, in the registry."""
    a, b = await world.connect(), await world.connect()
    mine = await a.watch("/q/jobs/c/worker")
    other = await a.watch("/q/jobs/c/worker-2")
    theirs = await b.watch("/q/jobs/c/worker")

    assert [one.is_cancelled for one in (mine, other, theirs)] == [False] * 3
    assert len({key for key, _ in await a.list("/q/jobs/c/")}) == 3
    again = await a.watch("/q/jobs/c/worker")
    assert "took over" in await mine.cancelled_now()
    assert [one.is_cancelled for one in (again, theirs)] == [False] * 2


@transcript
async def test_rule_4_takeover_of_rank_and_held(world: World) -> None:
    """Rule 4: a newer watch of the same identity takes over rank and what is held."""
    a, b, c = await world.connect(), await world.connect(), await world.connect()
    old = await a.watch(f"/q/jobs/c/{ONE}")
    second = await b.watch(f"/q/jobs/c/{TWO}")
    await a.put("/q/jobs/p/job-1", "x")
    event = await old.event()

    new = await c.watch(f"/q/jobs/c/{ONE}")
    await a.put("/q/jobs/p/job-2", "y")

    assert "took over" in await old.cancelled_now()
    assert (await new.event()).value == "y"
    assert await second.is_silent()
    a.cut()
    await world.settle()
    assert await c.counts("jobs") == (0, 2, 0)
    assert await c.delete(event.key) == 1


@transcript
async def test_rule_4_takeover_of_what_was_not_taken(world: World) -> None:
    """Rule 4: what the older watch had not taken goes to the newer one, first and in order."""
    stuck, b = await world.connect(window=0, reading=False), await world.connect()
    old = await stuck.stuck_watch(f"/q/jobs/c/{ONE}")
    for number in range(3):
        await b.put("/q/jobs/p/k", str(number))

    new = await b.watch(f"/q/jobs/c/{ONE}")

    assert await new.values() == ["0", "1", "2"]
    await old.call.widen(10_000)
    assert "took over" in await old.cancelled_now()
    assert await old.is_silent()


@transcript
async def test_rule_4_consumer_ends(world: World) -> None:
    """Rule 4: a consumer ends when its last watch is cancelled, or ends with its connection."""
    a, b = await world.connect(), await world.connect()
    one = await a.watch(f"/q/jobs/c/{ONE}")
    two = await b.watch(f"/q/jobs/c/{TWO}")
    three = await b.watch(f"/q/jobs/c/{THREE}")
    assert len(await a.list("/q/jobs/c/")) == 3

    await one.cancel()
    assert await a.get(f"/q/jobs/c/{ONE}") is None
    three.call.reset()
    assert not two.is_cancelled
    await world.settle()
    assert await a.get(f"/q/jobs/c/{THREE}") is None
    b.cut()
    await world.settle()
    assert await a.list("/q/jobs/c/") == []


@transcript
async def test_rule_4_half_close_ends_nothing(world: World) -> None:
    """Rule 4: a half-closed stream ends nothing."""
    a, b = await world.connect(), await world.connect()
    watch = await a.watch(f"/q/jobs/c/{ONE}")

    watch.call.half_close()
    await world.wait(100)
    await b.put("/q/jobs/p/job-1", "x")

    event = await watch.event()
    assert await a.delete(event.key) == 1
    watch.call.reset()
    await world.settle()
    assert await b.list("/q/jobs/c/") == []
