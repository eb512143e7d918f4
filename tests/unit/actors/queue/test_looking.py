"""Looking at jobs and tubes, and steering them."""

from etcdq.actors.errors import NoSuchJobError, NoSuchQueueError
from etcdq.actors.queue import messages as m
from etcdq.actors.queue import tube_messages as t
from tests.support.tube_book import FIRST, TubeBook


def test_a_job_and_its_life() -> None:
    """Counters of everything that happened to it, and the times of the moment."""
    book = TubeBook()
    one = book.connect(b"t")
    job_id = book.put(b"t", ttr_s=8.0, priority=5, con=b"c", con_limit=2)
    one.reserve()
    one.release(job_id, priority=6, delay_s=2.0)
    book.at(2.0)
    one.reserve()
    book.at(10.0)
    one.reserve()
    one.bury(job_id)
    book.ask(job_id, t.KickJob, job_id)
    one.reserve()
    book.at(13.0)
    job = book.job(job_id)
    counts = (job.reserves, job.timeouts, job.releases, job.buries, job.kicks)
    assert counts == (4, 1, 1, 1, 1)
    assert (job.time_left_s, job.reserved_s, job.view.age_s) == (5.0, 3.0, 13.0)
    assert (job.view.delay_s, job.view.ttr_s, job.tags) == (2.0, 8.0, m.Tags(con=b"c", con_limit=2))


def test_looking_leaves_a_job_as_it_is() -> None:
    """An etcd job that is shown takes no more memory than before."""
    book = TubeBook()
    job_id = book.put(b"t", key=b"k", ttr_s=0.0)
    job = book.job(job_id)
    assert (job.queue, job.reserves, job.tags) == (b"t", 0, m.Tags())
    assert book.context.directory[job_id].extra is None


def test_what_a_watch_holds_shows_no_time() -> None:
    """It has no time to run, and nobody noted since when."""
    book = TubeBook()
    job_id = book.put(b"t")
    book.consume(b"t", "c1")
    job = book.at(5.0).job(job_id)
    assert (job.view.holder, job.reserved_s, job.time_left_s) == ("c1", 0.0, 0.0)


def test_a_tube_and_who_is_there() -> None:
    """Jobs by state, connections, consumers of the other door, and totals."""
    book = TubeBook()
    one = book.connect(b"t")
    one.use(b"t")
    book.consume(b"t", "c1", credit=m.Credit(1, 0))
    buried = book.put(b"t", priority=1)
    ids = [book.put(b"t", priority=1) for _ in range(4)]
    one.reserve()
    shown = book.show(b"t")
    assert (shown.using, shown.watching, shown.waiting) == (1, 2, 0)
    assert (shown.ready, shown.urgent, shown.reserved, shown.jobs_total) == (3, 3, 2, 5)
    assert (shown.oldest_ready_id, shown.reserves_total) == (ids[1], 1)
    assert buried == 1
    book.connect(b"t").reserve_batch(3)
    one.reserve()
    assert book.show(b"t").waiting == 1


def test_peeking_by_state() -> None:
    """Parked jobs are ready; of the delayed the soonest, of the buried the first buried."""
    book = TubeBook()
    one = book.connect(b"t")
    book.put(b"t", con=b"c")
    one.reserve()
    parked = book.put(b"t", con=b"c")
    assert one.reserve(0).value is not None
    book.put(b"t", delay_s=9.0)
    soon = book.put(b"t", delay_s=3.0)
    ready = book.ask(b"t", m.Peek, m.JobState.READY, 1).value
    delayed = book.ask(b"t", m.Peek, m.JobState.DELAYED, 1).value
    assert [job.job_id for job in ready.jobs] == [parked]
    assert [job.job_id for job in delayed.jobs] == [soon]
    assert book.ask(b"t", m.Peek, m.JobState.BURIED, 1).value.jobs == ()


def test_peek_by_id() -> None:
    """In any state, by anybody."""
    book = TubeBook()
    job_id = book.put(b"t", b"hello")
    book.connect(b"t").reserve()
    assert book.ask(job_id, t.PeekJob, job_id).value.body == b"hello"
    assert type(book.ask(99, t.PeekJob, 99).value) is NoSuchJobError


def test_a_pause_is_counted_and_ends() -> None:
    """Only of a tube that is there."""
    book = TubeBook()
    assert type(book.ask(b"no", t.PauseTube, 5.0).value) is NoSuchQueueError
    assert type(book.ask(b"no", t.ShowTube).value) is NoSuchQueueError
    assert book.ask(b"default", t.PauseTube, 5.0).value == t.Done()
    shown = book.at(2.0).show(b"default")
    assert (shown.pause_s, shown.pause_left_s, shown.pauses_total) == (5.0, 3.0, 1)
    shown = book.at(5.0).show(b"default")
    assert (shown.pause_s, shown.pause_left_s, shown.pauses_total) == (0.0, 0.0, 1)


def test_kick_takes_buried_ones_first() -> None:
    """In order of burial, whatever their priority; then the delayed ones, soonest first."""
    book = TubeBook()
    one = book.connect(b"t")
    ids = [book.put(b"t", priority=9 - n) for n in range(3)]
    for job_id in ids:
        one.reserve_job(job_id)
        one.bury(job_id, priority=5)
    delayed = book.put(b"t", delay_s=9.0)
    assert book.ask(b"t", m.Kick, 2).value == m.Kicked(2)
    assert [book.job(job_id).kicks for job_id in ids] == [1, 1, 0]
    assert book.ask(b"t", m.Kick, 10).value == m.Kicked(1)
    assert book.ask(b"t", m.Kick, 10).value == m.Kicked(1)
    assert (book.job(delayed).kicks, book.job(delayed).view.index) == (1, FIRST + 3)
