"""Jobs out: by id, by delivery key, by range, and a tube flushed."""

from etcdq.actors.errors import NoSuchJobError, NoSuchQueueError
from etcdq.actors.queue import messages as m
from etcdq.actors.queue import tube_messages as t
from tests.support.tube_book import FIRST, TubeBook


def test_a_reserved_job_is_its_holders() -> None:
    """Nobody else deletes it by id; neither does its delivery key."""
    book = TubeBook()
    one, other = book.connect(b"t"), book.connect(b"t")
    job_id = book.put(b"t")
    one.reserve()
    assert type(other.delete(job_id).value) is NoSuchJobError
    acknowledged = book.ask(b"t", m.Acknowledge, FIRST, b"%d" % job_id).value
    assert acknowledged.count == 0
    assert one.delete(job_id).value == t.Done()
    assert type(one.delete(job_id).value) is NoSuchJobError


def test_what_nobody_holds_anybody_deletes() -> None:
    """Ready, delayed, buried."""
    book = TubeBook()
    one, other = book.connect(b"t"), book.connect(b"t")
    buried = book.put(b"t")
    one.reserve()
    one.bury(buried)
    for job_id in (buried, book.put(b"t"), book.put(b"t", delay_s=9.0)):
        assert other.delete(job_id).value == t.Done()
    assert book.show(b"t").deletes_total == 3


def test_a_row_of_deletes() -> None:
    """Each is told apart; one that is not there, or twice, does not hold up the others."""
    book = TubeBook()
    one = book.connect(b"t")
    ids = [book.put(b"t") for _ in range(3)]
    asked = book.ask(b"t", t.DeleteJobs, (ids[0], 99, ids[0], ids[2]), one.number)
    assert asked.value == t.JobsDeleted((True, False, False, True))
    assert book.show(b"t").ready == 1


def test_processing_is_timed_from_reserve_to_delete() -> None:
    """Only of jobs that were reserved."""
    book = TubeBook()
    one = book.connect(b"t")
    first, second = book.put(b"t"), book.put(b"t")
    one.reserve()
    book.at(2.0)
    one.delete(first)
    one.delete(second)
    timing = book.show(b"t").timing
    assert (timing.processing_samples, timing.slow_ewma_s) == (1, 2.0)


def test_a_flush_takes_everything_and_frees_what_it_held() -> None:
    """Every state, tombstones, slots, groups; who held a job holds it no longer."""
    book = TubeBook()
    one = book.connect(b"t")
    book.put(b"t", con=b"c", grp=b"g")
    one.reserve()
    book.put(b"t", con=b"c")
    book.put(b"t", delay_s=5.0)
    gone = book.put(b"t", idp=b"k", idp_ttl_s=60)
    one.delete(gone)
    after = book.put(b"other", aft=b"g")
    assert book.ask(b"t", t.FlushTube).value == t.Flushed(3)
    assert book.show(b"other").ready == 1
    assert type(book.ask_put(b"t", idp=b"k").value) is m.Inserted
    book.ask(after, t.DeleteJob, after, 0)
    assert book.context.slots.statistics().keys == 0


def test_no_tube_is_flushed() -> None:
    """Looking at a name makes no tube; `default` is always one."""
    book = TubeBook()
    assert book.ask(b"no", t.FlushTube).value == NoSuchQueueError("there is no tube 'no'")
    assert book.ask(b"default", t.FlushTube).value == t.Flushed(0)


def test_a_purge_takes_what_a_connection_holds() -> None:
    """Its slot is free, and its idempotency key."""
    book = TubeBook()
    one = book.connect(b"t")
    job_id = book.put(b"t", con=b"c", idp=b"k")
    one.reserve()
    assert book.ask(b"t", m.Purge).value.count == 1
    assert type(one.touch(job_id).value) is NoSuchJobError
    assert book.context.slots.statistics().keys == 0
    assert type(book.ask_put(b"t", idp=b"k").value) is m.Inserted


def test_nothing_is_left_when_all_is_gone() -> None:
    """Names, bytes, keys, handles: as at the start."""
    book = TubeBook()
    one = book.connect(b"t")
    one.use(b"t")
    ids = [book.put(b"t", con=b"c", grp=b"g", aft=b"h", idp=b"%d" % n) for n in range(3)]
    one.reserve()
    for job_id in ids:
        one.delete(job_id)
    one.leave()
    book.assert_clean()
