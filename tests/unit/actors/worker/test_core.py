"""One connection's worker: what it asks the queues, when it answers, what it holds."""

import pytest

from etcdq.actors import limits
from etcdq.actors.core import NEVER_S
from etcdq.actors.errors import NoSuchJobError
from etcdq.actors.queue import messages as m
from etcdq.actors.queue import tube_messages as t
from etcdq.actors.worker import messages as w
from etcdq.actors.worker.core import WorkerStatistics
from tests.support.tube_book import TubeBook

# with queues --------------------------------------------------------------------------------


def test_a_timeout_of_zero_does_not_wait() -> None:
    """A job that is there is given, none is none."""
    book = TubeBook()
    worker = book.connect(b"a")
    assert worker.reserve(0.0).value == w.TimedOut()
    job_id = book.put(b"a")
    assert worker.reserve(0.0).job_ids == [job_id]


def test_a_timeout_ends_at_its_instant() -> None:
    """Not a moment before, and it is nobody's turn any more."""
    book = TubeBook()
    worker = book.connect(b"a")
    book.at(1.0)
    asked = worker.reserve(2.5)
    book.at(3.4)
    assert asked.waits
    book.at(3.5)
    assert asked.value == w.TimedOut()
    assert book.show(b"a").waiting == 0
    assert worker.core.next_deadline_s() == NEVER_S


def test_three_that_wait_and_two_jobs() -> None:
    """One at once, another with the second job, the third when its time is over, not earlier."""
    book = TubeBook()
    waiting = [book.connect(b"a").reserve(2.0) for _ in range(3)]
    first = book.at(0.2).put(b"a")
    assert [asked.waits for asked in waiting] == [False, True, True]
    second = book.at(1.0).put(b"a")
    assert [asked.waits for asked in waiting] == [False, False, True]
    book.at(1.99)
    assert waiting[2].waits
    book.at(2.0)
    assert [asked.value for asked in waiting[2:]] == [w.TimedOut()]
    assert [asked.job_ids for asked in waiting[:2]] == [[first], [second]]


@pytest.mark.parametrize("event", ["delay", "time to run", "pause"])
def test_what_comes_at_the_instant_of_a_timeout_is_given(event: str) -> None:
    """A delay, a time to run, a pause that ends then: the job goes before the timeout."""
    book = TubeBook()
    other = book.connect(b"a")
    if event == "time to run":
        job_id = book.put(b"a", ttr_s=2.0)
        other.reserve()
    else:
        job_id = book.put(b"a", delay_s=2.0 if event == "delay" else 0.0)
    if event == "pause":
        book.ask(b"a", t.PauseTube, 2.0)
    waiting = [book.connect(b"a").reserve(2.0) for _ in range(2)]
    book.at(2.0)
    assert waiting[0].job_ids == [job_id]
    assert waiting[1].value == w.TimedOut()


def test_what_comes_at_the_instant_of_deadline_soon_is_given() -> None:
    """As in beanstalkd: a job that is ready goes before the warning."""
    book = TubeBook()
    worker = book.connect(b"a")
    book.put(b"a", ttr_s=3.0)
    worker.reserve()
    job_id = book.put(b"a", delay_s=2.0)
    asked = worker.reserve()
    book.at(2.0)
    assert asked.job_ids == [job_id]
    assert worker.reserve(0.0).value == w.DeadlineSoon()


def test_deadline_soon_only_where_no_job_is_ready() -> None:
    """A ready one is given in the last second too."""
    book = TubeBook()
    worker = book.connect(b"a")
    book.put(b"a", ttr_s=1.0)
    worker.reserve()
    assert worker.reserve(9.0).value == w.DeadlineSoon()
    job_id = book.put(b"a")
    assert worker.reserve().job_ids == [job_id]


def test_the_warning_is_for_the_reservation_that_ends_first() -> None:
    """A touch puts it off; one that ended is warned of no more."""
    book = TubeBook()
    worker = book.connect(b"a")
    short, long = book.put(b"a", ttr_s=5.0), book.put(b"a", ttr_s=8.0)
    assert worker.reserve_batch(2).job_ids == [short, long]
    book.at(3.0)
    worker.touch(short)
    asked = worker.reserve()
    book.at(6.9)
    assert asked.waits
    book.at(7.0)
    assert asked.value == w.DeadlineSoon()
    assert book.at(8.0).job(long).timeouts == 1
    assert book.job(short).timeouts == 1


