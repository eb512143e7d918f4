"""The session as a core: the order of what it asks and says, its bounds, and its ends."""

from typing import Any

import pytest

from etcdq.actors import limits
from etcdq.actors.core import NEVER_S
from etcdq.actors.effect import Reply
from etcdq.actors.queue import messages as queue
from etcdq.actors.queue import tube_messages as tubes
from etcdq.actors.worker import messages as worker
from tests.support.beanstalk_host import CONNECTION, WORKER, BeanstalkHost

DEFAULT = b"default"
PUT = b"put 1 2 3 3\r\nabc\r\n"


def put(host: BeanstalkHost, tag: int) -> queue.Put:
    return queue.Put(host.to(tag), b"", b"", b"abc", 1, 2, 3)


def delete(host: BeanstalkHost, tag: int, job_id: int = 5) -> tubes.DeleteJob:
    return tubes.DeleteJob(host.to(tag), job_id, CONNECTION)


def granted(job_id: int) -> worker.Reserved:
    return worker.Reserved((tubes.Grant(job_id, b"x"),))


# order --------------------------------------------------------------------------------------


def test_greeting() -> None:
    """A new connection uses and watches default."""
    host = BeanstalkHost()
    assert host.greeting == [
        (DEFAULT, tubes.Refer(using=1)),
        (WORKER, worker.WatchTube(DEFAULT)),
    ]


def test_without_a_reserve_all_goes_straight() -> None:
    """Puts and deletes go to their queue and their job, each with its own tag."""
    host = BeanstalkHost()
    host.receive(PUT + b"delete 5\r\n" + PUT)
    assert host.take() == [
        (DEFAULT, put(host, 0)),
        (5, delete(host, 1)),
        (DEFAULT, put(host, 2)),
    ]


def test_behind_a_reserve_all_goes_by_the_worker() -> None:
    """Until it is answered; then straight again."""
    host = BeanstalkHost()
    host.receive(b"reserve\r\ndelete 5\r\nreserve\r\n" + PUT)
    assert host.take() == [
        (WORKER, worker.Reserve(host.to(0))),
        (WORKER, worker.Then(host.handle(5), delete(host, 1))),
        (WORKER, worker.Reserve(host.to(2))),
        (WORKER, worker.Then(host.handle(DEFAULT), put(host, 3))),
    ]
    assert host.reply(0, granted(5)) == b"RESERVED 5 1\r\nx\r\n"
    host.receive(b"delete 6\r\n")
    assert host.take() == [(WORKER, worker.Then(host.handle(6), delete(host, 4, 6)))]
    host.reply(1, tubes.Done())
    host.reply(2, worker.TimedOut())
    host.reply(3, queue.Inserted(7, 1))
    host.reply(4, tubes.Done())

    host.receive(b"delete 7\r\n")

    assert host.take() == [(7, delete(host, 5, 7))]


def test_what_went_by_the_worker_is_waited_for() -> None:
    """It may be on its way to its queue when the reserve is answered: nothing overtakes it."""
    host = BeanstalkHost()
    host.receive(b"reserve\r\ndelete 5\r\n")
    host.reply(0, granted(5))
    host.take()
    host.receive(b"touch 5\r\n")
    (who, message) = host.take_one()
    assert (who, type(message)) == (WORKER, worker.Then)


def test_answers_leave_in_the_order_of_the_commands() -> None:
    """Whatever is answered first, and whoever answers."""
    host = BeanstalkHost()
    assert host.receive(b"kick 1\r\nlist-tube-used\r\nkick 2\r\nfoo\r\nkick 3\r\n") == b""
    assert host.reply(4, queue.Kicked(3)) == b""
    assert host.reply(2, queue.Kicked(2)) == b""
    assert host.reply(0, queue.Kicked(1)) == (
        b"KICKED 1\r\nUSING default\r\nKICKED 2\r\nUNKNOWN_COMMAND\r\nKICKED 3\r\n"
    )


def test_the_answers_of_a_batch_leave_in_one_write() -> None:
    """A hundred replies, one output; puts in a row are asked together."""
    host = BeanstalkHost()
    host.receive(PUT * 60 + b"kick 1\r\n" + PUT * 40)
    (_, row), (_, kick), (_, last) = host.take()
    assert (len(row.puts), len(last.puts)) == (60, 40)
    first = tuple(queue.Inserted(n, 1) for n in range(1, 61))
    rest = tuple(queue.Inserted(n, 1) for n in range(61, 101))
    replies = [Reply(row.to, first), Reply(kick.to, queue.Kicked(0)), Reply(last.to, rest)]
    host.session.hear(replies)
    said = [b"INSERTED %d\r\n" % n for n in range(1, 101)]
    said.insert(60, b"KICKED 0\r\n")
    assert host.session.take_output() == b"".join(said)
    assert not host.session.has_output


