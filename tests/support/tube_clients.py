"""Who asks the queues and workers of a `TubeBook`: beanstalk connections, and watches."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from etcdq.actors.effect import Reply
from etcdq.actors.message import Address
from etcdq.actors.queue import messages as m
from etcdq.actors.queue import tube_messages as t
from etcdq.actors.worker import messages as w
from etcdq.actors.worker.core import WorkerCore

if TYPE_CHECKING:
    from tests.support.tube_book import TubeBook


@dataclass(frozen=True)
class Spot:
    """A handle to a core of the stage; `mailbox` is the book."""

    mailbox: "TubeBook"
    key: Any

    def post(self, message: Any) -> None:
        """Put a message into the next batch."""
        self.mailbox.posted.append((self.key, message))

    def __repr__(self) -> str:
        return f"spot of {self.key!r}"


class Asked:
    """One question and, when it comes, its answer."""

    def __init__(self) -> None:
        self._answers: list[Any] = []

    def post(self, reply: Any) -> None:
        """Take the answer."""
        assert not self._answers, "a question is answered once"
        self._answers.append(reply.value)

    @property
    def waits(self) -> bool:
        """Whether it is not answered yet."""
        return not self._answers

    @property
    def value(self) -> Any:
        """The answer."""
        assert self._answers, "it is not answered"
        return self._answers[0]

    @property
    def job_ids(self) -> list[int]:
        """The jobs that were reserved."""
        return [grant.job_id for grant in self.value.grants]


class Row:
    """Reserves that are asked together; each hears its own answer."""

    def __init__(self, asked: Sequence[Asked]) -> None:
        self._asked = asked
        self._answered = 0

    def post(self, reply: Reply) -> None:
        """Take the answer of the next, or of several."""
        assert reply.to.tag == self._answered, "a row is answered in order"
        value = reply.value
        values = [value]
        if type(value) is w.Reserved:
            values = [w.Reserved((grant,)) for grant in value.grants]
        for one in values:
            self._asked[self._answered].post(Reply(reply.to, one))
            self._answered += 1


class Connection:
    """A beanstalk connection, as its session is for queues and worker."""

    def __init__(self, book: "TubeBook", number: int) -> None:
        self.book = book
        self.number = number
        self.key = ("worker", number)
        self.using = b"default"
        self._by_worker: deque[Asked] = deque()
        book.posted.append((b"default", t.Refer(using=1)))
        book.posted.append((self.key, w.WatchTube(b"default")))
        self.watched = [b"default"]
        self.reserve_mode = w.ReserveMode.FIFO
        self.hung_up = False

    @property
    def core(self) -> WorkerCore:
        """Its worker."""
        core = self.book.stage.cores[self.key]
        assert isinstance(core, WorkerCore)
        return core

    # what a client says of itself -----------------------------------------------------------

    def use(self, tube: bytes) -> None:
        """Use a tube."""
        if tube != self.using:
            before, self.using = self.using, tube
            with self.book.batch():
                self.book.tell(tube, t.Refer(using=1))
                self.book.tell(before, t.Refer(using=-1))

    def watch(self, tube: bytes, weight: int = 1) -> None:
        """Watch a tube."""
        if tube not in self.watched:
            self.watched.append(tube)
        self.book.tell(self.key, w.WatchTube(tube, weight))

    def ignore(self, tube: bytes) -> None:
        """Watch a tube no longer."""
        if tube in self.watched:
            self.watched.remove(tube)
        self.book.tell(self.key, w.IgnoreTube(tube))

    def mode(self, mode: w.ReserveMode) -> None:
        """Choose in this way."""
        self.reserve_mode = mode
        self.book.tell(self.key, w.SetMode(mode))

    def hang_up(self) -> None:
        """Send nothing more."""
        self.hung_up = True
        self.book.tell(self.key, w.HangUp())

    def leave(self) -> None:
        """Close the connection."""
        del self.book.connections[self.number]
        self.book.tell(self.key, w.Leave(self.using))

    # what a client asks ---------------------------------------------------------------------

    def reserve(self, timeout_s: float | None = None) -> Asked:
        """Reserve a job."""
        return self._ask_worker(w.Reserve, timeout_s)

    def reserve_row(self, row: Sequence[Asked], timeout_s: float | None = None) -> None:
        """Reserve as many jobs, each by a reserve of its own, and all of them asked at once."""
        self._by_worker += row
        self.book.tell(self.key, w.Reserve(Address(Row(row), 0), timeout_s, len(row)))

    def reserve_batch(self, count: int) -> Asked:
        """Reserve jobs that are there."""
        return self._ask_worker(w.ReserveBatch, count)

    def reserve_job(self, job_id: int) -> Asked:
        """Reserve this job."""
        return self._ask_worker(w.ReserveThis, job_id)

    def delete(self, job_id: int) -> Asked:
        """Delete a job."""
        return self.ask(job_id, t.DeleteJob, job_id, self.number)

    def release(self, job_id: int, priority: int = 1024, delay_s: float = 0.0) -> Asked:
        """Release a job."""
        return self.ask(job_id, t.ReleaseJob, job_id, self.number, priority, delay_s)

    def bury(self, job_id: int, priority: int = 1024) -> Asked:
        """Bury a job."""
        return self.ask(job_id, t.BuryJob, job_id, self.number, priority)

    def touch(self, job_id: int) -> Asked:
        """Touch a job."""
        return self.ask(job_id, t.TouchJob, job_id, self.number)

    def ask(self, key: Any, kind: Any, *fields: Any, **more: Any) -> Asked:
        """Ask a queue or a job, behind all that this connection asked its worker."""
        asked = Asked()
        message = kind(Address(asked, None), *fields, **more)
        if self._waits_for_its_worker():
            self._by_worker.append(asked)
            self.book.tell(self.key, w.Then(Spot(self.book, key), message))
        else:
            self.book.tell(key, message)
        return asked

    def _waits_for_its_worker(self) -> bool:
        while self._by_worker and not self._by_worker[0].waits:
            self._by_worker.popleft()
        return bool(self._by_worker)

    def _ask_worker(self, kind: Any, *fields: Any) -> Asked:
        asked = Asked()
        self._by_worker.append(asked)
        self.book.tell(self.key, kind(Address(asked, None), *fields))
        return asked


class Watch:
    """A watch of the etcd door; it takes everything at once unless `takes` is cleared.

    Attributes:
        got: what it was offered and took.
        offer: what it was offered and has not answered.
        stalled: what it could not write at once.
    """

    def __init__(self, book: "TubeBook", tube: bytes, identity: str) -> None:
        self.book = book
        self.tube = tube
        self.identity = identity
        self.address = Address(self, None)
        self.takes = True
        self.offer: tuple[m.Delivery, ...] = ()
        self.stalled: tuple[m.Delivery, ...] = ()
        self.got: list[m.Delivery] = []

    def post(self, message: Any) -> None:
        """Hear the queue."""
        if isinstance(message, m.Superseded):
            self.end()
            return
        assert isinstance(message, m.Offer)
        assert not self.offer, "one offer at a time"
        assert not self.stalled, "nothing is offered to one that is stalled"
        bytes_max = self.book.context.request_bytes_max
        for one in message.deliveries:
            assert not bytes_max or len(one.body) <= bytes_max, "it is not for watches"
            assert one.index not in self.book.delivered, "it was taken before under that index"
        self.offer = message.deliveries
        if self.takes:
            self.take()

    def take(self, count: int | None = None, *, stalls: bool = False) -> None:
        """Answer the offer: take `count` (None: all), let one more stall, decline the rest."""
        offer, self.offer = self.offer, ()
        count = len(offer) if count is None else min(count, len(offer))
        self._have(offer[:count])
        self.stalled = offer[count : count + stalls]
        declined = offer[count + stalls :]
        indexes = [
            tuple(one.index for one in part) for part in (offer[:count], self.stalled, declined)
        ]
        self.book.posted.append((self.tube, m.Accepted(self.address, *indexes)))

    def go_on(self) -> None:
        """What stalled is written after all."""
        indexes = tuple(one.index for one in self.stalled)
        self._have(self.stalled)
        self.stalled = ()
        self.book.tell(self.tube, m.Taken(self.address, indexes))

    def _have(self, deliveries: tuple[m.Delivery, ...]) -> None:
        self.got += deliveries
        self.book.delivered |= {one.index for one in deliveries}

    def acknowledge(self, index: int, tail: bytes | None = None) -> int:
        """Delete a delivery key; return how many jobs that deleted."""
        if tail is None:
            (tail,) = [one.tail for one in self.got if one.index == index]
        count: int = self.book.ask(self.tube, m.Acknowledge, index, tail).value.count
        return count

    def end(self) -> None:
        """End the watch."""
        self.book.tell(self.tube, m.Ended(self.address))

    @property
    def bodies(self) -> list[bytes]:
        """What it took."""
        return [one.body for one in self.got]
