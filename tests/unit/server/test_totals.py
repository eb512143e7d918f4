"""What the beanstalk door shows of all queues of a node together."""

from typing import Any

import pytest

from etcdq.actors.message import Address
from etcdq.actors.queue import messages as m
from etcdq.actors.queue import tube_messages as t
from etcdq.actors.queue.context import JobsBudget, Numbers, QueueContext
from etcdq.actors.queue.core import QueueCore
from etcdq.actors.stage import Stage
from etcdq.server.beanstalk.door import GroupStatistics, NodeTotals
from etcdq.server.totals import GroupLook, TotalsLook, tube_names
from tests.support.door_host import Listener

LISTENER = Listener()
TO = Address(LISTENER, 0)
JOB_BYTES = 512 + 1


class Queues:
    """Queues of one node, which are told things one by one."""

    def __init__(self) -> None:
        self.context = QueueContext(
            node_id=b"1", registry=LISTENER, numbers=Numbers(1), budget=JobsBudget(9_999)
        )
        self.stage = Stage(lambda name: QueueCore(name, self.context))
        self.totals = TotalsLook(self.context, self.stage.cores)

    def tell(self, name: bytes, message: Any, now_s: float = 0.0) -> None:
        """Let a queue take a message."""
        self.stage.run([(name, message)], now_s)

    def put(self, name: bytes, **fields: Any) -> None:
        """Put a job over beanstalk, with a body of one byte."""
        self.tell(name, m.Put(TO, b"", b"", b"x", **fields))

    def reserve(self, name: bytes, connection: int = 1) -> None:
        """Let a connection reserve the next job."""
        self.tell(name, t.Claim(TO, t.Reserver(connection)))


def test_sums_over_all_queues() -> None:
    """Jobs of each state, in whatever queue they are."""
    queues = Queues()
    for name in (b"jobs", b"mail"):
        queues.put(name, priority=7)
        queues.put(name, priority=2_000, ttr_s=3.0)
        queues.put(name, delay_s=50.0)
    queues.reserve(b"jobs")
    queues.reserve(b"jobs")
    queues.tell(b"jobs", t.BuryJob(TO, 1, 1, 7))
    queues.reserve(b"mail", connection=2)
    queues.reserve(b"mail", connection=2)
    assert queues.totals().reserved == 3
    queues.tell(b"mail", m.Show(TO), now_s=3.0)  # the time of both that have one is over

    assert queues.totals() == NodeTotals(
        urgent=0,
        ready=2,
        reserved=1,
        delayed=2,
        buried=1,
        waiting=0,
        timeouts_total=2,
        jobs_total=6,
        tubes=3,
        concurrency_keys=0,
        jobs_bytes=6 * JOB_BYTES,
        jobs_bytes_max=9_999,
        drift_events=0,
    )


def test_nothing_yet() -> None:
    """A node without jobs has its default tube."""
    totals = Queues().totals()
    assert (totals.ready, totals.jobs_total, totals.tubes, totals.jobs_bytes) == (0, 0, 1, 0)


def test_a_connection_waits_once() -> None:
    """One that waits on two tubes is one; a consumer of a watch waits while it has credit."""
    queues = Queues()
    queues.tell(b"jobs", m.Register(TO, Address(LISTENER, 1), "c", credit=m.Credit(1, 0)))
    assert queues.totals().waiting == 1
    for name in (b"jobs", b"mail"):
        queues.tell(name, t.Refer(watching=1))
        queues.tell(name, t.Wait(TO, 5))
    queues.tell(b"mail", t.Wait(TO, 6))
    assert queues.totals().waiting == 3

    queues.put(b"jobs")

    assert queues.totals().waiting == 2


def test_taken_concurrency_keys() -> None:
    """Keys count of which a job is reserved."""
    queues = Queues()
    queues.put(b"jobs", tags=m.Tags(con=b"a", con_limit=1))
    queues.put(b"jobs", tags=m.Tags(con=b"b", con_limit=1))
    assert queues.totals().concurrency_keys == 0
    queues.reserve(b"jobs")
    assert queues.totals().concurrency_keys == 1


def test_drift_is_found_and_mended() -> None:
    """Where no job is left, what the bytes should be is known: only remembered keys take some."""
    queues = Queues()
    queues.put(b"jobs", tags=m.Tags(idp=b"key", idp_ttl_s=60))
    queues.tell(b"jobs", t.DeleteJob(TO, 1, 1))
    remembered = queues.totals().jobs_bytes
    assert remembered > 0
    assert queues.totals().drift_events == 0
    queues.context.budget.used_bytes += 100

    totals = queues.totals()

    assert (totals.drift_events, totals.jobs_bytes) == (1, remembered)
    assert queues.totals().drift_events == 1


def test_names_of_tubes() -> None:
    """In beanstalkd's order, without those that the door cannot say."""
    queues = Queues()
    for name in (b"z", b"with blank", "ü".encode(), b"-x", b"a:b", b"a/b"):
        queues.put(name)

    assert tube_names(queues.context) == [b"default", b"z", b"a/b"]
    assert queues.totals().tubes == 3
    assert queues.totals().ready == 6


def test_a_group() -> None:
    """Its members by state over all queues, and who waits for it."""
    queues = Queues()
    member = m.Tags(grp=b"g")
    for name in (b"jobs", b"mail"):
        queues.put(name, tags=member)
        queues.put(name, tags=member, delay_s=5.0)
    queues.put(b"jobs", tags=m.Tags(grp=b"other"))
    queues.put(b"mail", tags=m.Tags(aft=b"g"))
    queues.reserve(b"jobs")
    queues.reserve(b"mail")
    queues.tell(b"jobs", t.BuryJob(TO, 1, 1, 0))

    assert GroupLook(queues.context)(b"g") == GroupStatistics(
        ready=0, reserved=1, delayed=2, buried=1, waiting=1
    )


@pytest.mark.parametrize("name", [b"g", b""])
def test_no_such_group(name: bytes) -> None:
    """Nobody belongs to it, and nobody waits for it."""
    queues = Queues()
    queues.put(b"jobs")
    assert GroupLook(queues.context)(name) is None
