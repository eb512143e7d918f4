"""The jobs of one reserve: kept while their handlers run, and settled. Trio shell.

A job is in one of three places: waiting for its run, running, or let go of. Until it is let go of,
it is touched. Whoever settles a job lets go of it first: what a touch in flight says of it is then
of no interest.
"""

import random
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from itertools import chain, compress
from operator import not_
from typing import Any, Final

import structlog
import trio

from etcdq.errors import EtcdqError, OverLimitError, RequestError, ServerUnavailableError
from etcdq.worker.calling import Caller
from etcdq.worker.consumer import TubeConsumer
from etcdq.worker.control import Control
from etcdq.worker.failure import DeadLetter, TriesUsedUpError, retry_delay_s
from etcdq.worker.heartbeat import Heartbeat
from etcdq.worker.job import ReservedJob
from etcdq.worker.link import Link
from etcdq.worker.planning import Plan
from etcdq.worker.stretch import TURN_S, Stretch

FAREWELL_S: Final = 5.0
"""How long jobs may take to be handed back by a worker that stops."""

TOUCH_S: Final = 1.0
"""What the answer to a touch may take at the least, also when the reservation ends before."""

Settle = Callable[..., Awaitable[list[bool]]]
"""A method of the link that takes jobs, and says of each one whether it was still held."""

log = structlog.get_logger("etcdq.worker")


