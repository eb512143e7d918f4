"""A client that blocks, for programs without an event loop: a web request, a script, a shell.

Threads share one object and nothing else: each has a connection of its own, opened when it first
asks, and closed when it ends. A forked child opens its own. No event loop is used: one may run in
another thread, or in none.
"""

import os
import threading
import time
import weakref
from collections.abc import Callable, Collection
from types import TracebackType
from typing import Final, TypeVar, Unpack

from etcdq.beanstalk import commands, documents, health, talks
from etcdq.beanstalk.address import choose_address
from etcdq.beanstalk.answers import inserted
from etcdq.beanstalk.commands import PRIORITY, PutOptions, line, name, whole
from etcdq.beanstalk.commands import job_id as checked_id
from etcdq.beanstalk.health import UNKNOWN, Depth, Depths
from etcdq.beanstalk.link import Link
from etcdq.beanstalk.records import Inserted, Job, Statistics
from etcdq.beanstalk.replies import Reply
from etcdq.beanstalk.talks import DEFAULT_TUBE, Standing, Talk
from etcdq.errors import (
    ClosedError,
    ConnectionLostError,
    EtcdqError,
    NotConnectedError,
    RemoteProtocolError,
)

T = TypeVar("T")

TIMEOUT_S: Final = 5.0


