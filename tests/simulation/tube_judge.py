"""What clients of tubes may see, judged from outside: by what was asked, answered and when.

The judge knows no queue and no line. It believes what answers say: a reserved job is that
connection's until it is deleted, released, buried, or its time is over. It looks at the living jobs
themselves only to know what could have been given to a lone reserve.
"""

from dataclasses import dataclass

from etcdq.actors.queue import messages as m
from etcdq.actors.queue import tube_messages as t
from etcdq.actors.queue.job import READY, Job, tags_of
from etcdq.actors.worker import messages as w
from tests.support.tube_book import TubeBook
from tests.support.tube_clients import Asked, Connection


@dataclass
class Belief:
    """Who has a job, and until when."""

    connection: int
    due_s: float


class Watched(Asked):
    """A question whose answer the judge hears in its turn."""

    def __init__(
        self,
        judge: "Judge",
        connection: Connection,
        kind: str,
        job_id: int = 0,
    ) -> None:
        super().__init__()
        self.judge = judge
        self.connection = connection
        self.kind = kind
        self.job_id = job_id
        self.asked_s = judge.book.now_s
        self.timeout_s: float | None = None
        self.job_ids_meant: tuple[int, ...] = ()
        self.alone = False
        """Whether nothing else was asked in its batch, and nothing unanswered was before it."""

    def post(self, reply: object) -> None:
        """Take the answer."""
        super().post(reply)
        self.judge.hear(self)


class WatchedPut(Asked):
    """A put: the judge has to know for how long its job may be reserved."""

    def __init__(self, judge: "Judge", ttr_s: float) -> None:
        super().__init__()
        self.judge = judge
        self.ttr_s = ttr_s

    def post(self, reply: object) -> None:
        """Take the answer."""
        super().post(reply)
        self.judge.heard += 1
        if type(self.value) is m.Inserted:
            self.judge.ttr_s[self.value.job_id] = self.ttr_s


