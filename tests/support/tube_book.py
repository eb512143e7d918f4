"""A node's queues and workers in one stage, without Trio: tubes, beanstalk connections, watches.

    book = TubeBook()
    worker = book.connect(b"a", b"b")
    asked = worker.reserve()              # every call is a batch of its own, run at once
    job_id = book.put(b"a", priority=3)
    assert asked.job_ids == [job_id]
    with book.batch():                    # what is asked in here is one batch
        worker.delete(job_id)
        book.put(b"b")
    book.at(5.0)                          # deadlines on the way are visited, each at its instant

After every batch the rules of `tube_rules.py` are checked.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random
from typing import Any

from etcdq.actors.core import Core
from etcdq.actors.message import Address
from etcdq.actors.node.messages import DropRegistry, SetRegistry
from etcdq.actors.queue import messages as m
from etcdq.actors.queue import tube_messages as t
from etcdq.actors.queue.context import Numbers, QueueContext
from etcdq.actors.queue.core import QueueCore
from etcdq.actors.queue.nobody import NoJobCore
from etcdq.actors.stage import Stage
from etcdq.actors.worker.core import WorkerCore
from tests.support.tube_clients import Asked, Connection, Spot, Watch
from tests.support.tube_rules import check_rules

FIRST = 1001
"""Index of the first job: a job's index is its id and 1,000, as long as none is given anew."""


class Registry:
    """Keeps the registry keys."""

    def __init__(self) -> None:
        self.keys: dict[bytes, bytes] = {}

    def post(self, message: SetRegistry | DropRegistry) -> None:
        """Set or drop one."""
        if isinstance(message, SetRegistry):
            self.keys[message.key] = message.value
        else:
            del self.keys[message.key]


