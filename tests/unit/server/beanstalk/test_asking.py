"""Commands of a client, the messages they become, and what the client is answered."""

from typing import Any

import pytest

from etcdq.actors.errors import DrainingError, NoSuchJobError, OverLimitError
from etcdq.actors.message import Address
from etcdq.actors.queue import messages as queue
from etcdq.actors.queue import tube_messages as tubes
from etcdq.actors.queue.messages import JobState, Tags
from etcdq.actors.worker import messages as worker
from etcdq.server.beanstalk.asking import ASKING
from etcdq.server.beanstalk.commands import Close, Command, Refused
from etcdq.server.beanstalk.counts import CommandCounts
from tests.support.beanstalk_host import CONNECTION, WORKER, BeanstalkHost

TO: Any = BeanstalkHost().to()
NO_JOB = NoSuchJobError("there is none")
GRANTS = (tubes.Grant(5, b"five"), tubes.Grant(6, b""))
DEFAULT = b"default"


def put(to: Address, body: bytes = b"abc", tags: Tags | None = None) -> queue.Put:
    return queue.Put(to, b"", b"", body, 1, 2, 3, tags)


TAGS = Tags(idp=b"i", idp_ttl_s=9, grp=b"g", aft=b"a", con=b"c", con_limit=2)

COMMANDS: list[tuple[bytes, Any, Any, Any, bytes]] = [
    # line, who is asked, what, what they answer, what the client is answered
    (b"put 1 2 3 3\r\nabc", DEFAULT, put(TO), queue.Inserted(9, 1), b"INSERTED 9"),
    (b"put 1 2 3 3\r\nabc", DEFAULT, put(TO), OverLimitError("full"), b"OUT_OF_MEMORY"),
    (b"put 1 2 3 3\r\nabc", DEFAULT, put(TO), DrainingError("no"), b"DRAINING"),
    (
        b"put 1 2 3 0 idp:i:9 grp:g aft:a con:c:2\r\n",
        DEFAULT,
        put(TO, b"", TAGS),
        tubes.Duplicate(9, JobState.READY, 4),
        b"INSERTED 9 READY 4",
    ),
    (b"reserve", WORKER, worker.Reserve(TO, None), worker.TimedOut(), b"TIMED_OUT"),
    (
        b"reserve-with-timeout 5",
        WORKER,
        worker.Reserve(TO, 5),
        worker.Reserved(GRANTS[:1]),
        b"RESERVED 5 4\r\nfive",
    ),
    (b"reserve", WORKER, worker.Reserve(TO, None), worker.DeadlineSoon(), b"DEADLINE_SOON"),
    (
        b"reserve-job 5",
        WORKER,
        worker.ReserveThis(TO, 5),
        worker.Reserved(GRANTS[:1]),
        b"RESERVED 5 4\r\nfive",
    ),
    (b"reserve-job 5", WORKER, worker.ReserveThis(TO, 5), NO_JOB, b"NOT_FOUND"),
    (
        b"reserve-batch 3",
        WORKER,
        worker.ReserveBatch(TO, 3),
        worker.Reserved(GRANTS),
        b"RESERVED_BATCH 2\r\nRESERVED 5 4\r\nfive\r\nRESERVED 6 0\r\n",
    ),
    (b"delete 5", 5, tubes.DeleteJob(TO, 5, CONNECTION), tubes.Done(), b"DELETED"),
    (b"delete 5", 5, tubes.DeleteJob(TO, 5, CONNECTION), NO_JOB, b"NOT_FOUND"),
    (b"release 5 1 2", 5, tubes.ReleaseJob(TO, 5, CONNECTION, 1, 2), tubes.Done(), b"RELEASED"),
    (b"bury 5 1", 5, tubes.BuryJob(TO, 5, CONNECTION, 1), tubes.Done(), b"BURIED"),
    (b"touch 5", 5, tubes.TouchJob(TO, 5, CONNECTION), tubes.Done(), b"TOUCHED"),
    (b"kick 10", DEFAULT, queue.Kick(TO, 10), queue.Kicked(3), b"KICKED 3"),
    (b"kick-job 5", 5, tubes.KickJob(TO, 5), tubes.Done(), b"KICKED"),
    (b"kick-job 5", 5, tubes.KickJob(TO, 5), NO_JOB, b"NOT_FOUND"),
    (b"pause-tube t 9", b"t", tubes.PauseTube(TO, 9), tubes.Done(), b"PAUSED"),
    (b"flush-tube t", b"t", tubes.FlushTube(TO), tubes.Flushed(4), b"FLUSHED 4"),
]