class Judge:
    """See the top of this file."""

    def __init__(self, book: TubeBook) -> None:
        self.book = book
        self.beliefs: dict[int, Belief] = {}
        self.ttr_s: dict[int, float] = {}
        """Of every job there ever was."""
        self.leaving: set[int] = set()
        """Connections that are over since the last look: what they had is anybody's."""
        self.heard = 0
        self.let_go: list[Watched] = []
        """Reserves that were answered in this batch, and not with a job."""
        self.order: list[Watched] = []
        """Reserves that began when they were asked, in order."""
        book.after_batch = self.judge_batch

    def hear(self, asked: Watched) -> None:
        """Judge an answer, and believe it."""
        value, number = asked.value, asked.connection.number
        self.heard += 1
        if type(value) is w.Reserved:
            for grant in value.grants:
                self._believe_granted(grant.job_id, number)
        if type(value) in (w.TimedOut, w.DeadlineSoon):
            self.let_go.append(asked)
        if type(value) is w.TimedOut and asked.alone and not asked.connection.hung_up:
            assert asked.timeout_s is not None, "timed out, and was to wait for ever"
            assert self.book.now_s == asked.asked_s + asked.timeout_s, "timed out at another time"
            soon = [job for job in self._soon(number) if job in self.book.context.directory]
            assert not soon, "DEADLINE_SOON comes first"
        elif type(value) is w.DeadlineSoon:
            assert self._soon(number), "no job of this connection is about to expire"
        elif type(value) is t.Done and asked.kind in ("delete", "release", "bury"):
            self.beliefs.pop(asked.job_id, None)
        elif type(value) is t.JobsDeleted:
            for job_id, deleted in zip(asked.job_ids_meant, value.deleted, strict=True):
                if deleted:
                    self.beliefs.pop(job_id, None)
        elif type(value) is t.Done and asked.kind == "touch":
            belief = self.beliefs[asked.job_id]
            assert belief.connection == number, "a job was touched by another connection"
            belief.due_s = self.book.now_s + self.ttr_s[asked.job_id]

    def judge_batch(self, was_empty: bool) -> None:
        """Who was let go at an instant at which nothing but time happened had nothing to get, but
        what another queue had to hear of first (a slot freed, a group complete)."""
        only_time = was_empty and self.heard == len(self.let_go)
        for asked in self.let_go if only_time else ():
            for job_ids in self.could_have(asked.connection, 1):
                tags = tags_of(self.book.context.directory[job_ids[0]]) or m.Tags()
                assert tags.con or tags.aft, f"job {job_ids[0]} came as it was let go"
        self.let_go.clear()
        self.heard = 0

    def first_waiting(self, tube: bytes) -> Watched | None:
        """Return the reserve that has waited longest for a job of a tube, if that is known."""
        self.order = [one for one in self.order if one.waits]
        waiting = list(self.book.core(tube).waiting)
        known = [one.connection.number for one in self.order]
        if len(self.book.core(tube).roster) or not set(waiting) <= set(known):
            return None
        return next((one for one in self.order if one.connection.number in waiting), None)

    def look(self) -> None:
        """Compare what clients believe with who has the jobs."""
        directory, now_s = self.book.context.directory, self.book.now_s
        self.beliefs = {
            job_id: belief
            for job_id, belief in self.beliefs.items()
            if job_id in directory and belief.due_s > now_s
            if belief.connection not in self.leaving
        }
        self.leaving.clear()
        held = {
            job_id: job.holder.connection
            for job_id, job in directory.items()
            if isinstance(job.holder, t.Reserver)
        }
        assert held == {job_id: one.connection for job_id, one in self.beliefs.items()}

    def could_have(self, connection: Connection, count: int) -> list[list[int]]:
        """Return, by tube, the jobs that a lone reserve may be given, in the order in which it
        would be given so many of one tube."""
        slots = self.book.context.slots
        tubes = [
            tube
            for tube in connection.watched
            if self.book.now_s >= self.book.core(tube).paused_until_s
        ]
        fifo = connection.reserve_mode is w.ReserveMode.FIFO
        wanted = []
        for together in [tubes] if fifo else [[tube] for tube in tubes]:
            jobs = [job for tube in together for job in self._ready(tube)]
            jobs.sort(key=lambda job: (job.priority, job.index))
            taken: list[Job] = []
            for job in jobs:
                con = self._con(job)
                busy = sum(self._con(one) == con for one in taken)
                if len(taken) < count and (not con or slots.room(con) > busy):
                    taken.append(job)
            wanted.append([job.job_id for job in taken])
        return [job_ids for job_ids in wanted if job_ids]

    def judge_lone(self, asked: Watched, could: list[list[int]]) -> None:
        """Judge the answer to a reserve that was alone in its batch."""
        fifo = asked.connection.reserve_mode is w.ReserveMode.FIFO
        if asked.kind == "reserve batch":
            meant = could[0] if could else []
            watched = [self.book.core(tube) for tube in asked.connection.watched]
            if fifo and not any(len(queue.roster) for queue in watched):
                assert asked.job_ids == meant
            elif fifo:  # once one is taken, it may be the turn of a watch at the one behind it
                assert asked.job_ids == [one for one in meant if one in asked.job_ids]
            assert bool(asked.job_ids) == bool(could)
        elif could:
            assert [asked.job_ids[0]] in [job_ids[:1] for job_ids in could], "not the head"
        elif self._soon(asked.connection.number):
            assert asked.value == w.DeadlineSoon()
        elif asked.timeout_s == 0.0 or asked.connection.hung_up:
            assert asked.value == w.TimedOut()
        else:
            assert asked.waits, "answered, and there was nothing to answer with"

    def _believe_granted(self, job_id: int, number: int) -> None:
        before = self.beliefs.get(job_id)
        if before is not None and before.connection not in self.leaving:
            assert before.due_s <= self.book.now_s, "granted twice"
        self.beliefs[job_id] = Belief(number, self.book.now_s + self.ttr_s[job_id])

    def _soon(self, number: int) -> list[int]:
        """Return the jobs of a connection that are about to expire."""
        mine = [(job, one) for job, one in self.beliefs.items() if one.connection == number]
        return [job for job, one in mine if one.due_s - 1.0 <= self.book.now_s]

    def _ready(self, tube: bytes) -> list[Job]:
        jobs = self.book.context.directory.values()
        return [job for job in jobs if job.queue == tube and job.state is READY]

    @staticmethod
    def _con(job: Job) -> bytes:
        tags = tags_of(job)
        return tags.con if tags is not None else b""
