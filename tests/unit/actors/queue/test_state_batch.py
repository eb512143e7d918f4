"""Tubes that begin and end within one batch: as in beanstalkd, where every command is by itself."""

from etcdq.actors.errors import NoSuchQueueError
from etcdq.actors.queue import tube_messages as t
from tests.support.tube_book import TubeBook


def test_a_tube_that_nothing_keeps_is_gone_for_the_next_command() -> None:
    """Its last job deleted, flushed, or its last user gone: what follows finds no tube."""
    book = TubeBook()
    client = book.connect()
    for way in ("delete", "delete jobs", "flush", "use"):
        job_id = book.put(b"a") if way != "use" else 0
        with book.batch():
            if way == "delete":
                client.delete(job_id)
            elif way == "delete jobs":
                client.ask(b"a", t.DeleteJobs, (job_id,), client.number)
            elif way == "flush":
                book.ask(b"a", t.FlushTube)
            else:
                client.use(b"a")
                client.use(b"default")
            shown = book.ask(b"a", t.ShowTube)
            paused = book.ask(b"a", t.PauseTube, 5.0)
        assert type(shown.value) is NoSuchQueueError
        assert type(paused.value) is NoSuchQueueError
    assert book.registry.keys == {}
    client.leave()
    book.assert_clean()


def test_a_tube_that_begins_again_begins_anew() -> None:
    """Its counters, its pause and its times are those of another tube."""
    book = TubeBook()
    client = book.connect()
    client.use(b"a")
    client.watch(b"a")
    job_id = book.put(b"a")
    client.reserve()
    client.delete(job_id)
    book.ask(b"a", t.PauseTube, 60.0)
    with book.batch():
        client.ignore(b"a")
        client.use(b"b")
        client.use(b"a")
        shown = book.ask(b"a", t.ShowTube)
        put = book.ask_put(b"a")
    value = shown.value
    assert (value.jobs_total, value.deletes_total, value.reserves_total) == (0, 0, 0)
    assert (value.pauses_total, value.pause_s, value.timing.queue_samples) == (0, 0.0, 0)
    assert client.reserve_job(put.value.job_id).job_ids == [put.value.job_id]
    assert book.registry.keys == {b"/q/a": b"node"}


def test_tubes_come_and_go_one_by_one() -> None:
    """The order of the list is that of the commands: the last takes the place of one that goes."""
    book = TubeBook()
    client = book.connect()
    with book.batch():
        client.use(b"a")
        client.use(b"b")  # a goes, b takes its place
        client.watch(b"c")
        client.watch(b"d")
        client.use(b"default")  # b goes, d takes its place
        client.watch(b"e")
        client.ignore(b"c")  # c goes, e takes its place
    assert book.context.tubes.names() == [b"default", b"d", b"e"]


def test_what_is_remembered_of_a_deleted_job_keeps_its_tube() -> None:
    """In the batch as well."""
    book = TubeBook()
    job_id = book.put(b"a", idp=b"i", idp_ttl_s=5)
    with book.batch():
        book.ask(job_id, t.DeleteJob, job_id, 0)
        shown = book.ask(b"a", t.ShowTube)
        flushed = book.ask(b"a", t.FlushTube)
        gone = book.ask(b"a", t.ShowTube)
    assert shown.value.jobs_total == 1
    assert flushed.value == t.Flushed(0)
    assert type(gone.value) is NoSuchQueueError
    book.assert_clean()
