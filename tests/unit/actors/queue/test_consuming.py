"""Consumers of the etcd door beside beanstalk connections."""

from etcdq.actors.errors import NoSuchJobError
from etcdq.actors.queue import messages as m
from etcdq.actors.queue import tube_messages as t
from etcdq.actors.queue.job import BURIED, READY
from tests.support.tube_book import FIRST, TubeBook


def test_a_beanstalk_job_is_delivered_under_its_id() -> None:
    """Its delivery key ends with it, and acknowledges it."""
    book = TubeBook()
    job_id = book.put(b"t", b"hello")
    watch = book.consume(b"t", "c1")
    (delivery,) = watch.got
    assert (delivery.tail, delivery.body) == (b"%d" % job_id, b"hello")
    assert watch.acknowledge(delivery.index) == 1
    assert watch.acknowledge(delivery.index) == 0


def test_what_a_watch_holds_no_connection_has() -> None:
    """By its id nobody deletes, buries, releases or touches it, or reserves it."""
    book = TubeBook()
    one = book.connect(b"t")
    job_id = book.put(b"t")
    watch = book.consume(b"t", "c1")
    assert len(watch.got) == 1
    for ask in (one.delete, one.bury, one.touch, one.release, one.reserve_job):
        assert type(ask(job_id).value) is NoSuchJobError


def test_a_dead_consumers_jobs_are_buried_and_kicked_anew() -> None:
    """Seen by beanstalk; the kick gives a new index, and the old delivery key hits nothing."""
    book = TubeBook()
    job_id = book.put(b"t")
    watch = book.consume(b"t", "c1")
    watch.end()
    assert book.job(job_id).view.state is BURIED
    assert book.ask(b"t", m.Kick, 1).value == m.Kicked(1)
    job = book.job(job_id)
    assert (job.view.state, job.view.index) == (READY, FIRST + 1)
    assert watch.acknowledge(FIRST) == 0


def test_keys_and_groups_hold_back_watches() -> None:
    """A full key is passed over, and an after-job waits, for both doors."""
    book = TubeBook()
    watch = book.consume(b"t", "c1")
    first = book.put(b"t", con=b"c")
    book.put(b"t", b"second", con=b"c", grp=b"g")
    book.put(b"t", b"third", aft=b"g")
    assert [one.index for one in watch.got] == [FIRST]
    assert watch.acknowledge(FIRST) == 1
    assert watch.bodies == [b"body", b"second"]
    assert watch.acknowledge(FIRST + 1) == 1
    assert watch.bodies == [b"body", b"second", b"third"]
    assert first == 1


def test_a_pause_holds_back_watches() -> None:
    """Until it ends."""
    book = TubeBook()
    watch = book.consume(b"t", "c1")
    book.ask(b"t", t.PauseTube, 5.0)
    book.put(b"t")
    book.at(4.999)
    assert watch.got == []
    book.at(5.0)
    assert len(watch.got) == 1


def test_a_body_too_large_for_watches_is_passed_by() -> None:
    """It waits for a reserve; smaller ones behind it are delivered."""
    book = TubeBook(request_bytes_max=10)
    watch = book.consume(b"t", "c1")
    large = book.put(b"t", b"x" * 11)
    book.put(b"t", b"small")
    assert watch.bodies == [b"small"]
    assert book.connect(b"t").reserve().job_ids == [large]