class Round:
    """Runs the jobs of one reserve.

    Args:
        link: the connection that holds them.
        consumer: whose handler runs.
        caller: calls it.
        control: says when to stop.
        rng: for the jitter of delays.
        reserved_s: when the jobs were reserved, on Trio's clock.
    """

    def __init__(
        self,
        link: Link,
        consumer: TubeConsumer,
        caller: Caller,
        control: Control,
        rng: random.Random,
        reserved_s: float,
    ) -> None:
        self._link = link
        self._consumer = consumer
        self._caller = caller
        self._control = control
        self._rng = rng
        self._rules = consumer.rules()
        self._counters = consumer.counters
        self._heartbeat = Heartbeat(reserved_s)
        self._jobs: dict[int, ReservedJob] = {}
        self._waiting: deque[list[ReservedJob]] = deque()
        self._run: tuple[list[ReservedJob], trio.CancelScope] | None = None
        self._stretch: Stretch | None = None  # what a thread has, while there is one
        self._failure: EtcdqError | None = None
        self._finished: list[ReservedJob] = []
        self._deleted: trio.Event | None = None  # set when all that finished is deleted

    async def carry_out(self, plan: Plan[ReservedJob]) -> None:
        """Do with jobs what is planned, and return when nothing of them is in hand.

        Raises:
            EtcdqError: the connection failed; what was in hand is lost.
        """
        self._waiting.extend(plan.runs)
        jobs = [*plan.spent, *plan.back, *chain.from_iterable(plan.runs)]
        self._jobs = {job.job_id: job for job in jobs}
        self._heartbeat.hold({job.job_id: job.history.ttr_s for job in jobs})
        for job in jobs:
            job.valid_until_s = self._heartbeat.valid_until_s(job.job_id)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._keep)
            nursery.start_soon(self._heed_stop)
            await self._guarded(self._work, plan, nursery)
            nursery.cancel_scope.cancel()
        if self._failure is not None:
            raise self._failure

    async def _work(self, plan: Plan[ReservedJob], nursery: trio.Nursery) -> None:
        await self._hand_back(plan.back)
        for job in plan.spent:
            error = TriesUsedUpError(f"{job.vanished} workers vanished while they had it")
            await self._give_up(job, error)
        while self._waiting and self._failure is None:
            if self._is_next_suspect():
                await self._until_deleted()  # nothing else is to be in hand while it runs
            if self._caller.is_plain:
                await self._run_in_thread(nursery)
            else:
                await self._run_waiting(nursery)
        await self._until_deleted()

    # running --------------------------------------------------------------------------------

    async def _run_waiting(self, nursery: trio.Nursery) -> None:
        """Run what waits, one after another, until a run fails or is cut short.

        A handler may be done before a task switch would be: others get their turn now and then.
        """
        jobs: list[ReservedJob] = []
        error: BaseException | None = None
        with self._control.until_cut_off() as scope:
            turn_s = trio.current_time() + TURN_S
            while jobs := self._next_run():
                self._begin_run(jobs, scope)
                try:
                    await self._caller.handle(jobs)
                except (Exception, SystemExit) as caught:
                    error = caught
                    break
                finally:
                    self._end_run(jobs)
                self._note_finished(jobs, nursery)
                jobs = []
                if scope.cancel_called or self._is_next_suspect():
                    break
                if trio.current_time() >= turn_s:
                    await trio.lowlevel.checkpoint()
                    turn_s = trio.current_time() + TURN_S
        if scope.cancel_called:
            await self._hand_back(jobs)
        elif error is not None:
            await self._settle_failed_run(jobs, error)

    async def _run_in_thread(self, nursery: trio.Nursery) -> None:
        """Run what waits as `_run_waiting` does, in a thread."""
        runs = self._next_stretch()
        stretch = self._stretch = Stretch(runs)
        error: BaseException | None = None
        self._counters.running += len(runs[0])
        try:
            with self._control.until_cut_off() as scope:
                if len(runs) > 1:
                    nursery.start_soon(self._collect, stretch, nursery)
                try:
                    await self._caller.handle_in_thread(stretch)
                except (Exception, SystemExit) as caught:
                    error = caught
        finally:
            self._stretch = None
            self._counters.running -= len(runs[0])
        unbegun, finished, jobs = stretch.end()
        self._waiting.extendleft(reversed(unbegun))
        self._note_finished(finished, nursery)
        if scope.cancel_called:
            await self._hand_back(jobs)
        elif error is not None:
            await self._settle_failed_run(jobs, error)

    def _next_stretch(self) -> list[list[ReservedJob]]:
        """Take what a thread may run one after another: single jobs, or one batch."""
        runs = [self._waiting.popleft()]
        while self._waiting and len(runs[0]) == len(self._waiting[0]) == 1:
            if self._is_next_suspect():
                break
            runs.append(self._waiting.popleft())
        return runs

    async def _collect(self, stretch: Stretch, nursery: trio.Nursery) -> None:
        """Delete what a thread has done before a run that takes longer than its turn."""
        await trio.sleep(2 * TURN_S)
        self._finished += stretch.take_finished()
        self._delete_soon(nursery)

    def _next_run(self) -> list[ReservedJob]:
        """Take the jobs of the next run; [] if there is none."""
        while self._waiting and self._failure is None:
            jobs = self._waiting.popleft()
            if any(job.is_lost for job in jobs):
                jobs = [job for job in jobs if not job.is_lost]
            if jobs:
                return jobs
        return []

    def _is_next_suspect(self) -> bool:
        return bool(self._waiting) and self._waiting[0][0].vanished > 0

    def _begin_run(self, jobs: list[ReservedJob], scope: trio.CancelScope) -> None:
        self._run = jobs, scope
        self._counters.running += len(jobs)

    def _end_run(self, jobs: list[ReservedJob]) -> None:
        self._run = None
        self._counters.running -= len(jobs)

    async def _settle_failed_run(self, jobs: list[ReservedJob], error: BaseException) -> None:
        held = [job for job in jobs if not job.is_lost]
        self._counters.failed += len(held)
        for job in held:
            # Of a batch nobody knows whose fault it is: each of them gets a try alone.
            kind = error if len(jobs) == 1 else _Together()
            await self._settle_failure(job, error, kind)

    def _note_finished(self, jobs: list[ReservedJob], nursery: trio.Nursery) -> None:
        self._finished += jobs
        if self._waiting:  # else they are deleted at once, by who is here
            self._delete_soon(nursery)

    def _delete_soon(self, nursery: trio.Nursery) -> None:
        if self._finished and self._deleted is None:
            self._deleted = trio.Event()
            nursery.start_soon(self._guarded, self._delete_meanwhile, self._deleted)

    async def _delete_meanwhile(self, deleted: trio.Event) -> None:
        """Delete what has finished, while the next handler runs."""
        try:
            await self._delete_finished()
        finally:
            self._deleted = None
            deleted.set()

    async def _delete_finished(self) -> None:
        while self._finished:
            jobs, self._finished = self._finished, []
            count = await self._settle(jobs, self._link.delete)
            self._counters.done += count

    async def _until_deleted(self) -> None:
        if self._deleted is not None:
            await self._deleted.wait()
        await self._delete_finished()

    async def _settle_failure(
        self, job: ReservedJob, error: BaseException, kind: BaseException
    ) -> None:
        delay_s = retry_delay_s(kind, job.number, self._rules, self._rng)
        if delay_s is None:
            await self._give_up(job, error)
            return
        self._tell(job, "job failed, it is tried again", error, delay_s=delay_s)
        await self._settle([job], self._link.release, delay_s)

    async def _settle(self, jobs: Sequence[ReservedJob], function: Settle, *arguments: Any) -> int:
        """Let go of jobs in a way of the link; return how many were still held.

        The others are counted as lost; all of them, if the answer does not come.
        """
        jobs = [job for job in jobs if not job.is_lost]
        for job in jobs:
            self._let_go(job)
        held = [False] * len(jobs)
        try:
            if jobs:
                held = await function(jobs, *arguments)
        finally:
            for job in compress(jobs, map(not_, held)):
                self._count_lost(job)
        return sum(held)

    # giving up ------------------------------------------------------------------------------

    async def _give_up(self, job: ReservedJob, error: BaseException) -> None:
        """Record, then let the job go as the consumer says. What cannot be recorded stays."""
        self._tell(job, "job is given up", error)
        await self._caller.report(job, error)
        failure: BaseException | None = None
        with self._control.until_cut_off() as scope:
            try:
                await self._caller.give_up(job, error)
            except (Exception, SystemExit) as caught:
                failure = caught
        if job.is_lost:
            return
        if scope.cancelled_caught:
            await self._hand_back([job])
            return
        try:
            if failure is None:
                count = await self._end(job)
                self._counters.given_up += count
        except (RequestError, OverLimitError, ServerUnavailableError) as refused:
            failure = refused
        if failure is not None:
            self._tell(job, "a job could not be given up, it stays", failure)
            await self._settle([job], self._link.release, self._rules.retry_cap_s)

    async def _end(self, job: ReservedJob) -> int:
        choice = self._consumer.give_up
        if isinstance(choice, DeadLetter):
            await self._link.copy(job, choice.tube)
        return await self._settle([job], self._link.bury if choice == "bury" else self._link.delete)

    # stopping -------------------------------------------------------------------------------

    async def _heed_stop(self) -> None:
        await self._control.stopping.wait()
        if self._stretch is not None:
            self._waiting.extendleft(reversed(self._stretch.withdraw()))
        unstarted = [job for jobs in self._waiting for job in jobs if not job.is_lost]
        self._waiting.clear()
        await self._guarded(self._hand_back, unstarted)

    async def _hand_back(self, jobs: Sequence[ReservedJob]) -> None:
        """Make jobs ready again; not cut short, for nobody has them until this is done."""
        with trio.move_on_after(FAREWELL_S, shield=True):
            count = await self._settle(jobs, self._link.hand_back)
            self._counters.handed_back += count

    # keeping --------------------------------------------------------------------------------

    async def _keep(self) -> None:
        """Touch what is in hand, until it is cancelled."""
        while self._failure is None:
            await trio.sleep_until(self._heartbeat.due_s)
            if trio.current_time() >= self._heartbeat.due_s:
                await self._guarded(self._touch)

    async def _touch(self) -> None:
        now_s = trio.current_time()
        limit_s = max(TOUCH_S, self._heartbeat.expires_s - now_s)
        held = self._heartbeat.beat(now_s)
        for job_id, was_held in zip(held, await self._link.touch(held, limit_s), strict=True):
            job = self._jobs[job_id]
            if was_held:
                self._heartbeat.touched(job_id)
                job.valid_until_s = max(job.valid_until_s, self._heartbeat.valid_until_s(job_id))
            elif self._let_go(job):
                self._count_lost(job)

    def _let_go(self, job: ReservedJob) -> bool:
        return self._heartbeat.let_go(job.job_id)

    def _count_lost(self, job: ReservedJob) -> None:
        """Somebody else may have the job by now: end its run, if that can be."""
        job.is_lost = True
        self._counters.lost += 1
        self._tell(job, "the reservation was lost", None)
        if self._run is not None and self._caller.is_async:
            jobs, scope = self._run
            if all(each.is_lost for each in jobs):
                scope.cancel()

    async def _guarded(self, function: object, *arguments: object) -> None:
        """Await a function; if the connection fails in it, what is in hand is lost."""
        try:
            await function(*arguments)  # type: ignore[operator]
        except EtcdqError as error:
            if self._failure is None:
                self._failure = error
                for job_id in self._heartbeat.held:
                    self._let_go(self._jobs[job_id])
                    self._count_lost(self._jobs[job_id])

    def _tell(
        self, job: ReservedJob, event: str, error: BaseException | None, **fields: object
    ) -> None:
        log.warning(
            event,
            consumer=type(self._consumer).__name__,
            job=job.job_id,
            tube=job.tube,
            number=job.number,
            error=None if error is None else repr(error),
            **fields,
        )


class _Together(Exception):
    """A batch failed: no error of one job, and none that is permanent."""
