"""The reserves of one connection, one at a time, and the jobs that nobody waits for any more.

A job that answers a reserve whose caller was cancelled is released, with its own priority, so that
it goes back to its place. The next reserve is sent only then: the server would answer it before it
reads the release.
"""

from collections.abc import Callable, Sequence
from functools import partial

import trio

from etcdq.beanstalk.commands import line
from etcdq.beanstalk.connection import Connection, Then
from etcdq.beanstalk.documents import JOB_TEXTS, read_statistics
from etcdq.beanstalk.replies import Reply

More = Callable[[list[Reply]], bytes | None]


class Reserving:
    """Sends the reserves of a connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._turn = trio.Semaphore(1, max_value=1)
        self._abandoned = False  # nobody waits for the reserve that was sent last
        self._open = 0  # such a reserve, and jobs on their way back

    async def ask(self, command: bytes) -> Reply:
        """Send a reserve when it is its turn, and return its reply.

        Raises:
            EtcdqError: as `Connection.ask`.
        """
        return (await self.ask_in_turn(command, lambda _replies: None))[0]

    async def ask_in_turn(self, command: bytes, more: More) -> list[Reply]:
        """Send a reserve when it is its turn, and others behind it before anybody else's.

        Args:
            command: the first one.
            more: called with all replies so far; returns the next one, None: that was the last.

        Raises:
            EtcdqError: as `Connection.ask`.
        """
        await self._turn.acquire()
        self._abandoned = False
        replies: list[Reply] = []
        try:
            asked: bytes | None = command
            while asked is not None:
                replies.append(await self._connection.ask(asked, lambda: self._inherit(replies)))
                asked = more(replies)
        except trio.Cancelled:
            if not self._abandoned:  # the last one was not sent
                self._inherit(replies)(())
            raise
        finally:
            if not self._abandoned:
                self._turn.release()
        return replies

    def _inherit(self, before: Sequence[Reply]) -> Then:
        """Return what to do with the reply that is due, and with those that came before."""
        self._abandoned = True
        self._open = 1
        return lambda replies: self._give_back((*before, *replies))

    def _give_back(self, replies: Sequence[Reply]) -> None:
        jobs = [job for reply in replies for job in reply.jobs]
        self._open += len(jobs)
        for job in jobs:
            then = partial(self._release, job.job_id)
            self._connection.post(line("stats-job", job.job_id), then)
        self._close_one()

    def _release(self, job_id: int, replies: Sequence[Reply]) -> None:
        if not replies or replies[0].word != "OK":
            self._close_one()  # the connection is gone, or the job
            return
        priority = read_statistics(replies[0].body, JOB_TEXTS).count("pri")
        command = line("release", job_id, priority, 0)
        self._connection.post(command, lambda _replies: self._close_one())

    def _close_one(self) -> None:
        self._open -= 1
        if not self._open:
            self._turn.release()
