"""docs/semantics.md section 2, rules 16 to 18: idle queues, limits, revisions; and section 6."""

import pytest

from tests.support.etcd_client import ONE, CallFailed, prefix_end
from tests.support.world import World
from tests.support.worlds import transcript

INVALID_ARGUMENT, RESOURCE_EXHAUSTED, UNAVAILABLE = 3, 8, 14


@transcript
async def test_rule_16_reaped_at_600_s(world: World) -> None:
    """Rule 16: no job, no consumer, no use for 10 minutes: the queue is gone, exactly then."""
    a = await world.connect()
    await a.put("/q/jobs/p/job-1", "x")
    await world.wait(10)
    await a.delete("/q/jobs/p/job-1")
    await world.wait(599.9375)
    assert await a.get("/q/jobs") is not None

    await world.wait(0.0625)

    assert await a.get("/q/jobs") is None
    assert (await a.queues("List")).queues == []


@transcript
async def test_rule_16_jobs_and_consumers_keep_it(world: World) -> None:
    """Rule 16: a waiting job, a buried one, a consumer: each keeps its queue."""
    a, b = await world.connect(), await world.connect()
    await a.put("/q/waiting/p/k", "x")
    await a.put("/q/buried/p/k", "x")
    await (await a.watch(f"/q/buried/c/{ONE}")).cancel()
    await b.watch(f"/q/watched/c/{ONE}")
    await a.put("/q/empty/p/k", "x")
    await a.delete("/q/empty/p/k")

    await world.wait(1_300)

    names = [one.name for one in (await a.queues("List")).queues]
    assert names == ["buried", "waiting", "watched"]


@transcript(queue_idle="30s")
async def test_rule_16_queue_idle(world: World) -> None:
    """Rule 16: `--queue-idle` is that time, counted from the last use."""
    a = await world.connect()
    watch = await a.watch(f"/q/jobs/c/{ONE}")
    await world.wait(100)
    await watch.cancel()
    await world.wait(29.9375)
    assert await a.get("/q/jobs") is not None
    await world.wait(0.0625)
    assert await a.get("/q/jobs") is None


@transcript(queue_idle="30s")
async def test_rule_16_looking_is_no_use(world: World) -> None:
    """Rule 16: looking neither creates a queue nor keeps it."""
    a = await world.connect()
    await a.list("/q/jobs/")
    await a.get("/q/jobs/p/job-1")
    await a.delete("/q/jobs/1764525600000001/job-1")
    with pytest.raises(CallFailed):
        await a.show("jobs")
    assert (await a.queues("List")).queues == []

    await a.put("/q/jobs/p/job-1", "x")
    await a.delete("/q/jobs/p/job-1")
    await world.wait(20)
    await a.list("/q/jobs/")
    await world.wait(10)
    assert (await a.queues("List")).queues == []


@transcript
@pytest.mark.parametrize("key", ["/q/jobs/p/job-1", "key"])
async def test_rule_17_body_at_the_limit(world: World, key: str) -> None:
    """Rule 17: a body of 1.5 MiB is taken, one byte more is "request is too large"."""
    a = await world.connect(window=2**22, connection_window=2**23)
    body = b"x" * 1_572_864

    await a.put(key, body)
    with pytest.raises(CallFailed) as caught:
        await a.put(key, body + b"x")

    assert (caught.value.code, caught.value.text) == (
        INVALID_ARGUMENT,
        "etcdserver: request is too large",
    )
    assert len((await a.range(key)).kvs[0].value) == len(body)


@transcript(max_request_bytes="1000")
async def test_rule_17_max_request_bytes(world: World) -> None:
    """Rule 17: `--max-request-bytes` is that limit; nothing enters the line over it."""
    a = await world.connect()
    await a.put("/q/jobs/p/job-1", "x" * 1_000)
    with pytest.raises(CallFailed, match="etcdserver: request is too large"):
        await a.put("/q/jobs/p/job-2", "x" * 1_001)
    with pytest.raises(CallFailed) as caught:
        await a.put("/q/jobs/p/job-2", "x" * 600_000)

    assert caught.value.code == RESOURCE_EXHAUSTED
    assert len(await a.list("/q/jobs/")) == 1


