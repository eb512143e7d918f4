"""The jobs that are in one state until an instant."""

from etcdq.actors import limits
from etcdq.actors.core import NEVER_S
from etcdq.actors.queue.job import DELAYED, Job, JobExtra
from etcdq.actors.queue.timers import Timers


def new_job(index: int, due_s: float) -> Job:
    extra = JobExtra(due_s, 0.0, due_s)
    return Job(index, index, b"q", b"k", b"k", b"", 1024, 0.0, DELAYED, None, extra)


def filled(*instants_s: float) -> tuple[dict[int, Job], Timers]:
    jobs = {index: new_job(index, instant_s) for index, instant_s in enumerate(instants_s)}
    timers = Timers(jobs, DELAYED)
    for job in jobs.values():
        timers.add(job)
    return jobs, timers


def test_jobs_come_in_the_order_of_their_instants() -> None:
    """Those due leave the heap, the others stay."""
    jobs, timers = filled(3.0, 1.0, 2.0)
    assert timers.next_s() == 1.0
    assert timers.take_due(2.0) == [jobs[1], jobs[2]]
    assert (timers.live, timers.next_s()) == (1, 3.0)


def test_peeking_shows_the_soonest_living_ones() -> None:
    """Jobs that left are not shown and have no instant."""
    jobs, timers = filled(3.0, 1.0, 2.0)
    del jobs[1]
    timers.discard()
    assert timers.first(9) == [jobs[2], jobs[0]]
    assert timers.next_s() == 2.0


def test_without_jobs_nothing_is_due() -> None:
    """An empty heap has no instant, also when its last job was removed."""
    jobs, timers = filled(1.0)
    jobs.clear()
    timers.discard()
    assert timers.next_s() == NEVER_S
    assert timers.take_due(9.0) == []


def test_dead_entries_are_swept() -> None:
    """Delayed jobs that are deleted before their time do not pile up."""
    jobs, timers = filled()
    for index in range(10 * limits.LINE_DEAD_MIN):
        jobs[index] = new_job(index, 1.0 + index)
        timers.add(jobs[index])
        del jobs[index]
        timers.discard()
    assert len(timers._heap) <= limits.LINE_DEAD_MIN + 1


def test_a_moved_instant_counts_and_the_old_one_does_not() -> None:
    """A touched reservation ends at its new instant only, once."""
    jobs, timers = filled(1.0)
    assert jobs[0].extra is not None
    jobs[0].extra.due_s = 5.0
    timers.move(jobs[0])
    timers.move(jobs[0])
    assert timers.take_due(4.9) == []
    assert timers.take_due(5.0) == [jobs[0]]
    assert timers.live == 0
