"""The client library against servers in processes of their own: ours, and the real etcd."""

import random
from pathlib import Path
from uuid import UUID

import pytest
import trio

import etcdq
from etcdq import EventKind, JobState
from tests.support.processes import free_port, run_etcdq
from tests.support.proxy import open_proxy

TIME_LIMIT_S = 60.0


@pytest.fixture(params=["ours", pytest.param("real_etcd", marks=pytest.mark.peer)])
def server(request: pytest.FixtureRequest) -> str:
    """Ours and the real one, for what both must do."""
    endpoint: str = request.getfixturevalue(request.param)
    return endpoint


# keys, on both ----------------------------------------------------------------------------------


async def test_put_get_delete(server: str) -> None:
    """One key: its revisions count, old ones can be read, deletes count."""
    async with etcdq.connect(server) as client:
        first = await client.put("one", "1")
        second = await client.put(b"one", b"2")
        now = await client.get("one")

        assert second == first + 1 == now.revision
        assert now.first == etcdq.KeyValue(b"one", b"2", first, second, 2)
        old = await client.get("one", revision=first)
        assert old.first is not None
        assert old.first.value == b"1"
        assert [await client.delete("one"), await client.delete("one")] == [1, 0]
        assert (await client.get("one")).first is None


async def test_ranges(server: str) -> None:
    """Ranges, prefixes and limits, in key order."""
    async with etcdq.connect(server) as client:
        for name in ("r/a", "r/b", "r/c", "r0"):
            await client.put(name, name)

        listed = await client.get("r/", prefix=True)
        assert [kv.key for kv in listed] == [b"r/a", b"r/b", b"r/c"]
        assert (listed.count, listed.more, len(listed)) == (3, False, 3)
        limited = await client.get("r/", prefix=True, limit=2)
        assert ([kv.key for kv in limited], limited.count, limited.more) == (
            [b"r/a", b"r/b"],
            3,
            True,
        )
        between = await client.get("r/b", range_end="r0")
        assert [kv.key for kv in between] == [b"r/b", b"r/c"]
        assert await client.delete("r/a", range_end="r/c") == 2
        assert await client.delete("r", prefix=True) == 2


async def test_refusals(server: str) -> None:
    """What the server refuses has its class and the server's words."""
    async with etcdq.connect(server) as client:
        with pytest.raises(etcdq.OutOfRangeError, match="future revision"):
            await client.get("k", revision=2**40)
        with pytest.raises(etcdq.InvalidArgumentError, match="key is not provided"):
            await client.put("", "v")
        with pytest.raises(etcdq.InvalidArgumentError, match="request is too large"):
            await client.put("k", bytes(1_600_000))
        with pytest.raises(etcdq.NotFoundError, match="lease not found"):
            await client.put("k", "v", lease=77)


async def test_watch(server: str) -> None:
    """Each change of a range once, in order, with what was before."""
    async with (
        etcdq.connect(server) as client,
        client.watch("w/", prefix=True, prev_kv=True) as events,
    ):
        with trio.fail_after(TIME_LIMIT_S):
            await client.put("w/a", "1")
            await client.put("not-w", "1")
            await client.put("w/a", "2")
            await client.delete("w/a")
            seen = [await anext(events) for _ in range(3)]

        assert [event.kind for event in seen] == [EventKind.PUT, EventKind.PUT, EventKind.DELETE]
        assert [event.kv.value for event in seen] == [b"1", b"2", b""]
        assert [event.prev_kv and event.prev_kv.value for event in seen] == [None, b"1", b"2"]


async def test_watch_from_a_revision(server: str) -> None:
    """A watch can begin in the past."""
    async with etcdq.connect(server) as client:
        revisions = [await client.put("past", str(number)) for number in range(5)]
        async with client.watch("past", start_revision=revisions[2]) as events:
            with trio.fail_after(TIME_LIMIT_S):
                seen = [await anext(events) for _ in range(3)]

        assert [event.kv.mod_revision for event in seen] == revisions[2:]


async def test_watch_over_cuts(server: str, seed: int) -> None:
    """A connection that breaks again and again loses and repeats nothing."""
    rng = random.Random(seed)
    async with (
        open_proxy(server) as proxy,
        etcdq.connect(proxy.endpoint, rng=rng) as client,
        etcdq.connect(server) as direct,
        client.watch("cut/", prefix=True) as events,
    ):
        expected: list[int] = []
        seen: list[int] = []
        with trio.fail_after(TIME_LIMIT_S):
            for _ in range(10):
                for number in range(rng.randrange(1, 8)):
                    expected.append(await direct.put(f"cut/{number}", "x"))
                await proxy.cut()
                while len(seen) < rng.randrange(len(expected) + 1):
                    seen.append((await anext(events)).kv.mod_revision)
            while len(seen) < len(expected):
                seen.append((await anext(events)).kv.mod_revision)

        assert seen == expected
        assert proxy.connections > 2


