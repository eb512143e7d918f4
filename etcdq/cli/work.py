"""`etcdq work`: run the jobs of a tube as shell commands."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

import click
import trio

from etcdq import beanstalk
from etcdq.beanstalk import Client, EtcdqError, Job, NotFoundError, TimedOutError
from etcdq.cli.beanstalk import DEFAULT_TUBE, address_option, answer_due, tube_option
from etcdq.cli.client import run_told
from etcdq.cli.work_job import Attempt

EXIT_UNFINISHED = 3
RESERVE_S = 30
"""How long one reserve waits: a server that vanished is noticed soon after."""


@click.command()
@tube_option
@click.option(
    "-j",
    "--parallel",
    default=1,
    show_default=True,
    type=click.IntRange(min=1),
    help="How many run at a time, each on a connection of its own.",
)
@click.option(
    "--tries",
    default=5,
    show_default=True,
    type=click.IntRange(min=1),
    help="Bury a job that failed so often.",
)
@address_option
def work(tube: str, parallel: int, tries: int, address: str | None) -> int:
    """Reserve jobs and run the body of each by the shell.

    Exit code 0 of the command deletes its job. Any other one releases it, for a second, then for
    twice as long each time, up to 5 minutes; after --tries it is buried (`etcdq kick` gives it one
    more). Times at which a job expired count as well. While a command runs, its job is touched.

    SIGTERM or SIGINT lets the running commands finish; a second signal ends them, and their jobs
    are ready again.

    Exit codes: 0 stopped by a signal with all commands finished, 1 the server failed, 2 wrong
    usage, 3 commands were ended by a second signal.
    """
    crew = Crew(address, tube, tries)
    run_told(crew.work, parallel)
    return EXIT_UNFINISHED if crew.unfinished else 0


@dataclass
class Crew:
    """Workers, each with a connection of its own: a reserve that waits holds up nobody's touch."""

    address: str | None
    tube: str
    tries: int
    unfinished: int = 0
    stopping: bool = False
    failure: EtcdqError | None = None
    waiting: set[trio.CancelScope] = field(default_factory=set)
    running: set[trio.CancelScope] = field(default_factory=set)

    async def work(self, count: int) -> None:
        """Let so many work until a signal, or until the server fails one of them."""
        async with trio.open_nursery() as nursery:
            await nursery.start(self._heed_signals)
            async with trio.open_nursery() as workers:
                for _ in range(count):
                    workers.start_soon(self._work)
            nursery.cancel_scope.cancel()
        if self.failure is not None:
            raise self.failure

    async def _heed_signals(self, *, task_status: trio.TaskStatus[None]) -> None:
        with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
            task_status.started()
            async for _ in signals:
                if self.stopping:
                    _cancel(self.running)
                self._stop()

    def _stop(self) -> None:
        self.stopping = True
        _cancel(self.waiting)

    async def _work(self) -> None:
        try:
            async with beanstalk.connect(self.address) as client:
                with answer_due(client):
                    await client.watch(self.tube)
                    if self.tube != DEFAULT_TUBE:
                        await client.ignore(DEFAULT_TUBE)
                while not self.stopping:
                    job = await self._next(client)
                    if job is not None:
                        await self._do(client, job)
        except EtcdqError as error:
            self.failure = self.failure or error  # raised when the others have finished
            self._stop()

    async def _next(self, client: Client) -> Job | None:
        """Return a job; None: none came in time, or the work is to stop."""
        with (
            trio.CancelScope() as scope,
            _among(self.waiting, scope),
            suppress(TimedOutError),
            answer_due(client, RESERVE_S),
        ):
            return await client.reserve(RESERVE_S)
        return None

    async def _do(self, client: Client, job: Job) -> None:
        try:
            with answer_due(client):
                figures = await client.stats_job(job.job_id)
        except NotFoundError:
            return  # its tube was flushed, or it has expired already
        attempt = Attempt(client, job, figures, self.tries)
        with trio.CancelScope() as scope, _among(self.running, scope):
            await attempt.run()
        if scope.cancelled_caught:
            self.unfinished += 1
            return
        with answer_due(client):
            await attempt.settle()


@contextmanager
def _among(scopes: set[trio.CancelScope], scope: trio.CancelScope) -> Iterator[None]:
    scopes.add(scope)
    try:
        yield
    finally:
        scopes.discard(scope)


def _cancel(scopes: set[trio.CancelScope]) -> None:
    for scope in scopes:
        scope.cancel()
