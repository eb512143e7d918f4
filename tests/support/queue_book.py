"""A playbook for one queue, with the messages its tests need most, in short."""

from typing import Any

from etcdq.actors.effect import Reply, Tell
from etcdq.actors.message import Address
from etcdq.actors.node.messages import DropRegistry, SetRegistry
from etcdq.actors.queue import messages as m
from etcdq.actors.queue.context import JobsBudget, Numbers, QueueContext
from etcdq.actors.queue.core import QueueCore
from tests.support.playbook import Named, Playbook

ASKER = Address(Named("asker"), "a call")
REGISTRY = Named("registry")
BORN = Tell(REGISTRY, SetRegistry(b"/q/jobs", b"node"))
REAPED = Tell(REGISTRY, DropRegistry(b"/q/jobs"))
FIRST = 1001
"""Index of the first job."""


def watch(name: str) -> Address:
    """Return the address of a watch."""
    return Address(Named("session"), name)


def put(key: bytes = b"k", body: bytes = b"body", **fields: Any) -> m.Put:
    """Return a put whose tail is its key."""
    return m.Put(ASKER, key, fields.pop("tail", key), body, **fields)


def register(consumer: str, watch_name: str, credit: m.Credit | None = None) -> m.Register:
    """Return a registration."""
    return m.Register(ASKER, watch(watch_name), consumer, credit=credit)


def acknowledge(index: int, tail: bytes = b"k") -> m.Acknowledge:
    """Return an acknowledgement."""
    return m.Acknowledge(ASKER, index, tail)


def reply(value: Any) -> Reply:
    """Return the answer to any of the above."""
    return Reply(ASKER, value)


def entered(consumer: str) -> Tell:
    """Return the effect that writes a consumer's registry key."""
    return Tell(REGISTRY, SetRegistry(b"/q/jobs/c/" + consumer.encode(), b"node"))


def left(consumer: str) -> Tell:
    """Return the effect that drops a consumer's registry key."""
    return Tell(REGISTRY, DropRegistry(b"/q/jobs/c/" + consumer.encode()))


def offer(watch_name: str, *indexes: int, tail: bytes = b"k", body: bytes = b"body") -> Tell:
    """Return the effect that offers jobs of that tail and body."""
    deliveries = tuple(m.Delivery(index, tail, body) for index in indexes)
    return Tell(Named("session"), m.Offer(watch(watch_name), deliveries))


def accepted(
    watch_name: str,
    taken: tuple[int, ...] = (),
    stalled: tuple[int, ...] = (),
    declined: tuple[int, ...] = (),
) -> m.Accepted:
    """Return a watch's word on its offer."""
    return m.Accepted(watch(watch_name), taken, stalled, declined)


def indexes(answer: m.Listing | m.Deleted) -> list[int]:
    """Return the indexes of the jobs in an answer."""
    return [job.index for job in answer.jobs]


class QueueBook(Playbook):
    """A playbook of the queue "jobs" on a node of its own."""

    def __init__(
        self,
        *,
        budget_bytes: int = 0,
        max_jobs: int = 0,
        credit: m.Credit | None = None,
    ) -> None:
        self.context = QueueContext(
            b"node",
            REGISTRY,
            Numbers(FIRST),
            budget=JobsBudget(budget_bytes),
            credit=credit or m.Credit(),
            max_jobs=max_jobs,
        )
        self.queue = QueueCore(b"jobs", self.context)
        super().__init__(self.queue)

    def fill(self, count: int, **fields: Any) -> "QueueBook":
        """Put `count` jobs under key b"k" and end the batch."""
        for _ in range(count):
            self >> put(**fields)
        self.end_batch()
        return self

    def enter(self, consumer: str, watch_name: str, credit: m.Credit | None = None) -> list[Any]:
        """Register and end the batch; return only what was told to sessions."""
        self >> register(consumer, watch_name, credit)
        return self.told()

    def told(self) -> list[Any]:
        """End the batch; return the messages that were told to sessions."""
        effects = [effect for effect in self.end_batch() if type(effect) is Tell]
        return [effect.message for effect in effects if effect.handle != REGISTRY]

    def ask(self, message: Any) -> Any:
        """Return the answer to a request, and end the batch."""
        self >> message
        (answer,) = [effect.value for effect in self.end_batch() if type(effect) is Reply]
        return answer

    def shown(self) -> m.QueueStatistics:
        """Return the statistics now."""
        return self.queue.statistics(self.now_s)
