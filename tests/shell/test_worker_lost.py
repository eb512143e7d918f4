"""Jobs that end their workers, and reservations that are lost, under the autojump clock."""

import trio

from etcdq.worker import ReservedJob, TriesUsedUpError
from tests.support.beanstalk_world import BeanstalkWorld, with_a_node
from tests.support.worker_world import (
    Noting,
    Slow,
    Working,
    at_work,
    client_of,
    job_of,
    put,
    settle,
)

# jobs that end their workers ----------------------------------------------------------------


async def vanish_with_a_job(world: BeanstalkWorld) -> None:
    """Be a worker that is killed while it has the next job."""
    async with client_of(world) as client:
        await client.watch("t")
        await client.ignore("default")
        await client.reserve(0)


@with_a_node
async def test_job_that_killed_its_workers_is_given_up_unrun(world: BeanstalkWorld) -> None:
    """After so many workers vanished with it, the next one does not run it."""
    consumer = Noting()
    async with client_of(world) as client:
        (job_id,) = await put(client, b"poison")
        for _ in range(consumer.tries_max):
            await vanish_with_a_job(world)
        async with at_work(world, consumer) as working:
            assert consumer.seen == []
            ((body, error),) = consumer.given_up
            assert (body, str(error)) == (b"poison", "5 workers vanished while they had it")
            assert isinstance(error, TriesUsedUpError)
            assert await job_of(client, job_id) is None
            assert (working.figures.given_up, working.figures.failed) == (1, 0)


@with_a_node
async def test_suspects_run_alone(world: BeanstalkWorld) -> None:
    """Jobs whose worker vanished are run with nothing else in hand: the innocent are spared."""
    held: list[int] = []

    class Looking(Noting):
        async def process(self, job: ReservedJob) -> None:
            await super().process(job)
            held.append((await observer.stats_tube("t")).count("current-jobs-reserved"))

    consumer = Looking()
    async with client_of(world) as client, client_of(world) as observer:
        ids = await put(client, b"a", b"b", b"c", b"d")
        async with client_of(world) as killed:
            await killed.watch("t")
            await killed.reserve_batch(3)
        async with at_work(world, consumer):
            assert consumer.seen == [b"d", b"a", b"b", b"c"]
            assert held[1:] == [1, 1, 1]
            assert [await job_of(client, each) for each in ids] == [None] * 4


# reservations that are lost (C68) -----------------------------------------------------------


async def lose(working: Working) -> None:
    """Let no touch reach the server, from now on."""
    working.wire.swallow = b"touch"
    await settle()


@with_a_node
async def test_lost_job_is_cancelled_and_counted_apart(world: BeanstalkWorld) -> None:
    """Who lost a job neither deletes nor releases it: the one who took over does."""
    first, second = Slow(), Slow()
    async with client_of(world) as client, at_work(world, first) as loser:
        (job_id,) = await put(client, b"a", ttr_s=2)
        await settle()
        await lose(loser)
        async with at_work(world, second) as winner:
            await trio.sleep(30)

        assert (first.seen, second.seen) == ([b"a"], [b"a"])
        assert (loser.figures.lost, loser.figures.done, loser.figures.failed) == (1, 0, 0)
        assert (winner.figures.lost, winner.figures.done) == (0, 1)
        lines = [line.split()[0] for line in loser.place.wires[0].sent]
        assert not {b"delete", b"release", b"bury"} & set(lines)
        assert await job_of(client, job_id) is None


@with_a_node
async def test_touch_says_that_a_job_is_gone(world: BeanstalkWorld) -> None:
    """A job that is deleted by somebody else ends its run, and the next one begins."""
    ended: list[str] = []

    class Telling(Slow):
        async def process(self, job: ReservedJob) -> None:
            try:
                await super().process(job)
            except trio.Cancelled:
                ended.append(f"{job.is_lost} {job.is_valid}")
                raise

    consumer = Telling()
    async with client_of(world) as client, at_work(world, consumer) as working:
        await put(client, b"a", b"b", ttr_s=6)
        await settle()
        await client.flush_tube("t")
        await trio.sleep(3)

        assert ended == ["True False"]
        assert consumer.seen == [b"a"]
        assert (working.figures.lost, working.figures.running) == (2, 0)
        await put(client, b"c")
        await trio.sleep(11)
        assert working.figures.done == 1


@with_a_node
async def test_reservation_that_ended_before_the_delete(world: BeanstalkWorld) -> None:
    """A run that finished too late is not counted as done."""

    class Deleted(Noting):
        async def process(self, job: ReservedJob) -> None:
            await super().process(job)
            await observer.flush_tube("t")

    consumer = Deleted()
    async with client_of(world) as client, client_of(world) as observer:
        await put(client, b"a")
        async with at_work(world, consumer) as working:
            await settle()

            assert consumer.seen == [b"a"]
            assert (working.figures.lost, working.figures.done) == (1, 0)
