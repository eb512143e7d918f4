"""Every call of the beanstalk client, against a real beanstalkd and against our node."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio

from etcdq import beanstalk
from etcdq.beanstalk import Client, DeletedBatch, Inserted, Job, ReserveMode
from tests.support.processes import run_etcdq

Call = Callable[[Client], Awaitable[object]]


@asynccontextmanager
async def connected(address: str, tube: str) -> AsyncIterator[Client]:
    """Give a client that uses and watches one tube only."""
    async with beanstalk.connect(address) as client:
        await client.use(tube)
        assert await client.watch(tube) == 2
        assert await client.ignore("default") == 1
        yield client


async def is_tuber(client: Client) -> bool:
    """Whether the server speaks tuber's dialect."""
    return "current-concurrency-keys" in await client.stats()


async def test_life_of_a_job(beanstalk_address: str, tube: str) -> None:
    """Put, peek, reserve, touch, release, bury, kick, delete: each does what its name says."""
    async with connected(beanstalk_address, tube) as client:
        inserted = await client.put(b"\r\nbody\0", priority=7, delay_s=0, ttr_s=30)
        job = Job(inserted.job_id, b"\r\nbody\0")

        assert inserted == Inserted(job.job_id)
        assert await client.peek(job.job_id) == await client.peek_ready() == job
        assert await client.reserve(0) == job
        await client.touch(job.job_id)
        await client.release(job.job_id, priority=5, delay_s=100)
        assert await client.peek_delayed() == job
        await client.kick_job(job.job_id)
        assert await client.reserve_job(job.job_id) == job
        await client.bury(job.job_id, priority=3)
        assert await client.peek_buried() == job
        figures = await client.stats_job(job.job_id)
        assert (figures.text("tube"), figures["state"], figures["pri"]) == (tube, "buried", 3)
        assert await client.kick(10) == 1
        await client.delete(job.job_id)
        with pytest.raises(beanstalk.NotFoundError):
            await client.peek(job.job_id)


async def test_unix_socket(tmp_path: Path) -> None:
    """A server may be reached by a path."""
    address = f"unix:{tmp_path}/q.sock"
    with run_etcdq("--listen-beanstalk", address):
        async with beanstalk.connect(address) as client:
            assert await client.list_tubes() == ["default"]
            assert client.address == f"unix://{tmp_path}/q.sock"


async def test_order_and_tubes(beanstalk_address: str, tube: str) -> None:
    """The smallest priority leaves first, then the oldest; tubes are listed by their names."""
    async with connected(beanstalk_address, tube) as client:
        puts = await client.put_many([b"a", b"b", b"c"], priority=10)
        urgent = await client.put(b"u", priority=9)
        order = [(await client.reserve(0)).body for _ in range(4)]

        assert all(isinstance(put, Inserted) for put in puts)
        assert isinstance(urgent, Inserted)
        assert order == [b"u", b"a", b"b", b"c"]
        assert tube in await client.list_tubes()
        assert await client.list_tubes_watched() == [tube]
        assert (await client.stats_tube(tube)).count("current-jobs-reserved") == 4
        tubes = await client.stats_tubes()
        assert tubes[tube].text("name") == tube
        assert {"default", tube} <= set(tubes)


async def test_refusals(beanstalk_address: str, tube: str) -> None:
    """Each refusal is its class, and the connection goes on."""
    async with connected(beanstalk_address, tube) as client:
        with pytest.raises(beanstalk.TimedOutError):
            await client.reserve(0)
        with pytest.raises(beanstalk.NotIgnoredError):
            await client.ignore(tube)
        with pytest.raises(beanstalk.JobTooBigError):
            await client.put(b"x" * 65_536)
        calls: list[Call] = [
            lambda client: client.touch(1),
            lambda client: client.reserve_job(2**64 - 1),
            lambda client: client.peek_delayed(),
            lambda client: client.stats_tube("never-used"),
            lambda client: client.pause_tube("never-used", 1),
        ]
        for call in calls:
            with pytest.raises(beanstalk.NotFoundError):
                await call(client)
        assert (await client.put(b"x" * 65_535)).job_id > 0


async def test_what_is_ready_with_the_first(beanstalk_address: str, tube: str) -> None:
    """One job is waited for, the others come with it; a beanstalkd is asked one by one."""
    async with connected(beanstalk_address, tube) as client:
        with pytest.raises(beanstalk.TimedOutError):
            await client.reserve_up_to(3, 0)
        for left in ([b"a", b"b", b"c"], [b"d", b"e"]):
            await client.put_many(left)
            assert [job.body for job in await client.reserve_up_to(3, 0)] == left
        assert (await client.stats_tube(tube)).count("current-jobs-reserved") == 5


async def test_deadline_soon(beanstalk_address: str, tube: str) -> None:
    """Who waits while a job it holds is about to expire is told so."""
    async with connected(beanstalk_address, tube) as client:
        await client.put(b"x", ttr_s=1)
        job = await client.reserve(0)

        with pytest.raises(beanstalk.DeadlineSoonError):
            await client.reserve(10)
        await client.delete(job.job_id)


