"""Consumers on a node in this process, under the autojump clock: runs and failures."""

from typing import ClassVar

import pytest
import trio

from etcdq.worker import DeadLetter, PermanentError, ReservedJob, TubeConsumer
from etcdq.worker.consumer import GiveUp
from tests.support.beanstalk_world import BeanstalkWorld, with_a_node
from tests.support.worker_world import (
    Failing,
    Noting,
    Slow,
    at_work,
    client_of,
    job_of,
    put,
    settle,
    until,
)

# runs ---------------------------------------------------------------------------------------


@with_a_node
async def test_done_jobs_are_deleted(world: BeanstalkWorld) -> None:
    """A job whose handler returned is gone."""
    consumer = Noting()
    async with client_of(world) as client, at_work(world, consumer) as working:
        ids = await put(client, b"a", b"b")
        await settle()

        assert consumer.seen == [b"a", b"b"]
        assert [await job_of(client, each) for each in ids] == [None, None]
        assert (working.figures.done, working.figures.connected) == (2, 1)


@with_a_node
async def test_batch_slower_than_its_ttr_runs_once(world: BeanstalkWorld) -> None:
    """Every job of it is touched until the handler returns; nobody else gets one."""

    class Batches(TubeConsumer):
        tubes = ("t",)
        batch_size = 10
        seen: ClassVar[list[list[bytes]]] = []

        async def process_batch(self, jobs: list[ReservedJob]) -> None:
            self.seen.append([job.body for job in jobs])
            await trio.sleep(30)
            assert all(job.is_valid for job in jobs)

    other = Noting()
    async with client_of(world) as client:
        await put(client, b"a", b"b", b"c", ttr_s=3)
        async with at_work(world, Batches()) as working, at_work(world, other):
            await trio.sleep(40)

        assert Batches.seen == [[b"a", b"b", b"c"]]
        assert other.seen == []
        assert working.figures.done == 3


@with_a_node
async def test_prefetched_jobs_are_kept_while_others_run(world: BeanstalkWorld) -> None:
    """What waits for its run is touched as well as what runs."""
    consumer = Slow()
    async with client_of(world) as client, at_work(world, consumer) as working:
        await put(client, b"a", b"b", b"c", ttr_s=3)
        await trio.sleep(5)
        assert working.figures.running == 1
        await trio.sleep(30)

        assert consumer.seen == [b"a", b"b", b"c"]
        assert (working.figures.done, working.figures.lost) == (3, 0)


@pytest.mark.parametrize("failure", [OSError("its database is gone"), SystemExit(0)])
@with_a_node
async def test_hooks_around_an_async_handler(world: BeanstalkWorld, failure: BaseException) -> None:
    """They get the jobs of the call, also when it fails; what fails in the second one is told."""
    calls: list[str] = []

    class Hooked(TubeConsumer):
        tubes = ("t",)

        async def before_batch(self, jobs: list[ReservedJob]) -> None:
            calls.append(f"before {jobs[0].body.decode()}")

        async def process(self, job: ReservedJob) -> None:
            calls.append("process")

        async def after_batch(self, jobs: list[ReservedJob]) -> None:
            calls.append(f"after {jobs[0].body.decode()}")
            raise failure

    async with client_of(world) as client, at_work(world, Hooked()) as working:
        await put(client, b"a")
        await until(lambda: working.figures.done)

    assert calls == ["before a", "process", "after a"]


# failures -----------------------------------------------------------------------------------


@with_a_node
async def test_failed_job_is_tried_again_and_given_up(world: BeanstalkWorld) -> None:
    """After five tries with growing delays it is recorded, and deleted."""
    consumer = Failing()
    async with client_of(world) as client, at_work(world, consumer) as working:
        (job_id,) = await put(client, b"a", priority=5)
        await settle()
        figures = await client.stats_job(job_id)
        assert (figures["state"], figures["pri"]) == ("delayed", 5)
        assert 5 <= figures.count("delay") <= 10
        await trio.sleep(300)

        assert consumer.seen == [b"a"] * 5
        assert consumer.given_up == [(b"a", consumer.error)]
        assert await job_of(client, job_id) is None
        assert (working.figures.failed, working.figures.given_up) == (5, 1)


