"""docs/semantics.md section 2: registry keys are read and watched in either spelling."""

import pytest

from tests.support.etcd_client import ONE
from tests.support.world import World
from tests.support.worlds import transcript


@transcript
@pytest.mark.parametrize("prefix", ["/q/jobs/c/", "/queue/jobs/consumer/", "/queue/jobs/c/"])
async def test_both_records_of_an_event_are_spelled_alike(world: World, prefix: str) -> None:
    """A watch on consumers sees them come and go under the keys it asked about, prev_kv too."""
    a = await world.connect()
    registry = await a.watch(prefix, prefix[:-1] + "0", prev_kv=True)
    consumer = await a.watch(f"/q/jobs/c/{ONE}")
    await consumer.cancel()

    came, went = await registry.events(2)

    assert (came.kind, came.key) == ("PUT", prefix + ONE)
    assert (went.kind, went.key, went.prev.key.decode()) == ("DELETE", prefix + ONE, prefix + ONE)
    assert went.prev.value == came.kv.value


@transcript
async def test_a_reversed_range_of_the_registry_is_empty(world: World) -> None:
    """A range that ends before its start holds nothing, in either spelling."""
    a = await world.connect()
    await a.put("/q/jobs/p/job-1", "x")
    for start, end in (("/queue/a", "/aaaaaaazz"), ("/q/a", "/a"), ("/queue/jobs", "/queue/a")):
        assert (await a.range(start, end)).count == 0
        assert await a.delete(start, end) == 0
