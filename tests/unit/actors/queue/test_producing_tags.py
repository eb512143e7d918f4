"""Puts and what they may say beyond numbers, and producer keys; sentence by sentence."""

from typing import Any

import pytest

from etcdq.actors import limits
from etcdq.actors.errors import OverLimitError
from etcdq.actors.queue import messages as m
from etcdq.actors.queue import tube_messages as t
from tests.support.tube_book import FIRST, TubeBook
from tests.support.tube_clients import Connection

READY, RESERVED = m.JobState.READY, m.JobState.RESERVED
DELAYED, BURIED = m.JobState.DELAYED, m.JobState.BURIED


def duplicate(book: TubeBook, priority: int = 1024, **fields: Any) -> object:
    """Put under the key that the first job of `keyed` has; return the answer."""
    return book.ask_put(b"a", idp=b"i", priority=priority, **fields).value


def keyed(**fields: Any) -> tuple[TubeBook, Connection, int]:
    """Return a book, a worker on tube a, and a job with an idempotency key there."""
    book = TubeBook()
    worker = book.connect(b"a")
    return book, worker, book.put(b"a", idp=b"i", priority=100, **fields)


# idempotency --------------------------------------------------------------------------------


def test_a_second_put_under_a_key_makes_no_job() -> None:
    """It is told which job has the key, and in which state that is; the first body stays."""
    book, worker, job_id = keyed()
    assert duplicate(book, body=b"another") == t.Duplicate(job_id, READY)
    assert worker.reserve().value.grants == (t.Grant(job_id, b"body"),)
    assert list(book.context.directory) == [job_id]
    assert book.show(b"a").jobs_total == 1
    assert book.context.totals.jobs == 1


def test_a_duplicate_spends_no_id() -> None:
    """The next job has the next id."""
    book, _, job_id = keyed()
    duplicate(book)
    assert book.put(b"a") == job_id + 1


def test_a_more_urgent_put_makes_a_ready_job_more_urgent() -> None:
    """Said in the answer, once; a less urgent one changes nothing."""
    book, worker, job_id = keyed()
    other = book.put(b"a", priority=80)
    assert duplicate(book, 50) == t.Duplicate(job_id, READY, 50)
    assert duplicate(book, 200) == t.Duplicate(job_id, READY)
    assert duplicate(book, 50) == t.Duplicate(job_id, READY)
    assert worker.reserve_batch(9).job_ids == [job_id, other]


def test_a_more_urgent_put_makes_a_reserved_job_more_urgent() -> None:
    """Which shows when its time is over; a release has its own priority."""
    book, worker, job_id = keyed(ttr_s=5.0)
    worker.reserve()
    assert duplicate(book, 10) == t.Duplicate(job_id, RESERVED, 10)
    assert book.at(5.0).job(job_id).view.priority == 10
    worker.reserve()
    duplicate(book, 5)
    worker.release(job_id, 99)
    assert book.job(job_id).view.priority == 99


def test_a_more_urgent_put_makes_a_delayed_job_more_urgent() -> None:
    """It is delayed as long as before."""
    book, _, job_id = keyed(delay_s=3.0)
    assert duplicate(book, 10, delay_s=9.0) == t.Duplicate(job_id, DELAYED, 10)
    assert book.at(2.9).job(job_id).view.state is DELAYED
    assert book.at(3.0).job(job_id).view.state is READY
    assert book.show(b"a").urgent == 1


def test_a_more_urgent_put_makes_a_buried_job_more_urgent() -> None:
    """Which shows when it is kicked."""
    book, worker, job_id = keyed()
    worker.reserve()
    worker.bury(job_id, 2000)
    assert duplicate(book, 10) == t.Duplicate(job_id, BURIED, 10)
    assert book.show(b"a").urgent == 0
    book.ask(job_id, t.KickJob, job_id)
    assert book.job(job_id).view.priority == 10
    assert book.show(b"a").urgent == 1


def test_a_more_urgent_put_makes_a_held_job_more_urgent() -> None:
    """It waits for its group as before."""
    book = TubeBook()
    member = book.put(b"b", grp=b"g")
    job_id = book.put(b"a", idp=b"i", aft=b"g", priority=100)
    assert duplicate(book, 10) == t.Duplicate(job_id, DELAYED, 10)
    book.connect(b"b").delete(member)
    assert book.job(job_id).view.state is READY
    assert book.job(job_id).view.priority == 10


