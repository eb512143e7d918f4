"""A small world of tubes: workers in all modes, producers with all tags, watches, operators.

No Trio, one seed. Each step is one thing, or several in one batch, in which all crossings happen
that can: who leaves while it is granted a job, a pause under an invitation, a slot freed and taken.
After each batch the rules of `tube_rules.py` hold, and what clients heard is judged by
`tube_judge.py`. At the end everybody leaves, everything is worked off, and nothing is left.
"""

from collections.abc import Callable
from random import Random

from etcdq.actors.core import NEVER_S
from etcdq.actors.message import Address
from etcdq.actors.queue import messages as m
from etcdq.actors.queue import tube_messages as t
from etcdq.actors.worker import messages as w
from tests.simulation.tube_judge import Judge, Watched, WatchedPut
from tests.support.tube_book import TubeBook
from tests.support.tube_clients import Connection, Spot, Watch

TUBES = (b"default", b"a", b"b", b"c")
OPERATIONS = (
    *("kick", "kick", "kick job", "pause", "pause", "unpause"),
    *("flush", "purge", "delete key", "acknowledge", "show"),
)
BODY_BYTES_MAX = 8
"""A larger body is not for watches."""


class Client(Connection):
    """A connection whose questions the judge knows."""

    def __init__(self, book: TubeBook, number: int, judge: Judge) -> None:
        super().__init__(book, number)
        self.judge = judge

    def question(self, kind: str, job_id: int = 0) -> Watched:
        """Return a question to be asked."""
        return Watched(self.judge, self, kind, job_id)

    def is_idle(self) -> bool:
        """Return whether nothing that it asked its worker is unanswered."""
        return not self._waits_for_its_worker()


