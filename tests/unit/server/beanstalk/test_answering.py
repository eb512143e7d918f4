"""Values of actors as lines: what the table of commands in test_asking.py leaves out."""

from typing import Any

import pytest

from etcdq.actors.errors import DrainingError, NoSuchJobError, NoSuchQueueError
from etcdq.actors.queue.messages import Inserted, JobState
from etcdq.actors.queue.tube_messages import Done, Duplicate, Grant, JobsDeleted
from etcdq.actors.worker.messages import DeadlineSoon, Reserved, TimedOut
from etcdq.server.beanstalk import answering

JOB = Reserved((Grant(5, b"five"),))


def test_a_duplicate() -> None:
    """A put that made no job says which one is there, and what it did to it."""
    assert answering.put(Duplicate(3, None)) == b"INSERTED 3 DELETED\r\n"
    assert answering.put(Duplicate(3, JobState.DELAYED)) == b"INSERTED 3 DELAYED\r\n"


@pytest.mark.parametrize(
    ("value", "line"),
    [(TimedOut(), b""), (DeadlineSoon(), b"DEADLINE_SOON\r\n"), (JOB, b"RESERVED 5 4\r\nfive\r\n")],
)
def test_last_reserve(value: Any, line: bytes) -> None:
    """Only that nothing came is kept from a client whose node stops."""
    assert answering.last_reserve(value) == line


def test_deleted_batch() -> None:
    """Nothing is said before the last of them."""
    batch = answering.DeletedBatch(5, answers=3)
    assert batch(Done()) is None
    assert batch(NoSuchJobError("no")) is None
    assert batch(JobsDeleted((True, False, True))) == b"DELETED_BATCH 3 2\r\n"


def test_rows() -> None:
    """What is asked together is answered one by one, in order."""
    said = answering.puts((Inserted(5, 1), DrainingError("no"), Duplicate(6, None)))
    assert said == b"INSERTED 5\r\nDRAINING\r\nINSERTED 6 DELETED\r\n"
    said = answering.deletes(JobsDeleted((True, False, True)))
    assert said == b"DELETED\r\nNOT_FOUND\r\nDELETED\r\n"


@pytest.mark.parametrize(
    "answer",
    [
        answering.peek, answering.peek_tube, answering.kick, answering.flush_tube,
        answering.pause_tube, answering.reserve_batch, answering.stats_job_in("tuber"),
        answering.stats_tube_in("beanstalkd"),
    ],
)  # fmt: skip
def test_errors(answer: answering.Answer) -> None:
    """Whatever a command asks, an error is answered with its word."""
    assert answer(NoSuchQueueError("etcdq: no queue")) == b"NOT_FOUND\r\n"
