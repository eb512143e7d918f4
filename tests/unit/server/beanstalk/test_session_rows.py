"""Reserves in one packet: how the session asks for them together, and says their answers."""

from etcdq.actors import limits
from etcdq.actors.effect import Reply
from etcdq.actors.queue import messages as queue
from etcdq.actors.queue import tube_messages as tubes
from etcdq.actors.worker import messages as worker
from tests.support.beanstalk_host import BeanstalkHost


def jobs(*job_ids: int, body: bytes = b"x") -> worker.Reserved:
    return worker.Reserved(tuple(tubes.Grant(job_id, body) for job_id in job_ids))


def test_reserves_in_a_row_are_asked_and_answered_together() -> None:
    """As many as the answer has jobs for; the others have answers of their own."""
    host = BeanstalkHost()
    host.receive(b"reserve\r\n" * 4 + b"kick 1\r\n")
    (_, row), (_, behind) = host.take()
    assert row == worker.Reserve(host.to(0), None, 4)
    assert behind.message.to == host.to(4)
    assert host.reply(0, jobs(5, 6)) == b"RESERVED 5 1\r\nx\r\nRESERVED 6 1\r\nx\r\n"
    assert host.reply(4, queue.Kicked(1)) == b""
    assert host.reply(2, worker.DeadlineSoon()) == b"DEADLINE_SOON\r\n"
    assert host.reply(3, jobs(7)) == b"RESERVED 7 1\r\nx\r\nKICKED 1\r\n"


def test_reserves_of_other_timeouts_are_no_row() -> None:
    """Each run of the same timeout is asked by itself."""
    host = BeanstalkHost()
    now, later = b"reserve-with-timeout 0\r\n", b"reserve-with-timeout 2\r\n"
    host.receive(now * 2 + later + b"reserve\r\n" * 3)
    assert [message for _, message in host.take()] == [
        worker.Reserve(host.to(0), 0, 2),
        worker.Reserve(host.to(2), 2, 1),
        worker.Reserve(host.to(3), None, 3),
    ]


def test_a_row_that_is_answered_before_its_turn() -> None:
    """It waits for the answer before it, and then leaves whole."""
    host = BeanstalkHost()
    host.receive(b"kick 1\r\n" + b"reserve\r\n" * 3)
    assert host.reply(1, jobs(5, 6)) == b""
    assert host.reply(0, queue.Kicked(1)) == (
        b"KICKED 1\r\nRESERVED 5 1\r\nx\r\nRESERVED 6 1\r\nx\r\n"
    )
    assert host.reply(3, worker.TimedOut()) == b"TIMED_OUT\r\n"


def test_a_row_of_large_jobs_leaves_as_there_is_room() -> None:
    """No more is made than one backlog, and nothing is lost of it."""
    host = BeanstalkHost(job_bytes_max=1 << 20)
    host.receive(b"reserve\r\n" * 50 + b"list-tube-used\r\n")
    body = b"x" * 400_000
    host.session.hear([Reply(host.to(0), jobs(*range(1, 51), body=body))])

    pieces = []
    while host.session.has_output:
        pieces.append(host.session.take_output())

    assert max(len(piece) for piece in pieces) < limits.BACKLOG_BYTES_MAX + 500_000
    said = b"".join(b"RESERVED %d 400000\r\n%b\r\n" % (job_id, body) for job_id in range(1, 51))
    assert b"".join(pieces) == said + b"USING default\r\n"


def test_drain_with_reserves_in_a_row() -> None:
    """As one by one: only the last one, which merely waits, ends without a word."""
    host = BeanstalkHost()
    host.receive(b"reserve\r\n" * 3)
    host.session.drain()
    assert host.reply(0, jobs(5)) == b"RESERVED 5 1\r\nx\r\n"
    assert host.reply(1, worker.TimedOut()) == b"TIMED_OUT\r\n"
    assert host.reply(2, worker.TimedOut()) == b""
    assert host.session.finished


def test_drain_with_a_row_that_is_served() -> None:
    """The last one, too, says which job it got."""
    host = BeanstalkHost()
    host.receive(b"reserve\r\n" * 2)
    host.session.drain()
    assert host.reply(0, jobs(5, 6)) == b"RESERVED 5 1\r\nx\r\nRESERVED 6 1\r\nx\r\n"
    assert host.session.finished
