"""The heap of delays."""

from etcdq.actors import limits
from etcdq.actors.core import NEVER_S
from etcdq.actors.queue.delays import Delays
from etcdq.actors.queue.job import DELAYED, READY, Job, JobExtra


def new_job(index: int, ready_at_s: float) -> Job:
    extra = JobExtra(ready_at_s, 0.0, ready_at_s)
    return Job(index, index, b"k", b"k", b"", 1024, 0.0, DELAYED, None, extra)


def filled(*instants_s: float) -> tuple[dict[int, Job], Delays]:
    jobs = {index: new_job(index, instant_s) for index, instant_s in enumerate(instants_s)}
    delays = Delays(jobs)
    for job in jobs.values():
        delays.add(job)
    return jobs, delays


def test_jobs_ripen_in_the_order_of_their_instants() -> None:
    """Those due become ready, the others stay."""
    jobs, delays = filled(3.0, 1.0, 2.0)
    assert delays.next_s() == 1.0
    assert delays.ripen(2.0) == [jobs[1], jobs[2]]
    assert [job.state for job in jobs.values()] == [DELAYED, READY, READY]
    assert (delays.live, delays.next_s()) == (1, 3.0)


def test_peeking_shows_the_soonest_living_ones() -> None:
    """Jobs that left are not shown and have no instant."""
    jobs, delays = filled(3.0, 1.0, 2.0)
    del jobs[1]
    delays.discard()
    assert delays.first(9) == [jobs[2], jobs[0]]
    assert delays.next_s() == 2.0


def test_without_jobs_nothing_is_due() -> None:
    """An empty heap has no instant, also when its last job was removed."""
    jobs, delays = filled(1.0)
    jobs.clear()
    delays.discard()
    assert delays.next_s() == NEVER_S
    assert delays.ripen(9.0) == []


def test_dead_entries_are_swept() -> None:
    """Delayed jobs that are deleted before their time do not pile up."""
    jobs, delays = filled()
    for index in range(10 * limits.LINE_DEAD_MIN):
        jobs[index] = new_job(index, 1.0 + index)
        delays.add(jobs[index])
        del jobs[index]
        delays.discard()
    assert len(delays._heap) <= limits.LINE_DEAD_MIN + 1
