"""Every form of key under a queue prefix, known and unknown, under every call.

docs/semantics.md section 2: the table of forms, and "every other form of key".
"""

import pytest

from tests.support.etcd_client import ONE, CallFailed
from tests.support.world import World
from tests.support.worlds import transcript

INVALID_ARGUMENT = 3
INDEX = "1764525600000001"

UNKNOWN = [
    # key below the prefix, what the refusal names
    ("", "queue name"),
    ("/p/k", "queue name"),
    ("/c/" + ONE, "queue name"),
    ("n" * 201 + "/p/k", "1 to 200 bytes"),
    ("a\x01b/p/k", "control characters"),
    ("a\x7f/p/k", "control characters"),
    ("jobs/", "/p/{key}"),
    ("jobs//k", "/p/{key}"),
    ("jobs/p", "/p/{key}"),
    ("jobs/p/", "/p/{key}"),
    ("jobs/p//k", "/p/{key}"),
    ("jobs/producer", "/producer/{key}"),
    ("jobs/i", "/i/{client}/{key}"),
    ("jobs/i/", "/i/{client}/{key}"),
    ("jobs/i/shop", "/i/{client}/{key}"),
    ("jobs/i/shop/", "/i/{client}/{key}"),
    ("jobs/i//k", "/i/{client}/{key}"),
    ("jobs/input/shop", "/input/{client}/{key}"),
    ("jobs/c", "/c/{uuid}"),
    ("jobs/c/", "/c/{uuid}"),
    ("jobs/c//x", "/c/{uuid}"),
    ("jobs/consumer", "/consumer/{uuid}"),
    (f"jobs/c/{ONE}/", "/c/{uuid}/{index}/{key}"),
    (f"jobs/c/{ONE}/x", "/c/{uuid}/{index}/{key}"),
    (f"jobs/c/{ONE}/x/k", "/c/{uuid}/{index}/{key}"),
    (f"jobs/c/{ONE}/{INDEX}", "/c/{uuid}/{index}/{key}"),
    (f"jobs/c/{ONE}/{INDEX}/", "/c/{uuid}/{index}/{key}"),
    ("jobs/word", "/p/{key}"),
    ("jobs/word/k", "/p/{key}"),
    ("jobs/P/k", "/p/{key}"),
    ("jobs/17645256000000x1/k", "/p/{key}"),
    ("jobs/-764525600000001/k", "/p/{key}"),
    ("jobs/694d8e28b0bd0a01", "/p/{key}"),  # as Lock and Election name theirs
    (f"jobs/{INDEX}", "/{index}/{key}"),
    (f"jobs/{INDEX}/", "/{index}/{key}"),
]
PREFIXES = ["/q/", "/queue/"]


async def check_unknown(world: World, prefix: str, names: str) -> None:
    """Check one call of each kind on every unknown form of key."""
    a = await world.connect()
    for rest, named in UNKNOWN:
        key = prefix + rest
        for call in (a.put(key, "x"), a.delete(key)):
            with pytest.raises(CallFailed) as caught:
                await call
            assert caught.value.code == INVALID_ARGUMENT, key
            assert named in caught.value.text, (key, caught.value.text)
            assert prefix in caught.value.text, (key, caught.value.text)
        response = await a.range(key)
        assert (response.count, len(response.kvs)) == (0, 0), key
        watch = await a.watch(key)
        assert await watch.is_silent(), key
    await a.put(f"{prefix}{names}/p/k", "x")
    assert [one.name for one in (await a.queues("List")).queues] == [names]


@transcript
@pytest.mark.parametrize("prefix", PREFIXES)
async def test_unknown_forms(world: World, prefix: str) -> None:
    """Put and delete of another form is INVALID_ARGUMENT and names the right one; Range of it is
    empty; a Watch is an ordinary one. Nothing comes into being."""
    await check_unknown(world, prefix, "jobs")


@transcript(queue_prefixes="/jobs/,/company/work/")
@pytest.mark.parametrize("prefix", ["/jobs/", "/company/work/"])
async def test_unknown_forms_under_custom_prefixes(world: World, prefix: str) -> None:
    """The same under `--queue-prefixes`."""
    await check_unknown(world, prefix, "jobs")


@transcript
async def test_names_that_are_no_utf_8(world: World) -> None:
    """A name that is no UTF-8 is INVALID_ARGUMENT, and the answer can be read."""
    a = await world.connect()
    for call in (a.put(b"/q/a\xff/p/k", "x"), a.delete(b"/q/a\xff/p/k")):
        with pytest.raises(CallFailed, match="UTF-8") as caught:
            await call
        assert caught.value.code == INVALID_ARGUMENT
    assert (await a.range(b"/q/a\xff/p/k")).count == 0
    assert (await a.range(b"/q/a\xff/", b"/q/a\xff0")).count == 0
    assert (await a.delete_full(b"/q/a\xff/", b"/q/a\xff0")).deleted == 0