def test_another_connections_end_of_time_wakes_who_waits() -> None:
    """Whose holder says nothing more."""
    book = TubeBook()
    silent, worker = book.connect(b"a"), book.connect(b"a")
    job_id = book.put(b"a", ttr_s=1.0)
    silent.reserve()
    asked = worker.reserve(5.0)
    book.at(1.0)
    assert asked.job_ids == [job_id]


def test_a_batch_is_answered_at_once() -> None:
    """With nothing, if there is nothing, or if others wait for it."""
    book = TubeBook()
    worker, other = book.connect(b"a"), book.connect(b"a")
    assert worker.reserve_batch(3).job_ids == []
    waiting = other.reserve()
    with book.batch():
        book.ask_put(b"a")
        batch = worker.reserve_batch(3)
    assert batch.job_ids == []
    assert waiting.job_ids == [1]


def test_a_batch_runs_out_together() -> None:
    """The time of all its jobs begins in the same moment."""
    book = TubeBook()
    worker = book.connect(b"a", b"b")
    jobs = [book.put(tube, ttr_s=5.0, con=con) for tube in (b"a", b"b") for con in (b"", b"x")]
    book.at(1.0)
    assert worker.reserve_batch(9).job_ids == jobs[:3]
    book.at(5.9)
    assert {book.job(job_id).timeouts for job_id in jobs} == {0}
    book.at(6.0)
    assert [book.job(job_id).timeouts for job_id in jobs] == [1, 1, 1, 0]


@pytest.mark.parametrize("mode", [w.ReserveMode.WEIGHTED, w.ReserveMode.WEIGHTED_FAIR])
def test_weights_share_jobs_over_tubes(mode: w.ReserveMode) -> None:
    """A tube of weight 9 is taken about nine times as often; within it the order stays."""
    book = TubeBook(seed=1)
    book.check_chance = 0.0
    worker = book.connect(b"a", b"b")
    worker.watch(b"a", 9)
    worker.mode(mode)
    for _ in range(400):
        book.put(b"a")
        book.put(b"b")
    taken = [worker.reserve().job_ids[0] for _ in range(150)] + worker.reserve_batch(150).job_ids
    of_a = [job_id for job_id in taken if job_id % 2]
    assert 240 < len(of_a) < 290
    assert of_a == sorted(of_a)
    assert [job for job in taken if not job % 2] == sorted(job for job in taken if not job % 2)


def test_a_tube_ignored_gives_no_more() -> None:
    """One watched again does."""
    book = TubeBook()
    worker = book.connect(b"a", b"b")
    worker.ignore(b"a")
    worker.ignore(b"c")
    job_id = book.put(b"a")
    assert worker.reserve(0.0).value == w.TimedOut()
    worker.watch(b"a")
    assert worker.reserve(0.0).job_ids == [job_id]


# in a row -----------------------------------------------------------------------------------


def test_what_stands_behind_a_reserve_happens_after_it() -> None:
    """In order: also a put that the reserve waits for comes only then."""
    book = TubeBook()
    worker = book.connect(b"a")
    job_id = book.put(b"b")
    asked = worker.reserve(2.0)
    deleted = worker.delete(job_id)
    shown = worker.ask(job_id, t.ShowJob, job_id)
    assert (deleted.waits, shown.waits) == (True, True)
    assert job_id in book.context.directory
    book.at(2.0)
    assert asked.value == w.TimedOut()
    assert deleted.value == t.Done()
    assert type(shown.value) is NoSuchJobError


def test_a_reserve_behind_a_put_behind_a_reserve_finds_the_job() -> None:
    """Each sees what the one before it did."""
    book = TubeBook()
    worker = book.connect(b"a")
    first = worker.reserve(1.0)
    put = worker.ask(b"a", m.Put, b"", b"", b"body")
    second = worker.reserve(1.0)
    book.at(1.0)
    assert first.value == w.TimedOut()
    assert second.job_ids == [put.value.job_id]


