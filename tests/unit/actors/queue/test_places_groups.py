"""Groups through the life of their members, and of the jobs that wait for them."""

import pytest

from etcdq.actors.errors import NoSuchJobError
from etcdq.actors.queue import messages as m
from etcdq.actors.queue import tube_messages as t
from tests.support.tube_book import TubeBook

READY, DELAYED, BURIED = m.JobState.READY, m.JobState.DELAYED, m.JobState.BURIED


def state(book: TubeBook, job_id: int) -> m.JobState:
    """Return a job's state."""
    return book.job(job_id).view.state


@pytest.mark.parametrize(
    "event", ["reserved", "released", "delayed", "buried", "expired", "kicked"]
)
def test_a_member_that_lives_holds_others_back(event: str) -> None:
    """In whatever state it is."""
    book = TubeBook()
    worker = book.connect(b"m")
    member, held = book.put(b"m", grp=b"g", ttr_s=5.0), book.put(b"a", aft=b"g")
    worker.reserve()
    if event == "released":
        worker.release(member)
    elif event == "delayed":
        worker.release(member, delay_s=9.0)
    elif event in ("buried", "kicked"):
        worker.bury(member)
    if event == "kicked":
        book.ask(b"m", m.Kick, 1)
    elif event == "expired":
        book.at(6.0)
    assert state(book, held) is DELAYED
    shown = book.context.groups.statistics(b"g")
    assert shown is not None
    assert (shown.pending, shown.buried, shown.waiting) == (1, event == "buried", 1)


@pytest.mark.parametrize("way", ["delete", "buried", "acknowledge", "purge", "flush", "delete key"])
def test_only_the_end_of_a_member_counts(way: str) -> None:
    """By whichever door, and in whichever state it was."""
    book = TubeBook()
    worker = book.connect(b"m")
    member = book.put(b"m", grp=b"g")
    held = [book.put(tube, aft=b"g") for tube in (b"m", b"a", b"a")]
    if way == "buried":
        worker.reserve()
        worker.bury(member)
    if way in ("delete", "buried"):
        worker.delete(member)
    elif way == "acknowledge":
        book.ask(b"m", m.Acknowledge, 1001, b"1")
    elif way == "delete key":
        book.ask(b"m", m.DeleteKey, b"1")
    elif way == "purge":
        book.ask(b"m", m.Purge, b"%016d/" % 1001, b"%016d/" % 1002)
    else:
        book.ask(b"m", t.FlushTube)
        held = held[1:]
    assert [state(book, job_id) for job_id in held] == [READY] * len(held)
    assert book.context.groups.is_complete(b"g")


def test_who_waits_for_a_job_is_served_when_a_group_completes() -> None:
    """At once, in line order of the tube."""
    book = TubeBook()
    member = book.put(b"m", grp=b"g")
    held = book.put(b"a", aft=b"g")
    asked = book.connect(b"a").reserve()
    assert asked.waits
    book.connect().delete(member)
    assert asked.job_ids == [held]


def test_a_held_job_that_is_deleted_leaves_nothing_behind() -> None:
    """The group completes, and later ones after it are ready at once."""
    book = TubeBook()
    worker = book.connect(b"m")
    member, held = book.put(b"m", grp=b"g"), book.put(b"a", aft=b"g")
    assert worker.delete(held).value == t.Done()
    worker.delete(member)
    assert state(book, book.put(b"a", aft=b"g")) is READY


@pytest.mark.parametrize("way", ["purge", "flush", "acknowledge", "delete key"])
def test_a_held_job_is_deleted_through_every_door(way: str) -> None:
    """As any delayed one is."""
    book = TubeBook()
    book.put(b"m", grp=b"g")
    held = book.put(b"a", aft=b"g")
    if way == "acknowledge":
        book.ask(b"a", m.Acknowledge, 1002, b"2")
    elif way == "delete key":
        book.ask(b"a", m.DeleteKey, b"2")
    else:
        book.ask(b"a", m.Purge if way == "purge" else t.FlushTube)
    assert held not in book.context.directory
    shown = book.context.groups.statistics(b"g")
    assert shown is not None
    assert shown.waiting == 0


def test_a_held_job_is_neither_kicked_nor_peeked_nor_reserved() -> None:
    """It is delayed without an end: shown by its id, and in the queue's count, nowhere else."""
    book = TubeBook()
    worker = book.connect(b"a")
    book.put(b"m", grp=b"g")
    held = book.put(b"a", aft=b"g")
    assert book.ask(b"a", m.Kick, 9).value == m.Kicked(0)
    assert type(book.ask(held, t.KickJob, held).value) is NoSuchJobError
    assert type(worker.reserve_job(held).value) is NoSuchJobError
    assert book.ask(b"a", m.Peek, DELAYED, 9).value.jobs == ()
    assert book.show(b"a").delayed == 0
    assert book.core(b"a").statistics(0.0).delayed == 1
    assert (book.job(held).view.state, book.job(held).time_left_s) == (DELAYED, 0.0)


def test_once_let_go_a_job_waits_for_its_group_no_more() -> None:
    """Late members do not take it back: not where it is ready, released, or buried and kicked."""
    book = TubeBook()
    worker = book.connect(b"a")
    job_id = book.put(b"a", aft=b"g")
    book.put(b"m", grp=b"g")
    assert state(book, job_id) is READY
    worker.reserve()
    worker.release(job_id)
    assert state(book, job_id) is READY
    worker.reserve()
    worker.bury(job_id)
    book.ask(b"a", m.Kick, 1)
    assert state(book, job_id) is READY


def test_released_with_a_delay_it_looks_at_its_group_again() -> None:
    """As it does after the delay of its put; as in tuber."""
    book = TubeBook()
    worker = book.connect(b"a")
    job_id = book.put(b"a", aft=b"g")
    worker.reserve()
    member = book.put(b"m", grp=b"g")
    worker.release(job_id, delay_s=2.0)
    assert book.at(2.0).show(b"a").ready == 0
    worker.delete(member)
    assert book.show(b"a").ready == 1


def test_by_its_id_a_job_is_reserved_only_when_its_group_is_complete() -> None:
    """Also one that is ready already; as in tuber."""
    book = TubeBook()
    worker = book.connect(b"z")
    job_id = book.put(b"a", aft=b"g")
    member = book.put(b"m", grp=b"g")
    assert type(worker.reserve_job(job_id).value) is NoSuchJobError
    worker.delete(member)
    assert worker.reserve_job(job_id).job_ids == [job_id]


def test_stages_follow_each_other() -> None:
    """Members of one group that wait for another one."""
    book = TubeBook()
    worker = book.connect(b"a")
    extract = [book.put(b"a", grp=b"extract") for _ in range(2)]
    transform = [book.put(b"a", aft=b"extract", grp=b"transform") for _ in range(2)]
    load = book.put(b"a", aft=b"transform")
    for stage in (extract, transform, [load]):
        assert worker.reserve_batch(9).job_ids == stage
        for job_id in stage:
            worker.delete(job_id)
    worker.leave()
    book.assert_clean()


def test_a_held_job_takes_no_slot() -> None:
    """It waits for its group first, and then for its key."""
    book = TubeBook()
    worker = book.connect(b"a")
    member = book.put(b"m", grp=b"g")
    held, other = book.put(b"a", aft=b"g", con=b"x"), book.put(b"a", con=b"x")
    assert worker.reserve_batch(9).job_ids == [other]
    worker.delete(member)
    asked = worker.reserve()
    assert asked.waits
    book.ask(other, t.DeleteJob, other, worker.number)
    assert asked.job_ids == [held]
