"""One of the places at which a consumer works: a connection, and one round after the other.

Trio shell.
"""

import random
from typing import Final

import structlog
import trio

from etcdq.beanstalk.records import Job
from etcdq.errors import EtcdqError, RemoteProtocolError, UnavailableError
from etcdq.worker.backoff import Reconnects
from etcdq.worker.calling import Caller
from etcdq.worker.consumer import TubeConsumer
from etcdq.worker.control import Control
from etcdq.worker.job import ReservedJob
from etcdq.worker.link import Link, Server, open_link
from etcdq.worker.planning import plan
from etcdq.worker.round import Round

TELL_EVERY: Final = 10
"""Of the failed attempts to connect the first one is told, and then each tenth."""

log = structlog.get_logger("etcdq.worker")


class Slot:
    """Works until it is stopped, over as many connections as that takes.

    Args:
        consumer: for whom.
        server: where it connects.
        control: says when to stop.
        rng: for the waits between connections and the delays of jobs.
        connect_tries: give up after so many attempts to connect in a row; None: never.
    """

    def __init__(
        self,
        consumer: TubeConsumer,
        server: Server,
        control: Control,
        rng: random.Random,
        connect_tries: int | None = None,
    ) -> None:
        self._consumer = consumer
        self._caller = Caller(consumer)
        self._server = server
        self._control = control
        self._rng = rng
        self._reconnects = Reconnects(rng, connect_tries)
        self._clock = trio.lowlevel.current_clock()
        self._together = consumer.takes_batches()
        self._alone = False
        """Whether to reserve a single job, for jobs are there that have to be run alone."""
        self._reserved_s = 0.0
        self._log = log.bind(consumer=type(consumer).__name__)

    async def run(self) -> None:
        """Work until it is stopped.

        Raises:
            UnavailableError: the server could not be reached as often as it may be tried.
            RequestError: the server refuses what it is asked for.
        """
        while not self._control.is_stopping:
            try:
                await self._use_connection()
            except (UnavailableError, RemoteProtocolError) as error:
                await self._wait_after(error)

    async def _use_connection(self) -> None:
        stream: trio.abc.Stream | None = None
        with self._control.until_stopped():
            stream = await self._server.dial()
        if stream is None:
            return
        async with open_link(stream, self._server.endpoint, self._server.patience) as link:
            with self._control.until_stopped():
                await link.introduce(self._consumer.weights(), self._consumer.reserve_mode)
            self._consumer.counters.connected += 1
            try:
                while not self._control.is_stopping:
                    jobs = await self._reserve(link)
                    self._reconnects.succeeded()
                    if jobs:
                        await self._work_on(link, jobs)
            finally:
                self._consumer.counters.connected -= 1

    async def _reserve(self, link: Link) -> list[Job]:
        """Return the next jobs; [] if none came in time, or the wait for them was stopped."""
        count = 1 if self._alone else self._consumer.batch_size
        self._reserved_s = trio.current_time()
        jobs = await link.reserve_ready(count) if count > 1 else []
        if not jobs:
            with self._control.until_stopped():
                jobs = await link.wait_for_job()
            self._reserved_s = trio.current_time()
            if jobs and count > 1:
                jobs += await link.reserve_ready(count - 1)
        return jobs

    async def _work_on(self, link: Link, jobs: list[Job]) -> None:
        histories = await link.look(jobs)
        reserved = [
            ReservedJob(job.job_id, job.body, history, self._clock)
            for job, history in zip(jobs, histories, strict=True)
            if history is not None  # else it is gone already
        ]
        its_plan = plan(reserved, together=self._together, tries_max=self._consumer.tries_max)
        self._alone = any(job.vanished for job in reserved)
        round_ = Round(
            link, self._consumer, self._caller, self._control, self._rng, self._reserved_s
        )
        await round_.carry_out(its_plan)

    async def _wait_after(self, error: EtcdqError) -> None:
        wait_s = self._reconnects.failed()
        if wait_s is None:
            raise error
        if self._reconnects.failures % TELL_EVERY == 1:
            self._log.warning("no connection", error=error.text, again_in_s=round(wait_s, 1))
        with self._control.until_stopped():
            await trio.sleep(wait_s)
