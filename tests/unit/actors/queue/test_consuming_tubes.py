"""Watches where connections reserve too: turns, keys, and bodies that are not for watches."""

from etcdq.actors.queue import messages as m
from etcdq.actors.queue import tube_messages as t
from tests.support.tube_book import FIRST, TubeBook
from tests.support.tube_clients import Asked


def test_watches_and_waiting_reserves_take_turns() -> None:
    """The watch first, then a reserve, and so on, whoever came first."""
    book = TubeBook()
    worker = book.connect(b"a")
    waiting = [book.connect(b"a").reserve() for _ in range(3)]
    watch = book.consume(b"a", "c1")
    for _ in range(6):
        book.put(b"a")
    assert [one.index - FIRST for one in watch.got] == [0, 2, 4]
    assert [asked.job_ids for asked in waiting] == [[2], [4], [6]]
    assert worker.reserve(0.0).value is not None


def test_a_batch_of_jobs_is_shared_in_turns() -> None:
    """The watch is offered one while others wait, and no more before it has answered."""
    book = TubeBook()
    waiting = [book.connect(b"a").reserve() for _ in range(2)]
    watch = book.consume(b"a", "c1")
    with book.batch():
        for _ in range(4):
            book.ask_put(b"a")
    assert [asked.job_ids for asked in waiting] == [[2], [3]]
    assert [one.index - FIRST for one in watch.got] == [0, 3]


def test_while_an_offer_is_not_answered_reserves_are_served() -> None:
    """A watch that is slow to answer keeps nobody waiting, and has its turn after."""
    book = TubeBook()
    watch = book.consume(b"a", "c1")
    watch.takes = False
    waiting = [book.connect(b"a").reserve() for _ in range(2)]
    for _ in range(4):
        book.put(b"a")
    assert [one.index - FIRST for one in watch.offer] == [0]
    assert [asked.job_ids for asked in waiting] == [[2], [3]]
    watch.take()
    book.run()
    assert [one.index - FIRST for one in watch.offer] == [3]


def test_what_a_watch_declines_goes_to_a_reserve_that_waits() -> None:
    """At its place, before later ones."""
    book = TubeBook()
    watch = book.consume(b"a", "c1")
    book.ask(b"a", t.PauseTube, 1.0)
    jobs = [book.put(b"a") for _ in range(3)]
    watch.takes = False
    book.at(1.0)
    assert len(watch.offer) == 3
    asked = book.connect(b"a").reserve()
    assert asked.waits
    watch.take(1, stalls=True)
    book.run()
    assert asked.job_ids == jobs[2:]


def test_a_key_holds_back_watches_and_reserves_alike() -> None:
    """What is acknowledged serves a reserve, and the reverse; queues have it in turns."""
    book = TubeBook()
    watch = book.consume(b"a", "c1")
    worker = book.connect(b"b")
    asked = worker.reserve()
    for _ in range(3):
        book.put(b"a", con=b"x")
        book.put(b"b", con=b"x")
    for turn in range(3):
        assert len(watch.got) == turn + 1
        assert asked.waits
        watch.acknowledge(watch.got[turn].index)
        assert len(watch.got) == turn + 1
        (job_id,) = asked.job_ids
        with book.batch():
            asked = worker.reserve()
            book.ask(job_id, t.DeleteJob, job_id, worker.number)
    assert [one.index - FIRST for one in watch.got] == [0, 2, 4]
    assert book.context.slots.statistics().keys == 0


# large bodies -------------------------------------------------------------------------------


def test_the_status_says_that_a_large_one_is_first() -> None:
    """While it is: people see why a watch is passed by."""
    book = TubeBook(request_bytes_max=4)
    large = book.put(b"a", b"12345")
    book.put(b"a")
    assert book.core(b"a").statistics(0.0).oversized_head
    assert book.connect(b"a").reserve().job_ids == [large]
    assert not book.core(b"a").statistics(0.0).oversized_head


def test_an_offer_of_many_leaves_large_ones_out() -> None:
    """Wherever they stand in it."""
    book = TubeBook(request_bytes_max=4)
    for body in (b"1", b"12345", b"2", b"12345", b"3"):
        book.put(b"a", body)
    watch = book.consume(b"a", "c1")
    assert watch.bodies == [b"1", b"2", b"3"]
    assert book.connect(b"a").reserve_batch(9).job_ids == [2, 4]


def test_a_reserve_that_waits_is_served_a_large_one_beside_a_watch() -> None:
    """The turn of the watch does not matter for what is not for it."""
    book = TubeBook(request_bytes_max=4)
    book.consume(b"a", "c1")
    asked = book.connect(b"a").reserve()
    large = book.put(b"a", b"12345")
    assert asked.job_ids == [large]


def test_without_a_limit_every_body_is_for_watches() -> None:
    """0 is no limit."""
    book = TubeBook(request_bytes_max=0)
    watch = book.consume(b"a", "c1")
    book.put(b"a", bytes(10_000))
    assert [len(body) for body in watch.bodies] == [10_000]


# a claim beside a watch, asked of the queue alone --------------------------------------------


def test_a_late_reserve_does_not_overtake_a_watch_in_one_batch() -> None:
    """A put and a reserve in one batch: the watch was there before."""
    book = TubeBook()
    watch = book.consume(b"a", "c1")
    worker = book.connect(b"a")
    with book.batch():
        book.ask_put(b"a")
        asked: Asked = worker.reserve()
    assert len(watch.got) == 1
    assert asked.waits
    book.put(b"a")
    assert asked.job_ids == [2]
    assert worker.reserve(0.0).value is not None
    assert m.JobState.RESERVED is book.job(2).view.state
