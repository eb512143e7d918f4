"""docs/semantics.md section 2, rules 5 to 8: watches, keys, deliveries, acknowledgements."""

import re

import pytest

from etcdq.server.etcd.pb import rpc_pb2
from tests.support.etcd_client import ONE, TWO, index_of, prefix_end
from tests.support.world import World
from tests.support.worlds import transcript

NOPUT = rpc_pb2.WatchCreateRequest.NOPUT
NODELETE = rpc_pb2.WatchCreateRequest.NODELETE
LARGE = {"window": 2**24, "connection_window": 2**25}

RANGES = [
    (f"/q/jobs/c/{ONE}", prefix_end(f"/q/jobs/c/{ONE}")),
    ("/q/jobs/", "/q/jobs0"),
    ("/q/jobs/", "\0"),
    ("/q/", "/q0"),
    ("/queue/", "/queue0"),
    ("\0", "\0"),
]


@transcript
@pytest.mark.parametrize(("start", "end"), RANGES)
async def test_rule_5_a_range_watch_gets_no_message(world: World, start: str, end: str) -> None:
    """Rule 5: a range watch is an ordinary key watch, whatever keys it covers."""
    a = await world.connect()
    wide = await a.watch(start, end)
    await a.put("/q/jobs/p/job-1", "x")
    await a.put("/q/jobs/p/job-2", "y")
    consumer = await a.watch(f"/q/jobs/c/{ONE}")
    await a.delete((await consumer.event()).key)

    await world.settle()
    node = await a.get("/q/jobs")
    seen = [await wide.event() for _ in range(wide.waiting)]

    assert all(event.value == node for event in seen), seen
    assert await a.counts("jobs") == (0, 1, 0)


@transcript
@pytest.mark.parametrize("revision", [1, 2, 3, 1_000_000, 2**63 - 1, -1])
async def test_rule_5_start_revision_is_ignored(world: World, revision: int) -> None:
    """Rule 5: on a consumer watch `start_revision` is ignored, whatever its value."""
    a = await world.connect()
    await a.put("key", "value")

    watch = await a.watch(f"/q/jobs/c/{ONE}", start_revision=revision)
    await a.put("/q/jobs/p/job-1", "x")

    assert (await watch.event()).value == "x"


@transcript
async def test_rule_5_options_change_nothing(world: World) -> None:
    """Rule 5: prev_kv, fragment, progress_notify and NODELETE change nothing."""
    a = await world.connect()
    watch = await a.watch(
        f"/q/jobs/c/{ONE}", prev_kv=True, fragment=True, progress_notify=True, filters=[NODELETE]
    )
    await a.put("/q/jobs/p/job-1", "x")
    await a.put("/q/jobs/p/job-1", "y")

    first, second = await watch.events(2)

    assert (first.value, second.value) == ("x", "y")
    assert first.prev is None
    assert second.prev is None
    await world.wait(700)
    assert await watch.is_silent()
    assert len(watch.responses) == 2


@transcript
async def test_rule_5_noput_is_refused(world: World) -> None:
    """Rule 5: NOPUT is refused: created and cancelled in one, with a reason; no consumer."""
    a = await world.connect()

    reason = await a.refused_watch(f"/q/jobs/c/{ONE}", filters=[NODELETE, NOPUT])

    assert "NOPUT" in reason
    assert await a.list("/q/jobs/c/") == []


@transcript
async def test_rule_5_created_comes_first(world: World) -> None:
    """Rule 5: `created` comes before the first event, also when messages wait already."""
    a = await world.connect()
    await a.put("/q/jobs/p/job-1", "x")
    call = a.open_watches()
    call.ask(f"/q/jobs/c/{ONE}", watch_id=7)
    await world.settle()

    first, second = [rpc_pb2.WatchResponse.FromString(one) for one in call.call.messages]

    assert (first.created, first.watch_id, len(first.events)) == (True, 7, 0)
    assert (second.created, second.watch_id, len(second.events)) == (False, 7, 1)


