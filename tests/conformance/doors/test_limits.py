"""docs/semantics.md rules 7 and 17 and section 4: what is refused, and how each door says so."""

from collections.abc import Awaitable
from typing import Any

import pytest

from tests.support.doors import beanstalk
from tests.support.etcd_client import ONE, CallFailed
from tests.support.world import World
from tests.support.worlds import transcript

memory = transcript(worlds="memory")
UNAVAILABLE, RESOURCE_EXHAUSTED = 14, 8


async def refused(put: Awaitable[Any]) -> int | None:
    """Return the code that a put fails with."""
    with pytest.raises(CallFailed) as caught:
        await put
    return caught.value.code


@memory
async def test_drain_refuses_puts_on_both_doors(world: World) -> None:
    """DRAINING here and UNAVAILABLE there; what shrinks a queue works on both, until undrain."""
    a = await world.connect()
    b = await beanstalk(world, "use jobs", "watch jobs")
    for body in ("one", "two", "three"):
        await b.put(body)

    assert await b.say("drain") == "DRAINING"

    assert await b.put("x") == "DRAINING"
    assert await refused(a.put("/q/jobs/p/k", "x")) == UNAVAILABLE
    await a.put("ordinary", "key")
    assert await b.say("reserve") == "RESERVED 1 3\r\none"
    assert await b.say("delete 1") == "DELETED"
    watch = await a.watch(f"/q/jobs/c/{ONE}")
    event = await watch.event()
    assert await a.delete(event.key) == 1
    assert (await b.stats("stats"))["draining"] == "true"
    assert await b.say("undrain") == "NOT_DRAINING"
    assert await b.put("x") == "INSERTED 4"
    await a.put("/q/jobs/p/k", "x")


@memory
async def test_a_node_that_drains_refuses_puts_on_both_doors(world: World) -> None:
    """What SIGUSR1 does is the same as `drain`."""
    a = await world.connect()
    b = await beanstalk(world, "use jobs")

    world.node.drain()

    assert await b.put("x") == "DRAINING"
    assert await refused(a.put("/q/jobs/p/k", "x")) == UNAVAILABLE


@transcript(worlds="memory", max_jobs_size="1600")
async def test_the_jobs_of_a_node_have_a_size(world: World) -> None:
    """--max-jobs-size: one budget over all queues; OUT_OF_MEMORY here, RESOURCE_EXHAUSTED there."""
    a = await world.connect()
    b = await beanstalk(world, "use jobs", "watch jobs")
    await a.put("/q/mail/p/key", "x" * 100)
    await b.put("x" * 100)

    assert await b.put("x" * 400) == "OUT_OF_MEMORY"
    assert await refused(a.put("/q/jobs/p/k", "x" * 400)) == RESOURCE_EXHAUSTED

    sizes = await b.stats("stats")
    assert (sizes["current-jobs-size"], sizes["max-jobs-size"]) == (str(1024 + 203), "1600")
    watch = await a.watch(f"/q/jobs/c/{ONE}")
    await a.delete((await watch.event()).key)
    assert await b.put("x" * 400) == "INSERTED 3"


@transcript(worlds="memory", max_jobs_per_queue="2")
async def test_a_queue_has_a_number_of_jobs(world: World) -> None:
    """--max-jobs-per-queue counts the jobs of both doors, whoever holds them."""
    a = await world.connect()
    b = await beanstalk(world, "use jobs", "watch jobs")
    await a.put("/q/jobs/p/k", "x")
    await b.put("x")
    await b.say("reserve")

    assert await b.put("x") == "OUT_OF_MEMORY"
    assert await refused(a.put("/q/jobs/p/k", "x")) == RESOURCE_EXHAUSTED
    await a.put("/q/mail/p/k", "x")
    await b.say("delete 1")
    await a.put("/q/jobs/p/k", "x")


@transcript(worlds="memory", max_request_bytes="100")
async def test_too_large_for_watches(world: World) -> None:
    """Such a body waits for a reserve, at its place; watches pass it over; the status says so."""
    a = await world.connect()
    b = await beanstalk(world, "use jobs", "watch jobs")
    watch = await a.watch(f"/q/jobs/c/{ONE}")
    await b.put("x" * 100)
    await b.put("x" * 101)
    await b.put("behind it")

    assert await watch.values() == ["x" * 100, "behind it"]
    shown = await a.show("jobs")
    assert (shown.oversized_head, shown.limits.request_bytes_max) == (True, 100)
    assert (shown.summary.ready, shown.summary.waiting) == (1, 1)
    assert [value for _, value in await a.list("/q/jobs/")] == ["x" * 101]
    await watch.cancel()
    await b.put("younger")

    assert await b.say("reserve") == f"RESERVED 2 101\r\n{'x' * 101}"

    assert await b.say("reserve") == "RESERVED 4 7\r\nyounger"
    assert not (await a.show("jobs")).oversized_head


@transcript(worlds="memory", max_request_bytes="100")
async def test_too_large_for_a_watch_whose_turn_it_is(world: World) -> None:
    """A reserve that waits gets it at once, although a watch was registered first."""
    a = await world.connect()
    b = await beanstalk(world, "use jobs")
    await a.watch(f"/q/jobs/c/{ONE}")
    c = await beanstalk(world, "watch jobs", "reserve")

    await b.put("x" * 101)

    assert (await c.heard()).startswith("RESERVED 1 101")
    await c.say("bury 1 0")
    assert not (await a.show("jobs")).oversized_head
    await b.say("kick 1")
    assert (await a.show("jobs")).oversized_head
    assert await a.delete("/q/jobs/p/1") == 1
    assert not (await a.show("jobs")).oversized_head