@pytest.mark.parametrize(
    ("line", "who", "message", "value", "reply"), COMMANDS, ids=lambda each: repr(each)[:20]
)
def test_command(line: bytes, who: Any, message: Any, value: Any, reply: bytes) -> None:
    """A command asks one actor one thing, and its answer is one line of beanstalkd's or tuber's."""
    host = BeanstalkHost()
    assert host.receive(line + b"\r\n") == b""
    assert host.take() == [(who, message)]
    assert host.reply(0, value) == reply + b"\r\n"
    assert sum(host.door.counts.given.values()) in (1, 2)


def test_every_command_is_known() -> None:
    """What the parser may return is in the table, and nothing else."""
    assert set(ASKING) == {*Command.__subclasses__(), Refused, Close}


# what a client says about itself ------------------------------------------------------------


def test_use() -> None:
    """The new tube lives before the old one is let go, and puts, peeks and kicks go there."""
    host = BeanstalkHost()
    assert host.receive(b"use t\r\n") == b"USING t\r\n"
    assert host.take() == [(b"t", tubes.Refer(using=1)), (DEFAULT, tubes.Refer(using=-1))]
    assert host.receive(b"list-tube-used\r\n") == b"USING t\r\n"

    host.receive(b"put 1 2 3 3\r\nabc\r\nkick 1\r\npeek-ready\r\n")

    assert [who for who, _ in host.take()] == [b"t", b"t", b"t"]


def test_use_of_the_same_tube() -> None:
    """Whoever uses what it used already changes nothing."""
    host = BeanstalkHost()
    assert host.receive(b"use default\r\n") == b"USING default\r\n"
    assert host.posted == []


def test_watch() -> None:
    """A tube is watched once, with the last weight that was said."""
    host = BeanstalkHost()
    assert host.receive(b"watch t 5\r\nwatch t\r\n") == b"WATCHING 2\r\nWATCHING 2\r\n"
    assert host.take() == [(WORKER, worker.WatchTube(b"t", 5)), (WORKER, worker.WatchTube(b"t"))]


def test_ignore() -> None:
    """What is not watched is ignored without a word to anybody; the last one stays."""
    host = BeanstalkHost(dialect="beanstalkd")
    assert host.receive(b"ignore other\r\nignore default\r\n") == b"WATCHING 1\r\nNOT_IGNORED\r\n"
    assert host.posted == []

    assert host.receive(b"watch t\r\nignore default\r\n") == b"WATCHING 2\r\nWATCHING 1\r\n"
    assert host.take() == [
        (WORKER, worker.WatchTube(b"t")),
        (WORKER, worker.IgnoreTube(b"default")),
    ]
    assert host.receive(b"ignore t\r\n") == b"NOT_IGNORED\r\n"


def test_ignore_as_tuber() -> None:
    """With one tube watched it refuses any, and what is left keeps its order."""
    host = BeanstalkHost()
    assert host.receive(b"ignore other\r\n") == b"NOT_IGNORED\r\n"
    host.receive(b"watch a\r\nwatch b\r\nignore default\r\nignore other\r\n")
    assert host.session.watched == [b"a", b"b"]


@pytest.mark.parametrize(
    ("ignored", "left"),
    [
        (b"default", [b"c", b"a", b"b"]),
        (b"a", [b"default", b"c", b"b"]),
        (b"c", [b"default", b"a", b"b"]),
    ],
)
def test_the_last_takes_the_hole(ignored: bytes, left: list[bytes]) -> None:
    """The order of what is watched is beanstalkd's: its array moves the last into the hole."""
    host = BeanstalkHost(dialect="beanstalkd")
    host.receive(b"watch a\r\nwatch b\r\nwatch c\r\nignore %b\r\n" % ignored)
    assert host.session.watched == left


