"""docs/semantics.md section 2, rules 12 to 15: keys as seen, listed, registered, deleted."""

import pytest

from etcdq.server.etcd.pb import rpc_pb2
from tests.support.etcd_client import ONE, TWO, CallFailed, Client, index_of, prefix_end
from tests.support.world import World
from tests.support.worlds import transcript


async def put_jobs(client: Client, *bodies: str) -> list[str]:
    """Put jobs under k0, k1, ...; return their keys as listed."""
    for number, body in enumerate(bodies):
        await client.put(f"/q/jobs/p/k{number}", body)
    return [key for key, _ in await client.list("/q/jobs/")][-len(bodies) :]


# rule 12 ----------------------------------------------------------------------------------------


@transcript
async def test_rule_12_every_put_is_a_message(world: World) -> None:
    """Rule 12: every put is a message, also under a key used before."""
    a = await world.connect()
    for body in ("x", "x", "y"):
        await a.put("/q/jobs/p/job-1", body)

    watch = await a.watch(f"/q/jobs/c/{ONE}")
    events = await watch.events(3)

    assert [event.value for event in events] == ["x", "x", "y"]
    assert len({event.key for event in events}) == 3


@transcript
async def test_rule_12_producer_key_is_readable(world: World) -> None:
    """Rule 12: a producer key is readable, at version 1, while its message waits or is held."""
    a = await world.connect()
    assert (await a.range("/q/jobs/p/job-1")).count == 0
    await a.put("/q/jobs/p/job-1", "x")
    (kv,) = (await a.range("/q/jobs/p/job-1")).kvs
    assert (kv.key, kv.value, kv.version) == (b"/q/jobs/p/job-1", b"x", 1)

    watch = await a.watch(f"/q/jobs/c/{ONE}")
    event = await watch.event()
    assert await a.get("/q/jobs/p/job-1") == "x"

    await a.delete(event.key)
    assert (await a.range("/q/jobs/p/job-1")).count == 0


@transcript
async def test_rule_12_buried_does_not_count(world: World) -> None:
    """Rule 12: buried ones do not count, so a dead job never blocks a living one."""
    a = await world.connect()
    watch = await a.watch(f"/q/jobs/c/{ONE}")
    await a.put("/q/jobs/p/job-1", "x")
    await watch.cancel()

    assert await a.get("/q/jobs/p/job-1") is None
    await a.queues("Kick", name="jobs", bound=1)
    assert await a.get("/q/jobs/p/job-1") == "x"


@transcript
async def test_rule_12_spellings_are_one_key(world: World) -> None:
    """Rule 12: both spellings and cut tails are one key; input keys are client and key."""
    a = await world.connect()
    await a.put("/q/jobs/p/k", "x")
    await a.put("/q/jobs/i/shop/k", "y")

    for key in ("/q/jobs/p/k", "/queue/jobs/producer/k", "/q/jobs/p/k/tail"):
        assert await a.get(key) == "x"
    for key in ("/q/jobs/i/shop/k", "/queue/jobs/input/shop/k", "/q/jobs/i/shop/k/tail"):
        assert await a.get(key) == "y"
    for key in ("/q/jobs/i/other/k", "/q/jobs/p/shop", "/q/mail/p/k"):
        assert await a.get(key) is None


# rule 13 ----------------------------------------------------------------------------------------


@transcript
async def test_rule_13_lists_waiting_jobs(world: World) -> None:
    """Rule 13: Range inside one queue lists its waiting jobs, in line order, without touching."""
    a = await world.connect()
    for number in range(3):
        await a.put(f"/q/jobs/p/{9 - number}", str(number))
    await a.put("/q/mail/p/k", "other")

    listed = await a.list("/q/jobs/")

    assert [value for _, value in listed] == ["0", "1", "2"]
    assert [key for key, _ in listed] == sorted(key for key, _ in listed)
    assert [key.rpartition("/")[2] for key, _ in listed] == ["9", "8", "7"]
    assert await a.list("/q/jobs/") == listed
    assert await a.get(listed[1][0]) == "1"
    watch = await a.watch(f"/q/jobs/c/{ONE}")
    assert [event.key for event in await watch.events(3)] == [key for key, _ in listed]
    assert await a.list("/q/jobs/") == []


