"""One connection of a consumer: what it watches, what it reserves, what becomes of its jobs.

Nothing here waits for ever: a server that does not answer in time counts as lost.

On one connection the server answers in order, so a reserve that waits would hold up the touches
of the jobs in hand. Hence a reserve is asked only while nothing is in hand.
"""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Final

import trio
from msgspec import Struct

from etcdq.beanstalk.address import choose_address
from etcdq.beanstalk.client import CONNECT_TIMEOUT_S, Client
from etcdq.beanstalk.commands import line
from etcdq.beanstalk.connection import Connection, dial, open_connection
from etcdq.beanstalk.errors import DeadlineSoonError, TimedOutError, refusal
from etcdq.beanstalk.records import Job, ReserveMode
from etcdq.beanstalk.replies import Reply
from etcdq.endpoint import Endpoint
from etcdq.errors import (
    DeadlineExceededError,
    NotFoundError,
    RemoteProtocolError,
    UnsupportedError,
)
from etcdq.worker.failure import History, read_history
from etcdq.worker.job import ReservedJob

ANSWER_S: Final = 10.0
"""How long a server may take to answer what it need not wait for."""
RESERVE_S: Final = 30
"""How long one reserve waits: a server that vanished without a word is noticed soon after."""
SOON_S: Final = 1.0
"""During its last second a reservation makes the server answer reserves by DEADLINE_SOON."""
SINGLES: Final = 4
"""Half of the reserves that a server without batches is asked for at first."""
DEFAULT_TUBE: Final = "default"


class Patience(Struct, frozen=True):
    """How long a server is waited for before it counts as lost."""

    answer_s: float = ANSWER_S
    """For what it need not wait for."""
    reserve_s: int = RESERVE_S
    """What it may wait for a job, on top of that."""


