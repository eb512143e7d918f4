"""Concurrency keys through their whole life: what takes a slot, what frees it, who hears of it."""

from collections.abc import Callable

import pytest

from etcdq.actors.queue import messages as m
from etcdq.actors.queue import tube_messages as t
from tests.support.tube_book import TubeBook
from tests.support.tube_clients import Asked, Connection

Free = Callable[[TubeBook, Connection, int], object]

WAYS: dict[str, Free] = {
    "delete": lambda book, holder, job_id: holder.delete(job_id),
    "delete jobs": lambda book, holder, job_id: holder.ask(
        b"a", t.DeleteJobs, (job_id,), holder.number
    ),
    "release behind": lambda book, holder, job_id: holder.release(job_id, 5000),
    "release with a delay": lambda book, holder, job_id: holder.release(job_id, delay_s=60.0),
    "bury": lambda book, holder, job_id: holder.bury(job_id),
    "leave": lambda book, holder, job_id: holder.leave(),
    "time to run": lambda book, holder, job_id: book.at(30.0),
    "purge": lambda book, holder, job_id: book.ask(
        b"a", m.Purge, b"%016d/" % (1000 + job_id), b"%016d/" % (1001 + job_id)
    ),
}
"""Ways in which a job that is first of its tube leaves its holder's hands."""


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("tube", [b"a", b"b"])
def test_a_slot_that_is_freed_serves_who_waits(way: str, tube: bytes) -> None:
    """At once, in the same tube and in another one, and one of them only."""
    book = TubeBook()
    holder = book.connect(b"a")
    job_id = book.put(b"a", con=b"x", ttr_s=30.0, priority=9)
    holder.reserve()
    others = [book.put(tube, con=b"x") for _ in range(2)]
    waiting = [book.connect(tube).reserve() for _ in range(2)]
    assert [asked.waits for asked in waiting] == [True, True]
    WAYS[way](book, holder, job_id)
    # At its old place again where it stood first; behind the others where not.
    back = way in ("leave", "time to run") and tube == b"a"
    assert waiting[0].job_ids == ([job_id] if back else others[:1])
    assert waiting[1].waits
    assert book.context.slots.statistics().taken == 1


def test_a_flush_frees_all_its_slots() -> None:
    """Those who wait elsewhere are served, as many as were freed."""
    book = TubeBook()
    holder = book.connect(b"a")
    for _ in range(2):
        book.put(b"a", con=b"x", con_limit=2)
    assert len(holder.reserve_batch(9).job_ids) == 2
    others = [book.put(b"b", con=b"x", con_limit=2) for _ in range(3)]
    waiting = [book.connect(b"b").reserve() for _ in range(3)]
    book.ask(b"a", t.FlushTube)
    assert [asked.job_ids for asked in waiting[:2]] == [[others[0]], [others[1]]]
    assert waiting[2].waits


def test_an_acknowledgement_frees_a_slot() -> None:
    """What a watch took is a reservation like any other."""
    book = TubeBook()
    watch = book.consume(b"a", "c1")
    book.put(b"a", con=b"x")
    other = book.put(b"b", con=b"x")
    asked = book.connect(b"b").reserve()
    assert asked.waits
    watch.acknowledge(watch.got[0].index)
    assert asked.job_ids == [other]


@pytest.mark.parametrize("declines", [True, False])
def test_what_a_watch_did_not_take_frees_its_slot(declines: bool) -> None:
    """Declined, or the watch ended over it; what it took is buried with its end."""
    book = TubeBook()
    watch = book.consume(b"a", "c1")
    watch.takes = False
    book.put(b"a", con=b"x")
    other = book.put(b"b", con=b"x", priority=5)
    asked = book.connect(b"b").reserve()
    assert asked.waits
    if not declines:
        watch.take()
        book.run()
    watch.end()
    assert asked.job_ids == [other]
    assert book.job(1).view.state is (m.JobState.READY if declines else m.JobState.BURIED)


def test_a_key_allows_as_many_as_its_largest_limit() -> None:
    """Whoever said it; of four jobs three."""
    book = TubeBook()
    jobs = [book.put(tube, con=b"x", con_limit=limit) for tube, limit in ((b"a", 3), (b"b", 1)) * 2]
    worker = book.connect(b"a", b"b")
    assert worker.reserve_batch(9).job_ids == jobs[:3]
    assert worker.reserve_job(jobs[3]).value != t.Done()
    assert book.context.slots.statistics().taken == 3


def test_a_put_that_raises_the_limit_serves_who_waits() -> None:
    """In another tube, and for a job that was there before."""
    book = TubeBook()
    worker = book.connect(b"a")
    for _ in range(2):
        book.put(b"a", con=b"x")
    worker.reserve()
    asked = worker.reserve()
    assert asked.waits
    book.put(b"b", con=b"x", con_limit=2, delay_s=60.0)
    assert asked.job_ids == [2]