@transcript
async def test_rule_13_spelled_as_asked(world: World) -> None:
    """Rule 13: the keys are spelled as the range was."""
    a = await world.connect()
    (key,) = await put_jobs(a, "x")

    assert await a.list("/queue/jobs/") == [(key.replace("/q/", "/queue/"), "x")]


@transcript
async def test_rule_13_options(world: World) -> None:
    """Rule 13: with every option of Range."""
    a = await world.connect()
    first, second, third = await put_jobs(a, "b", "c", "a")
    where = ("/q/jobs/", "/q/jobs0")
    down, by_value = rpc_pb2.RangeRequest.DESCEND, rpc_pb2.RangeRequest.VALUE

    async def keys(start: str = where[0], end: str = where[1], **fields: object) -> list[str]:
        return [kv.key.decode() for kv in (await a.range(start, end, **fields)).kvs]

    limited = await a.range(*where, limit=2)
    assert [kv.key.decode() for kv in limited.kvs] == [first, second]
    assert (limited.more, limited.count) == (True, 3)
    assert not (await a.range(*where, limit=3)).more
    counted = await a.range(*where, count_only=True)
    assert (counted.count, len(counted.kvs), counted.more) == (3, 0, False)
    bare = await a.range(*where, keys_only=True)
    assert [kv.value for kv in bare.kvs] == [b"", b"", b""]
    assert await keys(sort_order=down) == [third, second, first]
    assert await keys(sort_target=by_value, sort_order=down) == [second, first, third]
    assert await keys(sort_target=by_value) == [third, first, second]
    assert await keys(second, "") == [second]
    assert await keys(second, third) == [second]
    assert await keys(second, "/q/jobs0") == [second, third]
    assert await keys(first[:-3], third[:-3]) == [first, second]
    revision = limited.header.revision
    assert await keys(min_mod_revision=revision) == [first, second, third]
    assert await keys(min_mod_revision=revision + 1) == []
    assert await keys(max_create_revision=revision) == [first, second, third]
    assert await keys(revision=revision) == [first, second, third]
    assert await keys(serializable=True) == [first, second, third]
    with pytest.raises(CallFailed, match="future revision"):
        await keys(revision=revision + 1)


@transcript
async def test_rule_13_lists_what_a_consumer_holds(world: World) -> None:
    """Rule 13: `/q/{name}/c/{uuid}/` lists what that consumer holds."""
    a = await world.connect()
    watch = await a.watch(f"/q/jobs/c/{ONE}")
    await a.watch(f"/q/jobs/c/{TWO}")
    await put_jobs(a, "x", "y")
    first, second = await watch.events(2)

    listed = await a.list(f"/q/jobs/c/{ONE}/")

    lead = f"/q/jobs/c/{ONE}/"
    assert [value for _, value in listed] == ["x", "y"]
    assert [key for key, _ in listed] == [
        f"{lead}{index_of(event.key)}/k{number}" for number, event in enumerate((first, second))
    ]
    assert await a.list(f"/q/jobs/c/{TWO}/") == []
    shouted = f"/queue/jobs/consumer/{ONE.upper()}/"
    assert [key for key, _ in await a.list(shouted)] == [
        key.replace(lead, shouted) for key, _ in listed
    ]
    assert await a.get(listed[0][0]) == "x"
    assert await a.delete(listed[0][0]) == 1
    assert await a.list(lead) == listed[1:]


@transcript
@pytest.mark.parametrize(
    ("start", "end"),
    [
        ("/q/", "/q0"),
        ("/queue/", "/queue0"),
        ("/queue/", "/queue/z"),
        ("/queue/a", "/queue/z"),
        ("/q/", "\0"),
        ("\0", "\0"),
        ("/", "0"),
        ("/p", "/r"),
    ],
)
async def test_rule_13_wider_ranges(world: World, start: str, end: str) -> None:
    """Rule 13: wider ranges show registry keys only, in the `/q/` spelling."""
    a = await world.connect()
    await put_jobs(a, "x", "y")
    await a.watch(f"/queue/mail/consumer/{ONE}")

    response = await a.range(start, end)

    assert [kv.key.decode() for kv in response.kvs] == [
        "/q/jobs",
        "/q/mail",
        f"/q/mail/c/{ONE}",
    ]
    assert response.count == 3


