"""Reserves that one connection asks in a row, in one message or several: each has its answer."""

from collections.abc import Callable

import pytest

from etcdq.actors import limits
from etcdq.actors.worker import messages as w
from tests.support.tube_book import TubeBook
from tests.support.tube_clients import Asked, Connection

AskRow = Callable[[TubeBook, Connection, int, float | None], list[Asked]]


def one_by_one(
    book: TubeBook, worker: Connection, count: int, timeout_s: float | None
) -> list[Asked]:
    with book.batch():
        return [worker.reserve(timeout_s) for _ in range(count)]


def together(
    book: TubeBook, worker: Connection, count: int, timeout_s: float | None
) -> list[Asked]:
    row = [Asked() for _ in range(count)]
    worker.reserve_row(row, timeout_s)
    return row


def in_pairs(
    book: TubeBook, worker: Connection, count: int, timeout_s: float | None
) -> list[Asked]:
    row = [Asked() for _ in range(count)]
    with book.batch():
        for start in range(0, count, 2):
            worker.reserve_row(row[start : start + 2], timeout_s)
    return row


every_way = pytest.mark.parametrize("ask_row", [one_by_one, together, in_pairs])


@every_way
def test_reserves_in_a_row_are_served_in_order(ask_row: AskRow) -> None:
    """By what is there at once, and then one by one; the time of each begins at its turn."""
    book = TubeBook()
    worker = book.connect(b"a")
    jobs = [book.put(b"a") for _ in range(3)]
    row = ask_row(book, worker, 5, 1.0)
    assert [asked.job_ids for asked in row[:3]] == [[job_id] for job_id in jobs]
    book.at(1.0)
    assert [asked.waits for asked in row[3:]] == [False, True]
    assert row[3].value == w.TimedOut()
    late = book.at(1.5).put(b"a")
    assert row[4].job_ids == [late]


@every_way
def test_a_row_does_not_overtake_others(ask_row: AskRow) -> None:
    """Who waits behind the first of them is served before the second."""
    book = TubeBook()
    greedy, other = book.connect(b"a"), book.connect(b"a")
    row = ask_row(book, greedy, 3, None)
    waiting = other.reserve()
    with book.batch():
        for _ in range(3):
            book.ask_put(b"a")
    assert row[0].job_ids == [1]
    assert waiting.job_ids == [2]
    assert row[1].job_ids == [3]
    assert row[2].waits


@every_way
def test_a_row_takes_what_stands_before_the_best_of_another_tube(ask_row: AskRow) -> None:
    """Each reserve of it gets the best that is left over all tubes."""
    book = TubeBook()
    worker = book.connect(b"a", b"b")
    jobs = [
        book.put(tube, priority=priority) for priority, tube in enumerate((b"a", b"a", b"b", b"a"))
    ]
    row = ask_row(book, worker, 5, 0.0)
    assert [asked.job_ids for asked in row[:4]] == [[job_id] for job_id in jobs]
    assert row[4].value == w.TimedOut()


@every_way
def test_a_row_longer_than_one_claim(ask_row: AskRow) -> None:
    """However many are asked for, each has its own answer."""
    book = TubeBook()
    worker = book.connect(b"a")
    count = limits.RESERVES_AT_ONCE_MAX + 5
    with book.batch():
        for _ in range(count):
            book.ask_put(b"a")
    row = ask_row(book, worker, count + 1, 0.0)
    assert [asked.job_ids for asked in row[:-1]] == [[number] for number in range(1, count + 1)]
    assert row[-1].value == w.TimedOut()
