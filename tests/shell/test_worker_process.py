"""A worker process under the autojump clock: its exit code, and what probes are told of it."""

import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
from structlog.testing import capture_logs

from etcdq.endpoint import Endpoint
from etcdq.health import HealthServer
from etcdq.health.status import report
from etcdq.worker import TubeConsumer
from etcdq.worker.heartbeat import Heartbeat
from etcdq.worker.process import WorkerProcess
from tests.support.beanstalk_world import BeanstalkWorld, with_a_node
from tests.support.worker_world import LIMIT_S, Place, Slow, client_of, job_of, put, settle, until


class Other(Slow):
    """Has a tube of its own."""

    tubes = ("other",)


class Running:
    """A process at work; afterwards, its exit code."""

    code: int | None = None

    def __init__(self, process: WorkerProcess) -> None:
        self.process = process

    @property
    def problems(self) -> tuple[str, ...]:
        """Why it is not ready."""
        status = self.process.status
        return report(status, status.beat_s).problems


@asynccontextmanager
async def running(
    place: Place,
    *consumers: TubeConsumer,
    grace_s: float = 30.0,
    connect_tries: int | None = None,
    health: Endpoint | None = None,
) -> AsyncIterator[Running]:
    """Run a process, and wait for its end."""
    server: Any = place
    process = WorkerProcess(consumers, server, grace_s, connect_tries, health)
    run = Running(process)

    async def work() -> None:
        run.code = await process.run()

    with trio.fail_after(LIMIT_S):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(work)
            await settle()
            yield run


def kill(number: int) -> None:
    """Send this process a signal."""
    os.kill(os.getpid(), number)


# signals ------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@with_a_node
async def test_first_signal(world: BeanstalkWorld, number: int) -> None:
    """What runs may end; the exit code is 0."""
    consumer = Slow()
    async with client_of(world) as client:
        (job_id,) = await put(client, b"a")
        async with running(Place(world), consumer) as run:
            kill(number)

        assert (run.code, consumer.statistics().done) == (0, 1)
        assert await job_of(client, job_id) is None


@with_a_node
async def test_second_signal(world: BeanstalkWorld) -> None:
    """It cuts off what runs, and is told by the exit code."""
    consumer = Slow()
    async with client_of(world) as client:
        (job_id,) = await put(client, b"a")
        async with running(Place(world), consumer) as run:
            kill(signal.SIGTERM)
            await settle()
            kill(signal.SIGINT)

        assert (run.code, consumer.statistics().handed_back) == (130, 1)
        assert (await client.stats_job(job_id))["state"] == "ready"


@with_a_node
async def test_grace(world: BeanstalkWorld) -> None:
    """What has not ended by then is handed back, at that time."""
    consumer = Slow()
    consumer.seconds = 1000.0
    async with client_of(world) as client:
        (job_id,) = await put(client, b"a", ttr_s=3)
        async with running(Place(world), consumer, grace_s=40) as run:
            began_s = trio.current_time()
            kill(signal.SIGTERM)

        assert trio.current_time() - began_s == pytest.approx(40, abs=1)
        assert run.code == 4
        assert (await client.stats_job(job_id))["state"] == "ready"


# failures (C74) -----------------------------------------------------------------------------


@with_a_node
async def test_task_that_touches_dies(world: BeanstalkWorld, monkeypatch: Any) -> None:
    """The whole worker stops, in good order, and the exit code is not 0."""
    beat = Heartbeat.beat

    def fail_once(self: Heartbeat, now_s: float) -> list[int]:
        monkeypatch.setattr(Heartbeat, "beat", beat)
        raise RuntimeError("a fault")

    monkeypatch.setattr(Heartbeat, "beat", fail_once)
    consumer, other = Slow(), Other()
    other.seconds = 15.0
    async with client_of(world) as client:
        (job_id,) = await put(client, b"a", ttr_s=3)
        await client.use("other")
        await client.put(b"b", ttr_s=60)
        with capture_logs() as lines:
            async with running(Place(world), consumer, other) as run:
                await trio.sleep(5)
                assert "task Slow does not run" in run.problems

        assert run.code == 1
        assert other.statistics().done == 1
        assert (await client.stats_job(job_id))["state"] == "ready"
        (told,) = [line for line in lines if line["event"] == "a fault of the worker itself"]
        assert told["task"] == "Slow"


@with_a_node
async def test_probes_that_are_not_answered_any_more(
    world: BeanstalkWorld, monkeypatch: Any
) -> None:
    """A process that cannot be probed does not go on unseen."""

    def fail(self: HealthServer) -> None:
        raise RuntimeError("the thread that answers probes has ended")

    monkeypatch.setattr(HealthServer, "check", fail)
    async with running(Place(world), Slow(), health=Endpoint("127.0.0.1", 0)) as run:
        pass

    assert run.code == 1
    assert run.process.status.tasks_down == {"pulse"}


@with_a_node
async def test_probes_that_cannot_be_answered(world: BeanstalkWorld) -> None:
    """A port that is taken is told, and nothing is begun."""
    place = Place(world)
    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    async with listeners[0]:
        port = listeners[0].socket.getsockname()[1]
        async with running(place, Slow(), health=Endpoint("127.0.0.1", port)) as run:
            pass

    assert (run.code, place.dialed_s) == (1, [])


@with_a_node
async def test_server_that_is_never_there(world: BeanstalkWorld) -> None:
    """After the configured number of attempts the worker ends with 1; it was not ready."""
    place = Place(world)
    place.is_down = True
    async with running(place, Slow(), connect_tries=3) as run:
        assert run.problems == ("not connected",)

    assert (run.code, len(place.dialed_s)) == (1, 3)


# probes -------------------------------------------------------------------------------------


@with_a_node
async def test_what_probes_are_told(world: BeanstalkWorld) -> None:
    """Ready is: connected, and not stopping; an outage is no reason to be restarted."""
    consumer = Slow()
    place = Place(world)
    async with client_of(world) as client, running(place, consumer) as run:
        status = run.process.status
        assert run.problems == ()
        await put(client, b"a")
        await settle()
        assert status.jobs_running == 1
        await until(lambda: status.counts["done"] == 1)
        assert status.jobs_running == 0

        place.is_down = True
        await place.cut()
        await settle()
        assert run.problems == ("not connected",)
        place.is_down = False
        await until(lambda: run.problems == ())

        await put(client, b"b")
        await settle()
        kill(signal.SIGTERM)
        await settle()
        assert run.problems == ("takes no work",)

    assert run.code == 0