def test_thousands_behind_one_reserve() -> None:
    """However many are answered at one instant."""
    book = TubeBook()
    worker = book.connect(b"a")
    with book.batch():
        worker.reserve(1.0)
        row = [worker.reserve(0.0) for _ in range(3_000)]
        row += [worker.reserve_job(99) for _ in range(3_000)]
        row += [worker.delete(99) for _ in range(3_000)]
    assert all(asked.waits for asked in row)
    book.at(1.0)
    assert not any(asked.waits for asked in row)


# hanging up and leaving ---------------------------------------------------------------------


def test_who_hangs_up_waits_no_longer() -> None:
    """A reserve that waits is answered at once, and those behind it too, jobs that are there
    included."""
    book = TubeBook()
    worker = book.connect(b"a")
    asked, behind = worker.reserve(), worker.reserve()
    put = worker.ask(b"a", m.Put, b"", b"", b"body")
    last = worker.reserve()
    with book.batch():
        worker.hang_up()
    assert [asked.value, behind.value] == [w.TimedOut(), w.TimedOut()]
    assert last.job_ids == [put.value.job_id]
    assert worker.reserve().value == w.TimedOut()


def test_who_leaves_takes_nothing_along() -> None:
    """What it holds is ready, in every tube; what it waited for goes to others; what stood behind
    its reserve does not happen."""
    book = TubeBook()
    leaver, other = book.connect(b"a", b"b"), book.connect(b"a", b"b")
    jobs = [book.put(b"a"), book.put(b"b"), book.put(b"b")]
    assert leaver.reserve_batch(2).job_ids == jobs[:2]
    other.delete(jobs[2])
    asked = leaver.reserve()
    deleted = leaver.delete(jobs[0])
    leaver.leave()
    assert asked.waits
    assert deleted.waits
    assert other.reserve_batch(9).job_ids == jobs[:2]
    assert (book.show(b"a").watching, book.show(b"a").waiting) == (1, 0)


def test_who_leaves_in_the_batch_of_its_reserve() -> None:
    """Whether it was granted a job or waited: the job is there for others."""
    book = TubeBook()
    other = book.connect(b"a")
    for puts in (1, 0):
        leaver = book.connect(b"a")
        jobs = [book.put(b"a") for _ in range(puts)]
        with book.batch():
            leaver.reserve()
            leaver.leave()
        assert other.reserve_batch(9).job_ids == jobs


def test_tubes_go_in_beanstalkds_order_when_their_watcher_leaves() -> None:
    """The first, then from the last on; which shows in the list of those that stay."""
    book = TubeBook()
    worker = book.connect(b"a", b"b", b"c")
    book.connect(b"x", b"y", b"z")
    assert book.context.tubes.names()[1:] == [b"a", b"b", b"c", b"x", b"y", b"z"]
    worker.leave()
    assert book.context.tubes.names()[1:] == [b"x", b"y", b"z"]


def test_tubes_are_listed_as_they_were_named() -> None:
    """Watched or used, in one batch or not."""
    book = TubeBook()
    worker = book.connect()
    with book.batch():
        worker.watch(b"b")
        worker.use(b"a")
        worker.watch(b"c")
    assert book.context.tubes.names() == [b"default", b"b", b"a", b"c"]


# what it carries along ----------------------------------------------------------------------


def test_jobs_that_are_gone_are_forgotten() -> None:
    """A worker that deletes what it reserves stays as small as it was."""
    book = TubeBook()
    book.check_chance = 0.0
    worker = book.connect(b"a")
    for _ in range(3 * limits.HELD_GONE_MAX):
        book.put(b"a")
        worker.delete(worker.reserve().job_ids[0])
    assert worker.core.statistics().held <= limits.HELD_GONE_MAX + 1


def test_statistics() -> None:
    """A snapshot."""
    book = TubeBook()
    worker = book.connect(b"a", b"b")
    book.put(b"a")
    worker.reserve()
    worker.reserve()
    worker.delete(1)
    assert worker.core.statistics() == WorkerStatistics(watching=2, held=1, waits=True, parked=1)