class TubeBook:
    """See the top of this file.

    Args:
        seed: of what the weighted modes draw.
        settings: of the queues' context.
    """

    def __init__(self, seed: int = 0, **settings: Any) -> None:
        self.now_s = 0.0
        self.random = Random(seed)
        self.registry = Registry()
        self.posted: list[tuple[Any, Any]] = []
        self.connections: dict[int, Connection] = {}
        self.logs: list[Any] = []
        self.delivered: set[int] = set()
        """Indexes that watches took."""
        self.batches = 0
        self.context = QueueContext(
            b"node", self.registry, Numbers(FIRST), queue=self.queue, face=self._face, **settings
        )
        self.stage = Stage(self._bear)
        self.stage.home = self
        self.stage.aliases = self._queue_of_job
        self.after_batch: Callable[[bool], None] = lambda was_empty: None
        self.check_chance = 1.0
        """How often the rules are checked: some of them tidy up what they look at."""
        self._in_batch = False
        self._connections = 0
        self._born: set[int] = set()

    def queue(self, name: bytes) -> Spot:
        """Return the handle of a queue."""
        return Spot(self, name)

    def core(self, name: bytes) -> QueueCore:
        """Return a queue that is there."""
        core = self.stage.cores[name]
        assert isinstance(core, QueueCore)
        return core

    def connect(self, *tubes: bytes) -> "Connection":
        """Open a connection that watches these tubes, `default` if none is named."""
        self._connections += 1
        connection = Connection(self, self._connections)
        self.connections[connection.number] = connection
        with self.batch():
            for tube in tubes:
                connection.watch(tube)
            if tubes and b"default" not in tubes:
                connection.ignore(b"default")
        return connection

    def consume(self, tube: bytes, identity: str, **fields: Any) -> "Watch":
        """Register a watch of the etcd door."""
        watch = Watch(self, tube, identity)
        message = m.Register(Address(Asked(), None), watch.address, identity, **fields)
        self.tell(tube, message)
        return watch

    # asking ---------------------------------------------------------------------------------

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Let all that is asked inside be one batch."""
        outer, self._in_batch = self._in_batch, True
        yield
        self._in_batch = outer
        self._run_if_alone()

    def tell(self, key: Any, message: Any) -> None:
        """Post a message to a core."""
        self.posted.append((key, message))
        self._run_if_alone()

    def ask(
        self, key: Any, kind: Any, *fields: Any, asked: Asked | None = None, **more: Any
    ) -> Asked:
        """Ask a queue, or a job by its id."""
        asked = asked or Asked()
        self.tell(key, kind(Address(asked, None), *fields, **more))
        return asked

    def put(self, tube: bytes, body: bytes = b"body", **fields: Any) -> int:
        """Put a job as a beanstalk connection does, and return its id."""
        asked = self.ask_put(tube, body, **fields)
        assert not self._in_batch, "inside of a batch there is no answer yet: use ask_put"
        assert type(asked.value) is m.Inserted, asked.value
        job_id: int = asked.value.job_id
        return job_id

    def ask_put(
        self, tube: bytes, body: bytes = b"body", asked: Asked | None = None, **fields: Any
    ) -> Asked:
        """Put a job; what is no field of `Put` is a tag."""
        numbers: dict[str, Any] = {
            key: fields.pop(key) for key in ("priority", "delay_s") if key in fields
        }
        ttr_s = fields.pop("ttr_s", 60.0)
        tail = key = fields.pop("key", b"")
        if fields.get("con") and "con_limit" not in fields:
            fields["con_limit"] = 1
        tags = m.Tags(**fields) if fields else None
        numbers |= {"ttr_s": ttr_s, "tags": tags}
        return self.ask(tube, m.Put, key, tail, body, asked=asked, **numbers)

    # running --------------------------------------------------------------------------------

    def at(self, now_s: float) -> "TubeBook":
        """Let time pass until then."""
        assert now_s >= self.now_s, "time does not run backwards"
        while self.stage.next_deadline_s() <= now_s:
            self.now_s = max(self.now_s, self.stage.next_deadline_s())
            self.run()
        self.now_s = now_s
        return self

    def run(self) -> None:
        """Run batches until nothing is under way."""
        while True:
            batch, self.posted = self.posted, []
            outcome = self.stage.run(batch, self.now_s)
            self.batches += 1
            for reply in outcome.replies:
                reply.to.handle.post(reply)
            publications: list[Any] = outcome.publications
            for effect in publications:
                effect.handle.post(effect.message)
            self.logs += outcome.logs
            self.after_batch(not batch)
            if self.random.random() < self.check_chance:
                check_rules(self)
            if not self.posted:
                return

    def show(self, tube: bytes) -> m.TubeStatistics:
        """Return the statistics of a tube that is there."""
        return self.core(tube).statistics(self.now_s).tube

    def job(self, job_id: int) -> t.JobStatistics:
        """Return what is shown of a job."""
        statistics = self.ask(job_id, t.ShowJob, job_id).value
        assert isinstance(statistics, t.JobStatistics), statistics
        return statistics

    def assert_clean(self) -> None:
        """Everybody left, everything is deleted: nothing is left of it."""
        context = self.context
        assert not self.connections
        assert context.directory == {}
        assert context.budget.used_bytes == 0
        assert context.slots.statistics().keys == 0
        assert context.groups._groups == {}
        assert context.tubes.names() == [b"default"]
        assert set(self.stage.cores) <= {b"default"}
        assert set(self.registry.keys) <= {b"/q/default"}

    def _run_if_alone(self) -> None:
        if not self._in_batch:
            self.run()

    def _face(self, name: bytes, now_s: float) -> t.Face | None:
        core = self.stage.cores.get(name)
        return core.face(now_s) if isinstance(core, QueueCore) else None

    def _queue_of_job(self, key: Any) -> Any:
        if type(key) is not int:
            return key
        job = self.context.directory.get(key)
        return None if job is None else job.queue

    def _bear(self, key: Any) -> Core:
        if type(key) is bytes:
            return QueueCore(key, self.context)
        if type(key) is int:
            return NoJobCore(key)
        _, number = key
        assert number not in self._born, "a worker of a connection that is over is born again"
        self._born.add(number)
        return WorkerCore(number, Address(Spot(self, key), None), self.context, self.random.random)
