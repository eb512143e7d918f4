"""Claims, waiting, and what ends a reservation."""

import pytest

from etcdq.actors.errors import NoSuchJobError
from etcdq.actors.queue import tube_messages as t
from etcdq.actors.queue.job import BURIED, DELAYED, READY, RESERVED
from etcdq.actors.worker import messages as w
from tests.support.tube_book import FIRST, TubeBook


def test_the_smallest_over_all_watched_tubes() -> None:
    """By priority, then by age."""
    book = TubeBook()
    ids = [book.put(b"a", priority=5), book.put(b"b", priority=3), book.put(b"a", priority=3)]
    one = book.connect(b"a", b"b")
    assert [one.reserve().job_ids for _ in range(3)] == [[ids[1]], [ids[2]], [ids[0]]]


def test_first_come_first_served() -> None:
    """Who waits longest gets the next job, whichever of its tubes it comes to."""
    book = TubeBook()
    first, second = book.connect(b"a", b"b"), book.connect(b"b")
    waiting = [first.reserve(), second.reserve()]
    job_id = book.put(b"b")
    assert waiting[0].job_ids == [job_id]
    assert waiting[1].waits
    assert waiting[1].waits
    another = book.put(b"b")
    assert waiting[1].job_ids == [another]


def test_who_comes_later_overtakes_nobody() -> None:
    """A reserve in the batch of a put finds that somebody waited before."""
    book = TubeBook()
    first, second = book.connect(b"t"), book.connect(b"t")
    waiting = first.reserve()
    with book.batch():
        book.ask_put(b"t")
        late = second.reserve(0)
    assert len(waiting.job_ids) == 1
    assert late.value == w.TimedOut()


def test_who_leaves_while_it_waits_gets_nothing() -> None:
    """The job goes to the next; nothing is reserved for the dead."""
    book = TubeBook()
    first, second = book.connect(b"t"), book.connect(b"t")
    first.reserve()
    waiting = second.reserve()
    with book.batch():
        job = book.ask_put(b"t")
        first.leave()
    assert waiting.job_ids == [job.value.job_id]
    assert book.show(b"t").waiting == 0


def test_who_leaves_gives_back_what_it_holds() -> None:
    """Ready at its priority, and nobody is to blame."""
    book = TubeBook()
    one = book.connect(b"t")
    job_id = book.put(b"t", priority=3, con=b"c")
    one.reserve()
    one.leave()
    job = book.job(job_id)
    assert (job.view.state, job.view.priority) == (READY, 3)
    assert (job.reserves, job.timeouts, job.releases) == (1, 0, 0)
    assert book.context.slots.statistics().taken == 0


def test_time_to_run_ends_at_its_instant() -> None:
    """Counted, at its old place, without a word of its holder."""
    book = TubeBook()
    one = book.connect(b"t")
    job_id = book.put(b"t", ttr_s=4.0, priority=7)
    one.reserve()
    book.at(3.999)
    assert book.job(job_id).view.state is RESERVED
    book.at(4.0)
    job = book.job(job_id)
    assert (job.view.state, job.timeouts, job.view.priority) == (READY, 1, 7)
    assert type(one.touch(job_id).value) is NoSuchJobError


def test_touch_begins_anew() -> None:
    """The whole time to run, from the touch on."""
    book = TubeBook()
    one = book.connect(b"t")
    job_id = book.put(b"t", ttr_s=4.0)
    one.reserve()
    book.at(3.0)
    one.touch(job_id)
    assert book.job(job_id).time_left_s == 4.0
    book.at(6.999)
    assert book.job(job_id).view.state is RESERVED
    assert book.at(7.0).job(job_id).timeouts == 1


def test_deadline_soon_one_second_before() -> None:
    """Who waits is told; at the same instant it goes before a timeout of the reserve."""
    book = TubeBook()
    one = book.connect(b"t")
    book.put(b"t", ttr_s=4.0)
    one.reserve()
    waiting = one.reserve(3.0)
    book.at(2.999)
    assert waiting.waits
    book.at(3.0)
    assert waiting.value == w.DeadlineSoon()
    assert one.reserve(0).value == w.DeadlineSoon()


def test_release_says_priority_and_delay() -> None:
    """Its place follows from them."""
    book = TubeBook()
    one = book.connect(b"t")
    job_id, other = book.put(b"t"), book.put(b"t")
    one.reserve()
    one.release(job_id, priority=2000)
    assert one.reserve().job_ids == [other]
    one.release(other, priority=0, delay_s=5.0)
    assert book.job(other).view.state is DELAYED
    assert one.reserve().job_ids == [job_id]
    assert book.at(5.0).job(other).view.state is READY