class BlockingClient:
    """Threads may share one, and use it from anywhere but a task of an event loop.

    Made without a server being there. Each call takes `timeout_s` at most, connecting included,
    but for the look-up of a host's name; a reserve also what it waits for a job.

    A job that was reserved belongs to the connection, hence to the thread, that reserved it: that
    thread has to delete or release it, and its end makes the job ready again.

    A call whose connection is found dead is made once more, on a new one. Where it is the answer
    that was lost, this goes for what may be done twice, see each call; the others raise
    `ConnectionLostError`. Every call may raise it, `NotConnectedError`, `DeadlineExceededError`,
    `RemoteProtocolError`, or the refusal that the server answers.

    Args:
        address: as in `etcdq.beanstalk.connect`.
        timeout_s: in seconds.

    Raises:
        InvalidArgumentError: an address of no known form.
    """

    def __init__(self, address: str | None = None, *, timeout_s: float = TIMEOUT_S) -> None:
        self._endpoint = choose_address(address)
        self._timeout_s = timeout_s
        self._is_closed = False
        self._begin()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._links: weakref.WeakSet[Link] = weakref.WeakSet()
        self._mine = threading.local()

    @property
    def address(self) -> str:
        """The server, as HOST:PORT or unix://PATH."""
        return str(self._endpoint)

    def close(self) -> None:
        """Close the connections of all threads. Who waits for an answer gets `ClosedError`."""
        self._see_fork()
        with self._lock:
            self._is_closed = True
            links = list(self._links)
        for link in links:
            link.close()

    def __enter__(self) -> "BlockingClient":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    # producing ------------------------------------------------------------------------------

    def put(self, tube: str, body: bytes, **options: Unpack[PutOptions]) -> Inserted:
        """Put a job into a tube.

        A put whose answer was lost is made once more, and may then be there twice; whatever this
        raises but a refusal, it may be there once. With `idp` (etcdq, tuber) it is there once.

        Args:
            tube: its name.
            body: any bytes.
            options: see `PutOptions`.

        Raises:
            InvalidArgumentError, JobTooBigError: a value, or the size of the body.
            DrainingError, OutOfMemoryError, OutOfStorageError: no job was made.
            BuriedError: a job was made, and buried.
            UnsupportedError: a tag was given, and the server is a plain beanstalkd.
        """
        name(tube)
        command = commands.put(body, options)

        def talk(standing: Standing) -> Talk[Inserted]:
            yield from talks.make_way(standing, tube, options)
            return inserted((yield from talks.ask(command, "INSERTED")))

        return self._call(talk, again=True)

    # working --------------------------------------------------------------------------------

    def reserve(self, tubes: str | Collection[str] = DEFAULT_TUBE, timeout_s: int = 0) -> Job:
        """Reserve the most urgent job of these tubes, and of no other.

        Args:
            tubes: a name, or several.
            timeout_s: how long to wait for a job, in whole seconds.

        Raises:
            TimedOutError: no job came.
            DeadlineSoonError: a job that this thread holds expires within a second.
        """
        wanted = [name(tube) for tube in ([tubes] if isinstance(tubes, str) else tubes)]
        whole(len(wanted), "number of tubes", at_least=1)
        end_s = time.monotonic() + whole(timeout_s, "timeout")

        def talk(standing: Standing) -> Talk[Job]:
            left_s = max(0, round(end_s - time.monotonic()))
            return talks.reserve(standing, wanted, left_s)

        # What a lost answer had reserved was given back with its connection.
        return self._call(talk, again=True, wait_s=timeout_s)

    def delete(self, job_id: int) -> None:
        """Delete a job that this thread holds, or that nobody does."""
        self._ask(line("delete", checked_id(job_id)), "DELETED")

    def release(self, job_id: int, *, priority: int = PRIORITY, delay_s: int = 0) -> None:
        """Give back a job that this thread holds."""
        words = checked_id(job_id), whole(priority, "priority"), whole(delay_s, "delay")
        self._ask(line("release", *words), "RELEASED")

    def bury(self, job_id: int, *, priority: int = PRIORITY) -> None:
        """Set a job aside that this thread holds, until it is kicked."""
        self._ask(line("bury", checked_id(job_id), whole(priority, "priority")), "BURIED")

    def touch(self, job_id: int) -> None:
        """Restart the time to run of a job that this thread holds."""
        self._ask(line("touch", checked_id(job_id)), "TOUCHED")

    def kick(self, tube: str, bound: int = commands.NUMBER_MAX) -> int:
        """Make buried jobs of a tube ready, or delayed ones where none is buried.

        Returns:
            How many, `bound` at most.
        """
        name(tube)
        command = line("kick", whole(bound, "bound"))

        def talk(standing: Standing) -> Talk[int]:
            yield from talks.use(standing, tube)
            return (yield from talks.ask(command, "KICKED")).number()

        return self._call(talk, again=False)

    # looking --------------------------------------------------------------------------------

    def peek(self, job_id: int) -> Job:
        """Look at a job. Asked once more if the answer is lost, as all that only look are."""
        return self._ask(line("peek", checked_id(job_id)), "FOUND", again=True).jobs[0]

    def stats(self) -> Statistics:
        """Return the statistics of the server."""
        return self._look(lambda: talks.stats(b"stats\r\n", documents.SERVER_TEXTS))

    def stats_job(self, job_id: int) -> Statistics:
        """Return the statistics of a job."""
        command = line("stats-job", checked_id(job_id))
        return self._look(lambda: talks.stats(command, documents.JOB_TEXTS))

    def stats_tube(self, tube: str) -> Statistics:
        """Return the statistics of a tube."""
        command = line("stats-tube", name(tube))
        return self._look(lambda: talks.stats(command, documents.TUBE_TEXTS))

    def list_tubes(self) -> list[str]:
        """Return the names of all tubes."""
        return self._look(talks.list_tubes)

    def reachable(self) -> bool:
        """Return whether the server answers, be it full or empty. Raises nothing if it does not."""
        return self._unless_away(health.reach, False)

    def queue_depth(self, tube: str | None = None) -> Depth:
        """Return how many jobs are ready in a tube, or in all: what waits for a worker.

        Returns:
            `UNKNOWN` if the server cannot be asked: that is no 0, and raises nothing.
        """
        if tube is not None:
            name(tube)
        unknown: Depth = UNKNOWN
        return self._unless_away(lambda: health.depth(tube), unknown)

    def queue_depths(self) -> Depths:
        """Return how many jobs are ready in each tube; see `Depths` for a server that is away."""
        return self._unless_away(health.depths, Depths(None))

    # ----------------------------------------------------------------------------------------

    def _unless_away(self, talk: Callable[[], Talk[T]], otherwise: T) -> T:
        try:
            return self._look(talk)
        except ClosedError:
            raise
        except EtcdqError:
            return otherwise

    def _look(self, talk: Callable[[], Talk[T]]) -> T:
        return self._call(lambda _standing: talk(), again=True)

    def _ask(self, command: bytes, word: str, *, again: bool = False) -> Reply:
        return self._call(lambda _standing: talks.ask(command, word), again=again)

    def _call(self, talk: Callable[[Standing], Talk[T]], *, again: bool, wait_s: float = 0.0) -> T:
        deadline_s = time.monotonic() + self._timeout_s + wait_s
        link = self._take() or self._connect(deadline_s)
        try:
            return self._carry_out(link, talk, deadline_s)
        except NotConnectedError:
            link = self._connect(deadline_s)
        except ConnectionLostError as lost:
            if not again:
                raise
            try:
                link = self._connect(deadline_s)
            except NotConnectedError as error:
                raise lost from error  # which tells that it may have been carried out
        return self._carry_out(link, talk, deadline_s)

    def _carry_out(self, link: Link, talk: Callable[[Standing], Talk[T]], deadline_s: float) -> T:
        try:
            steps = talk(link.standing)
            asked = next(steps)
            while True:
                asked = steps.send(link.ask(asked, deadline_s))
        except StopIteration as end:
            result: T = end.value
            return result
        except RemoteProtocolError:
            link.close()
            raise
        finally:
            if link.is_open:
                self._mine.link = link

    def _take(self) -> Link | None:
        """Take this thread's connection, if it has one.

        It is put back after the call: what interrupts the call, and calls in its turn, finds none
        and opens another one rather than talk in between.
        """
        self._see_fork()
        if self._is_closed:
            raise ClosedError(f"the client of {self._endpoint} is closed")
        link: Link | None = getattr(self._mine, "link", None)
        self._mine.link = None
        return link if link is not None and link.is_open else None

    def _connect(self, deadline_s: float) -> Link:
        link = Link(self._endpoint, deadline_s)
        with self._lock:
            self._links.add(link)
            is_closed = self._is_closed
        if is_closed:
            link.close()
            raise ClosedError(f"the client of {self._endpoint} is closed")
        return link

    def _see_fork(self) -> None:
        """Leave to the parent what is the parent's: connections, and a lock it may have held."""
        if self._process != os.getpid():
            self._begin()
