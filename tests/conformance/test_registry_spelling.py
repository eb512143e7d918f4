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


@transcript
@pytest.mark.parametrize("key", ["/q/jobs", "/queue/jobs", f"/queue/jobs/consumer/{ONE.upper()}"])
async def test_what_a_put_or_a_delete_shows_is_spelled_as_asked(world: World, key: str) -> None:
    """prev_kv of a put over a registry key, and of its delete, is under the key of the call."""
    a = await world.connect()
    await a.watch(f"/q/jobs/c/{ONE}")

    put = await a.put(key, "mine", prev_kv=True)
    delete = await a.delete_full(key, prev_kv=True)

    assert put.prev_kv.key.decode() == key
    assert [kv.key.decode() for kv in delete.prev_kvs] == [key]
    assert await a.get(key) == put.prev_kv.value.decode(), "the server's own, as before"