class TubeWorld:
    """Everything, stepped by `run`."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        limit = self.random.choice((0, BODY_BYTES_MAX, BODY_BYTES_MAX))
        self.book = TubeBook(seed, idle_s=5.0, request_bytes_max=limit)
        self.book.check_chance = self.random.choice((0.1, 0.2, 1.0))
        self.judge = Judge(self.book)
        self.watches: list[Watch] = []
        self.with_watches = self.random.random() < 0.5
        self.with_keys = self.random.random() < 0.7
        self.crowd = self.random.choice((1, 2, 6))
        self.appetite = self.random.choice((5, 10, 30))
        """How much more often than other things a reserve happens."""

    # who there is ---------------------------------------------------------------------------

    @property
    def clients(self) -> list[Client]:
        """The open connections."""
        return [one for one in self.book.connections.values() if isinstance(one, Client)]

    def connect(self) -> None:
        """A connection comes."""
        if len(self.clients) >= self.crowd:
            return
        book, random = self.book, self.random
        book._connections += 1
        client = Client(book, book._connections, self.judge)
        book.connections[client.number] = client
        with book.batch():
            for tube in random.sample(TUBES, random.randrange(1, 4)):
                client.watch(tube, random.choice((1, 1, 5)))
            if random.random() < 0.5 and len(client.watched) > 1:
                client.ignore(b"default")
            client.mode(random.choice((w.ReserveMode.FIFO, *w.ReserveMode)))
            client.use(random.choice(TUBES))

    def leave(self, client: Client) -> None:
        """A connection ends."""
        self.judge.leaving.add(client.number)
        client.leave()

    def someone(self) -> Client | None:
        """Return a connection that still sends, most often one that waits for nothing."""
        clients = [one for one in self.clients if not one.hung_up]
        idle = [one for one in clients if one.is_idle()]
        if idle and self.random.random() < 0.8:
            clients = idle
        return self.random.choice(clients) if clients else None

    # what can happen ------------------------------------------------------------------------

    def put(self) -> None:
        """A job comes through either door."""
        random = self.random
        fields: dict[str, object] = {}
        if random.random() < 0.2:
            fields["key"] = random.choice((b"k", b"1"))
        elif self.with_keys:
            if random.random() < 0.4:
                fields |= {"con": random.choice((b"x", b"y")), "con_limit": random.choice((1, 2))}
            if random.random() < 0.2:
                fields["grp"] = random.choice((b"g", b"h"))
            if random.random() < 0.2:
                fields["aft"] = random.choice((b"g", b"h"))
            if random.random() < 0.2:
                fields |= {"idp": random.choice((b"i", b"j")), "idp_ttl_s": random.choice((0, 2))}
        ttr_s = 0.0 if "key" in fields else random.choice((1.0, 2.0, 60.0))
        size = random.choice((1, 5)) if "key" in fields else random.choice((1, 5, 20))
        tube = random.choice(TUBES)
        alone = tube in self.book.stage.cores and not self.book._in_batch and not self.book.posted
        first = self.judge.first_waiting(tube) if alone else None
        waiting = [one for one in self.judge.order if one.waits]
        self.book.ask_put(
            tube,
            bytes(size),
            WatchedPut(self.judge, ttr_s or NEVER_S),
            priority=random.choice((1024, 1024, 7, 3000)),
            delay_s=random.choice((0.0, 0.0, 0.0, 1.0, 2.5)),
            ttr_s=ttr_s,
            **fields,
        )
        served = [one for one in waiting if not one.waits]
        if first is not None and served and "con" not in fields:
            assert first in served, "another one has waited longer"

    def reserve(self) -> None:
        """A connection wants jobs."""
        client = self.someone()
        if client is None:
            return
        random = self.random
        kind = random.choice(("reserve", "reserve", "reserve", "reserve batch", "reserve job"))
        asked = client.question(kind)
        idle = client.is_idle()
        alone = idle and not self.book._in_batch and not self.book.posted
        to, count = Address(asked, None), 1
        message: object
        if kind == "reserve":
            asked.timeout_s = random.choice((None, 0.0, 0.0, 0.5, 1.0, 2.5))
            asked.alone = alone
            message = w.Reserve(to, asked.timeout_s)
        elif kind == "reserve batch":
            count = random.choice((1, 2, 9))
            message = w.ReserveBatch(to, count)
        else:
            message = w.ReserveThis(to, self.some_job(client))
        could = self.judge.could_have(client, count) if alone else []
        client._by_worker.append(asked)
        if idle:
            self.judge.order.append(asked)
        self.book.tell(client.key, message)
        if alone and kind != "reserve job":
            self.judge.judge_lone(asked, could)

    def reserve_row(self) -> None:
        """A connection wants several jobs, each by a reserve of its own."""
        client = self.someone()
        if client is None:
            return
        timeout_s = self.random.choice((None, 0.0, 1.0))
        row = [client.question("reserve") for _ in range(self.random.choice((2, 4)))]
        client.reserve_row(row, timeout_s)

    def delete_all(self) -> None:
        """A connection deletes all that it has of a tube, and more."""
        client = self.someone()
        if client is None:
            return
        tube = self.random.choice(TUBES)
        directory = self.book.context.directory
        jobs = {self.some_job(client) for _ in range(4)}
        ids = tuple(job for job in jobs if job in directory and directory[job].queue == tube)
        asked = client.question("delete jobs")
        asked.job_ids_meant = ids
        message = t.DeleteJobs(Address(asked, None), ids, client.number)
        self.ask(client, tube, message, asked)

    def work(self) -> None:
        """A connection does something with a job, most often one it has."""
        client = self.someone()
        if client is None:
            return
        random = self.random
        kind = random.choice(("delete", "delete", "release", "bury", "touch"))
        job_id = self.some_job(client)
        to = Address(client.question(kind, job_id), None)
        priority = random.choice((1024, 7, 3000))
        message: m.Message
        if kind == "delete":
            message = t.DeleteJob(to, job_id, client.number)
        elif kind == "release":
            delay_s = random.choice((0.0, 0.0, 1.0))
            message = t.ReleaseJob(to, job_id, client.number, priority, delay_s)
        elif kind == "bury":
            message = t.BuryJob(to, job_id, client.number, priority)
        else:
            message = t.TouchJob(to, job_id, client.number)
        self.ask(client, job_id, message, to.handle)

    def ask(self, client: Client, key: object, message: m.Message, asked: object) -> None:
        """Ask as a session does: behind all that the connection asked its worker."""
        if client.is_idle():
            self.book.tell(key, message)
        else:
            assert isinstance(asked, Watched)
            client._by_worker.append(asked)
            self.book.tell(client.key, w.Then(Spot(self.book, key), message))

    def some_job(self, client: Client) -> int:
        """Return the id of a job, most often one that the connection has."""
        mine = [job for job, one in self.judge.beliefs.items() if one.connection == client.number]
        living = list(self.book.context.directory)
        if mine and self.random.random() < 0.7:
            return self.random.choice(mine)
        if living and self.random.random() < 0.9:
            return self.random.choice(living)
        return self.random.randrange(0, 50)

    def operate(self) -> None:
        """An operator looks after a tube or a job, through either door."""
        book, random = self.book, self.random
        tube = random.choice(TUBES)
        act = random.choice(OPERATIONS)
        jobs = [job for job in book.context.directory.values() if job.queue == tube]
        job = random.choice(jobs) if jobs else None
        if act == "kick":
            book.ask(tube, m.Kick, random.choice((1, 10)))
        elif act == "kick job" and job is not None:
            book.ask(job.job_id, t.KickJob, job.job_id)
        elif act == "pause":
            book.ask(tube, t.PauseTube, random.choice((0.0, 1.0, 2.0)))
        elif act == "unpause":
            book.ask(tube, m.Pause, 0.0)
        elif act == "flush" and random.random() < 0.3:
            book.ask(tube, t.FlushTube)
        elif act == "purge" and job is not None:
            book.ask(tube, m.Purge, b"%016d/" % job.index, b"%016d/" % (job.index + 2))
        elif act == "delete key":
            book.ask(tube, m.DeleteKey, random.choice((b"k", b"1", b"2")))
        elif act == "acknowledge" and job is not None:
            book.ask(tube, m.Acknowledge, job.index, job.tail or b"%d" % job.job_id)
        else:
            book.ask(tube, t.ShowTube)

    def change(self) -> None:
        """A connection changes what it is: only when nothing it asked is unanswered."""
        client, random = self.someone(), self.random
        if client is None or not client.is_idle():
            return
        act = random.choice(("watch", "ignore", "use", "mode", "leave"))
        if act == "watch":
            client.watch(random.choice(TUBES), random.choice((1, 9)))
        elif act == "ignore" and len(client.watched) > 1:
            client.ignore(random.choice(client.watched))
        elif act == "use":
            client.use(random.choice(TUBES))
        elif act == "mode":
            client.mode(random.choice(list(w.ReserveMode)))

    def end(self) -> None:
        """A connection hangs up, or is gone."""
        client = self.random.choice(self.clients) if self.clients else None
        if client is None:
            return
        if self.random.random() < 0.5 and not client.hung_up:
            client.hang_up()
        else:
            self.leave(client)

    def consume(self) -> None:
        """A watch comes, goes, takes its offer, or acknowledges."""
        book, random = self.book, self.random
        if not self.with_watches:
            return
        if not self.watches or random.random() < 0.2:
            credit = m.Credit(random.choice((0, 1, 3)), random.choice((0, 9)))
            identity = random.choice(("c1", "c2"))
            tube = random.choice(TUBES)
            if any(one.tube == tube and one.identity == identity for one in self.watches):
                return
            watch = book.consume(tube, identity, credit=credit)
            watch.takes = random.random() < 0.5
            self.watches.append(watch)
            return
        watch = random.choice(self.watches)
        if watch.stalled and random.random() < 0.7:
            watch.go_on()
        elif watch.offer:
            watch.take(random.choice((None, 0, 1)), stalls=random.random() < 0.4)
        elif watch.got and random.random() < 0.7:
            one = watch.got.pop(random.randrange(len(watch.got)))
            book.ask(watch.tube, m.Acknowledge, one.index, one.tail)
        elif random.random() < 0.2:
            self.watches.remove(watch)
            watch.end()

    def wait(self) -> None:
        """Time passes."""
        self.book.at(self.book.now_s + self.random.choice((0.25, 0.5, 1.0, 3.0)))

    # the whole story ------------------------------------------------------------------------

    def run(self, steps: int) -> None:
        """Let `steps` things happen, then let everything come to its end, and judge."""
        happenings: list[tuple[Callable[[], None], int]] = [
            (self.put, 10), (self.reserve, self.appetite), (self.work, 8), (self.consume, 4),
            (self.wait, 3), (self.reserve_row, 1), (self.delete_all, 1),
            (self.connect, 3), (self.operate, 3), (self.change, 2), (self.end, 1),
        ]  # fmt: skip
        together = [one for one in happenings if one[0] != self.wait]
        for _ in range(self.crowd):
            self.connect()
        for _ in range(steps):
            if self.random.random() < 0.3:
                with self.book.batch():
                    for act in self.choose(together, self.random.choice((2, 3, 8))):
                        act()
            else:
                for act in self.choose(happenings, 1):
                    act()
            self.judge.look()
        self.finish()

    def choose(
        self, acts: list[tuple[Callable[[], None], int]], count: int
    ) -> list[Callable[[], None]]:
        """Return some acts."""
        return self.random.choices([act for act, _ in acts], [one for _, one in acts], k=count)

    def finish(self) -> None:
        """Everyone leaves, and one good worker works everything off."""
        book = self.book
        book.check_chance = 1.0
        for watch in self.watches:
            if watch.offer:
                watch.take()
            watch.end()
        for client in self.clients:
            self.leave(client)
        book.run()
        worker = book.connect(*TUBES)
        for tube in TUBES:
            book.ask(tube, m.Pause, 0.0)
        book.at(book.now_s + 100.0)
        for _ in range(1_000):
            if not book.context.directory:
                break
            job_ids = worker.reserve_batch(1_000).job_ids
            for job_id in job_ids:
                assert worker.delete(job_id).value == t.Done()
            if not job_ids:
                for tube in TUBES:
                    book.ask(tube, m.Kick, 1_000)
                held = [job.job_id for job in book.context.directory.values()]
                for job_id in held[:1]:  # groups in a circle
                    book.ask(job_id, t.DeleteJob, job_id, worker.number)
        worker.leave()
        book.at(book.now_s + 100.0)
        book.assert_clean()
        assert book.stage.next_deadline_s() == NEVER_S
