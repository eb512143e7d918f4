"""The blocking client at real servers: threads, forks, loops, and servers that die or stop."""

import asyncio
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
import trio

import etcdq
from etcdq import beanstalk
from etcdq.beanstalk import UNKNOWN, BlockingClient, Inserted
from tests.support.mortal_server import KINDS, MortalServer, run_mortal_server
from tests.support.proxy import open_proxy

WaitUntil = Callable[[Callable[[], object]], None]

SHORT_S = 0.3
MAY_FORK = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")


@pytest.fixture
def client(beanstalk_address: str) -> Iterator[BlockingClient]:
    """A client that a test has for itself."""
    with BlockingClient(beanstalk_address) as client:
        yield client


@pytest.fixture(params=KINDS)
def mortal(request: pytest.FixtureRequest) -> Iterator[MortalServer]:
    """A server that a test may kill."""
    with run_mortal_server(request.param) as server:
        yield server


def connections(client: BlockingClient) -> int:
    """Return how many connections the server has."""
    return client.stats().count("current-connections")


def test_life_of_a_job(client: BlockingClient, tube: str) -> None:
    """Put, reserve, touch, release, bury, kick, peek, delete: each does what its name says."""
    inserted = client.put(tube, b"\r\nbody\0", priority=7, ttr_s=30)
    assert inserted == Inserted(inserted.job_id)
    with pytest.raises(beanstalk.TimedOutError):
        client.reserve("another-tube")

    job = client.reserve(tube)
    assert (job.job_id, job.body) == (inserted.job_id, b"\r\nbody\0")
    client.touch(job.job_id)
    client.release(job.job_id, priority=5)
    assert client.stats_job(job.job_id).count("pri") == 5
    assert client.reserve([tube, "another-tube"], 1) == job
    client.bury(job.job_id)
    assert client.kick(tube) == 1
    assert client.peek(job.job_id) == job
    assert tube in client.list_tubes()
    assert client.stats_tube(tube).text("name") == tube
    client.delete(job.job_id)
    with pytest.raises(beanstalk.NotFoundError):
        client.peek(job.job_id)


def test_depths(client: BlockingClient, tube: str) -> None:
    """Ready jobs are counted, and a tube that is not there has none."""
    assert client.reachable()
    before = client.queue_depth()
    assert client.queue_depth(tube) == 0
    for _ in range(3):
        client.put(tube, b"x")
    client.put(tube, b"x", delay_s=100)

    assert client.queue_depth(tube) == client.queue_depths()[tube] == 3
    assert client.queue_depth() == before + 3
    assert client.queue_depths().known


def test_twenty_threads(client: BlockingClient, tube: str) -> None:
    """Threads put and take at once: each job comes once, to one of them."""
    taken: list[bytes] = []

    def produce(number: int) -> None:
        for place in range(50):
            client.put(tube, b"%d-%d" % (number, place))

    def consume(_: int) -> None:
        for _ in range(50):
            job = client.reserve(tube, 20)
            client.delete(job.job_id)
            taken.append(job.body)

    with ThreadPoolExecutor(20) as pool:
        produced, consumed = pool.map(produce, range(10)), pool.map(consume, range(10))
        list(produced)
        list(consumed)
    assert sorted(taken) == sorted(b"%d-%d" % (n, p) for n in range(10) for p in range(50))


def test_threads_that_come_and_go(client: BlockingClient, tube: str, wait_until: WaitUntil) -> None:
    """What a thread opened is closed when it ends, on this side and at the server."""
    before, open_files = connections(client), len(os.listdir("/proc/self/fd"))
    for _ in range(50):
        threads = [threading.Thread(target=client.put, args=(tube, b"x")) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(os.listdir("/proc/self/fd")) == open_files
    wait_until(lambda: connections(client) == before)
    assert client.queue_depth(tube) == 200


@MAY_FORK
def test_forked_children(client: BlockingClient, tube: str) -> None:
    """Children of a program that has a connection put on their own; the parent's goes on."""
    client.put(tube, b"parent")
    job = client.reserve(tube)
    children = []
    for number in range(4):
        child = os.fork()
        if child == 0:
            try:
                for _ in range(25):
                    client.put(tube, b"child %d" % number)
                client.close()
                os._exit(0)
            finally:
                os._exit(1)
        children.append(child)
    for _ in range(25):
        client.put(tube, b"parent")
    ended = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]

    assert ended == [0] * 4
    assert client.queue_depth(tube) == 125
    client.delete(job.job_id)  # still held: no child has ended the parent's connection


