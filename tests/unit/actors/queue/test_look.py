"""Listings, purges and the keys that name jobs."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from etcdq.actors.queue import messages as m
from etcdq.actors.queue.job import READY, Job
from etcdq.actors.queue.look import bound, in_range, is_whole
from tests.support.queue_book import ASKER, FIRST, QueueBook, accepted, put, reply, watch


def place(index: int, tail: bytes = b"k") -> bytes:
    return b"%016d/%s" % (index, tail)


def indexes(answer: Any) -> list[int]:
    return [job.index - FIRST for job in answer.jobs]


def four_jobs() -> QueueBook:
    """A queue with a held job, a delayed one and two ready ones, in this order."""
    book = QueueBook(credit=m.Credit(1, 0)).fill(1)
    book.enter("c1", "w1")
    book >> accepted("w1", (FIRST,)) >> put(delay_s=9.0) >> put() >> put(priority=3)
    book.end_batch()
    return book


# bounds -------------------------------------------------------------------------------------

DIGITS = st.integers(0, 30).map(lambda number: b"%016d" % number)
TEXTS = st.one_of(
    st.binary(max_size=4),
    st.builds(lambda digits, cut: digits[:cut], DIGITS, st.integers(0, 16)),
    st.builds(lambda digits, rest: digits + rest, DIGITS, st.binary(max_size=3)),
    st.builds(lambda digits, cut, rest: digits[:cut] + rest, DIGITS, st.integers(13, 16),
              st.binary(max_size=2)),
)  # fmt: skip


@given(
    st.lists(st.tuples(st.integers(0, 30), st.binary(max_size=2)), max_size=8),
    TEXTS,
    st.one_of(st.none(), TEXTS),
)
def test_ranges_are_those_of_bytes(
    places: list[tuple[int, bytes]], start: bytes, end: bytes | None
) -> None:
    """By number or as text, the same jobs lie between two bounds, whatever these look like."""
    jobs = {
        index: Job(index, 0, b"jobs", tail, tail, b"", 0, 0.0, READY)
        for index, tail in sorted(dict(places).items())
    }
    meant = [
        job
        for job in jobs.values()
        if start <= place(job.index, job.tail) and (end is None or place(job.index, job.tail) < end)
    ]
    assert list(in_range(jobs, start, end)) == meant
    if is_whole(start, end):
        assert meant == list(jobs.values())


@pytest.mark.parametrize("start", [b"", b"0", b"/", b"0" * 16, b"0" * 16 + b"/"])
@pytest.mark.parametrize("end", [None, b":", b"a", b"\xff"])
def test_the_usual_spellings_of_everything_are_known(start: bytes, end: bytes | None) -> None:
    """A prefix range and a from-key range over a queue compare nothing."""
    assert is_whole(start, end)
    assert not is_whole(place(1), end)
    assert not is_whole(start, place(1))


def test_a_bound_over_all_digits_is_beyond_every_index() -> None:
    """What sorts after the digit 9 is after every job."""
    assert bound(b":") == (10**16, b"")


# listings -----------------------------------------------------------------------------------


def test_a_listing_shows_waiting_jobs_in_index_order() -> None:
    """Ready and delayed ones, by index whatever their priority; held ones are not waiting."""
    listing = four_jobs().ask(m.Look(ASKER))
    assert indexes(listing) == [1, 2, 3]
    assert [job.state.value for job in listing.jobs] == ["delayed", "ready", "ready"]
    assert listing.count == 3


def test_the_count_is_of_all_whatever_the_limit() -> None:
    """A page says how many there are in the range."""
    book = four_jobs()
    assert book.ask(m.Look(ASKER, limit=1)).count == 3
    assert indexes(book.ask(m.Look(ASKER, limit=1))) == [1]
    page = book.ask(m.Look(ASKER, start=place(FIRST + 2), limit=1))
    assert (indexes(page), page.count) == ([2], 2)


def test_a_listing_of_a_part() -> None:
    """Start is included, end is not."""
    book = four_jobs()
    page = book.ask(m.Look(ASKER, place(FIRST + 1), place(FIRST + 3)))
    assert (indexes(page), page.count) == ([1, 2], 2)


def test_what_a_consumer_holds() -> None:
    """Taken jobs of that consumer, and of no other."""
    book = four_jobs()
    held = book.ask(m.Look(ASKER, holder="c1"))
    assert (indexes(held), held.count) == ([0], 1)
    assert [job.holder for job in held.jobs] == ["c1"]
    assert book.ask(m.Look(ASKER, holder="c2")) == m.Listing((), 0)


def test_a_held_job_is_read_by_its_delivery_key() -> None:
    """In any state; under a consumer's key only if that one holds it."""
    book = four_jobs()
    assert indexes(book.ask(m.ReadDelivery(ASKER, FIRST, b"k"))) == [0]
    assert indexes(book.ask(m.ReadDelivery(ASKER, FIRST, b"k", "c1"))) == [0]
    assert indexes(book.ask(m.ReadDelivery(ASKER, FIRST + 1, b"k"))) == [1]
    for message in (
        m.ReadDelivery(ASKER, FIRST, b"other"),
        m.ReadDelivery(ASKER, FIRST, b"k", "c2"),
        m.ReadDelivery(ASKER, FIRST + 1, b"k", "c1"),
        m.ReadDelivery(ASKER, FIRST + 9, b"k"),
    ):
        assert book.ask(message) == m.Listing((), 0)


