"""What actors answer, as the bytes that a client is answered: one function per kind of command.

Each takes the value of a `Reply` and returns whole lines. A `DeletedBatch` takes several values,
and returns None before the last of them.
"""

from collections.abc import Callable
from typing import Any

from etcdq.actors.errors import EtcdqError
from etcdq.actors.queue.messages import Inserted
from etcdq.actors.queue.tube_messages import Done, Duplicate, Grant, JobsDeleted
from etcdq.actors.worker.messages import DeadlineSoon, Reserved, TimedOut
from etcdq.server.beanstalk import replies
from etcdq.server.beanstalk.door import Dialect
from etcdq.server.beanstalk.errors import reply_of
from etcdq.server.beanstalk.statistics import stats_job, stats_tube

Answer = Callable[[Any], bytes | None]

_NO_JOB = {TimedOut: replies.TIMED_OUT, DeadlineSoon: replies.DEADLINE_SOON}


def refusal(value: Any) -> bytes | None:
    """Return what a client is told if `value` is an error, None if it is not."""
    return reply_of(value) if isinstance(value, EtcdqError) else None


def put(value: Any) -> bytes:
    """A `put`."""
    kind = type(value)
    if kind is Inserted:
        return replies.inserted(value.job_id)
    if kind is Duplicate:
        return replies.duplicate(value.job_id, value.state, value.priority)
    return reply_of(value)


def puts(values: Any) -> bytes:
    """Several `put`s in a row."""
    return b"".join([put(value) for value in values])


def reserve(value: Any) -> bytes:
    """A `reserve` of any kind but a batch."""
    if type(value) is Reserved:
        grant = value.grants[0]
        return replies.reserved(grant.job_id, grant.body)
    return _NO_JOB.get(type(value)) or reply_of(value)


def reserve_row(grants: tuple[Grant, ...]) -> bytes:
    """Several reserves that are answered together."""
    return b"".join([replies.reserved(grant.job_id, grant.body) for grant in grants])


def last_reserve(value: Any) -> bytes:
    """A `reserve` behind which nothing comes, as the node stops: one that ends without a job is
    not answered, since its client would ask again; it sees the connection close."""
    return b"" if type(value) is TimedOut else reserve(value)


def reserve_batch(value: Any) -> bytes:
    """A `reserve-batch`."""
    if type(value) is Reserved:
        return replies.reserved_batch([(grant.job_id, grant.body) for grant in value.grants])
    return reply_of(value)


def _done(line: bytes) -> Answer:
    def answer(value: Any) -> bytes:
        return line if type(value) is Done else reply_of(value)

    return answer


delete = _done(replies.DELETED)
release = _done(replies.RELEASED)
bury = _done(replies.BURIED)
touch = _done(replies.TOUCHED)
kick_job = _done(replies.KICKED)
pause_tube = _done(replies.PAUSED)


def deletes(value: Any) -> bytes:
    """Several `delete`s in a row."""
    return b"".join([_DELETED_OR_NOT[deleted] for deleted in value.deleted])


_DELETED_OR_NOT = (replies.NOT_FOUND, replies.DELETED)


class DeletedBatch:
    """A `delete-batch` of `count` jobs, told in so many `answers`."""

    __slots__ = ("_count", "_deleted", "_unknown")

    def __init__(self, count: int, answers: int) -> None:
        self._count = count
        self._unknown = answers
        self._deleted = 0

    def __call__(self, value: Any) -> bytes | None:
        """Count one answer in."""
        if type(value) is JobsDeleted:
            self._deleted += sum(value.deleted)
        elif type(value) is Done:
            self._deleted += 1
        self._unknown -= 1
        if self._unknown:
            return None
        return replies.deleted_batch(self._deleted, self._count - self._deleted)


def kick(value: Any) -> bytes:
    """A `kick`."""
    return refusal(value) or replies.kicked(value.count)


def flush_tube(value: Any) -> bytes:
    """A `flush-tube`."""
    return refusal(value) or replies.flushed(value.count)


def peek(value: Any) -> bytes:
    """A `peek` of a job by its id."""
    return refusal(value) or replies.found(value.job_id, value.body)


def peek_tube(value: Any) -> bytes:
    """A `peek-ready` and its like."""
    refused = refusal(value)
    if refused is not None:
        return refused
    if not value.jobs:
        return replies.NOT_FOUND
    return replies.found(value.jobs[0].job_id, value.jobs[0].body)


def stats_job_in(dialect: Dialect) -> Answer:
    """Return the function for `stats-job`."""
    return lambda value: refusal(value) or replies.ok(stats_job(value, dialect))


def stats_tube_in(dialect: Dialect) -> Answer:
    """Return the function for `stats-tube`."""
    return lambda value: refusal(value) or replies.ok(stats_tube(value, dialect))
