"""How long a queue exists, and how it is seen."""

from etcdq.actors.queue import messages as m
from etcdq.actors.queue import tube_messages as t
from tests.support.tube_book import TubeBook


def test_a_tube_lives_while_something_keeps_it() -> None:
    """A user, a watcher, a job, a key that is remembered; then it is gone at once."""
    book = TubeBook()
    names = book.context.tubes.names
    one = book.connect(b"t")
    one.use(b"u")
    assert set(names()) == {b"default", b"t", b"u"}
    one.use(b"default")
    assert set(names()) == {b"default", b"t"}
    one.leave()
    assert names() == [b"default"]
    job_id = book.put(b"j", idp=b"k", idp_ttl_s=5)
    book.ask(job_id, t.DeleteJob, job_id, 0)
    assert names() == [b"default", b"j"]
    book.at(5.0)
    assert names() == [b"default"]
    assert b"j" not in book.stage.cores


def test_what_the_etcd_door_used_lingers() -> None:
    """For `idle_s` after its last use."""
    book = TubeBook(idle_s=600.0)
    job_id = book.put(b"t", key=b"k")
    book.at(10.0).ask(job_id, t.DeleteJob, job_id, 0)
    book.at(609.0)
    assert b"t" in book.context.tubes.names()
    book.at(610.0)
    assert b"t" not in book.context.tubes.names()


def test_default_never_goes() -> None:
    """Its totals stay as well."""
    book = TubeBook()
    one = book.connect()
    job_id = book.put(b"default")
    one.delete(job_id)
    one.leave()
    assert book.at(1e6).show(b"default").jobs_total == 1


def test_registered_from_the_first_job_or_consumer_on() -> None:
    """Who only uses or watches a tube leaves no trace in the registry."""
    book = TubeBook()
    one = book.connect(b"a/b")
    one.use(b"a/b")
    assert book.registry.keys == {}
    job_id = book.put(b"a/b")
    assert book.registry.keys == {b"/q/a%2Fb": b"node"}
    one.delete(job_id)
    one.leave()
    assert book.registry.keys == {}


def test_looking_makes_no_tube() -> None:
    """A queue that is only asked about is forgotten."""
    book = TubeBook()
    assert book.ask(b"t", m.Kick, 1).value == m.Kicked(0)
    assert book.ask(b"t", m.Peek, m.JobState.READY, 1).value == m.Listing((), 0)
    assert b"t" not in book.stage.cores
