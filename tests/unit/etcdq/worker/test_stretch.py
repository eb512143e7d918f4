"""What a thread runs, and what comes back of it."""

import threading

import pytest
from trio.testing import MockClock

from etcdq.worker.failure import History
from etcdq.worker.job import ReservedJob
from etcdq.worker.stretch import TURN_S, Stretch

Jobs = list[ReservedJob]


def jobs(count: int) -> Jobs:
    """Return jobs with the ids 0, 1, …"""
    history = History("t", 0, 60, 0, 0)
    return [ReservedJob(number, b"", history, MockClock()) for number in range(count)]


def test_all_in_order_and_the_lost_left_out() -> None:
    """Jobs that are lost before their run are not run; of a batch the others are."""
    single, lost, first, second = jobs(4)
    lost.is_lost = second.is_lost = True
    stretch, seen = Stretch([[single], [lost], [first, second]]), list[Jobs]()

    stretch.run(seen.append)

    assert seen == [[single], [first]]
    assert stretch.take_finished() == [single, first]
    assert stretch.end() == ([], [], [])


def test_what_fails_ends_it() -> None:
    """The error comes out; what was done, what failed and what was not begun are told apart."""
    done, failed, waiting = jobs(3)

    def handle(run: Jobs) -> None:
        if run == [failed]:
            raise ValueError

    stretch = Stretch([[done], [failed], [waiting]])
    with pytest.raises(ValueError):
        stretch.run(handle)

    assert stretch.end() == ([[waiting]], [done], [failed])


def test_turn_that_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the run that outlasts the turn nothing more is begun."""
    now_s = [0.0]
    monkeypatch.setattr("etcdq.worker.stretch.time.monotonic", lambda: now_s[0])
    short, long, waiting = jobs(3)

    def handle(run: Jobs) -> None:
        now_s[0] += TURN_S * (0.5 if run == [short] else 0.6)

    stretch = Stretch([[short], [long], [waiting]])
    stretch.run(handle)

    assert stretch.end() == ([[waiting]], [short, long], [])


def test_end_while_a_run_goes_on() -> None:
    """A thread that is left to itself begins nothing more, and what it had is known."""
    running, waiting = jobs(2)
    began, go_on = threading.Event(), threading.Event()
    seen: list[Jobs] = []

    def handle(run: Jobs) -> None:
        seen.append(run)
        began.set()
        go_on.wait(60)

    stretch = Stretch([[running], [waiting]])
    thread = threading.Thread(target=stretch.run, args=[handle])
    thread.start()
    began.wait(60)
    ended = stretch.end()
    go_on.set()
    thread.join()

    assert ended == ([[waiting]], [], [running])
    assert seen == [[running]]
