"""What the beanstalk door shows of all queues together."""

from typing import Any

from etcdq.actors.message import Address
from etcdq.actors.queue import messages as m
from etcdq.actors.queue import tube_messages as t
from etcdq.actors.queue.context import JobsBudget, Numbers, QueueContext
from etcdq.actors.queue.core import QueueCore
from etcdq.server.beanstalk.door import GroupStatistics
from etcdq.server.totals import GroupLook, TotalsLook
from tests.support.playbook import Named

ASKER = Address(Named("asker"), 1)


class Host:
    """Some queues, and both looks at them."""

    def __init__(self) -> None:
        self.context = QueueContext(
            b"node", Named("registry"), Numbers(1), budget=JobsBudget(10_000), queue=self.queue
        )
        self.cores: dict[Any, Any] = {"worker": object()}
        self.totals = TotalsLook(self.context, self.cores)
        self.group = GroupLook(self.context)

    def queue(self, name: bytes) -> Any:
        return Named(name.decode())

    def ask(self, name: bytes, message: Any) -> None:
        if name not in self.cores:
            self.cores[name] = QueueCore(name, self.context)
        self.cores[name].step(message, 0.0)


def put(**fields: Any) -> m.Put:
    return m.Put(ASKER, b"", b"", b"12345", **fields)


def test_sums_over_queues() -> None:
    """Every place of every queue, and each waiting connection once."""
    host = Host()
    host.ask(b"a", put(priority=1))
    host.ask(b"a", put(delay_s=5.0))
    host.ask(b"b", put())
    for name in (b"a", b"b"):
        host.ask(name, t.Wait(ASKER, 7))
    totals = host.totals()
    assert (totals.urgent, totals.ready, totals.delayed, totals.reserved) == (1, 2, 1, 0)
    assert (totals.waiting, totals.jobs_total, totals.tubes) == (1, 3, 3)
    assert (totals.jobs_bytes, totals.jobs_bytes_max) == (3 * (5 + 512), 10_000)


def test_drift_is_noticed_counted_and_mended() -> None:
    """Bytes that nobody has are a bug of ours: shown, and not carried along."""
    host = Host()
    host.ask(b"a", put(tags=m.Tags(idp=b"key", idp_ttl_s=60)))
    host.ask(b"a", t.FlushTube(ASKER))
    assert (host.totals().drift_events, host.totals().jobs_bytes) == (0, 0)
    host.context.budget.used_bytes = 99
    assert (host.totals().drift_events, host.totals().jobs_bytes) == (1, 0)
    assert host.totals().drift_events == 1


def test_what_is_remembered_of_deleted_jobs_is_no_drift() -> None:
    """A tombstone takes its bytes while it stands."""
    host = Host()
    host.ask(b"a", put(tags=m.Tags(idp=b"key", idp_ttl_s=60)))
    host.ask(b"a", t.DeleteJob(ASKER, 1, 7))
    assert (host.totals().drift_events, host.totals().jobs_bytes) == (0, 3 + 128)


def test_a_group_is_shown_by_the_states_of_its_members() -> None:
    """Over all queues; None for one that nobody belongs to."""
    host = Host()
    host.ask(b"a", put(tags=m.Tags(grp=b"g")))
    host.ask(b"b", put(tags=m.Tags(grp=b"g"), delay_s=5.0))
    host.ask(b"b", put(tags=m.Tags(grp=b"other", aft=b"g")))
    assert host.group(b"g") == GroupStatistics(1, 0, 1, 0, waiting=1)
    assert host.group(b"unknown") is None