@pytest.mark.parametrize(
    "line", [b"use t\r\n", b"watch t\r\n", b"ignore t\r\n", b"reserve-mode weighted\r\n"]
)
def test_what_it_says_about_itself_waits_for_a_reserve(line: bytes) -> None:
    """It would change what the reserve and those before it mean; all behind it waits as well."""
    host = BeanstalkHost()
    host.receive(b"reserve\r\nkick 1\r\n" + line)
    host.receive(PUT)
    assert len(host.take()) == 2

    host.reply(0, granted(5))
    assert host.posted == []
    said = host.reply(1, queue.Kicked(1))

    assert said.startswith(b"KICKED 1\r\n")
    assert said.endswith((b"USING t\r\n", b"WATCHING 2\r\n", b"NOT_IGNORED\r\n", b"weighted\r\n"))
    used = b"t" if line == b"use t\r\n" else DEFAULT
    assert host.take()[-1] == (used, put(host, 3))


def test_in_any_pieces() -> None:
    """The same bytes in single pieces ask the same and are answered the same."""
    data = (
        PUT + b"use t\r\nwatch t 3\r\nlist-tubes\r\nkick 1\r\nreserve\r\ndelete 5\r\nuse u\r\n"
        b"stats-group g\r\nfoo\r\n" + PUT + b"quit\r\n"
    )

    def value_of(message: Any) -> Any:
        kind = type(message)
        if kind is queue.Put:
            return queue.Inserted(message.to.tag, 1)
        if kind is queue.Kick:
            return queue.Kicked(1)
        return granted(5) if kind is worker.Reserve else tubes.Done()

    said = set()
    for size in (1, 7, 1_000):
        host = BeanstalkHost()
        out = b""
        for start in range(0, len(data), size):
            out += host.receive(data[start : start + size])
        said.add(out + host.answer_all(value_of))
        assert host.session.finished
        assert host.session.using == b"u"

    assert len(said) == 1
    assert said.pop().count(b"INSERTED") == 2


# bounds -------------------------------------------------------------------------------------


