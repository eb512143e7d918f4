"""One process that runs consumers until a signal. Trio shell."""

import os
import random
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack
from typing import Any

import structlog
import trio

from etcdq.endpoint import Endpoint
from etcdq.errors import EtcdqError
from etcdq.health import HealthServer, Pulse, open_health
from etcdq.worker.consumer import TubeConsumer
from etcdq.worker.control import Control
from etcdq.worker.link import Server
from etcdq.worker.slot import Slot
from etcdq.worker.status import WorkerStatus
from etcdq.worker.supervision import EXIT_CLEAN, EXIT_ERROR, EXIT_SIGNAL, EXIT_UNFINISHED

log = structlog.get_logger("etcdq.worker")


class WorkerProcess:
    """Runs consumers, each in as many tasks as it wants.

    What fails stops all of it, in good order, and the exit code says so.

    Args:
        consumers: checked.
        server: where they connect.
        grace_s: what runs when a stop comes has so long to end.
        connect_tries: give up after so many attempts to connect in a row; None: never.
        health: where probes are answered; None: nowhere.
    """

    def __init__(
        self,
        consumers: Sequence[TubeConsumer],
        server: Server,
        grace_s: float,
        connect_tries: int | None = None,
        health: Endpoint | None = None,
    ) -> None:
        self._consumers = consumers
        self._server = server
        self._grace_s = grace_s
        self._connect_tries = connect_tries
        self._health = health
        self.control = Control()
        self._pulse = Pulse()
        self.status = WorkerStatus(consumers, self.control, self._pulse)
        self.exit_code = EXIT_CLEAN
        """Of the process; not 0 once something was not as it should be."""

    async def run(self, *, parent: bool = False) -> int:
        """Work until a signal; return the exit code.

        Args:
            parent: whether to stop when the standard input ends, which a parent process holds.
        """
        with ExitStack() as stack:
            health: HealthServer | None = None
            if self._health is not None:
                opened = open_health(self.status, self._health.port, host=self._health.host)
                try:
                    health = stack.enter_context(opened)
                except OSError as error:
                    where = str(self._health)
                    self._fail("probes", "cannot answer probes", where=where, error=error.strerror)
                    return self.exit_code
                log.info("answers probes", url=f"http://{health.address}")
            await self._work(health, parent=parent)
        for consumer in self._consumers:
            figures = consumer.statistics()
            log.info(
                "consumer stopped",
                consumer=type(consumer).__name__,
                done=figures.done,
                failed=figures.failed,
                given_up=figures.given_up,
                lost=figures.lost,
                handed_back=figures.handed_back,
            )
        return self.exit_code

    async def _work(self, health: HealthServer | None, *, parent: bool) -> None:
        async with trio.open_nursery() as nursery:
            await nursery.start(self._heed_signals)
            nursery.start_soon(self._limit_grace)
            if health is not None:
                nursery.start_soon(self._watched, "pulse", self._pulse.run, health.check)
            if parent:
                nursery.start_soon(self._watched, "parent", self._heed_parent)
            async with trio.open_nursery() as slots:
                for consumer in self._consumers:
                    for _ in range(consumer.concurrency):
                        name = type(consumer).__name__
                        slots.start_soon(self._watched, name, self._run_slot, consumer)
                self._tell_start()
            nursery.cancel_scope.cancel()

    async def _watched(
        self, name: str, function: Callable[..., Awaitable[None]], *arguments: Any
    ) -> None:
        """Run a task; what fails in it stops everything, in good order, with an exit code."""
        try:
            await function(*arguments)
        except EtcdqError as error:
            self._fail(name, "cannot go on", error=error.text)
        except Exception as error:
            self._fail(name, "a fault of the worker itself", exc_info=error)

    async def _run_slot(self, consumer: TubeConsumer) -> None:
        rng = random.Random(random.SystemRandom().getrandbits(64))
        await Slot(consumer, self._server, self.control, rng, self._connect_tries).run()

    def _fail(self, task: str, event: str, **fields: object) -> None:
        log.error(event, task=task, **fields)
        self.status.tasks_down = {*self.status.tasks_down, task}
        self.exit_code = EXIT_ERROR
        self.control.stop()

    def _tell_start(self) -> None:
        for consumer in self._consumers:
            tubes = ", ".join(consumer.weights())
            log.info(
                "consumer started",
                consumer=type(consumer).__name__,
                tubes=tubes,
                concurrency=consumer.concurrency,
                server=str(self._server.endpoint),
            )

    async def _heed_signals(self, *, task_status: trio.TaskStatus[None]) -> None:
        with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
            task_status.started()
            async for number in signals:
                name = signal.Signals(number).name
                if self.control.is_stopping:
                    log.warning("stopping now: what runs is handed back", signal=name)
                    self.exit_code = EXIT_SIGNAL + number
                    self.control.cut_off()
                else:
                    log.info("stopping: what runs may end", signal=name, grace_s=self._grace_s)
                    self.control.stop()

    async def _limit_grace(self) -> None:
        await self.control.stopping.wait()
        await trio.sleep(self._grace_s)
        log.warning("the grace is over: what runs is handed back")
        self.exit_code = self.exit_code or EXIT_UNFINISHED
        self.control.cut_off()

    async def _heed_parent(self) -> None:
        stream = trio.lowlevel.FdStream(os.dup(sys.stdin.fileno()))
        async with stream:
            while await stream.receive_some():
                pass
        if not self.control.is_stopping:
            self._fail("parent", "the parent process is gone")
