"""The producer that reconnects at real servers that die, stop, and come back."""

from collections.abc import Iterator
from contextlib import suppress
from functools import partial

import pytest
import trio

import etcdq
from etcdq.beanstalk import UNKNOWN, Producer, open_producer
from tests.support.mortal_server import KINDS, MortalServer, run_mortal_server
from tests.support.proxy import open_proxy

SHORT_S = 0.3


@pytest.fixture(params=KINDS)
def mortal(request: pytest.FixtureRequest) -> Iterator[MortalServer]:
    """A server that a test may kill."""
    with run_mortal_server(request.param) as server:
        yield server


async def test_many_tasks_and_tubes(beanstalk_address: str, tube: str) -> None:
    """Tasks that share a producer put each into its own tube."""
    async with open_producer(beanstalk_address) as producer:
        assert producer.address == beanstalk_address
        assert await producer.queue_depth(f"{tube}-0") == 0
        async with trio.open_nursery() as nursery:
            for number in range(300):
                nursery.start_soon(partial(producer.put, f"{tube}-{number % 3}", b"x"))
        depths = await producer.queue_depths()

        assert await producer.reachable()
        assert [depths[f"{tube}-{number}"] for number in range(3)] == [100, 100, 100]
        assert await producer.queue_depth(f"{tube}-0") == 100
        assert await producer.queue_depth() == sum(depths.values())


async def test_killed_and_restarted_between_puts(mortal: MortalServer) -> None:
    """No put fails because the server was another one a moment ago."""
    async with open_producer(mortal.address) as producer:
        for _ in range(3):
            await producer.put("mail", b"x")
            mortal.kill()
            mortal.start()
        await producer.put("mail", b"x")
        assert await producer.queue_depth("mail") == 1


async def test_killed_and_gone(mortal: MortalServer) -> None:
    """A put says so at once; what looks sees no empty queue; a restart is noticed."""
    async with open_producer(mortal.address) as producer:
        await producer.put("mail", b"x")
        mortal.kill()
        with pytest.raises(etcdq.UnavailableError):
            await producer.put("mail", b"x")
        assert not await producer.reachable()
        assert await producer.queue_depth("mail") is UNKNOWN
        assert (await producer.queue_depths())["mail"] is UNKNOWN

        mortal.start()
        assert await producer.reachable()
        assert await producer.queue_depth("mail") == 0


async def test_stopped(mortal: MortalServer) -> None:
    """A server that only hangs holds nobody up longer than the deadline."""
    async with open_producer(mortal.address, timeout_s=SHORT_S) as producer:
        await producer.put("mail", b"x")
        mortal.stop()
        with pytest.raises(etcdq.DeadlineExceededError):
            await producer.put("mail", b"x")
        assert not await producer.reachable()
        mortal.go_on()
        assert await producer.reachable()


async def put_all(producer: Producer, tube: str, seven: trio.MemorySendChannel[None]) -> None:
    """Put a hundred jobs under keys of their own, each until it is acknowledged."""
    async with seven:
        for number in range(100):
            done = False
            while not done:
                with suppress(etcdq.UnavailableError):
                    await producer.put(tube, b"%d" % number, idp=f"{tube}-{number}")
                    done = True
            if number % 7 == 0:
                seven.send_nowait(None)


async def test_once_under_its_key(ours_beanstalk: str, tube: str) -> None:
    """Connections are cut while puts go on; with `idp` each job is there once."""
    seven, sevens = trio.open_memory_channel[None](100)
    async with (
        open_proxy(ours_beanstalk) as proxy,
        open_producer(proxy.endpoint) as producer,
        open_producer(ours_beanstalk) as direct,
        trio.open_nursery() as nursery,
    ):
        nursery.start_soon(put_all, producer, tube, seven)
        async for _ in sevens:
            await proxy.cut()
        assert proxy.connections > 10
        assert await direct.queue_depth(tube) == 100


@pytest.fixture
def ours_beanstalk() -> Iterator[str]:
    """The beanstalk door of our node."""
    with run_mortal_server("etcdq") as server:
        yield server.address


async def test_a_proxy_that_goes_silent(beanstalk_address: str, tube: str) -> None:
    """A peer that vanished without a word is left after the deadline, and put to anew."""
    async with open_proxy(beanstalk_address) as proxy:
        async with open_producer(proxy.endpoint, timeout_s=SHORT_S) as producer:
            await producer.put(tube, b"x")
            proxy.hold()
            with pytest.raises(etcdq.DeadlineExceededError):
                await producer.put(tube, b"x")
            await producer.put(tube, b"x")
            await proxy.cut()
            await producer.put(tube, b"x")
        await proxy.cut()