def test_a_more_urgent_put_reaches_a_job_that_waits_for_its_slot() -> None:
    """Among those that wait for the same key it goes first."""
    book = TubeBook()
    worker = book.connect(b"a")
    held, other = (book.put(b"a", con=b"x") for _ in range(2))
    job_id = book.put(b"a", con=b"x", idp=b"i")
    assert worker.reserve_batch(9).job_ids == [held]
    duplicate(book, 10)
    worker.delete(held)
    assert worker.reserve_batch(9).job_ids == [job_id]
    assert worker.release(job_id, 3000).value == t.Done()
    assert worker.reserve_batch(9).job_ids == [other]


def test_a_key_is_its_tubes() -> None:
    """The same key in another tube is another one."""
    book, _, job_id = keyed()
    assert book.put(b"b", idp=b"i") == job_id + 1


def test_a_deleted_job_keeps_its_key_for_a_while() -> None:
    """As long as its put said, to the instant; its priority is nobody's any more."""
    book, worker, job_id = keyed(idp_ttl_s=30)
    book.at(10.0)
    worker.delete(job_id)
    assert duplicate(book.at(39.9), 1) == t.Duplicate(job_id, None)
    assert type(duplicate(book.at(40.0))) is m.Inserted


@pytest.mark.parametrize("way", ["acknowledge", "purge", "producer key"])
def test_a_job_deleted_through_the_etcd_door_frees_its_key_in_the_same_way(way: str) -> None:
    """Its cooldown too."""
    book, worker, job_id = keyed(idp_ttl_s=30)
    index, tail = FIRST + job_id - 1, b"%d" % job_id
    if way == "acknowledge":
        book.ask(b"a", m.Acknowledge, index, tail)
    elif way == "purge":
        book.ask(b"a", m.Purge)
    else:
        book.ask(b"a", m.DeleteKey, tail)
    assert duplicate(book) == t.Duplicate(job_id, None)
    assert type(duplicate(book.at(30.0))) is m.Inserted
    assert worker.delete(job_id).value != t.Done()


def test_a_flush_frees_all_keys() -> None:
    """Those of living jobs, and those of deleted ones."""
    book, worker, job_id = keyed(idp_ttl_s=30)
    worker.delete(job_id)
    book.put(b"a", idp=b"j", idp_ttl_s=30)
    book.ask(b"a", t.FlushTube)
    assert type(duplicate(book)) is m.Inserted
    assert type(book.ask_put(b"a", idp=b"j").value) is m.Inserted
    assert book.context.budget.used_bytes == 2 * (limits.JOB_OVERHEAD_BYTES + len(b"body"))


def test_a_duplicate_is_no_member_of_a_group_and_takes_no_slot() -> None:
    """What it says beyond its key is not heard."""
    book, worker, job_id = keyed()
    duplicate(book, grp=b"g", con=b"x")
    assert book.context.groups.is_complete(b"g")
    assert book.context.slots.statistics().keys == 0
    worker.delete(job_id)


# budget -------------------------------------------------------------------------------------


def test_what_a_key_will_cost_later_is_counted_at_the_put() -> None:
    """A put whose tombstone would not fit is refused; without a cooldown it is taken."""
    job, tombstone = limits.JOB_OVERHEAD_BYTES + 4, limits.TOMBSTONE_OVERHEAD_BYTES + 1
    book = TubeBook()
    book.context.budget.bytes_max = job + tombstone - 1
    assert type(book.ask_put(b"a", idp=b"i", idp_ttl_s=30).value) is OverLimitError
    assert type(book.ask_put(b"a", idp=b"i").value) is m.Inserted
    book.context.budget.bytes_max = 2 * job + tombstone
    assert type(book.ask_put(b"a", idp=b"j", idp_ttl_s=30).value) is m.Inserted