@pytest.mark.parametrize(
    ("word", "mode"),
    [
        (b"fifo", worker.ReserveMode.FIFO),
        (b"default", worker.ReserveMode.FIFO),
        (b"weighted", worker.ReserveMode.WEIGHTED),
        (b"weighted-fair", worker.ReserveMode.WEIGHTED_FAIR),
    ],
)
def test_reserve_mode(word: bytes, mode: worker.ReserveMode) -> None:
    """The worker is told, the client hears its own word."""
    host = BeanstalkHost()
    assert host.receive(b"reserve-mode %b\r\n" % word) == b"USING %b\r\n" % word
    assert host.take_one() == (WORKER, worker.SetMode(mode))


def test_delete_batch() -> None:
    """One message per id, one answer when all are there, in whatever order."""
    host = BeanstalkHost()
    assert host.receive(b"delete-batch 5 6 7\r\nkick 1\r\n") == b""
    assert host.take() == [
        *((job, tubes.DeleteJob(host.to(), job, CONNECTION)) for job in (5, 6, 7)),
        (DEFAULT, queue.Kick(host.to(1), 1)),
    ]
    assert host.reply(0, tubes.Done()) == b""
    assert host.reply(1, queue.Kicked(0)) == b""
    assert host.reply(0, NO_JOB) == b""
    assert host.reply(0, tubes.Done()) == b"DELETED_BATCH 2 1\r\nKICKED 0\r\n"


def test_delete_batch_behind_a_reserve() -> None:
    """Its messages wait for the reserve as any other."""
    host = BeanstalkHost()
    host.receive(b"reserve\r\ndelete-batch 5 6\r\n")
    assert host.take()[1:] == [
        (WORKER, worker.Then(host.handle(job), tubes.DeleteJob(host.to(1), job, CONNECTION)))
        for job in (5, 6)
    ]


@pytest.mark.parametrize(
    ("line", "draining", "reply"),
    [(b"drain", True, b"DRAINING\r\n"), (b"undrain", False, b"NOT_DRAINING\r\n")],
)
def test_drain(line: bytes, draining: bool, reply: bytes) -> None:
    """Puts before it are taken, and those behind it wait for it: nothing is done out of turn."""
    host = BeanstalkHost()
    host.receive(b"put 1 2 3 3\r\nabc\r\n%b\r\nput 1 2 3 3\r\nabc\r\n" % line)
    first, mark = host.take()
    assert first == (DEFAULT, put(host.to()))
    assert host.drained == []

    assert host.reply(0, queue.Inserted(1, 1)) == b"INSERTED 1\r\n"
    host.session.hear([mark[1].message])

    assert host.drained == [draining]
    assert host.session.take_output() == reply
    assert host.take() == [(DEFAULT, put(host.to(2)))]


# rows ---------------------------------------------------------------------------------------


def test_deletes_in_a_row() -> None:
    """Of one queue they are asked together; else, or where one is not there yet, one by one."""
    host = BeanstalkHost()
    host.queues.update({1: b"a", 2: b"a", 3: b"b"})
    host.receive(b"delete 1\r\ndelete 2\r\n")
    assert host.take() == [(b"a", tubes.DeleteJobs(host.to(0), (1, 2), CONNECTION))]
    for row, names in (
        (b"delete 1\r\ndelete 3\r\n", [1, 3]),
        (b"delete 1\r\ndelete 4\r\n", [1, 4]),
    ):
        host.receive(row)
        assert [name for name, _ in host.take()] == names
    assert host.door.counts.given["delete"] == 6


def test_reserves_in_a_row() -> None:
    """One message, an answer to each; another kind of reserve begins another row."""
    host = BeanstalkHost()
    host.receive(b"reserve\r\n" * 2 + b"reserve-with-timeout 5\r\n" * 2)
    first, second = (message for _, message in host.take())
    assert first == worker.Reserve(host.to(0), None, 2)
    assert second == worker.Reserve(host.to(2), 5, 2)
    assert host.reply(1, worker.TimedOut()) == b""
    assert host.reply(0, worker.Reserved(GRANTS[:1])) == b"RESERVED 5 4\r\nfive\r\nTIMED_OUT\r\n"