def test_beside_an_asyncio_loop(client: BlockingClient, tube: str) -> None:
    """Threads of an asyncio program use it as any others do."""

    async def program() -> list[Inserted]:
        puts = [asyncio.to_thread(client.put, tube, b"x") for _ in range(20)]
        return await asyncio.gather(*puts)

    assert len({each.job_id for each in asyncio.run(program())}) == 20


async def test_beside_a_trio_loop(beanstalk_address: str, tube: str) -> None:
    """While this loop's own client waits, a thread puts what it waits for."""
    async with beanstalk.connect(beanstalk_address) as waiting:
        await waiting.watch(tube)
        with BlockingClient(beanstalk_address) as client:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(trio.to_thread.run_sync, partial(client.put, tube, b"x"))
                with trio.fail_after(20):
                    assert (await waiting.reserve()).body == b"x"


def test_killed_and_restarted_between_puts(mortal: MortalServer) -> None:
    """No put fails because the server was another one a moment ago."""
    with BlockingClient(mortal.address) as client:
        for _ in range(3):
            client.put("mail", b"x")
            mortal.kill()
            mortal.start()
        client.put("mail", b"x")
        assert client.queue_depth("mail") == 1


def test_killed_and_gone(mortal: MortalServer) -> None:
    """A put says so at once; what looks sees no empty queue; a restart is noticed."""
    with BlockingClient(mortal.address) as client:
        client.put("mail", b"x")
        mortal.kill()
        with pytest.raises(etcdq.NotConnectedError):
            client.put("mail", b"x")
        assert not client.reachable()
        assert client.queue_depth("mail") is UNKNOWN
        assert client.queue_depths()["mail"] is UNKNOWN

        mortal.start()
        assert client.reachable()
        assert client.queue_depth("mail") == 0


def test_stopped(mortal: MortalServer) -> None:
    """A server that only hangs holds nobody up longer than the deadline."""
    with BlockingClient(mortal.address, timeout_s=SHORT_S) as client:
        client.put("mail", b"x")
        mortal.stop()
        with pytest.raises(etcdq.DeadlineExceededError):
            client.put("mail", b"x")
        assert not client.reachable()
        assert client.queue_depth("mail") is UNKNOWN
        mortal.go_on()
        assert client.reachable()


def test_killed_while_a_reserve_waits(mortal: MortalServer, wait_until: WaitUntil) -> None:
    """The reserve is made again on the new server, with its tube watched there."""
    with BlockingClient(mortal.address) as client, ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(client.reserve, "mail", 30)
        with BlockingClient(mortal.address) as other:
            wait_until(lambda: other.stats().count("current-waiting"))
        assert not waiting.done()
        mortal.kill()
        with pytest.raises(etcdq.ConnectionLostError):
            waiting.result(20)  # lost, and nobody there a moment later

        mortal.start()
        with BlockingClient(mortal.address) as other:
            other.put("mail", b"x")
        assert pool.submit(client.reserve, "mail", 5).result(20).body == b"x"


async def test_a_proxy_that_goes_silent(beanstalk_address: str, tube: str) -> None:
    """A peer that vanished without a word is left after the deadline, and put to anew."""
    async with open_proxy(beanstalk_address) as proxy:
        with BlockingClient(proxy.endpoint, timeout_s=SHORT_S) as client:
            # Always the same thread: a connection belongs to one.
            limiter = trio.CapacityLimiter(1)

            async def put() -> Inserted:
                return await trio.to_thread.run_sync(client.put, tube, b"x", limiter=limiter)

            await put()
            proxy.hold()
            with pytest.raises(etcdq.DeadlineExceededError):
                await put()
            await put()
            await proxy.cut()
            await put()
        await proxy.cut()