def test_every_change_of_state_costs_nothing() -> None:
    """At the limit a job is reserved, released, buried, kicked; its delete makes room."""
    book = TubeBook()
    worker = book.connect(b"a")
    job_id = book.put(b"a")
    book.context.budget.bytes_max = used = book.context.budget.used_bytes
    worker.reserve()
    worker.release(job_id, delay_s=1.0)
    book.at(1.0)
    worker.reserve()
    worker.bury(job_id)
    book.ask(b"a", m.Kick, 1)
    assert book.context.budget.used_bytes == used
    assert type(book.ask_put(b"a").value) is OverLimitError
    worker.delete(job_id)
    assert type(book.ask_put(b"a").value) is m.Inserted


# groups -------------------------------------------------------------------------------------


def test_a_job_after_a_group_nobody_is_in_is_ready_at_once() -> None:
    """Whether it was ever named or not."""
    book = TubeBook()
    assert book.job(book.put(b"a", aft=b"g")).view.state is READY


def test_a_job_after_a_group_is_held_until_the_last_member_is_deleted() -> None:
    """In any tube; it has the place of its id then."""
    book = TubeBook()
    worker = book.connect(b"b")
    members = [book.put(b"b", grp=b"g") for _ in range(2)]
    held, later = book.put(b"a", aft=b"g"), book.put(b"a")
    assert book.job(held).view.state is DELAYED
    worker.delete(members[0])
    assert book.job(held).view.state is DELAYED
    worker.delete(members[1])
    assert book.connect(b"a").reserve_batch(9).job_ids == [held, later]


def test_members_that_come_late_hold_it_too() -> None:
    """The group is complete when all are deleted, whoever came first."""
    book = TubeBook()
    worker = book.connect(b"b")
    first = book.put(b"b", grp=b"g")
    held = book.put(b"a", aft=b"g")
    late = book.put(b"b", grp=b"g")
    worker.delete(first)
    assert book.job(held).view.state is DELAYED
    worker.delete(late)
    assert book.job(held).view.state is READY


def test_a_delayed_job_looks_at_its_group_when_its_delay_is_over() -> None:
    """Not before: then it waits for who is in the group at that moment."""
    book = TubeBook()
    worker = book.connect(b"b")
    job_id = book.put(b"a", aft=b"g", delay_s=2.0)
    member = book.put(b"b", grp=b"g")
    assert book.at(1.0).show(b"a").delayed == 1
    assert book.at(2.0).show(b"a").delayed == 0
    assert book.job(job_id).view.state is DELAYED
    assert book.job(job_id).time_left_s == 0.0
    worker.delete(member)
    assert book.job(job_id).view.state is READY


# producer keys ------------------------------------------------------------------------------


def test_a_job_without_a_producer_key_is_found_by_its_id() -> None:
    """While it lives, buried ones are not alive; spelled as a number is, and in its own queue."""
    book = TubeBook()
    worker = book.connect(b"a")
    job_id = book.put(b"a")
    (shown,) = book.ask(b"a", m.ReadKey, b"1").value.jobs
    assert (shown.job_id, shown.key, shown.tail) == (job_id, b"1", b"1")
    for queue, key in ((b"a", b"01"), (b"a", b"+1"), (b"a", b"2"), (b"b", b"1"), (b"a", b"1" * 30)):
        assert book.ask(queue, m.ReadKey, key).value.count == 0
    worker.reserve()
    assert book.ask(b"a", m.ReadKey, b"1").value.count == 1
    worker.bury(job_id)
    assert book.ask(b"a", m.ReadKey, b"1").value.count == 0


def test_a_producer_key_may_be_a_number_too() -> None:
    """The older job is read; both are deleted, in index order."""
    book = TubeBook()
    first = book.put(b"a")
    book.put(b"a", key=b"1")
    assert [job.job_id for job in book.ask(b"a", m.ReadKey, b"1").value.jobs] == [first]
    deleted = book.ask(b"a", m.DeleteKey, b"1").value
    assert [job.job_id for job in deleted.jobs] == [1, 2]


def test_what_somebody_holds_is_not_deleted_by_its_producer_key() -> None:
    """Neither what a connection reserved, nor what a watch has."""
    book = TubeBook()
    worker = book.connect(b"a")
    book.put(b"a")
    worker.reserve()
    assert book.ask(b"a", m.DeleteKey, b"1").value.count == 0
    assert list(book.context.directory) == [1]
