"""docs/semantics.md section 2, rule 11: what a consumer has bytes left for."""

from tests.support.etcd_client import ONE, TWO
from tests.support.world import World
from tests.support.worlds import transcript


@transcript(consumer_credit="10,1000")
async def test_a_small_message_behind_a_large_one_that_went_elsewhere(world: World) -> None:
    """Rule 11: what had no room goes to the next consumer; what has room comes, unacknowledged."""
    a = await world.connect()
    first = await a.watch(f"/q/jobs/c/{ONE}")
    second = await a.watch(f"/q/jobs/c/{TWO}")
    for body in ("a" * 600, "b" * 600, "c" * 100):
        await a.put("/q/jobs/p/k", body)

    assert [value[0] for value in await first.values()] == ["a", "c"]
    assert [value[0] for value in await second.values()] == ["b"]


@transcript(consumer_credit="10,1000")
async def test_a_small_message_behind_a_large_one_that_was_deleted(world: World) -> None:
    """Rule 11: a message that nobody has room for waits; once it is gone the next one comes."""
    a = await world.connect()
    watch = await a.watch(f"/q/jobs/c/{ONE}")
    await a.put("/q/jobs/p/k", "a" * 600)
    await a.put("/q/jobs/p/large", "b" * 600)
    await a.put("/q/jobs/p/k", "c" * 100)
    assert [value[0] for value in await watch.values()] == ["a"]

    assert await a.delete("/q/jobs/p/large") == 1

    assert [value[0] for value in await watch.values()] == ["c"]