@transcript(max_jobs_per_queue="2")
async def test_rule_17_max_jobs_per_queue(world: World) -> None:
    """Rule 17: a put over `--max-jobs-per-queue` gets RESOURCE_EXHAUSTED; shrinking works."""
    a = await world.connect()
    await a.put("/q/jobs/p/k", "0")
    await a.put("/q/jobs/p/k", "1")
    with pytest.raises(CallFailed) as caught:
        await a.put("/q/jobs/p/k", "2")
    assert caught.value.code == RESOURCE_EXHAUSTED
    assert "--max-jobs-per-queue" in caught.value.text
    await a.put("/q/mail/p/k", "another queue")

    watch = await a.watch(f"/q/jobs/c/{ONE}")
    event, _ = await watch.events(2)
    with pytest.raises(CallFailed):
        await a.put("/q/jobs/p/k", "2")
    await a.delete(event.key)
    await a.put("/q/jobs/p/k", "2")
    assert (await watch.event()).value == "2"


@transcript(max_jobs_size="2000")
async def test_rule_17_max_jobs_size(world: World) -> None:
    """Rule 17: a put over `--max-jobs-size`, of all queues, gets RESOURCE_EXHAUSTED."""
    a = await world.connect()
    await a.put("/q/jobs/p/k", "x" * 400)
    await a.put("/q/mail/p/k", "x" * 400)
    with pytest.raises(CallFailed) as caught:
        await a.put("/q/other/p/k", "x" * 400)
    assert caught.value.code == RESOURCE_EXHAUSTED
    assert "--max-jobs-size" in caught.value.text
    await a.put("key", "x" * 5_000)

    assert await a.delete("/q/mail/", "/q/mail0") == 1
    await a.put("/q/other/p/k", "x" * 400)


@transcript
async def test_rule_17_draining(world: World) -> None:
    """Rule 17: draining: a put is UNAVAILABLE; everything that shrinks a queue still works."""
    a = await world.connect()
    watch = await a.watch(f"/q/jobs/c/{ONE}")
    await a.put("/q/jobs/p/job-1", "x")
    await a.put("/q/mail/p/job-1", "y")
    event = await watch.event()

    world.node.drain()

    with pytest.raises(CallFailed) as caught:
        await a.put("/q/jobs/p/job-2", "z")
    assert caught.value.code == UNAVAILABLE
    assert await a.delete(event.key) == 1
    assert await a.delete("/q/mail/", prefix_end("/q/mail/")) == 1


@transcript
async def test_rule_18_no_history(world: World) -> None:
    """Rule 18: queue calls carry the store's current revision, and do not raise it."""
    a = await world.connect()
    watch = await a.watch(f"/q/jobs/c/{ONE}")
    now = (await a.put("key", "value")).header

    put = (await a.put("/q/jobs/p/job-1", "x")).header
    event = await watch.event()
    acknowledged = (await a.delete_full(event.key)).header
    again = (await a.delete_full(event.key)).header
    listed = (await a.range("/q/jobs/", "/q/jobs0")).header
    read = (await a.range("/q/jobs/p/job-1")).header

    for header in (put, acknowledged, again, listed, read, watch.responses[-1].header):
        assert header == now
    assert (await a.put("key", "value")).header.revision == now.revision + 1


@transcript
async def test_rule_18_headers(world: World) -> None:
    """Rule 18: every header names the same cluster and member, and a positive term."""
    a = await world.connect()
    watch = await a.watch(f"/q/jobs/c/{ONE}")
    put = (await a.put("/q/jobs/p/job-1", "x")).header

    for header in (put, watch.created.header, (await a.range("key")).header):
        assert (header.cluster_id, header.member_id) == (put.cluster_id, put.member_id)
        assert header.raft_term > 0
    assert put.cluster_id
    assert put.member_id