@transcript
async def test_producer_keys_are_bytes(world: World) -> None:
    """A producer key is any bytes but `/`: it comes back as it went."""
    a = await world.connect()
    watch = await a.watch(f"/q/jobs/c/{ONE}")
    tail = bytes(byte for byte in range(256) if byte != ord("/"))

    await a.put(b"/q/jobs/p/" + tail, "x")

    event = await watch.event()
    assert event.kv.key.endswith(b"/" + tail)
    assert (await a.range(b"/q/jobs/p/" + tail)).count == 1
    assert (await a.delete_full(event.kv.key)).deleted == 1


async def check_known(world: World, first: str, second: str) -> None:
    """Check put, range, delete and watch on every known form, in all spellings.

    Args:
        first: the canonical prefix.
        second: the other one.
    """
    a = await world.connect()
    producers = [
        f"{prefix}jobs/{word}"
        for prefix in (first, second)
        for word in ("p/k", "producer/k", "p/k/cut", "i/shop/k", "input/shop/k")
    ]
    consumers = [
        f"{prefix}jobs/{word}/" for prefix in (first, second) for word in ("c", "consumer")
    ]
    for key in producers:
        ordinary = await a.watch(key)
        await a.put(key, key)
        assert await ordinary.is_silent(), "a watch on a producer key is an ordinary one"
        assert await a.get(key) == key
        assert await a.delete(key) == 1
        assert await a.get(key) is None
    for number, key in enumerate(producers):
        lead = consumers[number % len(consumers)]
        watch = await a.watch(lead + ONE)
        await a.put(key, "body")
        event = await watch.event()
        spelled = lead.rpartition("/")[0].rpartition("/")[0]
        assert event.key.startswith(spelled + "/1"), event.key
        assert await a.get(event.key) == "body"
        with pytest.raises(CallFailed) as caught:
            await a.put(event.key, "x")
        assert caught.value.code == INVALID_ARGUMENT
        assert "/p/{key}" in caught.value.text
        assert await (await a.watch(event.key)).is_silent()
        assert await a.delete(event.key) == 1
        await watch.cancel()


@transcript
async def test_known_forms(world: World) -> None:
    """Both spellings answer, whichever was used first, under every call."""
    await check_known(world, "/q/", "/queue/")


@transcript(queue_prefixes="/jobs/,/company/work/")
async def test_known_forms_under_custom_prefixes(world: World) -> None:
    """The same under `--queue-prefixes`."""
    await check_known(world, "/jobs/", "/company/work/")


@transcript(queue_prefixes="/jobs/,/company/work/")
async def test_custom_prefixes_free_the_usual_ones(world: World) -> None:
    """With `--queue-prefixes`, keys under /q/ and /queue/ are ordinary keys."""
    a = await world.connect()
    for key in ("/q/", "/q/jobs/p/k", f"/q/jobs/c/{ONE}", "/queue/jobs"):
        watch = await a.watch(key)
        await a.put(key, "x")
        assert (await watch.event()).key == key
        assert await a.get(key) == "x"
        assert await a.delete(key) == 1
    await a.put("/jobs/x/p/k", "y")
    assert [kv.key for kv in (await a.range("\0", "\0")).kvs] == [b"/jobs/x"]


@transcript
async def test_ordinary_neighbours(world: World) -> None:
    """Keys that only look alike are ordinary."""
    a = await world.connect()
    for key in ("/q", "/queue", "q/jobs/p/k", "/qq/jobs/p/k", "/Q/jobs/p/k", "//q/jobs/p/k"):
        await a.put(key, "x")
        assert await a.get(key) == "x"
        assert await a.delete(key) == 1
    assert (await a.queues("List")).queues == []


@transcript
@pytest.mark.parametrize("options", [{"lease": 7}, {"ignore_value": True}, {"ignore_lease": True}])
async def test_options_on_producer_keys(world: World, options: dict[str, object]) -> None:
    """On producer keys `lease` and `ignore_*` are INVALID_ARGUMENT."""
    a = await world.connect()
    with pytest.raises(CallFailed) as caught:
        await a.put("/q/jobs/p/k", **options)
    assert caught.value.code == INVALID_ARGUMENT
    assert (await a.queues("List")).queues == []


@transcript
async def test_prev_kv_on_producer_keys(world: World) -> None:
    """On producer keys prev_kv is absent."""
    a = await world.connect()
    await a.put("/q/jobs/p/k", "x")
    assert not (await a.put("/q/jobs/p/k", "y", prev_kv=True)).HasField("prev_kv")


@transcript
async def test_index_of_other_length(world: World) -> None:
    """A number that is no index of ours names no job: 0, and no error."""
    a = await world.connect()
    for index in ("1", "0" * 16, "9" * 16, "1" * 17, "1" * 40):
        assert await a.delete(f"/q/jobs/{index}/k") == 0
        assert await a.get(f"/q/jobs/{index}/k") is None
        assert await a.delete(f"/q/jobs/c/{ONE}/{index}/k") == 0


@transcript
async def test_range_of_a_consumer_key_form_is_no_consumer(world: World) -> None:
    """A consumer key with range_end is a range watch, and creates no queue."""
    a = await world.connect()
    for end in (f"/q/jobs/c/{ONE}0", "\0", f"/q/jobs/c/{ONE}\0"):
        await a.watch(f"/q/jobs/c/{ONE}", end)
    assert (await a.queues("List")).queues == []