@with_a_node
async def test_permanent_error_gives_up_at_once(world: BeanstalkWorld) -> None:
    """A failure that no retry can mend is not tried again."""
    consumer = Failing()
    consumer.error = PermanentError("no such customer")
    async with client_of(world) as client, at_work(world, consumer):
        (job_id,) = await put(client, b"a")
        await settle()

        assert consumer.given_up == [(b"a", consumer.error)]
        assert await job_of(client, job_id) is None


@with_a_node
async def test_handler_that_exits_has_failed(world: BeanstalkWorld) -> None:
    """`sys.exit` in a handler does not end the worker."""
    consumer = Failing()
    consumer.error = SystemExit(0)
    async with client_of(world) as client, at_work(world, consumer) as working:
        await put(client, b"a", b"b")
        await settle()

        assert consumer.seen == [b"a", b"b"]
        assert working.figures.failed == 2


@pytest.mark.parametrize("give_up", ["bury", DeadLetter("dead")])
@with_a_node
async def test_where_given_up_jobs_go(world: BeanstalkWorld, give_up: GiveUp) -> None:
    """By choice they are buried, or put into another tube with priority and TTR as they had."""
    consumer = Failing()
    consumer.error = PermanentError("x")
    consumer.give_up = give_up
    async with client_of(world) as client, at_work(world, consumer) as working:
        (job_id,) = await put(client, b"a", priority=5, ttr_s=7)
        await settle()
        assert working.figures.given_up == 1

        figures = await job_of(client, job_id)
        if give_up == "bury":
            assert figures is not None
            assert (figures["state"], figures["pri"]) == ("buried", 5)
        else:
            assert figures is None
            await client.use("dead")
            dead = await client.peek_ready()
            figures = await client.stats_job(dead.job_id)
            assert (dead.body, figures["pri"], figures["ttr"]) == (b"a", 5, 7)


@with_a_node
async def test_what_cannot_be_recorded_stays(world: BeanstalkWorld) -> None:
    """Where `on_give_up` fails the job is not deleted: it is given up again later."""

    class Forgetful(Failing):
        error = PermanentError("x")

        async def on_give_up(self, job: ReservedJob, error: BaseException) -> None:
            await super().on_give_up(job, error)
            if len(self.given_up) == 1:
                raise OSError("the database is away")

    consumer = Forgetful()
    async with client_of(world) as client, at_work(world, consumer) as working:
        (job_id,) = await put(client, b"a")
        await settle()
        figures = await client.stats_job(job_id)
        assert (figures["state"], figures["delay"]) == ("delayed", consumer.retry_cap_s)

        await trio.sleep(consumer.retry_cap_s + 1)
        assert len(consumer.given_up) == 2
        assert await job_of(client, job_id) is None
        assert working.figures.given_up == 1


@with_a_node
async def test_dead_letter_tube_that_refuses(world: BeanstalkWorld) -> None:
    """A job that cannot be moved stays."""
    consumer = Failing()
    consumer.error = PermanentError("x")
    consumer.give_up = DeadLetter("dead")
    async with client_of(world) as client:
        (job_id,) = await put(client, b"a")
        await client.drain()
        async with at_work(world, consumer) as working:
            assert (await client.stats_job(job_id))["state"] == "delayed"
            assert working.figures.given_up == 0


@with_a_node
async def test_one_bad_job_does_not_take_its_batch_along(world: BeanstalkWorld) -> None:
    """After a batch failed each of its jobs is tried alone: the good ones are done."""

    class Batches(Noting):
        process = TubeConsumer.process
        sizes: ClassVar[list[int]] = []

        async def process_batch(self, jobs: list[ReservedJob]) -> None:
            self.sizes.append(len(jobs))
            if b"bad" in [job.body for job in jobs]:
                raise PermanentError("bad")

    consumer = Batches()
    async with client_of(world) as client:
        await put(client, b"a", b"bad", b"c")
        async with at_work(world, consumer) as working:
            await trio.sleep(100)

            assert consumer.sizes == [3, 1, 1, 1]
            assert [body for body, _ in consumer.given_up] == [b"bad"]
            assert (working.figures.done, working.figures.given_up) == (2, 1)