def test_looking_changes_nothing() -> None:
    """A listing touches no job, and does not count as use."""
    book = QueueBook()
    book >> put()
    book.end_batch()
    before = book.shown()
    for message in (m.Look(ASKER), m.ReadKey(ASKER, b"k"), m.Peek(ASKER, m.JobState.READY, 1)):
        book.ask(message)
    assert book.shown() == before


@pytest.mark.parametrize(
    ("state", "wanted"),
    [("ready", [3, 2]), ("delayed", [1]), ("reserved", [0]), ("buried", [])],
)
def test_peek_shows_jobs_in_the_order_they_would_leave(state: str, wanted: list[int]) -> None:
    """Ready ones by priority, delayed ones by instant, reserved ones by index."""
    answer = four_jobs().ask(m.Peek(ASKER, m.JobState(state), 10))
    assert (indexes(answer), answer.count) == (wanted, len(wanted))


# producer keys ------------------------------------------------------------------------------


def test_a_producer_key_reads_its_oldest_living_job() -> None:
    """Ready, delayed or held; of several under one key the oldest."""
    book = four_jobs()
    answer = book.ask(m.ReadKey(ASKER, b"k"))
    assert (indexes(answer), answer.count) == ([0], 1)


def test_buried_jobs_do_not_count_under_their_producer_key() -> None:
    """So a dead job never blocks a living one; a kicked one counts again."""
    book = four_jobs()
    book >> m.Purge(ASKER, place(FIRST + 1)) >> m.Ended(watch("w1"))
    book.end_batch()
    assert book.shown().buried == 1
    assert book.ask(m.ReadKey(ASKER, b"k")) == m.Listing((), 0)
    book.ask(m.Kick(ASKER, 1))
    assert book.ask(m.ReadKey(ASKER, b"k")).count == 1


def test_deleting_a_producer_key_removes_what_waits_under_it() -> None:
    """Ready and delayed jobs go, held ones and other keys stay."""
    book = four_jobs()
    book >> put(b"other")
    book.end_batch()
    assert indexes(book.ask(m.DeleteKey(ASKER, b"k"))) == [1, 2, 3]
    assert book.ask(m.DeleteKey(ASKER, b"k")) == m.Deleted((), 0)
    shown = book.shown()
    assert (shown.ready, shown.reserved, shown.delayed, shown.deleted_total) == (1, 1, 0, 3)


# purge --------------------------------------------------------------------------------------


def test_a_purge_takes_every_job_in_any_state() -> None:
    """Waiting or held, whoever holds it; buried ones too. Everything is back at zero."""
    book = four_jobs()
    book >> m.Ended(watch("w1"))
    book.end_batch()
    book.enter("c2", "w2")
    assert indexes(book.ask(m.Purge(ASKER))) == [0, 1, 2, 3]
    shown = book.shown()
    assert (shown.ready, shown.reserved, shown.delayed, shown.buried) == (0, 0, 0, 0)
    assert (shown.body_bytes, book.context.budget.used_bytes) == (0, 0)
    assert shown.consumers[0].held_messages == 0


def test_a_purge_of_a_part() -> None:
    """Only jobs whose key lies in the range."""
    book = QueueBook().fill(4)
    assert indexes(book.ask(m.Purge(ASKER, place(FIRST), place(FIRST + 2)))) == [0, 1]
    assert indexes(book.ask(m.Look(ASKER))) == [2, 3]


def test_a_purge_of_what_a_consumer_holds() -> None:
    """Others keep theirs; the consumer has its credit back at once."""
    book = four_jobs()
    book >> m.Purge(ASKER, holder="c1")
    effects = book.end_batch()
    assert [job.index for job in effects[0].value.jobs] == [FIRST]
    assert effects[0] == reply(effects[0].value)
    assert effects[1].message.deliveries[0].index == FIRST + 3
