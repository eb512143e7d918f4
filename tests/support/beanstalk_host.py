"""A session of the beanstalk door with actors that only listen: a test answers in their place."""

from collections.abc import Callable
from itertools import count
from typing import Any

from etcdq.actors.effect import Reply
from etcdq.actors.message import Address
from etcdq.actors.queue.tube_messages import Done
from etcdq.actors.worker.messages import Then
from etcdq.server.beanstalk.door import (
    BeanstalkDoor,
    DoorSettings,
    GroupStatistics,
    NodeFacts,
    NodeTotals,
)
from etcdq.server.beanstalk.session import Session

WORKER = "worker"
CONNECTION = 7

TOTALS = NodeTotals(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13)
FACTS = NodeFacts("0", "node", "ab" * 8, False, 1, 0.1, 0.2, 4_096, 5.0, "host", "os", "cpu")


class Posting:
    """A handle that notes who was told what. Equal to every other of its name."""

    def __init__(self, name: Any, posted: list[tuple[Any, Any]]) -> None:
        self.name = name
        self._posted = posted

    def post(self, message: Any) -> None:
        """Note it."""
        self._posted.append((self.name, message))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Posting) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return f"<{self.name!r}>"


class BeanstalkHost:
    """One session. `posted` is what it told to whom: a tube's name, a job's id, or `WORKER`."""

    def __init__(self, **settings: Any) -> None:
        self.posted: list[tuple[Any, Any]] = []
        self.inbox = self.handle("session")
        self.queues: dict[int, bytes] = {}
        """The queue of each job that is there."""
        self.groups: dict[bytes, GroupStatistics] = {}
        self.tubes = [b"default"]
        self.drained: list[bool] = []
        self.ids_spent = 0
        self.now_s = 0.0
        self.door = BeanstalkDoor(
            queue=self.handle,
            queue_of=self.queues.get,
            queues_of=lambda job_ids: set(map(self.queues.get, job_ids)),
            job=self.handle,
            worker=lambda connection: self.handle(WORKER),
            tubes=lambda: self.tubes,
            totals=lambda: TOTALS,
            group=self.groups.get,
            facts=lambda: FACTS,
            set_draining=self.drained.append,
            new_connection=count(CONNECTION).__next__,
            spend_job_id=self._spend,
            settings=DoorSettings(**settings),
        )
        self.session = Session(self.door, self.inbox)
        self.greeting = self.take()

    def handle(self, name: Any) -> Posting:
        """Return the handle of an actor."""
        return Posting(name, self.posted)

    def _spend(self) -> None:
        self.ids_spent += 1

    def to(self, tag: int = 0) -> Address:
        """Return the address that the command of that place in the session replies to."""
        return Address(self.inbox, tag)

    def take(self) -> list[tuple[Any, Any]]:
        """Return what was posted since the last time."""
        posted = list(self.posted)
        self.posted.clear()
        return posted

    def take_one(self) -> tuple[Any, Any]:
        """Return the one thing that was posted since the last time."""
        (posted,) = self.take()
        return posted

    def receive(self, data: bytes) -> bytes:
        """Let the client send; return what it is answered at once."""
        self.session.receive(data, self.now_s)
        return self.session.take_output()

    def reply(self, tag: int, value: Any) -> bytes:
        """Let an actor answer the command of that place; return what the client gets then."""
        self.session.hear([Reply(self.to(tag), value)])
        return self.session.take_output()

    def answer_all(self, value_of: Callable[[Any], Any] = lambda message: Done()) -> bytes:
        """Answer everything that was posted, also what comes of that, and send marks back."""
        out = b""
        while self.posted:
            for _, message in self.take():
                if type(message) is Then:
                    message = message.message
                if type(message) is Reply:
                    self.session.hear([message])
                elif hasattr(message, "to"):
                    self.session.hear([Reply(message.to, value_of(message))])
                out += self.session.take_output()
        return out