# rule 14 ----------------------------------------------------------------------------------------


@transcript
async def test_rule_14_registry_keys(world: World) -> None:
    """Rule 14: `/q/{name}` holds the dispatcher's node id, `/q/{name}/c/{uuid}` the consumer's."""
    a = await world.connect()
    created = (await a.watch(f"/q/jobs/c/{ONE}")).created
    node = f"{created.header.member_id:x}"

    for prefix in ("/q/", "/queue/"):
        assert await a.get(f"{prefix}jobs") == node
        for word in ("c", "consumer"):
            lead = f"{prefix}jobs/{word}/"
            assert await a.get(lead + ONE) == node
            assert await a.get(lead + ONE.upper()) == node
            assert await a.list(lead) == [(lead + ONE, node)]
    assert await a.get(f"/q/jobs/c/{TWO}") is None
    assert await a.get("/q/other") is None


@transcript
async def test_rule_14_disappears_with_the_consumer(world: World) -> None:
    """Rule 14: a consumer's key disappears with the consumer; its queue's stays."""
    a, b = await world.connect(), await world.connect()
    await a.watch(f"/q/jobs/c/{ONE}")
    a.cut()
    await world.settle()

    assert await b.list("/q/jobs/c/") == []
    assert await b.get("/q/jobs") is not None


@transcript
async def test_rule_14_restored(world: World) -> None:
    """Rule 14: a client that deletes or overwrites one gets its answer and finds it restored."""
    a = await world.connect()
    await a.watch(f"/q/jobs/c/{ONE}")
    keys = [("/q/jobs", await a.get("/q/jobs")), *await a.list("/q/jobs/c/")]
    assert len(keys) == 2

    for key, value in keys:
        await a.put(key, "mine")
        assert await a.get(key) == value
        deleted = await a.delete_full(key, prev_kv=True)
        assert deleted.deleted == 1
        assert [kv.value.decode() for kv in deleted.prev_kvs] == [value]
        assert await a.get(key) == value
        answer = await a.put(key, "mine", prev_kv=True)
        assert answer.prev_kv.value.decode() == value
    assert await a.delete("/q/", "/q0") == 2
    assert await a.delete("\0", "\0") == 2
    assert await a.delete("/q/jobs/c/", "/q/jobs/c0") == 1
    assert [("/q/jobs", await a.get("/q/jobs")), *await a.list("/q/jobs/c/")] == keys


@transcript
async def test_rule_14_can_be_watched(world: World) -> None:
    """Rule 14: registry keys can be watched, by ranges that cover them."""
    a, b = await world.connect(), await world.connect()
    watch = await a.watch("/q/jobs/c/", "/q/jobs/c0")

    consumer = await b.watch(f"/q/jobs/c/{ONE}")
    await consumer.cancel()

    put, gone = await watch.events(2)
    assert (put.kind, put.key, put.value) == ("PUT", f"/q/jobs/c/{ONE}", await a.get("/q/jobs"))
    assert (gone.kind, gone.key, gone.value) == ("DELETE", f"/q/jobs/c/{ONE}", "")


# rule 15 ----------------------------------------------------------------------------------------


@transcript
@pytest.mark.parametrize(
    ("start", "end"),
    [
        ("\0", "\0"),
        ("/", "\0"),
        ("/q/", "/q0"),
        ("/queue/", "/queue0"),
        ("/q/", "\0"),
        ("/q/jobs", "/q/jobs1"),
        ("/q/jobs/", "\0"),
        ("/q/jobs/", "/q/k"),
        ("/q/a", "/q/z"),
        ("/q", "/r"),
        ("/q/jobs/c/", "/q/jobs/c0"),
    ],
)
async def test_rule_15_never_touches_a_job(world: World, start: str, end: str) -> None:
    """Rule 15: a DeleteRange that is not inside one queue's prefix never touches a job."""
    a = await world.connect()
    watch = await a.watch(f"/q/jobs/c/{ONE}")
    await put_jobs(a, "held")
    event = await watch.event()
    await watch.cancel()
    again = await a.watch(f"/q/jobs/c/{ONE}")
    await a.queues("Kick", name="jobs", bound=1)
    event = await again.event()
    await a.put("/q/mail/p/k", "waits")

    await a.delete(start, end)

    assert await a.counts("jobs") == (0, 1, 0)
    assert await a.counts("mail") == (1, 0, 0)
    assert await a.delete(event.key) == 1


