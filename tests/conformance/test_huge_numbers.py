"""Numbers as large as the wire has them: answered like any other, and the node goes on."""

import pytest

from etcdq.server.etcd.pb import queues_pb2
from tests.support.world import World
from tests.support.worlds import transcript

UINT64_MAX = 2**64 - 1
INT64_MAX = 2**63 - 1


@transcript(worlds="core tcp")
@pytest.mark.parametrize("bound", [2**63, UINT64_MAX])
async def test_kick_with_a_huge_bound(world: World, bound: int) -> None:
    """Kick all there is: no buried job is none kicked, and jobs go on waiting."""
    client = await world.connect()
    await client.put("/q/jobs/p/job-1", "x")
    assert (await client.queues("Kick", name="jobs", bound=bound)).kicked == 0

    watch = await client.watch("/q/jobs/c/worker")
    assert (await watch.event()).value == "x"
    await watch.cancel()
    assert await client.counts("jobs") == (0, 0, 1)
    assert (await client.queues("Kick", name="jobs", bound=bound)).kicked == 1
    assert await client.counts("jobs") == (1, 0, 0)


@transcript(worlds="core tcp")
@pytest.mark.parametrize("state", ["READY", "RESERVED", "DELAYED", "BURIED"])
async def test_peek_with_a_huge_limit(world: World, state: str) -> None:
    """Peek at all there is, in every state."""
    client = await world.connect()
    await client.put("/q/jobs/p/job-1", "x")
    number = queues_pb2.JobState.Value(state)

    answer = await client.queues("Peek", name="jobs", state=number, limit=UINT64_MAX)

    assert [job.body for job in answer.jobs] == ([b"x"] if state == "READY" else [])


@transcript(worlds="core tcp")
@pytest.mark.parametrize("limit", [INT64_MAX - 1, INT64_MAX, -1, -(2**63)])
async def test_range_with_a_limit_beyond_all(world: World, limit: int) -> None:
    """A limit that cuts nothing: all jobs, and no more."""
    client = await world.connect()
    await client.put("/q/jobs/p/job-1", "x")

    answer = await client.range("/q/jobs/", "/q/jobs0", limit=limit)

    assert [kv.value for kv in answer.kvs] == [b"x"]
    assert (answer.count, answer.more) == (1, False)
