"""The vocabulary of a worker: one beanstalk connection as the queues see it.

Its session (`server/beanstalk/`) tells it what the client asks, in order. While a reserve waits,
everything behind it waits too: the session posts that as `Then`. Source: docs/semantics.md
section 4.
"""

from enum import Enum
from typing import Any

from etcdq.actors.message import Address, Handle
from etcdq.actors.queue.messages import Message
from etcdq.actors.queue.tube_messages import Grant


class ReserveMode(Enum):
    """How a worker chooses among the queues it watches."""

    FIFO = "fifo"
    WEIGHTED = "weighted"
    WEIGHTED_FAIR = "weighted-fair"


class WatchTube(Message, frozen=True, gc=False):
    """Watch a queue from now on, or with another weight."""

    tube: bytes
    weight: int = 1


class IgnoreTube(Message, frozen=True, gc=False):
    """Watch a queue no longer."""

    tube: bytes


class SetMode(Message, frozen=True, gc=False):
    """Choose in this way from now on."""

    mode: ReserveMode


class Reserve(Message, frozen=True, gc=False):
    """Reserve a job of the watched queues. Replies `Reserved`, `TimedOut` or `DeadlineSoon`.

    `timeout_s` None waits for ever, 0 not at all. `count`: so many reserves, one behind the other,
    whose tags rise by one. A reply `Reserved` with several jobs answers as many of them, from its
    tag on; any other answers one.
    """

    to: Address
    timeout_s: float | None = None
    count: int = 1


class ReserveBatch(Message, frozen=True, gc=False):
    """Reserve up to `count` jobs, without waiting. Replies `Reserved`."""

    to: Address
    count: int


class ReserveThis(Message, frozen=True, gc=False):
    """Reserve the job of that id. Replies `Reserved`, or `NoSuchJobError`."""

    to: Address
    job_id: int


class Then(Message, frozen=True, gc=False):
    """Post `message` to `handle` once every reserve before it is answered."""

    handle: Handle
    message: Any


class TimeUp(Message, frozen=True, gc=False):
    """Told by a worker to itself: the time of its reserve is over. What the queues have at that
    very instant comes first."""


class HangUp(Message, frozen=True, gc=False):
    """The client sends nothing more: a reserve that waits is answered `TimedOut` at once."""


class Leave(Message, frozen=True, gc=False):
    """The connection is over: what it holds is ready again. `using` is the queue it used."""

    using: bytes


class Reserved(Message, frozen=True, gc=False):
    """Jobs that are this connection's from now on."""

    grants: tuple[Grant, ...]


class TimedOut(Message, frozen=True, gc=False):
    """No job came in time."""


class DeadlineSoon(Message, frozen=True, gc=False):
    """Instead of a job: one that this connection holds is about to expire."""