@transcript
@pytest.mark.parametrize("prefix", ["/q/jobs/", "/queue/jobs/"])
async def test_rule_15_purge(world: World, prefix: str) -> None:
    """Rule 15: inside it, every job whose key lies in the range goes, waiting or held."""
    a, b = await world.connect(), await world.connect()
    watch = await b.watch(f"/q/jobs/c/{ONE}")
    await put_jobs(a, "held")
    held = await watch.event()
    await watch.cancel()
    await a.queues("Kick", name="jobs", bound=1)
    watch = await b.watch(f"/q/jobs/c/{ONE}")
    await watch.event()
    await a.queues("Pause", name="jobs", pause_s=1_000)
    await put_jobs(a, "waiting", "too")
    await a.put("/q/mail/p/k", "stays")

    gone = await a.delete_full(prefix, prefix_end(prefix), prev_kv=True)

    assert gone.deleted == 3
    assert [kv.value for kv in gone.prev_kvs] == [b"held", b"waiting", b"too"]
    assert {kv.key.decode().startswith(prefix) for kv in gone.prev_kvs} == {True}
    assert await a.counts("jobs") == (0, 0, 0)
    assert await a.counts("mail") == (1, 0, 0)
    assert await a.delete(held.key) == 0


@transcript
async def test_rule_15_part_of_a_queue(world: World) -> None:
    """Rule 15: only the jobs whose key lies in the range go."""
    a = await world.connect()
    first, second, third = await put_jobs(a, "a", "b", "c")

    assert await a.delete(second, third) == 1
    assert [value for _, value in await a.list("/q/jobs/")] == ["a", "c"]
    assert await a.delete(first + "\0", "/q/jobs0") == 1
    assert [value for _, value in await a.list("/q/jobs/")] == ["a"]
    assert await a.delete(second, first) == 0


@transcript
async def test_rule_15_what_one_consumer_holds(world: World) -> None:
    """Rule 15: a range of what one consumer holds takes that, and no other's."""
    a = await world.connect()
    one = await a.watch(f"/q/jobs/c/{ONE}")
    await put_jobs(a, "x", "y")
    await one.events(2)
    two = await a.watch(f"/q/jobs/c/{TWO}")
    await a.queues("Pause", name="jobs", pause_s=1_000)
    await put_jobs(a, "waits")

    assert await a.delete(f"/q/jobs/c/{TWO}/", f"/q/jobs/c/{TWO}0") == 0
    assert await a.delete(f"/q/jobs/c/{ONE}/", f"/q/jobs/c/{ONE}0") == 2
    assert await a.counts("jobs") == (1, 0, 0)
    assert [watch.is_cancelled for watch in (one, two)] == [False, False]


@transcript
async def test_rule_15_delete_of_a_producer_key(world: World) -> None:
    """Rule 15: delete of a producer key removes the jobs that wait under it, each counted."""
    a = await world.connect()
    await a.put("/q/jobs/p/k", "x")
    await a.put("/q/jobs/p/k", "y")
    await a.put("/q/jobs/p/other", "z")

    gone = await a.delete_full("/queue/jobs/producer/k", prev_kv=True)

    assert gone.deleted == 2
    assert [kv.value for kv in gone.prev_kvs] == [b"x", b"y"]
    assert {kv.key for kv in gone.prev_kvs} == {b"/queue/jobs/producer/k"}
    assert await a.delete("/q/jobs/p/k") == 0
    assert [value for _, value in await a.list("/q/jobs/")] == ["z"]


@transcript(consumer_credit="2")
async def test_rule_15_a_purge_gives_credit(world: World) -> None:
    """Rules 11 and 15: what a purge takes from a consumer gives its credit back."""
    a = await world.connect()
    watch = await a.watch(f"/q/jobs/c/{ONE}")
    for number in range(3):
        await a.put("/q/jobs/p/k", str(number))
    assert await watch.values() == ["0", "1"]

    assert await a.delete(f"/q/jobs/c/{ONE}/", f"/q/jobs/c/{ONE}0") == 2

    assert await watch.values() == ["2"]
