"""Calls of an application's functions: async ones on the loop, plain ones in a thread. Trio shell.

A plain function, with the plain hooks around it, is one call in one thread: what they keep per
thread, such as a connection to a database, is the same for all of them.
"""

import inspect
from collections.abc import Callable
from typing import Any, Final

import structlog
import trio

from etcdq.worker.consumer import TubeConsumer
from etcdq.worker.job import ReservedJob
from etcdq.worker.stretch import Stretch

AFTER_S: Final = 5.0
"""How long an async `after_batch` may take: it is not cancelled with what it follows."""

log = structlog.get_logger("etcdq.worker")


class Caller:
    """Calls one consumer's functions.

    Args:
        consumer: whose.
    """

    def __init__(self, consumer: TubeConsumer) -> None:
        self._consumer = consumer
        self._takes_batches = consumer.takes_batches()
        self._handler = consumer.process_batch if self._takes_batches else consumer.process
        self._before = _unless(consumer.before_batch, TubeConsumer.before_batch)
        self._after = _unless(consumer.after_batch, TubeConsumer.after_batch)
        self._hooks = [hook for hook in (self._before, self._after) if hook is not None]
        self._threads = trio.CapacityLimiter(consumer.concurrency)
        self.is_async = inspect.iscoroutinefunction(self._handler)
        """Whether a run ends when it is cancelled."""
        self.is_plain = not any(map(inspect.iscoroutinefunction, (self._handler, *self._hooks)))
        """Whether nothing of a run is async: `handle_in_thread` may run many."""

    async def handle(self, jobs: list[ReservedJob]) -> None:
        """Run the handler for these jobs, with the hooks around it.

        Cancelled, an async one is cancelled; a plain one is left to itself in its thread.
        """
        if self.is_async and not self._hooks:
            await self._handler(self._argument(jobs))
        else:
            await self._around(jobs, self._handler, self._argument(jobs))

    async def handle_in_thread(self, stretch: Stretch) -> None:
        """Run the plain handler for jobs, each with the hooks around it, all in one thread.

        Cancelled, it is left to itself there.
        """
        await self._in_thread(stretch.run, self._handle_plain)

    def _handle_plain(self, jobs: list[ReservedJob]) -> None:
        self._around_plain(jobs, self._handler, self._argument(jobs))

    def _argument(self, jobs: list[ReservedJob]) -> Any:
        return list(jobs) if self._takes_batches else jobs[0]

    async def give_up(self, job: ReservedJob, error: BaseException) -> None:
        """Let the application record that a job is given up, with the hooks around it."""
        function = _unless(self._consumer.on_give_up, TubeConsumer.on_give_up)
        if function is not None:
            await self._around([job], function, job, error)

    async def report(self, job: ReservedJob, error: BaseException) -> None:
        """Let people know; what fails there is only logged."""
        try:
            await self._call(self._consumer.report, job, error)
        except (Exception, SystemExit) as failure:
            self._tell("report failed", failure)

    async def _around(
        self, jobs: list[ReservedJob], function: Callable[..., Any], *arguments: Any
    ) -> None:
        if not any(map(inspect.iscoroutinefunction, (function, *self._hooks))):
            await self._in_thread(self._around_plain, jobs, function, *arguments)
            return
        if self._before is not None:
            await self._call(self._before, jobs)
        try:
            await self._call(function, *arguments)
        finally:
            if self._after is not None:
                await self._call_after(jobs)

    def _around_plain(
        self, jobs: list[ReservedJob], function: Callable[..., Any], *arguments: Any
    ) -> None:
        if self._before is not None:
            self._before(jobs)
        try:
            function(*arguments)
        finally:
            try:
                if self._after is not None:
                    self._after(jobs)
            except (Exception, SystemExit) as error:
                self._tell("after_batch failed", error)

    async def _call_after(self, jobs: list[ReservedJob]) -> None:
        assert self._after is not None
        with trio.move_on_after(AFTER_S, shield=True):
            try:
                await self._call(self._after, jobs)
            except (Exception, SystemExit) as error:
                self._tell("after_batch failed", error)

    async def _call(self, function: Callable[..., Any], *arguments: Any) -> None:
        if inspect.iscoroutinefunction(function):
            await function(*arguments)
        else:
            await self._in_thread(function, *arguments)

    async def _in_thread(self, function: Callable[..., Any], *arguments: Any) -> None:
        await trio.to_thread.run_sync(
            function, *arguments, abandon_on_cancel=True, limiter=self._threads
        )

    def _tell(self, event: str, error: BaseException) -> None:
        # The handler has done its work, or has failed: this changes neither.
        log.error(event, consumer=type(self._consumer).__name__, exc_info=error)


def _unless(hook: Callable[..., Any], default: Callable[..., Any]) -> Callable[..., Any] | None:
    return None if getattr(hook, "__func__", hook) is default else hook
