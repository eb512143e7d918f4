"""Plain handlers on a node in this process: many in one visit to a thread."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import trio

from etcdq.worker import PermanentError, ReservedJob, TubeConsumer
from tests.support.beanstalk_world import BeanstalkWorld, with_a_node_and_threads
from tests.support.worker_world import (
    LIMIT_S,
    at_work,
    client_of,
    job_of,
    put,
    settle,
    until,
    working_in,
)

LOOK_S = 0.01


class Halting(TubeConsumer):
    """Holds its thread at the job `stop` until it may go on."""

    tubes = ("t",)
    batch_size = 10

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[bytes] = []
        self.is_there = trio.Event()
        self.go_on = threading.Event()
        self._token = trio.lowlevel.current_trio_token()

    def process(self, job: ReservedJob) -> None:
        self.seen.append(job.body)
        if job.body == b"stop":
            trio.from_thread.run_sync(self.is_there.set, trio_token=self._token)
            self.go_on.wait(60)
        elif job.body == b"bad":
            raise PermanentError("x")

    @contextmanager
    def released(self) -> Iterator[None]:
        """Whatever a test finds, no thread is left behind."""
        try:
            yield
        finally:
            self.go_on.set()


@with_a_node_and_threads
async def test_one_after_another(world: BeanstalkWorld) -> None:
    """All are run in their order and deleted; one that fails is given up, and the rest goes on."""
    consumer = Halting()
    async with client_of(world) as client:
        ids = await put(client, b"a", b"b", b"bad", b"c", b"d")
        async with at_work(world, consumer) as working:
            await until(lambda: working.figures.done == 4, LOOK_S)

        assert consumer.seen == [b"a", b"b", b"bad", b"c", b"d"]
        assert (working.figures.given_up, working.figures.failed) == (1, 1)
        assert [await job_of(client, each) for each in ids] == [None] * 5


@with_a_node_and_threads
async def test_what_is_done_is_deleted_while_a_long_one_runs(world: BeanstalkWorld) -> None:
    """It does not wait for the end of the run that its thread went on with."""
    consumer = Halting()
    async with client_of(world) as client:
        done, running, waiting = await put(client, b"a", b"stop", b"b")
        async with at_work(world, consumer) as working:
            with consumer.released():
                await consumer.is_there.wait()
                await until(lambda: working.figures.done, LOOK_S)
                states = [await job_of(client, each) for each in (done, running, waiting)]
                assert working.figures.running == 1
            await until(lambda: working.figures.done == 3, LOOK_S)

    assert [figures and figures["state"] for figures in states] == [None, "reserved", "reserved"]


@with_a_node_and_threads
async def test_stop_takes_back_what_a_thread_has_not_begun(world: BeanstalkWorld) -> None:
    """It is ready at once, while the run of the moment may end, and is the thread's last one."""
    consumer = Halting()
    with trio.fail_after(LIMIT_S):
        async with client_of(world) as client, trio.open_nursery() as nursery:
            running, waiting = await put(client, b"stop", b"a")
            with working_in(nursery, world, consumer) as working, consumer.released():
                await consumer.is_there.wait()
                working.control.stop()
                await until(lambda: working.figures.handed_back, LOOK_S)
                states = [(await client.stats_job(each))["state"] for each in (running, waiting)]
            await until(lambda: working.figures.done, LOOK_S)

    assert states == ["reserved", "ready"]
    assert consumer.seen == [b"stop"]
    assert (working.figures.done, working.figures.handed_back) == (1, 1)


@with_a_node_and_threads
async def test_cut_off_leaves_the_thread_to_itself(world: BeanstalkWorld) -> None:
    """What it runs is handed back, and so is the rest: it begins nothing more."""
    consumer = Halting()
    async with client_of(world) as client:
        ids = await put(client, b"a", b"stop", b"b")
        with consumer.released():
            async with trio.open_nursery() as nursery:
                with working_in(nursery, world, consumer) as working:
                    await consumer.is_there.wait()
                working.control.cut_off()
            figures = [await job_of(client, each) for each in ids]
        await settle()

        assert [each and each["state"] for each in figures] == [None, "ready", "ready"]
        assert consumer.seen == [b"a", b"stop"]
        assert (working.figures.done, working.figures.handed_back) == (1, 2)


@with_a_node_and_threads
async def test_plain_handler_runs_in_a_thread_with_its_hooks(world: BeanstalkWorld) -> None:
    """Handler and hooks are called in one thread, which is not the loop's."""
    calls: list[tuple[str, int]] = []

    def note(name: str) -> None:
        calls.append((name, threading.get_ident()))

    class Plain(TubeConsumer):
        tubes = ("t",)

        def process(self, job: ReservedJob) -> None:
            note("process")
            raise PermanentError("x")

        def before_batch(self, jobs: list[ReservedJob]) -> None:
            note("before")

        def after_batch(self, jobs: list[ReservedJob]) -> None:
            note("after")
            raise SystemExit(0)

        def on_give_up(self, job: ReservedJob, error: BaseException) -> None:
            note("give up")

    async with client_of(world) as client, at_work(world, Plain()) as working:
        (job_id,) = await put(client, b"a")
        await until(lambda: working.figures.given_up, LOOK_S)
        assert await job_of(client, job_id) is None
    names = [name for name, _ in calls]
    assert names == ["before", "process", "after", "before", "give up", "after"]
    for three in (calls[:3], calls[3:]):
        assert len({thread for _, thread in three}) == 1
    assert threading.get_ident() not in {thread for _, thread in calls}


@with_a_node_and_threads
async def test_plain_handler_asks_whether_it_still_has_the_job(world: BeanstalkWorld) -> None:
    """A thread cannot be cancelled: it can ask, and what it has done is not reported as done."""
    answers: list[bool] = []
    jobs: list[ReservedJob] = []
    go_on, is_there = threading.Event(), trio.Event()
    token = trio.lowlevel.current_trio_token()

    class Asking(TubeConsumer):
        tubes = ("t",)

        def process(self, job: ReservedJob) -> None:
            jobs.append(job)
            answers.append(job.is_valid)
            trio.from_thread.run_sync(is_there.set, trio_token=token)
            go_on.wait(60)
            answers.append(job.is_valid)

    async with client_of(world) as client, at_work(world, Asking()) as working:
        await put(client, b"a", ttr_s=3)
        await is_there.wait()
        await client.flush_tube("t")
        await until(lambda: not jobs[0].is_valid, LOOK_S)  # the next touch finds out
        go_on.set()
        await until(lambda: not working.figures.running, LOOK_S)

        assert answers == [True, False]
        assert (working.figures.lost, working.figures.done) == (1, 0)
