"""What a connection holds, and which of it ends first."""

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from etcdq.actors import limits
from etcdq.actors.core import NEVER_S
from etcdq.actors.queue.job import RESERVED, Job, JobExtra
from etcdq.actors.queue.tube_messages import Grant, Reserver
from etcdq.actors.worker.holdings import Holdings

MINE, OTHERS = Reserver(1), Reserver(2)


class Directory(dict[int, Job]):
    """Counts how often it is asked."""

    asked = 0

    def get(self, key: int, default: object = None) -> Job | None:  # type: ignore[override]
        """Count and answer."""
        self.asked += 1
        return super().get(key)


def new_job(job_id: int, due_s: float = NEVER_S) -> Job:
    extra = JobExtra(due_s=due_s)
    return Job(job_id, job_id, b"q", b"", b"", b"", 0, 0.0, RESERVED, MINE, extra)


def grants(job_ids: range | list[int]) -> Iterator[Grant]:
    return (Grant(job_id, b"") for job_id in job_ids)


def holding(*dues_s: float) -> tuple[Directory, Holdings]:
    jobs = Directory({number: new_job(number, due_s) for number, due_s in enumerate(dues_s)})
    held = Holdings(MINE, jobs)
    held.add(grants(list(jobs)), b"q")
    return jobs, held


@given(st.lists(st.floats(0, 9), max_size=9))
def test_the_soonest_of_all(dues_s: list[float]) -> None:
    """Whatever was granted; never, if that is nothing."""
    jobs, held = holding(*dues_s)
    assert held.soonest_s() == min(dues_s, default=NEVER_S)
    held.add(grants([99]), b"q")
    jobs[99] = new_job(99, 0.0)
    assert held.soonest_s() == 0.0


def test_a_job_without_a_time_to_run_never_ends() -> None:
    """One with a time beside it does."""
    _, held = holding(NEVER_S)
    assert held.soonest_s() == NEVER_S
    _, held = holding(NEVER_S, 5.0)
    assert held.soonest_s() == 5.0


def test_what_is_gone_or_in_other_hands_does_not_count() -> None:
    """It is forgotten, at the latest when it would be first."""
    jobs, held = holding(1.0, 2.0, 3.0)
    assert held.soonest_s() == 1.0
    del jobs[0]
    jobs[1].holder = OTHERS
    assert held.soonest_s() == 3.0
    assert len(held) == 1
    jobs[2].holder = None
    assert held.soonest_s() == NEVER_S
    assert held.by_queue() == {}


def test_a_touched_job_ends_later() -> None:
    """Another one may be first then."""
    jobs, held = holding(1.0, 2.0)
    assert held.soonest_s() == 1.0
    assert jobs[0].extra is not None
    jobs[0].extra.due_s = 9.0
    assert held.soonest_s() == 2.0
    del jobs[1]
    assert held.soonest_s() == 9.0


def test_a_job_that_came_back_counts_again() -> None:
    """Lost and granted anew, also for the same instant."""
    jobs, held = holding(1.0)
    held.soonest_s()
    jobs[0].holder = None
    assert held.soonest_s() == NEVER_S
    jobs[0].holder = MINE
    held.add(grants([0]), b"q")
    assert held.soonest_s() == 1.0
    held.add(grants([0]), b"q")
    assert held.soonest_s() == 1.0
    assert held.by_queue() == {b"q": [0]}


def test_by_queue() -> None:
    """In order of the grants."""
    jobs, held = holding(1.0, 2.0)
    jobs |= {7: new_job(7), 8: new_job(8)}
    held.add(grants([8, 7]), b"other")
    assert held.by_queue() == {b"q": [0, 1], b"other": [8, 7]}


def test_a_look_at_many_costs_as_much_as_at_few() -> None:
    """Who holds thousands of jobs may ask for more all the time."""
    jobs, held = holding(*map(float, range(10_000)))
    held.soonest_s()
    jobs.asked = 0
    for number in range(100):
        jobs[20_000 + number] = new_job(20_000 + number, 1e6)
        held.add(grants([20_000 + number]), b"q")
        assert held.soonest_s() == 0.0
    assert jobs.asked <= 200


def test_what_is_gone_does_not_pile_up() -> None:
    """However many were granted, and however often the same."""
    jobs, held = holding()
    for number in range(5 * limits.HELD_GONE_MAX):
        jobs[number] = new_job(number)
        held.add(grants([number]), b"q")
        del jobs[number]
    assert len(held) <= limits.HELD_GONE_MAX + 1
    jobs[0] = new_job(0)
    for _ in range(5 * limits.HELD_GONE_MAX):
        held.add(grants([0]), b"q")
    assert len(held._fresh) + len(held._dues) <= 2 * limits.HELD_GONE_MAX
    assert held.soonest_s() == NEVER_S