def test_buried_until_kicked_to_its_place() -> None:
    """With its index, since no watch ever had it."""
    book = TubeBook()
    one = book.connect(b"t")
    job_id, other = book.put(b"t"), book.put(b"t")
    one.reserve()
    one.bury(job_id, priority=1024)
    assert book.job(job_id).view.state is BURIED
    assert book.ask(job_id, t.KickJob, job_id).value == t.Done()
    assert book.job(job_id).view.index == FIRST
    assert [one.reserve().job_ids for _ in range(2)] == [[job_id], [other]]


@pytest.mark.parametrize("state", ["ready", "reserved", "held"])
def test_what_cannot_be_kicked(state: str) -> None:
    """Only buried and delayed jobs can, and not one that waits for its group."""
    book = TubeBook()
    book.put(b"other", grp=b"g")
    job_id = book.put(b"t", aft=b"g" if state == "held" else b"")
    if state == "reserved":
        book.connect(b"t").reserve()
    assert type(book.ask(job_id, t.KickJob, job_id).value) is NoSuchJobError


def test_a_full_key_is_passed_over_and_woken() -> None:
    """The next job that may goes first; the parked one when a slot frees, in any tube."""
    book = TubeBook()
    one, other = book.connect(b"a", b"b"), book.connect(b"b")
    first, parked = book.put(b"a", con=b"c"), book.put(b"b", con=b"c")
    free = book.put(b"b")
    assert one.reserve().job_ids == [first]
    assert other.reserve().job_ids == [free]
    waiting = other.reserve()
    assert waiting.waits
    one.delete(first)
    assert waiting.job_ids == [parked]


def test_a_paused_tube_gives_nothing_but_by_id() -> None:
    """Who waits is served in order when the pause ends."""
    book = TubeBook()
    one, other = book.connect(b"t"), book.connect(b"t")
    book.ask(b"t", t.PauseTube, 10.0)
    ids = [book.put(b"t") for _ in range(3)]
    waiting = [one.reserve(), other.reserve()]
    assert book.connect(b"t").reserve_job(ids[2]).job_ids == [ids[2]]
    book.at(9.0)
    assert [asked.waits for asked in waiting] == [True, True]
    book.ask(b"t", t.PauseTube, 0.0)
    assert [asked.job_ids for asked in waiting] == [[ids[0]], [ids[1]]]


def test_reserve_by_id_from_any_state_but_reserved() -> None:
    """Not behind a full key, and not before its group is complete."""
    book = TubeBook()
    one, other = book.connect(b"t"), book.connect(b"t")
    member = book.put(b"t", grp=b"g", delay_s=9.0)
    held, keyed, second = (
        book.put(b"t", aft=b"g"),
        book.put(b"t", con=b"c"),
        book.put(b"t", con=b"c"),
    )
    assert one.reserve_job(member).job_ids == [member]
    assert one.reserve_job(keyed).job_ids == [keyed]
    for job_id in (member, held, second, 99):
        assert type(other.reserve_job(job_id).value) is NoSuchJobError


def test_an_etcd_job_has_no_time_to_run() -> None:
    """It stays with its holder until that one lets go of it."""
    book = TubeBook()
    one = book.connect(b"t")
    job_id = book.put(b"t", key=b"k", ttr_s=0.0)
    one.reserve()
    job = book.at(1e9).job(job_id)
    assert (job.view.state, job.view.ttr_s, job.time_left_s) == (RESERVED, 0.0, 0.0)
    assert one.touch(job_id).value == t.Done()


def test_a_batch_takes_what_is_there() -> None:
    """In order over tubes, without waiting."""
    book = TubeBook()
    one = book.connect(b"a", b"b")
    ids = [book.put(name, priority=n) for n, name in enumerate((b"a", b"b", b"a", b"b"))]
    assert one.reserve_batch(3).job_ids == ids[:3]
    assert one.reserve_batch(3).job_ids == ids[3:]
    assert one.reserve_batch(3).job_ids == []


def test_watches_and_reserves_take_turns() -> None:
    """Where both wait, neither gets all."""
    book = TubeBook()
    watch, one = book.consume(b"t", "c1"), book.connect(b"t")
    got = []
    for _ in range(4):
        waiting = one.reserve()
        with book.batch():
            book.ask_put(b"t")
            book.ask_put(b"t")
        got += waiting.job_ids
    assert (len(got), len(watch.got)) == (4, 4)