def test_a_batch_of_deletes_by_queue() -> None:
    """Each queue is asked once; who is not there yet is asked for by id."""
    host = BeanstalkHost()
    host.queues.update({1: b"a", 2: b"b", 3: b"a"})
    host.receive(b"delete-batch 1 2 3 9\r\n")
    to = host.to(0)
    assert host.take() == [
        (9, tubes.DeleteJob(to, 9, CONNECTION)),
        (b"a", tubes.DeleteJobs(to, (1, 3), CONNECTION)),
        (b"b", tubes.DeleteJobs(to, (2,), CONNECTION)),
    ]


# what is counted ----------------------------------------------------------------------------


def test_counts() -> None:
    """Batches and groups count as tuber counts them; producers and workers are counted once."""
    host = BeanstalkHost()
    counts: CommandCounts = host.door.counts
    host.receive(b"put 1 2 3 3\r\nabc\r\n" * 2)
    host.receive(b"delete-batch 1 2 3\r\nreserve-batch 2\r\nreserve\r\nreserve-job 1\r\n")
    host.receive(b"stats-group g\r\n")

    assert (counts.connections, counts.producers, counts.workers) == (1, 1, 1)
    given = {name: number for name, number in counts.given.items() if number}
    assert given == {
        "put": 2,
        "delete": 3,
        "delete-batch": 1,
        "reserve": 2,
        "reserve-batch": 1,
        "reserve-job": 1,
        "stats": 1,
        "stats-group": 1,
    }

    host.session.end()

    assert (counts.connections, counts.producers, counts.workers) == (0, 0, 0)
    assert counts.connections_total == 1


@pytest.mark.parametrize(("dialect", "workers"), [("tuber", (1, 1)), ("beanstalkd", (0, 1))])
def test_who_reserves_by_id_is_a_worker(dialect: str, workers: tuple[int, int]) -> None:
    """In beanstalkd's dialect only who got the job."""
    host = BeanstalkHost(dialect=dialect)
    host.receive(b"reserve-job 1\r\n")
    host.answer_all(lambda _: NO_JOB)
    refused = host.door.counts.workers
    host.receive(b"reserve-job 1\r\nreserve-job 1\r\n")
    host.answer_all(lambda _: worker.Reserved((tubes.Grant(1, b"x"),)))
    assert (refused, host.door.counts.workers) == workers


def test_a_put_with_a_wrong_end() -> None:
    """beanstalkd counts it, and gives it an id before it sees the end: so the next put's id."""
    host = BeanstalkHost(dialect="beanstalkd")
    host.receive(b"put 0 0 0 3\r\nabc\r\nput 0 0 0 3\r\nabcde")
    assert host.ids_spent == 0
    assert (host.door.counts.given["put"], host.door.counts.producers) == (2, 1)

    assert host.answer_all(lambda _: queue.Inserted(1, 1)) == b"INSERTED 1\r\nEXPECTED_CRLF\r\n"

    assert host.ids_spent == 1


def test_a_put_that_is_too_big() -> None:
    """Its body is swallowed and the next command works; in beanstalkd's dialect it counts."""
    host = BeanstalkHost(dialect="beanstalkd", job_bytes_max=2)
    assert host.receive(b"put 0 0 0 3\r\nabc\r\nuse t\r\n") == b"JOB_TOO_BIG\r\nUSING t\r\n"
    assert (host.door.counts.given["put"], host.door.counts.producers) == (1, 0)


def test_lines_that_are_no_commands() -> None:
    """They are answered in their place, and nobody is asked."""
    host = BeanstalkHost()
    host.receive(b"kick 1\r\nfoo\r\nkick x\r\n")
    host.take_one()
    assert host.reply(0, queue.Kicked(0)) == b"KICKED 0\r\nUNKNOWN_COMMAND\r\nBAD_FORMAT\r\n"