@transcript
async def test_rule_5_nothing_after_canceled(world: World) -> None:
    """Rule 5: nothing comes after `canceled`."""
    a = await world.connect()
    watch = await a.watch(f"/q/jobs/c/{ONE}")

    response = await watch.cancel()
    await a.put("/q/jobs/p/job-1", "x")
    await world.wait(100)

    assert (response.canceled, response.created) == (True, False)
    assert await watch.is_silent()  # and `Watch.take` fails on anything after canceled


@transcript
async def test_rule_5_no_delete_event(world: World) -> None:
    """Rule 5: no DELETE event ever: not by an acknowledgement, a purge, or its registry key."""
    a = await world.connect()
    watch = await a.watch(f"/q/jobs/c/{ONE}")
    await a.put("/q/jobs/p/job-1", "x")
    await a.put("/q/jobs/p/job-2", "y")
    first, _ = await watch.events(2)

    await a.delete(first.key)
    await a.delete("/q/jobs/", "/q/jobs0")
    await a.delete(f"/q/jobs/c/{ONE}")
    await world.wait(100)

    assert await watch.is_silent()
    assert not watch.is_cancelled


@transcript
async def test_rule_5_progress_is_answered(world: World) -> None:
    """Rule 5: progress requests are answered, on a stream with consumers only as well."""
    a = await world.connect()
    watch = await a.watch(f"/q/jobs/c/{ONE}")
    revision = (await a.put("key", "value")).header.revision

    response = await watch.call.progress()

    assert response.header.revision == revision
    assert not response.events


@transcript
@pytest.mark.parametrize(
    ("key", "tail"),
    [
        ("p/job-1/more", "job-1"),
        ("p/job-1/", "job-1"),
        ("p/job-1//x", "job-1"),
        ("i/shop/order/9/line", "order"),
        ("i/shop/order/", "order"),
    ],
)
async def test_rule_6_one_segment(world: World, key: str, tail: str) -> None:
    """Rule 6: `{key}` is one segment; what follows a further `/` is dropped."""
    a = await world.connect()
    watch = await a.watch(f"/q/jobs/c/{ONE}")

    await a.put(f"/q/jobs/{key}", "x")

    event = await watch.event()
    assert event.key == f"/q/jobs/{index_of(event.key)}/{tail}"
    assert await a.get(f"/q/jobs/{key}") == "x"
    assert await a.delete(event.key + "/dropped") == 1


@transcript
@pytest.mark.parametrize("lead", ["/q/jobs/", "/queue/jobs/"])
@pytest.mark.parametrize("word", ["c", "consumer"])
async def test_rule_7_delivery_key(world: World, lead: str, word: str) -> None:
    """Rule 7: `/q/{name}/{index}/{key}`, with its index, spelled as the consumer spelled it."""
    a = await world.connect()
    watch = await a.watch(f"{lead}{word}/{ONE}")

    await a.put("/q/jobs/p/job-1", "x")

    event = await watch.event()
    assert re.fullmatch(lead + r"[0-9]{16}/job-1", event.key)
    assert event.kind == "PUT"


@transcript
async def test_rule_7_event_fields(world: World) -> None:
    """Rule 7: `kv` has the body, version 1, both revisions the store's; no lease."""
    a = await world.connect()
    watch = await a.watch(f"/q/jobs/c/{ONE}")
    revision = (await a.put("key", "value")).header.revision
    body = bytes(range(256))

    await a.put("/q/jobs/p/job-1", body)

    kv = (await watch.event()).kv
    assert kv.value == body
    assert (kv.create_revision, kv.mod_revision) == (revision, revision)
    assert (kv.version, kv.lease) == (1, 0)
    assert watch.responses[-1].header.revision == revision