def test_jobs_without_the_key_pass_by() -> None:
    """Nobody waits behind a job that waits for its slot."""
    book = TubeBook()
    worker = book.connect(b"a")
    jobs = [book.put(b"a", con=con) for con in (b"x", b"x", b"", b"y", b"x", b"y", b"")]
    wanted = [jobs[place] for place in (0, 2, 3, 6)]
    assert worker.reserve_batch(9).job_ids == wanted
    assert book.show(b"a").ready == 3


def leaves_before_its_turn(book: TubeBook, way: str, job_id: int) -> Asked | None:
    """Let the job that was to have the free slot leave the line in another way."""
    if way == "delete":
        book.ask(job_id, t.DeleteJob, job_id, 0)
    elif way == "purge":
        book.ask(b"a", m.Purge, b"%016d/" % (1000 + job_id), b"%016d/" % (1001 + job_id))
    elif way == "more urgent":
        book.ask_put(b"a", con=b"x", idp=b"%d" % job_id, priority=1)
    else:
        return book.connect().reserve_job(job_id)
    return None


@pytest.mark.parametrize("way", ["delete", "purge", "more urgent", "reserve job"])
def test_a_job_that_leaves_before_its_turn_strands_nobody(way: str) -> None:
    """The slot was for the first of those that are parked; it goes to the next one instead."""
    book = TubeBook()
    holder = book.connect(b"a")
    held = book.put(b"a", con=b"x")
    jobs = [book.put(b"a", con=b"x", idp=b"%d" % (held + 1 + n)) for n in range(3)]
    holder.reserve()
    assert holder.reserve(0.0).value is not None  # they are parked now
    holder.delete(held)  # the first of them is back in line, the slot is free
    taken = leaves_before_its_turn(book, way, jobs[0])
    if taken is not None:
        assert taken.job_ids == jobs[:1]
        assert holder.reserve_batch(9).job_ids == []
        assert book.context.slots.statistics().taken == 1
    else:
        wanted = jobs[0] if way == "more urgent" else jobs[1]
        assert holder.reserve_batch(9).job_ids == [wanted]


def test_a_tube_that_goes_with_its_last_job_tells_of_the_slot() -> None:
    """Nobody uses or watches it; the connection that reserved its job by its id deletes it."""
    book = TubeBook()
    worker = book.connect()
    job_id, other = book.put(b"a", con=b"x"), book.put(b"b", con=b"x")
    worker.reserve_job(job_id)
    asked = book.connect(b"b").reserve()
    worker.delete(job_id)
    assert asked.job_ids == [other]
    assert b"a" not in book.context.tubes.names()


def test_tubes_have_a_slot_in_turns() -> None:
    """However many jobs each has; only the first was there before anybody else wanted it."""
    book = TubeBook()
    tubes = (b"a", b"b", b"c")
    for tube in tubes:
        for _ in range(3):
            book.put(tube, con=b"x")
    workers = {tube: book.connect(tube) for tube in tubes}
    waiting = {tube: one.reserve() for tube, one in workers.items()}
    order = []
    for _ in range(9):
        (tube,) = [tube for tube, asked in waiting.items() if not asked.waits]
        order.append(tube)
        (job_id,) = waiting[tube].job_ids
        waiting[tube] = workers[tube].reserve()
        book.ask(job_id, t.DeleteJob, job_id, workers[tube].number)
    assert b"".join(order) == b"aabcabcbc"


def test_a_paused_tube_keeps_no_slot_from_others() -> None:
    """Its job that was let go waits; another tube's takes the slot."""
    book = TubeBook()
    holder = book.connect(b"h")
    held = book.put(b"h", con=b"x")
    paused, other = book.put(b"a", con=b"x"), book.put(b"b", con=b"x")
    holder.reserve()
    waiting = [book.connect(tube).reserve() for tube in (b"a", b"b")]
    book.ask(b"a", t.PauseTube, 5.0)
    holder.delete(held)
    assert waiting[0].waits
    assert waiting[1].job_ids == [other]
    book.at(6.0)
    assert waiting[0].waits
    book.ask(other, t.DeleteJob, other, 3)
    assert waiting[0].job_ids == [paused]


def test_a_key_goes_with_its_last_job() -> None:
    """Its limit, its slots, and who was parked."""
    book = TubeBook()
    worker = book.connect(b"a")
    jobs = [book.put(b"a", con=b"x", con_limit=2) for _ in range(3)]
    worker.reserve_batch(9)
    for job_id in jobs:
        worker.delete(job_id)
    assert book.context.slots.statistics().keys == 0
    for _ in range(2):
        book.put(b"a", con=b"x", con_limit=1)
    assert len(worker.reserve_batch(9).job_ids) == 1