@pytest.mark.peer
async def test_a_plain_etcd_has_no_queues(real_etcd: str) -> None:
    """What only our server has is refused by its name, and not mistaken for something else."""
    async with etcdq.connect(real_etcd) as client:
        with pytest.raises(etcdq.UnsupportedError, match=r"etcdq\.v1\.Queues"):
            await client.queues()
        consumer = UUID(int=7)
        async with client.queue("jobs").consume(consumer) as messages:
            await client.put(f"/q/jobs/c/{consumer}", "x")
            with trio.fail_after(TIME_LIMIT_S), pytest.raises(etcdq.RemoteProtocolError):
                await anext(messages)


# queues, on ours --------------------------------------------------------------------------------


async def test_put_consume_acknowledge(ours: str) -> None:
    """The way of a message: put, handed over once, acknowledged once."""
    async with etcdq.connect(ours) as client:
        queue = client.queue("way")
        assert await queue.put("payload", "job-1") == b"job-1"
        drawn = await queue.put(b"\x00\xff")
        assert UUID(drawn.decode()).version == 4

        async with queue.consume() as messages:
            with trio.fail_after(TIME_LIMIT_S):
                first, second = await anext(messages), await anext(messages)

        assert (first.body, first.key) == (b"payload", b"job-1")
        assert (second.body, second.key) == (b"\x00\xff", drawn)
        assert second.index == first.index + 1
        assert first.delivery_key == f"/q/way/{first.index:016}/job-1".encode()
        assert [await first.ack(), await first.ack(), await second.ack()] == [True, False, True]


async def test_put_many_keeps_the_order(ours: str, seed: int) -> None:
    """Pipelined puts of all sizes arrive in their order."""
    rng = random.Random(seed)
    bodies = [bytes(rng.choice((0, 10, 1000, 70_000))) + b"%d" % n for n in range(400)]
    async with etcdq.connect(ours, timeout_s=30) as client:
        queue = client.queue("order")
        keys = await queue.put_many(bodies)

        async with queue.consume() as messages:
            with trio.fail_after(TIME_LIMIT_S):
                for key, body in zip(keys, bodies, strict=True):
                    message = await anext(messages)
                    assert (message.key, message.body) == (key, body)
                    assert await message.ack()


async def test_put_many_fails_as_its_first_failure(ours: str) -> None:
    """One body is too large: the error is of that one, and what came before it is there."""
    async with etcdq.connect(ours) as client:
        queue = client.queue("half")
        with pytest.raises(etcdq.InvalidArgumentError, match="too large"):
            await queue.put_many([b"a", b"b", bytes(1_600_000), *[b"c"] * 1000])

        jobs = await queue.peek(limit=2000)
        assert [job.body for job in jobs[:2]] == [b"a", b"b"]
        assert len(jobs) < 1002


async def test_tasks_share_a_consumer(ours: str) -> None:
    """Several tasks iterate over the messages of one consumer; each gets its own."""
    taken: list[bytes] = []

    async def work(messages: etcdq.Messages) -> None:
        async for message in messages:
            taken.append(message.body)
            assert await message.ack()
            if len(taken) == 200:
                nursery.cancel_scope.cancel()

    async with etcdq.connect(ours) as client:
        queue = client.queue("shared")
        await queue.put_many([str(number) for number in range(200)])
        with trio.fail_after(TIME_LIMIT_S):
            async with queue.consume() as messages, trio.open_nursery() as nursery:
                for _ in range(8):
                    nursery.start_soon(work, messages)

    assert sorted(map(int, taken)) == list(range(200))


async def test_looking_and_tending(ours: str) -> None:
    """Statistics, peek, pause, kick and purge."""
    async with etcdq.connect(ours) as client:
        queue = client.queue("tend")
        with pytest.raises(etcdq.NotFoundError, match="tend"):
            await queue.statistics()
        await queue.put_many(["a", "b", "c"])
        assert [job.body for job in await queue.peek(limit=2)] == [b"a", b"b"]
        async with queue.consume() as messages:
            with trio.fail_after(TIME_LIMIT_S):
                held = [await anext(messages) for _ in range(3)]
            (reserved,) = await queue.peek(JobState.RESERVED)
            assert (reserved.body, reserved.holder) == (b"a", str(messages.consumer))
            statistics = await queue.statistics()
            assert statistics.summary == etcdq.QueueSummary("tend", 0, 3, 0, 0, 1, 1)
            (consumer,) = statistics.consumers
            assert (consumer.uuid, consumer.held_messages) == (str(messages.consumer), 3)
        assert (await queue.statistics()).summary.buried == 3

        assert await queue.kick(2) == 2
        assert [job.body for job in await queue.peek(limit=9)] == [b"a", b"b"]
        assert await held[0].ack() is False, "kicked: its delivery key is an old one"
        assert await held[2].ack() is True, "buried: a late acknowledgement still works"
        await queue.pause(3600)
        assert 3590 < (await queue.statistics()).paused_s <= 3600
        await queue.pause(0)
        assert (await queue.statistics()).paused_s == 0
        assert [await queue.purge(), await queue.purge()] == [2, 0]
        assert "tend" in [one.name for one in await client.queues()]


