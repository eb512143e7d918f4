"""The line against a dumb model, and its cost."""

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from etcdq.actors import limits
from etcdq.actors.queue.job import GIVE_BACK, READY, RESERVED, Job
from etcdq.actors.queue.line import Line
from etcdq.actors.queue.slots import Slots


def new_job(index: int, priority: int = 1024, body: bytes = b"") -> Job:
    return Job(index, index, b"jobs", b"k", b"k", body, priority, 0.0, READY)


class LineMachine(RuleBasedStateMachine):
    """Enter, take, give back, remove from anywhere: the line is the sorted ready jobs."""

    def __init__(self) -> None:
        super().__init__()
        self.jobs: dict[int, Job] = {}
        self.line = Line(self.jobs, Slots(), b"jobs")
        self.out: list[Job] = []
        self.last = 0

    def ready(self) -> list[Job]:
        ready = [job for job in self.jobs.values() if job.state is READY]
        return sorted(ready, key=lambda job: (job.priority, job.index))

    @rule(priority=st.sampled_from([0, 7, 1024, 5000]), body_bytes=st.integers(0, 9))
    def enter(self, priority: int, body_bytes: int) -> None:
        self.last += 1
        job = new_job(self.last, priority, bytes(body_bytes))
        self.jobs[job.index] = job
        self.line.add(job)

    @rule(messages=st.integers(1, 9), body_bytes=st.integers(0, 30))
    def take(self, messages: int, body_bytes: int) -> None:
        wanted: list[Job] = []
        for job in self.ready()[:messages]:
            body_bytes_left = body_bytes - sum(len(other.body) for other in wanted)
            if wanted and len(job.body) > body_bytes_left:
                break
            wanted.append(job)
        assert self.line.take(messages, body_bytes) == wanted
        assert all(job.state is RESERVED for job in wanted)
        self.out += wanted

    @precondition(lambda self: self.out)
    @rule(data=st.data())
    def give_back(self, data: st.DataObject) -> None:
        job = data.draw(st.sampled_from(self.out))
        self.out.remove(job)
        job.state = GIVE_BACK[job.state]
        self.line.add_back(job)

    @precondition(lambda self: self.ready())
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        job = data.draw(st.sampled_from(self.ready()))
        del self.jobs[job.index]
        self.line.discard(job)

    @precondition(lambda self: self.ready())
    @rule(data=st.data())
    def pull_from_the_middle(self, data: st.DataObject) -> None:
        # Not done by any message yet; the line must bear an index that left and came back.
        job = data.draw(st.sampled_from(self.ready()))
        job.state = RESERVED
        self.line.discard(job)
        self.out.append(job)

    @rule()
    def sweep(self) -> None:
        self.line._sweep()

    @invariant()
    def is_as_the_model(self) -> None:
        ready = self.ready()
        assert self.line.live == len(ready)
        assert self.line.urgent == sum(job.priority < 1024 for job in ready)
        assert self.line.first(3) == ready[:3]
        assert self.line.oldest() == min(ready, key=lambda job: job.index, default=None)
        entries = sum(len(fresh) + len(back) for fresh, back in self.line._lanes.values())
        assert entries == self.line.live + self.line._dead

    @invariant()
    def head_is_first(self) -> None:
        assert self.line.head() == next(iter(self.ready()), None)


TestLineMachine = LineMachine.TestCase
TestLineMachine.settings = settings(max_examples=50, stateful_step_count=30, deadline=None)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=50))
def test_order_is_priority_then_index(priorities: list[int]) -> None:
    """Whatever was put, the line empties sorted."""
    jobs = {index: new_job(index, priority) for index, priority in enumerate(priorities)}
    line = Line(jobs, Slots(), b"jobs")
    for job in jobs.values():
        line.add(job)
    seen = [(job.priority, job.index) for job in line.take(len(jobs), 0)]
    assert seen == sorted((priority, index) for index, priority in enumerate(priorities))


def test_the_first_is_taken_at_any_size_and_the_rest_must_fit() -> None:
    """A line whose head is larger than the room gives just that one."""
    jobs = {index: new_job(index, body=b"12345") for index in range(3)}
    line = Line(jobs, Slots(), b"jobs")
    for job in jobs.values():
        line.add(job)
    assert [job.index for job in line.take(9, 1)] == [0]
    assert [job.index for job in line.take(9, 10)] == [1, 2]


def test_dead_entries_are_swept() -> None:
    """A line whose jobs leave from the middle does not grow."""
    jobs: dict[int, Job] = {}
    line = Line(jobs, Slots(), b"jobs")
    jobs[0] = new_job(0)
    line.add(jobs[0])
    for index in range(1, 10 * limits.LINE_DEAD_MIN):
        jobs[index] = new_job(index)
        line.add(jobs[index])
        line.discard(jobs.pop(index))
    entries = sum(len(fresh) for fresh, _ in line._lanes.values())
    assert entries <= limits.LINE_DEAD_MIN + 2
    assert line.first(9) == [jobs[0]]


def test_lanes_of_priorities_no_longer_used_are_dropped() -> None:
    """A queue that has seen many priorities does not keep them."""
    jobs: dict[int, Job] = {}
    line = Line(jobs, Slots(), b"jobs")
    for index in range(1000):
        jobs[index] = new_job(index, priority=index)
        line.add(jobs[index])
    assert len(line.take(1000, 0)) == 1000
    assert line.head() is None
    assert len(line._lanes) == 1
