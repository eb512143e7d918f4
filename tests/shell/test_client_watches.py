"""Watches and consumers of the client library over lost connections, on the mock clock.

Node and proxies run in this process, so the autojump clock holds.
"""

import pytest
import trio
from trio.testing import MockClock

import etcdq
from etcdq.client.stream import WatchStream
from etcdq.client.watch import KeysPlan
from tests.support.proxy import behind_proxy


async def test_watch_goes_on(autojump_clock: MockClock) -> None:
    """Across cuts and outages a watch gives every change once, in order."""
    async with behind_proxy() as (proxy, client, direct), client.watch("k", prefix=True) as events:
        expected = []
        for round_number in range(4):
            if round_number == 2:
                await proxy.refuse()
            for number in range(3):
                expected.append(await direct.put(f"k{number}", str(round_number)))
            if round_number == 2:
                await proxy.listen()
            await proxy.cut()
        seen = [(await anext(events)).kv.mod_revision for _ in expected]

        assert seen == expected
        with trio.move_on_after(60) as scope:
            await anext(events)
        assert scope.cancelled_caught


async def test_watch_cut_before_its_first_event(autojump_clock: MockClock) -> None:
    """A watch from now on means from its `created` on, also when the connection breaks then."""
    async with behind_proxy() as (proxy, client, direct), client.watch("k") as events:
        await proxy.refuse()
        await direct.put("k", "while nobody looked")
        await proxy.listen()

        assert (await anext(events)).kv.value == b"while nobody looked"


async def test_consumer_comes_back(autojump_clock: MockClock) -> None:
    """It registers under its UUID again, acknowledges what it had, and gets what came since."""
    async with behind_proxy() as (proxy, client, direct):
        queue = direct.queue("jobs")
        await queue.put("before")
        async with client.queue("jobs").consume() as messages:
            before = await anext(messages)
            await proxy.refuse()
            await queue.put("meanwhile")
            await proxy.listen()
            meanwhile = await anext(messages)

            assert (before.body, meanwhile.body) == (b"before", b"meanwhile")
            statistics = await queue.statistics()
            assert [one.uuid for one in statistics.consumers] == [str(messages.consumer)]
            assert [await before.ack(), await meanwhile.ack(), await before.ack()] == [
                True,
                True,
                False,
            ]
            assert (await queue.statistics()).summary.buried == 0


async def test_a_server_that_vanished_is_noticed(autojump_clock: MockClock) -> None:
    """A connection that is silent, and not closed, is given up when a ping is not answered."""
    async with (
        behind_proxy() as (proxy, client, direct),
        client.queue("jobs").consume() as messages,
    ):
        proxy.hold()
        await trio.sleep(25)
        assert proxy.connections == 2
        await direct.queue("jobs").put("x")

        with trio.fail_after(60):
            assert (await anext(messages)).body == b"x"


async def test_what_was_read_ahead_survives_a_cut(autojump_clock: MockClock) -> None:
    """Messages that had arrived before the cut are given to the application, and acknowledged."""
    async with behind_proxy() as (proxy, client, direct):
        await direct.queue("jobs").put_many(["a", "b", "c"])
        async with client.queue("jobs").consume() as messages:
            first = await anext(messages)
            await proxy.cut()
            rest = [await anext(messages), await anext(messages)]

            assert [one.body for one in (first, *rest)] == [b"a", b"b", b"c"]
            assert all([await one.ack() for one in (first, *rest)])


async def test_many_consumers_over_one_connection(autojump_clock: MockClock) -> None:
    """300 consumers of one client, each on a stream of its own, are all served."""
    acknowledged: list[bool] = []

    async def consume(client: etcdq.Client, number: int) -> None:
        async with client.queue(f"jobs-{number}").consume() as messages:
            acknowledged.append(await (await anext(messages)).ack())

    async with (
        etcdq.open_node() as node,
        etcdq.connect(node.endpoint, timeout_s=60) as client,
        trio.open_nursery() as nursery,
    ):
        for number in range(300):
            nursery.start_soon(consume, client, number)
            nursery.start_soon(client.queue(f"jobs-{number}").put, "x")

    assert acknowledged == [True] * 300


async def test_consumer_is_replaced(autojump_clock: MockClock) -> None:
    """A second consumer with the same UUID takes over; the first one does not fight for it."""
    async with etcdq.open_node() as node, etcdq.connect(node.endpoint) as client:
        queue = client.queue("jobs")
        async with queue.consume() as first, queue.consume(first.consumer) as second:
            with pytest.raises(etcdq.ConsumerReplacedError, match=str(first.consumer)):
                await anext(first)
            with pytest.raises(etcdq.ConsumerReplacedError):
                await anext(first)
            await queue.put("x")
            assert (await anext(second)).body == b"x"


async def test_consumer_without_server_keeps_trying(autojump_clock: MockClock) -> None:
    """An outage of an hour is survived, with attempts at most every CAP_S."""
    async with (
        behind_proxy() as (proxy, client, direct),
        client.queue("jobs").consume() as messages,
    ):
        await proxy.refuse()
        await trio.sleep(3600)
        await proxy.listen()
        back_s = trio.current_time()
        await direct.queue("jobs").put("x")

        assert (await anext(messages)).body == b"x"
        assert trio.current_time() - back_s <= 10


async def test_reading_ahead_is_bounded(autojump_clock: MockClock) -> None:
    """Even with no credit limit, an application that does not iterate is not buried in messages."""
    async with (
        etcdq.open_node(consumer_credit="0") as node,
        etcdq.connect(node.endpoint) as client,
        etcdq.connect(node.endpoint) as producer,
        client.queue("jobs").consume() as messages,
    ):
        bodies = [str(number).encode() for number in range(3000)]
        await producer.queue("jobs").put_many(bodies)

        assert messages._stream._buffered < 3000
        assert [(await anext(messages)).body for _ in bodies] == bodies


async def test_leaving_while_the_connection_is_lost(autojump_clock: MockClock) -> None:
    """A watch ends at once, though grpclib takes both cancellations for a lost connection."""
    async with etcdq.open_node() as node, etcdq.connect(node.endpoint) as client:
        transport = client._transport
        stream = WatchStream(transport, KeysPlan(b"k", b"", 0, prev_kv=False))
        await stream.open()

        async def lose_and_stop() -> None:
            for channel in transport._channels:
                channel.close()
            await stream._stop()

        with trio.fail_after(1):
            await transport.run(lose_and_stop)