async def test_pause(beanstalk_address: str, tube: str) -> None:
    """A paused tube hands out nothing, until the pause is ended."""
    async with connected(beanstalk_address, tube) as client:
        await client.put(b"x")
        await client.pause_tube(tube, 1000)
        with pytest.raises(beanstalk.TimedOutError):
            await client.reserve(0)

        await client.pause_tube(tube, 0)

        assert (await client.reserve(5)).body == b"x"


async def test_cancelled_reserve_loses_no_job(beanstalk_address: str, tube: str) -> None:
    """What answers a cancelled reserve is there for the next one, with its own priority."""
    async with (
        connected(beanstalk_address, tube) as client,
        connected(beanstalk_address, tube) as producer,
    ):
        with trio.move_on_after(0.05) as scope:
            await client.reserve(60)
        assert scope.cancelled_caught
        inserted = await producer.put(b"x", priority=17)

        job = await client.reserve(60)

        assert job.job_id == inserted.job_id
        figures = await client.stats_job(job.job_id)
        assert (figures["pri"], figures["reserves"], figures["releases"]) == (17, 2, 1)


async def test_leaving_gives_back(beanstalk_address: str, tube: str) -> None:
    """What a connection holds is ready for others when its block is left."""
    async with connected(beanstalk_address, tube) as other:
        async with connected(beanstalk_address, tube) as client:
            await client.put(b"x")
            job = await client.reserve(0)
        assert await other.reserve(10) == job


async def test_tasks_share_a_connection(beanstalk_address: str, tube: str) -> None:
    """Many tasks at once, some of which are cancelled: each of the others has its own answer."""
    async with connected(beanstalk_address, tube) as client:
        found: dict[int, bytes] = {}

        async def put_and_look(number: int) -> None:
            inserted = await client.put(b"%d" % number)
            found[number] = (await client.peek(inserted.job_id)).body

        async def look_and_leave() -> None:
            with trio.move_on_after(0.001):
                await client.stats()

        async with trio.open_nursery() as nursery:
            for number in range(200):
                nursery.start_soon(put_and_look, number)
                nursery.start_soon(look_and_leave)

        assert found == {number: b"%d" % number for number in range(200)}
        assert await client.kick(1) == 0


async def test_dialect(beanstalk_address: str, tube: str) -> None:
    """Batches, weights, groups, tags: tuber's commands on a server that has them."""
    async with connected(beanstalk_address, tube) as client:
        if not await is_tuber(client):
            return
        first = await client.put(b"1", priority=9, idp="k", grp="g" + tube, con="c" + tube + ":9")
        again = await client.put(b"2", priority=4, idp="k")
        await client.put_many([b"3", b"4"], aft="g" + tube)

        assert again == Inserted(first.job_id, "READY", 4)
        assert (await client.stats_group("g" + tube)).count("waiting-jobs") == 2
        assert await client.watch(tube, 5) == 1
        await client.reserve_mode(ReserveMode.WEIGHTED_FAIR)
        await client.reserve_mode(ReserveMode.FIFO)
        batch = await client.reserve_batch(10)
        assert [job.body for job in batch] == [b"1"]
        assert await client.peek_reserved() == batch[0]
        assert await client.delete_batch([first.job_id, 2**63]) == DeletedBatch(1, 1)
        assert [job.body for job in await client.reserve_batch(10)] == [b"3", b"4"]
        assert await client.flush_tube(tube) == 2
        assert await client.reserve_batch(10) == ()


async def test_draining(beanstalk_address: str, tube: str) -> None:
    """A draining server refuses puts, and takes them again when it is undrained."""
    async with connected(beanstalk_address, tube) as client:
        if not await is_tuber(client):
            return
        await client.drain()
        try:
            with pytest.raises(beanstalk.DrainingError):
                await client.put(b"x")
            outcomes = await client.put_many([b"x", b"y"])
            assert [type(each) for each in outcomes] == [beanstalk.DrainingError] * 2
        finally:
            await client.undrain()
        assert (await client.put(b"x")).job_id > 0


async def test_dialect_of_a_plain_beanstalkd(beanstalk_address: str, tube: str) -> None:
    """A server without tuber's commands is told as such, command by command, in step."""
    async with connected(beanstalk_address, tube) as client:
        if await is_tuber(client):
            return
        calls: list[Call] = [
            lambda client: client.put(b"list-tubes", con="k"),
            lambda client: client.put_many([b"list-tubes"], idp="k"),
            lambda client: client.watch(tube, 5),
            lambda client: client.reserve_mode(ReserveMode.WEIGHTED),
            lambda client: client.reserve_batch(10),
            lambda client: client.delete_batch(range(2**63, 2**63 + 1000)),
            lambda client: client.peek_reserved(),
            lambda client: client.flush_tube(tube),
            lambda client: client.stats_group("g"),
            lambda client: client.drain(),
            lambda client: client.undrain(),
        ]
        for call in calls:
            with pytest.raises(beanstalk.UnsupportedError):
                await call(client)
            assert await client.list_tubes_watched() == [tube]
