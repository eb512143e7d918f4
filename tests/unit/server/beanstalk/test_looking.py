"""Commands that look: what they ask, and the moment at which they see the node."""

from typing import Any

import pytest

from etcdq.actors.effect import Reply
from etcdq.actors.errors import NoSuchJobError
from etcdq.actors.queue import messages as queue
from etcdq.actors.queue import tube_messages as tubes
from etcdq.actors.queue.messages import JobState, JobView, Tags, TubeStatistics
from etcdq.actors.queue.timing import Timing
from etcdq.actors.worker import messages as worker
from etcdq.server.beanstalk.commands import Command
from etcdq.server.beanstalk.door import GroupStatistics
from etcdq.server.beanstalk.looking import LOOKING
from etcdq.server.beanstalk.node_statistics import stats
from etcdq.server.beanstalk.statistics import stats_group, stats_job, stats_tube
from tests.support.beanstalk_host import FACTS, TOTALS, WORKER, BeanstalkHost

VIEW = JobView(5, 7, b"", b"", b"five", 1, JobState.READY)
JOB = tubes.JobStatistics(b"t", VIEW, 0.0, 0.0, 1, 2, 3, 4, 5, Tags())
TUBE = TubeStatistics(
    name=b"t",
    urgent=1,
    ready=2,
    reserved=3,
    delayed=4,
    buried=5,
    using=6,
    watching=7,
    waiting=8,
    pause_s=9.0,
    pause_left_s=8.5,
    jobs_total=10,
    deletes_total=11,
    pauses_total=12,
    reserves_total=13,
    timeouts_total=14,
    buries_total=15,
    timing=Timing().statistics(),
)


def ok(document: bytes) -> bytes:
    return b"OK %d\r\n%b\r\n" % (len(document), document)


@pytest.mark.parametrize(
    ("line", "state"),
    [
        (b"peek-ready", JobState.READY),
        (b"peek-delayed", JobState.DELAYED),
        (b"peek-buried", JobState.BURIED),
        (b"peek-reserved", JobState.RESERVED),
    ],
)
def test_peek_at_the_used_tube(line: bytes, state: JobState) -> None:
    """The first job of a state in the tube that is used, whatever is watched."""
    host = BeanstalkHost()
    host.receive(b"watch other\r\nuse t\r\n%b\r\n%b\r\n" % (line, line))
    asked = [(who, message) for who, message in host.take() if hasattr(message, "to")]
    assert asked == [(b"t", queue.Peek(host.to(tag), state, 1)) for tag in (2, 3)]

    assert host.reply(2, queue.Listing((VIEW,), 9)) == b"FOUND 5 4\r\nfive\r\n"
    assert host.reply(3, queue.Listing((), 0)) == b"NOT_FOUND\r\n"


def test_peek_at_a_job() -> None:
    """By its id, wherever it is."""
    host = BeanstalkHost()
    host.receive(b"peek 5\r\npeek 6\r\n")
    assert host.take() == [(job, tubes.PeekJob(host.to(job - 5), job)) for job in (5, 6)]
    assert host.reply(0, VIEW) == b"FOUND 5 4\r\nfive\r\n"
    assert host.reply(1, NoSuchJobError("none")) == b"NOT_FOUND\r\n"


@pytest.mark.parametrize("dialect", ["tuber", "beanstalkd"])
def test_documents_of_jobs_and_tubes(dialect: Any) -> None:
    """Both are asked for, and written in the door's dialect."""
    host = BeanstalkHost(dialect=dialect)
    host.receive(b"stats-job 5\r\nstats-tube t\r\n")
    assert host.take() == [(5, tubes.ShowJob(host.to(), 5)), (b"t", tubes.ShowTube(host.to(1)))]
    assert host.reply(0, JOB) == ok(stats_job(JOB, dialect))
    assert host.reply(1, TUBE) == ok(stats_tube(TUBE, dialect))


def mark_of(host: BeanstalkHost, tag: int) -> tuple[str, worker.Then]:
    """What the worker sends back to the session when all that came before is done."""
    return WORKER, worker.Then(host.inbox, Reply(host.to(tag), None))


@pytest.mark.parametrize(
    "line", [b"stats", b"list-tubes", b"stats-group g", b"list-tubes-watched", b"drain"]
)
def test_the_node_is_seen_in_turn(line: bytes) -> None:
    """After all before is done, and before anything behind is begun, in one packet or in two."""
    host = BeanstalkHost()
    host.receive(b"kick 1\r\n%b\r\nuse t\r\n" % line)
    host.receive(b"put 0 0 0 0\r\n\r\n")
    assert host.take() == [(b"default", queue.Kick(host.to(), 1)), mark_of(host, 1)]

    host.reply(0, queue.Kicked(1))
    assert host.posted == []
    host.groups[b"g"] = GroupStatistics(1, 2, 3, 4, 5)
    host.tubes.append(b"new")
    seen = host.reply(1, None)

    assert seen.endswith(b"\r\nUSING t\r\n")
    assert [who for who, _ in host.take()] == [b"t", b"default", b"t"]
    if line == b"list-tubes":
        assert seen.startswith(ok(b"---\n- default\n- new\n"))
    if line == b"stats-group g":
        assert seen.startswith(ok(stats_group(b"g", host.groups[b"g"])))


def test_stats() -> None:
    """What the node and the door count, at that moment; the command counts itself."""
    host = BeanstalkHost()
    host.receive(b"stats\r\n")
    assert host.door.counts.given["stats"] == 1
    document = stats(TOTALS, host.door.counts, FACTS, host.door.settings)
    assert host.reply(0, None) == ok(document)


def test_no_such_group() -> None:
    """A group nobody belongs to and nobody waits for is not there."""
    host = BeanstalkHost()
    host.receive(b"stats-group g\r\n")
    assert host.reply(0, None) == b"NOT_FOUND\r\n"


def test_lists_of_its_own() -> None:
    """What a client uses is known at once, what it watches in turn."""
    host = BeanstalkHost()
    host.receive(b"watch a\r\nuse b\r\n")
    assert host.receive(b"list-tube-used\r\nlist-tubes-watched\r\n") == b"USING b\r\n"
    assert host.reply(3, None) == ok(b"---\n- default\n- a\n")


def test_all_of_them() -> None:
    """The table has what looks, and nothing that changes anything."""
    names = {kind.name for kind in LOOKING if issubclass(kind, Command)}
    assert len(names) == len(LOOKING)
    assert {name.split("-")[0] for name in names} == {"peek", "stats", "list"}
