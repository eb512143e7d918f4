"""A Watch call that its client breaks while a message waits on it: one consumer gets it, once."""

import pytest

from tests.support.etcd_client import ONE, TWO
from tests.support.etcd_peer import PREFIX
from tests.support.world import World
from tests.support.worlds import transcript

INTERNAL = 13
DEADLINE_EXCEEDED = 4


@transcript
@pytest.mark.parametrize("flag", [1, 9])
async def test_a_frame_that_is_no_message(world: World, flag: int) -> None:
    """Its stalled message goes on to the next consumer, and does not come on the broken call."""
    client = await world.connect(window=0, reading=False)
    watch = await client.stuck_watch(f"/q/jobs/c/{ONE}")
    b = await world.connect()
    await b.put("/q/jobs/p/job-1", "x" * 1_000)
    await world.settle()

    client.peer.send_data(watch.call.call, PREFIX.pack(flag, 2) + b"xx", end=False)
    client.link.flush()
    second = await b.watch(f"/q/jobs/c/{TWO}")
    assert await second.values() == ["x" * 1_000]

    assert watch.call.call.status == INTERNAL, "the call is over: nothing of it waits any more"
    assert await watch.is_silent()


@transcript
async def test_a_frame_that_is_no_message_while_one_is_half_sent(world: World) -> None:
    """What is half sent cannot be taken back: the call is reset, and the message moves on."""
    client = await world.connect(window=0, reading=False)
    watch = await client.stuck_watch(f"/q/jobs/c/{ONE}")
    b = await world.connect()
    await b.put("/q/jobs/p/job-1", "x" * 1_000)
    await watch.call.widen(500)

    client.peer.send_data(watch.call.call, PREFIX.pack(9, 2) + b"xx", end=False)
    client.link.flush()
    second = await b.watch(f"/q/jobs/c/{TWO}")

    assert await second.values() == ["x" * 1_000]
    assert watch.call.call.reset is not None


@transcript
async def test_half_a_request_for_a_minute(world: World) -> None:
    """A call that dies of half a request takes its waiting messages back first."""
    client = await world.connect(window=0, reading=False)
    watch = await client.stuck_watch(f"/q/jobs/c/{ONE}")
    client.peer.send_data(watch.call.call, PREFIX.pack(0, 100), end=False)
    client.link.flush()
    await world.wait(58)
    b = await world.connect()
    await b.put("/q/jobs/p/job-1", "x" * 1_000)
    await world.wait(2)

    second = await b.watch(f"/q/jobs/c/{TWO}")
    assert await second.values() == ["x" * 1_000]

    assert watch.call.call.status == DEADLINE_EXCEEDED
    assert await watch.is_silent()