@transcript(consumer_credit="0,0")
async def test_rule_7_a_response_is_bounded(world: World) -> None:
    """Rule 7: a response carries at most 1 MiB of events, or one message."""
    a = await world.connect(**LARGE)
    for size in (400_000, 400_000, 400_000, 1_200_000, 1, 1):
        await a.put("/q/jobs/p/k", b"x" * size)

    watch = await a.watch(f"/q/jobs/c/{ONE}")
    await world.settle()
    watch.call.sort()

    assert watch.waiting == 6
    for response in watch.responses:
        bytes_of_events = sum(event.ByteSize() for event in response.events)
        assert bytes_of_events <= 1_048_576 or len(response.events) == 1


@transcript
async def test_rule_8_acknowledge(world: World) -> None:
    """Rule 8: deleting the event's key answers 1 and the job is gone; again, 0."""
    a = await world.connect()
    watch = await a.watch(f"/q/jobs/c/{ONE}")
    await a.put("/q/jobs/p/job-1", "x")
    event = await watch.event()

    assert await a.delete(event.key) == 1
    assert await a.delete(event.key) == 0

    assert await a.counts("jobs") == (0, 0, 0)
    assert await a.get("/q/jobs/p/job-1") is None
    await watch.cancel()
    assert (await a.queues("Kick", name="jobs", bound=10)).kicked == 0


@transcript
async def test_rule_8_prev_kv(world: World) -> None:
    """Rule 8: prev_kv works: the job as it was delivered; nothing the second time."""
    a = await world.connect()
    watch = await a.watch(f"/q/jobs/c/{ONE}")
    await a.put("/q/jobs/p/job-1", "x")
    event = await watch.event()

    first = await a.delete_full(event.key, prev_kv=True)
    second = await a.delete_full(event.key, prev_kv=True)

    (prev,) = first.prev_kvs
    assert (prev.key.decode(), prev.value, prev.version) == (event.key, b"x", 1)
    assert (second.deleted, len(second.prev_kvs)) == (0, 0)


@transcript
async def test_rule_8_the_key_is_the_token(world: World) -> None:
    """Rule 8: the key works from any connection, and in either spelling."""
    a, b = await world.connect(), await world.connect()
    watch = await a.watch(f"/q/jobs/c/{ONE}")
    await a.put("/q/jobs/p/job-1", "x")
    await a.put("/q/jobs/p/job-2", "y")
    first, second = await watch.events(2)

    assert await b.delete(first.key) == 1
    assert await b.delete(second.key.replace("/q/", "/queue/")) == 1


@transcript
async def test_rule_8_after_its_consumer_ended(world: World) -> None:
    """Rule 8: the key works after its consumer ended, until the job is handed out again."""
    a, b = await world.connect(), await world.connect()
    watch = await a.watch(f"/q/jobs/c/{ONE}")
    await b.put("/q/jobs/p/job-1", "x")
    await b.put("/q/jobs/p/job-2", "y")
    first, second = await watch.events(2)
    a.cut()
    await world.settle()

    assert await b.delete(first.key) == 1
    assert (await b.queues("Kick", name="jobs", bound=9)).kicked == 1
    again = await b.watch(f"/q/jobs/c/{TWO}")
    event = await again.event()
    assert event.value == "y"
    assert await b.delete(second.key) == 0
    assert await b.delete(event.key) == 1


@transcript
async def test_rule_8_other_keys_hit_nothing(world: World) -> None:
    """Rule 8: a neighbour's index, another name, another tail: 0, and the job stays."""
    a = await world.connect()
    watch = await a.watch(f"/q/jobs/c/{ONE}")
    await a.put("/q/jobs/p/job-1", "x")
    key = (await watch.event()).key
    index = index_of(key)

    for wrong in (
        f"/q/jobs/{index + 1}/job-1",
        f"/q/jobs/{index}/job-2",
        f"/q/mail/{index}/job-1",
        f"/q/jobs/0{index}/job-1",
        f"/q/jobs/{index % 1000}/job-1",
    ):
        assert await a.delete(wrong) == 0, wrong
    assert await a.delete(key) == 1