def test_input_behind_a_reserve_is_bounded() -> None:
    """So much is taken while it waits; when it is answered, the rest is wanted."""
    host = BeanstalkHost()
    host.receive(b"reserve\r\n")
    line = b"delete 5\r\n"
    for _ in range(limits.BEANSTALK_PARKED_BYTES_MAX // len(line)):
        host.receive(line)
        assert host.session.wants_input
    host.receive(line)
    assert not host.session.wants_input

    host.answer_all(lambda m: granted(1) if type(m) is worker.Reserve else tubes.Done())

    assert host.session.wants_input


def test_no_more_is_made_than_is_read() -> None:
    """Thousands of looks at a large job cost one backlog; the others wait as references."""
    host = BeanstalkHost(job_bytes_max=1 << 20)
    body = b"x" * 400_000
    host.receive(b"peek 5\r\n" * 1_000 + b"list-tube-used\r\n")
    view = queue.JobView(5, 7, b"", b"", body, 1, queue.JobState.READY)
    host.session.hear([Reply(message.to, view) for _, message in host.take()])

    pieces = []
    while host.session.has_output:
        pieces.append(host.session.take_output())

    assert max(len(piece) for piece in pieces) < limits.BACKLOG_BYTES_MAX + 500_000
    assert pieces[-1].endswith(b"USING default\r\n")
    line = b"FOUND 5 400000\r\n%b\r\n" % body
    assert sum(len(piece) for piece in pieces) == 1_000 * len(line) + len(b"USING default\r\n")


def test_nothing_is_done_before_there_is_room_to_say_it() -> None:
    """A document that comes in turn is made when it is to be written, not while others wait."""
    host = BeanstalkHost()
    host.receive(b"peek 5\r\ndrain\r\nuse t\r\n")
    body = b"x" * (limits.BACKLOG_BYTES_MAX + 1)
    view = queue.JobView(5, 7, b"", b"", body, 1, queue.JobState.READY)
    host.session.hear([Reply(host.to(0), view), Reply(host.to(1), None)])
    assert host.drained == []

    assert host.session.take_output().endswith(body + b"\r\n")
    assert host.session.take_output() == b"DRAINING\r\nUSING t\r\n"
    assert host.drained == [True]


def test_a_batch_is_counted_while_there_is_no_room() -> None:
    """Replies to one command of many messages are taken in as they come."""
    host = BeanstalkHost()
    host.receive(b"peek 5\r\ndelete-batch 1 2\r\n")
    body = b"x" * (limits.BACKLOG_BYTES_MAX + 1)
    view = queue.JobView(5, 7, b"", b"", body, 1, queue.JobState.READY)
    values = ((0, view), (1, tubes.Done()), (1, tubes.Done()))
    host.session.hear([Reply(host.to(tag), value) for tag, value in values])
    host.session.take_output()
    assert host.session.take_output() == b"DELETED_BATCH 2 0\r\n"


# a client that does not go on ---------------------------------------------------------------


def test_idle_is_no_fault() -> None:
    """Nothing is due for a connection that has not begun anything, or that waits."""
    host = BeanstalkHost()
    assert host.session.next_deadline_s() == NEVER_S
    host.receive(b"reserve\r\n")
    assert host.session.next_deadline_s() == NEVER_S


@pytest.mark.parametrize("begun", [b"put 1 0 0 ", b"put 1 0 0 10\r\nabc", b"put 1 0 0 99999\r\nab"])
def test_a_byte_now_and_then(begun: bytes) -> None:
    """What was begun is closed 30 s later, however often a byte comes."""
    host = BeanstalkHost()
    host.receive(begun)
    for second in range(5, 30, 5):
        host.now_s = second
        host.receive(b"1")
        host.session.settle(second)
    assert host.session.next_deadline_s() == limits.BEANSTALK_PROGRESS_TIMEOUT_S
    assert host.session.aborted == ""

    host.session.settle(30.0)

    assert "did not go on" in host.session.aborted


def test_slow_is_no_fault() -> None:
    """A large body may take any time, as long as 4 KiB of it come in 30 s."""
    host = BeanstalkHost()
    host.receive(b"put 1 0 0 60000\r\n")
    for number in range(1, 15):
        host.now_s = 29.0 * number
        host.receive(b"x" * limits.BEANSTALK_PROGRESS_BYTES_MIN)
        host.session.settle(host.now_s)
    assert host.session.aborted == ""
    host.receive(b"x" * (60_000 - 14 * limits.BEANSTALK_PROGRESS_BYTES_MIN) + b"\r\n")
    assert type(host.take_one()[1]) is queue.Put
    assert host.session.next_deadline_s() == NEVER_S


def test_each_command_begins_anew() -> None:
    """A client that completes one command and begins the next has its time again."""
    host = BeanstalkHost()
    host.receive(b"kick ")
    host.now_s = 20.0
    host.receive(b"1\r\nkick ")
    assert host.session.next_deadline_s() == 50.0


def test_its_time_does_not_count_while_we_do_not_read() -> None:
    """A body that nobody reads cannot get on."""
    host = BeanstalkHost()
    host.receive(b"put 1 0 0 10\r\nabc")
    host.session.reading = False
    assert host.session.next_deadline_s() == NEVER_S
    host.session.settle(1_000.0)
    assert host.session.aborted == ""
    host.session.read_on(1_000.0)
    assert host.session.next_deadline_s() == 1_030.0


# ends ---------------------------------------------------------------------------------------


def test_quit() -> None:
    """Everything before it is answered, nothing behind it is read."""
    host = BeanstalkHost()
    host.receive(b"reserve\r\nquit\r\nkick 1\r\n")
    host.receive(b"kick 1\r\n")
    assert [message for _, message in host.take()] == [worker.Reserve(host.to())]
    assert not host.session.finished
    host.reply(0, granted(5))
    assert host.session.finished


def test_a_line_without_end() -> None:
    """tuber answers it and closes."""
    host = BeanstalkHost()
    said = host.receive(b"x" * limits.TUBER_LINE_BYTES_MAX)
    assert said == b"BAD_FORMAT\r\n"
    assert host.session.finished


def test_half_close() -> None:
    """A reserve that waits is ended by the worker, what stands behind it is done and answered."""
    host = BeanstalkHost()
    host.receive(b"reserve\r\nkick 1\r\n")
    host.session.hang_up()
    host.session.hang_up()
    assert [message for _, message in host.take()][2:] == [worker.HangUp()]
    assert host.reply(0, worker.TimedOut()) == b"TIMED_OUT\r\n"
    assert not host.session.finished
    assert host.reply(1, queue.Kicked(0)) == b"KICKED 0\r\n"
    assert host.session.finished


def test_half_close_while_something_is_held() -> None:
    """What was received is done."""
    host = BeanstalkHost()
    host.receive(b"list-tubes\r\nuse t\r\nkick 1\r\n")
    host.session.hang_up()
    host.reply(0, None)
    assert not host.session.finished
    assert host.reply(2, queue.Kicked(0)) == b"KICKED 0\r\n"
    assert host.session.finished


def test_drain() -> None:
    """No new command; a reserve that only waits ends without a word, others with a job."""
    host = BeanstalkHost()
    host.receive(b"kick 1\r\nreserve\r\n")
    host.session.drain()
    host.receive(b"kick 2\r\n")
    assert [type(message) for _, message in host.take()] == [
        queue.Kick,
        worker.Reserve,
        worker.HangUp,
    ]
    assert host.reply(0, queue.Kicked(1)) == b"KICKED 1\r\n"
    assert not host.session.finished
    assert host.reply(1, worker.TimedOut()) == b""
    assert host.session.finished


def test_drain_with_commands_behind_a_reserve() -> None:
    """What arrived is done, so it is answered: then the reserve is answered too."""
    host = BeanstalkHost()
    host.receive(b"reserve\r\nkick 1\r\n")
    host.session.drain()
    assert host.reply(0, worker.TimedOut()) == b"TIMED_OUT\r\n"
    assert host.reply(1, queue.Kicked(0)) == b"KICKED 0\r\n"
    assert host.session.finished


def test_drain_while_idle() -> None:
    """Nothing is to be waited for."""
    host = BeanstalkHost()
    host.session.drain()
    assert host.session.finished


def test_end() -> None:
    """The worker is told what the connection used last."""
    host = BeanstalkHost()
    host.receive(b"use t\r\n")
    host.take()
    host.session.end()
    assert host.take() == [(WORKER, worker.Leave(b"t"))]