class Link:
    """One connection. Made by `open_link`."""

    def __init__(self, connection: Connection, patience: Patience) -> None:
        self._connection = connection
        self._patience = patience
        self._client = Client(connection)
        self._knows_batches: bool | None = None

    async def introduce(self, tubes: Mapping[str, int | None], mode: ReserveMode | None) -> None:
        """Say what is to be reserved; before any reserve, on every new connection.

        A server that knows no weights and modes is asked without.
        """
        with self._answer_due():
            for tube, weight in tubes.items():
                try:
                    await self._client.watch(tube, weight)
                except UnsupportedError:
                    await self._client.watch(tube)
            if DEFAULT_TUBE not in tubes:
                await self._client.ignore(DEFAULT_TUBE)
            if mode is not None:
                with suppress(UnsupportedError):
                    await self._client.reserve_mode(mode)

    async def wait_for_job(self) -> list[Job]:
        """Wait for a job; return it alone, or nothing if none came in time."""
        try:
            reserve_s = self._patience.reserve_s
            with self._answer_due(reserve_s + self._patience.answer_s):
                return [await self._client.reserve(reserve_s)]
        except TimedOutError:
            return []
        except DeadlineSoonError:  # of a job that we let go of, and the server did not
            await trio.sleep(SOON_S)
            return []

    async def reserve_ready(self, count: int) -> list[Job]:
        """Reserve what is ready now, `count` jobs at most."""
        if self._knows_batches is not False:
            try:
                with self._answer_due():
                    jobs = await self._client.reserve_batch(count)
            except UnsupportedError:
                self._knows_batches = False
            else:
                self._knows_batches = True
                return list(jobs)
        return await self._reserve_singles(count)

    async def _reserve_singles(self, count: int) -> list[Job]:
        """Reserve from a server without batches: several at once, as long as there are jobs."""
        jobs: list[Job] = []
        at_once = SINGLES
        while len(jobs) < count:
            at_once = min(2 * at_once, count - len(jobs))
            for reply in await self._ask_all([b"reserve-with-timeout 0\r\n"] * at_once):
                if reply.word == "RESERVED":
                    jobs += reply.jobs
                else:
                    error = refusal(reply, "reserve-with-timeout")
                    if not isinstance(error, TimedOutError | DeadlineSoonError):
                        raise error or RemoteProtocolError(f"{reply.word} to a reserve")
                    count = 0
        return jobs

    async def look(self, jobs: Sequence[Job]) -> list[History | None]:
        """Return what the server knows of jobs; None: the job is gone."""
        replies = await self._ask_all([b"stats-job %d\r\n" % job.job_id for job in jobs])
        return [_history(reply) for reply in replies]

    async def touch(self, job_ids: Sequence[int], limit_s: float) -> list[bool]:
        """Restart the TTR of jobs; return whether each one was still held.

        Args:
            job_ids: of jobs that this connection holds.
            limit_s: how long the answer may take, if that is less than is usual.
        """
        commands = [line("touch", each) for each in job_ids]
        replies = await self._ask_all(commands, min(self._patience.answer_s, limit_s))
        return [_is_done(reply, "TOUCHED", "touch") for reply in replies]

    async def delete(self, jobs: Sequence[ReservedJob]) -> list[bool]:
        """Delete jobs; return whether each one was still held."""
        replies = await self._ask_all([b"delete %d\r\n" % job.job_id for job in jobs])
        return [
            reply.word == "DELETED" or _is_done(reply, "DELETED", "delete") for reply in replies
        ]

    async def release(self, jobs: Sequence[ReservedJob], delay_s: int) -> list[bool]:
        """Put jobs off; return whether each one was still held."""
        replies = await self._ask_all([_release(job, delay_s) for job in jobs])
        return [_is_released(reply) for reply in replies]

    async def bury(self, jobs: Sequence[ReservedJob]) -> list[bool]:
        """Set jobs aside; return whether each one was still held."""
        commands = [line("bury", job.job_id, job.history.priority) for job in jobs]
        return [_is_done(reply, "BURIED", "bury") for reply in await self._ask_all(commands)]

    async def copy(self, job: ReservedJob, tube: str) -> None:
        """Put a copy of a job into another tube."""
        history = job.history
        with self._answer_due():
            await self._client.use(tube)
            await self._client.put(job.body, priority=history.priority, ttr_s=history.ttr_s)

    async def hand_back(self, jobs: Sequence[ReservedJob]) -> list[bool]:
        """Make jobs ready again, in their places; return whether each one was still held.

        A release would count as a failed try. So each is put off for a second and kicked at once:
        the kick says that it was none (`failure.py`), and should it be lost, the second ends.
        """
        commands: list[bytes] = []
        for job in jobs:
            commands += _release(job, 1), line("kick-job", job.job_id)
        return [_is_released(reply) for reply in (await self._ask_all(commands))[::2]]

    async def _ask_all(
        self, commands: Sequence[bytes], limit_s: float | None = None
    ) -> list[Reply]:
        with self._answer_due(limit_s):
            return await self._connection.ask_all(commands)

    @contextmanager
    def _answer_due(self, limit_s: float | None = None) -> Iterator[None]:
        limit_s = self._patience.answer_s if limit_s is None else limit_s
        try:
            with trio.fail_after(limit_s):
                yield
        except trio.TooSlowError as error:
            text = f"no answer from {self._client.address} within {limit_s:g} s"
            raise DeadlineExceededError(text) from error


class Server:
    """Where a consumer connects.

    Args:
        address: as for `beanstalk.connect`.
        patience: how long it is waited for.

    Raises:
        InvalidArgumentError: an address of no known form.
    """

    def __init__(self, address: str | None, patience: Patience | None = None) -> None:
        self.endpoint = choose_address(address)
        self.patience = patience or Patience()

    async def dial(self) -> trio.abc.Stream:
        """Return a fresh stream to it.

        Raises:
            NotConnectedError: nobody answers there.
        """
        return await dial(self.endpoint, CONNECT_TIMEOUT_S)


@asynccontextmanager
async def open_link(
    stream: trio.abc.Stream, endpoint: Endpoint, patience: Patience
) -> AsyncIterator[Link]:
    """Use a stream, and close it at the end, by which the server makes ready what is held."""
    async with open_connection(stream, endpoint) as connection:
        yield Link(connection, patience)


def _history(reply: Reply) -> History | None:
    if reply.word == "OK":
        return read_history(reply.body)
    _is_done(reply, "OK", "stats-job")
    return None


def _release(job: ReservedJob, delay_s: int) -> bytes:
    return line("release", job.job_id, job.history.priority, delay_s)


def _is_released(reply: Reply) -> bool:
    # BURIED: the server had no memory to queue it. It is there, and its operators are told.
    return reply.word == "BURIED" or _is_done(reply, "RELEASED", "release")


def _is_done(reply: Reply, word: str, command: str) -> bool:
    """Return whether a job was found.

    Raises:
        EtcdqError: the server answers something else.
    """
    if reply.word == word:
        return True
    error = refusal(reply, command)
    if isinstance(error, NotFoundError):
        return False
    raise error or RemoteProtocolError(f"{reply.word} is no answer to {command}")