async def test_wrong_queue_calls(ours: str) -> None:
    """Wrong values are refused before anything is sent."""
    async with etcdq.connect(ours) as client:
        queue = client.queue("wrong")
        with pytest.raises(etcdq.InvalidArgumentError, match="one segment"):
            await queue.put("x", "a/b")
        with pytest.raises(etcdq.InvalidArgumentError, match="limit"):
            await queue.peek(limit=0)
        with pytest.raises(etcdq.InvalidArgumentError, match="bound"):
            await queue.kick(-1)
        with pytest.raises(etcdq.InvalidArgumentError, match="pause_s"):
            await queue.pause(float("inf"))
        with pytest.raises(etcdq.InvalidArgumentError, match="name"):
            client.queue("a/b")
        assert "wrong" not in [one.name for one in await client.queues()]


async def test_full_queue() -> None:
    """A full queue refuses with an error that says to try later; there is room after an ack."""
    with run_etcdq("--max-jobs-per-queue", "1") as endpoint:
        async with etcdq.connect(endpoint) as client:
            queue = client.queue("full")
            await queue.put("a")
            with pytest.raises(etcdq.OverLimitError):
                await queue.put("b")
            async with queue.consume() as messages:
                with trio.fail_after(TIME_LIMIT_S):
                    assert await (await anext(messages)).ack()
            await queue.put("b")


async def test_consumer_over_cuts(ours: str, seed: int) -> None:
    """A connection that breaks again and again: all is acknowledged, nothing twice.

    What had arrived is still acknowledged, what was cut half-way goes back to its place; what was
    taken by the connection and never read is buried, and comes with a kick.
    """
    rng = random.Random(seed)
    acknowledged: list[bytes] = []

    async def work(messages: etcdq.Messages) -> None:
        async for message in messages:
            try:
                if await message.ack():
                    acknowledged.append(message.body)
            except etcdq.UnavailableError:
                pass  # perhaps it was; the server's count knows

    async with (
        open_proxy(ours) as proxy,
        etcdq.connect(proxy.endpoint, rng=rng) as client,
        etcdq.connect(ours) as direct,
    ):
        queue = direct.queue("cuts")
        await queue.put_many([str(number) for number in range(300)])
        with trio.fail_after(TIME_LIMIT_S):
            async with client.queue("cuts").consume() as messages, trio.open_nursery() as nursery:
                nursery.start_soon(work, messages)
                for _ in range(12):
                    await queue.kick(1000)
                    for _ in range(rng.randrange(20)):
                        await queue.statistics()  # meanwhile, messages flow
                    before = proxy.connections
                    await proxy.cut()
                    while proxy.connections == before:
                        await queue.statistics()
                nursery.cancel_scope.cancel()
            await queue.kick(1000)
            async with queue.consume() as messages, trio.open_nursery() as nursery:
                nursery.start_soon(work, messages)
                while (statistics := await queue.statistics()).acknowledged_total < 300:
                    await queue.kick(1000)
                nursery.cancel_scope.cancel()

    assert proxy.connections > 12
    assert len(acknowledged) == len(set(acknowledged))
    assert statistics.puts_total == 300


async def test_server_restarts() -> None:
    """A consumer outlives its server: it registers with the next one on the same port."""
    port = free_port()
    with run_etcdq(port=port) as endpoint:
        connection = etcdq.connect(endpoint, timeout_s=TIME_LIMIT_S)
        client = await connection.__aenter__()
        consuming = client.queue("restart").consume()
        messages = await consuming.__aenter__()
        await client.queue("restart").put("before")
        with trio.fail_after(TIME_LIMIT_S):
            before = await anext(messages)
    with run_etcdq(port=port):
        try:
            with trio.fail_after(TIME_LIMIT_S):
                # By a client that never knew the first server: ours may not have heard of its end.
                async with etcdq.connect(endpoint) as other:
                    await other.queue("restart").put("after")
                after = await anext(messages)
                assert (before.body, after.body) == (b"before", b"after")
                assert [await before.ack(), await after.ack()] == [False, True]
        finally:
            await consuming.__aexit__(None, None, None)
            await connection.__aexit__(None, None, None)


async def test_unix_socket(tmp_path: Path) -> None:
    """A node on a unix socket is reached by its path."""
    async with (
        etcdq.open_node(listen_client_urls=f"unix://{tmp_path}/q.sock") as node,
        etcdq.connect(node.endpoint) as client,
    ):
        assert await client.put("k", "v") == 2
        assert client.endpoint == f"unix://{tmp_path}/q.sock"
