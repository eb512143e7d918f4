"""Deletes through both doors: who may, and what it frees."""

from typing import Any

import pytest

from etcdq.actors.errors import NoSuchJobError
from etcdq.actors.queue import messages as m
from etcdq.actors.queue import tube_messages as t
from etcdq.actors.worker import messages as w
from tests.support.tube_book import FIRST, TubeBook

READY = m.JobState.READY


def purge(book: TubeBook, tube: bytes = b"a") -> int:
    """Delete every job of a tube as the etcd door does; return how many."""
    count: int = book.ask(tube, m.Purge).value.count
    return count


# by id --------------------------------------------------------------------------------------


def test_who_holds_a_job_deletes_it() -> None:
    """It counts as worked off, and as done in so many seconds."""
    book = TubeBook()
    worker = book.connect(b"a")
    job_id = book.put(b"a")
    worker.reserve()
    book.at(3.0)
    assert worker.delete(job_id).value == t.Done()
    shown = book.core(b"a").statistics(3.0)
    assert (shown.acknowledged_total, shown.deleted_total, shown.tube.deletes_total) == (1, 0, 1)
    assert (shown.tube.timing.processing_ewma_s, shown.tube.timing.processing_samples) == (3.0, 1)
    assert book.context.totals.deletes == 1


@pytest.mark.parametrize("state", ["ready", "delayed", "held", "buried"])
def test_anybody_deletes_a_job_that_nobody_holds(state: str) -> None:
    """In whatever state it is; no time is taken down for it."""
    book = TubeBook()
    worker, other = book.connect(b"a"), book.connect()
    book.put(b"b", grp=b"g")
    extra: dict[str, dict[str, Any]] = {"delayed": {"delay_s": 9.0}, "held": {"aft": b"g"}}
    fields = extra.get(state, {})
    job_id = book.put(b"a", **fields)
    if state == "buried":
        worker.reserve()
        worker.bury(job_id)
    book.at(3.0)
    assert other.delete(job_id).value == t.Done()
    assert type(other.delete(job_id).value) is NoSuchJobError
    shown = book.core(b"a").statistics(3.0)
    assert (shown.acknowledged_total, shown.deleted_total, shown.tube.deletes_total) == (0, 1, 1)
    assert shown.tube.timing.processing_samples == 0
    assert book.context.groups.statistics(b"g") is not None


def test_nobody_deletes_what_another_one_holds() -> None:
    """Neither another connection's job, nor a watch's."""
    book = TubeBook()
    worker, other = book.connect(b"a"), book.connect()
    reserved = book.put(b"a")
    worker.reserve()
    watch = book.consume(b"b", "c1")
    taken = book.put(b"b")
    assert watch.bodies == [b"body"]
    for job_id in (reserved, taken):
        assert type(other.delete(job_id).value) is NoSuchJobError
        assert type(other.release(job_id).value) is NoSuchJobError
        assert type(other.bury(job_id).value) is NoSuchJobError
        assert type(other.touch(job_id).value) is NoSuchJobError
        assert type(other.reserve_job(job_id).value) is NoSuchJobError
    assert sorted(book.context.directory) == [reserved, taken]


# by delivery key ----------------------------------------------------------------------------


def test_a_connections_job_is_not_acknowledged_by_others() -> None:
    """Its delivery key hits nothing while the connection has it, and the job before and after."""
    book = TubeBook()
    worker = book.connect(b"a")
    job_id = book.put(b"a")
    worker.reserve()
    assert book.ask(b"a", m.Acknowledge, FIRST, b"1").value == m.Deleted((), 0)
    worker.release(job_id)
    assert book.ask(b"a", m.Acknowledge, FIRST, b"1", shown=False).value == m.Deleted((), 1)


def test_a_purge_takes_what_connections_hold_too() -> None:
    """Whoever has it: rule 15. The connection hears of it when it asks for the job."""
    book = TubeBook()
    worker = book.connect(b"a")
    jobs = [book.put(b"a", ttr_s=10.0) for _ in range(3)]
    worker.reserve()
    assert purge(book) == 3
    for job_id in jobs:
        assert type(worker.delete(job_id).value) is NoSuchJobError
    assert book.at(99.0).show(b"a").timeouts_total == 0


def test_what_was_purged_is_not_about_to_expire() -> None:
    """A reserve that waits is not told DEADLINE_SOON for a job that is gone, only for others."""
    book = TubeBook()
    worker = book.connect(b"a", b"b")
    book.put(b"a", ttr_s=5.0)
    book.put(b"b", ttr_s=8.0)
    worker.reserve_batch(9)
    asked = worker.reserve()
    purge(book)
    book.at(6.9)
    assert asked.waits
    book.at(7.0)
    assert asked.value == w.DeadlineSoon()


# flush --------------------------------------------------------------------------------------


def test_a_flush_deletes_every_job_of_the_tube_in_every_state() -> None:
    """And says how many; other tubes keep theirs."""
    book = TubeBook()
    worker = book.connect(b"a")
    book.put(b"b", grp=b"g")
    for fields in ({}, {}, {"delay_s": 9.0}, {"aft": b"g"}, {"con": b"x"}):
        book.put(b"a", **fields)
    reserved, buried = worker.reserve_batch(2).job_ids
    worker.bury(buried)
    watch = book.consume(b"a", "c1")
    assert watch.bodies == [b"body"]
    assert book.ask(b"a", t.FlushTube).value == t.Flushed(5)
    assert type(worker.delete(reserved).value) is NoSuchJobError
    assert list(book.context.directory) == [1]
    assert book.show(b"a").deletes_total == 5


def test_a_flush_completes_groups() -> None:
    """As any delete does: nobody is held for members that are gone."""
    book = TubeBook()
    book.put(b"a", grp=b"g")
    book.put(b"a", grp=b"g", delay_s=9.0)
    held = book.put(b"b", aft=b"g")
    book.ask(b"a", t.FlushTube)
    assert book.job(held).view.state is READY


def test_a_flush_of_a_group_that_waits_for_itself() -> None:
    """Members, and who waits for them, in one tube."""
    book = TubeBook()
    book.connect(b"a")
    book.put(b"a", grp=b"g")
    book.put(b"a", aft=b"g", grp=b"h")
    book.put(b"a", aft=b"h")
    assert book.ask(b"a", t.FlushTube).value == t.Flushed(3)
    assert book.context.groups.is_complete(b"g")
    assert book.show(b"a").ready == 0


def test_a_credit_that_comes_back_serves_a_watch() -> None:
    """Whoever deletes what it held: a purge, a flush, an acknowledgement."""
    book = TubeBook()
    watch = book.consume(b"a", "c1", credit=m.Credit(1, 0))
    for delete in (
        lambda: purge(book),
        lambda: book.ask(b"a", t.FlushTube),
        lambda: watch.acknowledge(watch.got[-1].index),
    ):
        book.put(b"a")
        assert book.show(b"a").reserved == 1
        delete()
    assert len(watch.got) == 3
