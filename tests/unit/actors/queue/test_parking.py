"""Ready jobs that wait for their concurrency key."""

from hypothesis import given
from hypothesis import strategies as st

from etcdq.actors import limits
from etcdq.actors.queue.job import READY, Job
from etcdq.actors.queue.parking import Parking

KEY = b"k"


def new_job(index: int, priority: int = 1024) -> Job:
    return Job(index, index, b"jobs", b"", b"", b"", priority, 0.0, READY)


def parked(*priorities: int) -> tuple[dict[int, Job], Parking]:
    jobs = {index: new_job(index, priority) for index, priority in enumerate(priorities)}
    parking = Parking(jobs)
    for job in jobs.values():
        parking.add(KEY, job)
    return jobs, parking


@given(st.lists(st.integers(0, 3), max_size=20))
def test_jobs_come_in_line_order(priorities: list[int]) -> None:
    """The smallest priority first, then the smallest index; then none."""
    jobs, parking = parked(*priorities)
    wanted = sorted(jobs.values(), key=lambda job: (job.priority, job.index))
    assert parking.first() == next(iter(wanted), None)
    assert [parking.take(KEY) for _ in wanted] == wanted
    assert parking.take(KEY) is None
    assert len(parking) == 0


def test_keys_are_apart() -> None:
    """Who asks for one key is given no job of another."""
    jobs = {index: new_job(index) for index in range(2)}
    parking = Parking(jobs)
    parking.add(b"x", jobs[0])
    parking.add(b"y", jobs[1])
    assert parking.take(b"y") is jobs[1]
    assert not parking.waits_for(b"y")
    assert parking.waits_for(b"x")
    assert parking.first() is jobs[0]
    assert list(parking) == [jobs[0]]


def test_a_job_that_left_is_forgotten() -> None:
    """From the front and from the middle; the last of a key ends the waiting."""
    jobs, parking = parked(1, 2, 3)
    assert parking.discard(jobs[1])
    assert not parking.discard(jobs[1])
    assert jobs[1] not in parking
    assert parking.discard(jobs[0])
    assert parking.first() is jobs[2]
    assert parking.discard(jobs[2])
    assert not parking.waits_for(KEY)
    assert parking.first() is None


def test_a_job_of_another_priority_by_now_has_one_place() -> None:
    """It left, was given another priority and is parked again: the old place counts no more."""
    jobs, parking = parked(5, 4)
    parking.discard(jobs[0])
    jobs[0].priority = 3
    parking.add(KEY, jobs[0])
    assert [parking.take(KEY), parking.take(KEY), parking.take(KEY)] == [jobs[0], jobs[1], None]


def test_a_job_that_comes_back_to_its_old_place_is_there_once() -> None:
    """Its dead entry, which is alive again, gives it no second turn."""
    jobs, parking = parked(1, 5)
    parking.discard(jobs[1])
    parking.add(KEY, jobs[1])
    assert [parking.take(KEY), parking.take(KEY), parking.take(KEY)] == [jobs[0], jobs[1], None]


def test_jobs_that_left_do_not_pile_up() -> None:
    """A key whose first job waits for ever does not keep an entry of all that came and went."""
    jobs, parking = parked(0)
    for index in range(1, 10 * limits.LINE_DEAD_MIN):
        jobs[index] = new_job(index)
        parking.add(KEY, jobs[index])
        parking.discard(jobs[index])
        del jobs[index]
    assert len(parking._heaps[KEY]) <= limits.LINE_DEAD_MIN + 2
    assert parking.take(KEY) is jobs[0]
