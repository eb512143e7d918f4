"""The line against a dumb model, and its cost."""

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from etcdq.actors import limits
from etcdq.actors.queue.job import GIVE_BACK, READY, RESERVED, Job, JobExtra, key_wanted, place_of
from etcdq.actors.queue.line import Line
from etcdq.actors.queue.messages import Tags
from etcdq.actors.queue.slots import Slots

LARGE = 6
"""Bodies from that size on are not for watches."""


def new_job(index: int, priority: int = 1024, body: bytes = b"", con: bytes = b"") -> Job:
    extra = JobExtra(tags=Tags(con=con, con_limit=1) if con else None)
    return Job(index, index, b"jobs", b"k", b"k", body, priority, 0.0, READY, extra=extra)


class LineMachine(RuleBasedStateMachine):
    """Enter, take, reserve, give back with another priority, remove from anywhere, with keys and
    large bodies: the line is the sorted ready jobs."""

    def __init__(self) -> None:
        super().__init__()
        self.jobs: dict[int, Job] = {}
        self.slots = Slots()
        self.line = Line(self.jobs, self.slots, b"jobs", LARGE - 1)
        self.out: list[Job] = []
        self.freed: list[bytes] = []
        self.last = 0

    def ready(self) -> list[Job]:
        ready = [job for job in self.jobs.values() if job.state is READY]
        return sorted(ready, key=place_of)

    def can_leave(self, small: bool, wanted: list[Job]) -> Job | None:
        """Return who leaves next behind `wanted`."""
        keys = [key_wanted(job) for job in [*self.out, *wanted]]
        for job in self.ready():
            key = key_wanted(job)
            busy = bool(key) and key in keys
            if job not in wanted and not busy and not (small and len(job.body) >= LARGE):
                return job
        return None

    def tell(self) -> None:
        """Tell the line of the slots that were freed, as its queue does at the end of a batch."""
        while self.freed:
            self.line.slot_freed(self.freed.pop())

    @rule(priority=st.sampled_from([0, 7, 1024, 5000]), body_bytes=st.integers(0, 9),
          con=st.sampled_from([b"", b"", b"x", b"y"]))  # fmt: skip
    def enter(self, priority: int, body_bytes: int, con: bytes) -> None:
        self.last += 1
        job = new_job(self.last, priority, bytes(body_bytes), con)
        self.jobs[job.index] = job
        if con:
            self.slots.enter(con, 1)
        self.line.add(job)

    @rule(messages=st.integers(1, 9), body_bytes=st.integers(0, 30))
    def take(self, messages: int, body_bytes: int) -> None:
        self.tell()
        wanted: list[Job] = []
        room = body_bytes
        while len(wanted) < messages and (job := self.can_leave(True, wanted)):
            room -= len(job.body)
            if wanted and room < 0:
                break
            wanted.append(job)
        assert self.line.offerable() == next(iter(wanted), None)
        assert self.line.take(messages, body_bytes) == wanted
        assert all(job.state is RESERVED for job in wanted)
        self.out += wanted

    @rule(count=st.integers(1, 9), limited=st.booleans(), priority=st.sampled_from([0, 7, 1024]))
    def reserve(self, count: int, limited: bool, priority: int) -> None:
        self.tell()
        limit = (priority, self.last) if limited else None
        wanted: list[Job] = []
        while len(wanted) < count and (job := self.can_leave(False, wanted)):
            if limit and place_of(job) > limit:
                break
            wanted.append(job)
        assert self.line.reserve(count, limit) == wanted
        self.out += wanted

    @precondition(lambda self: self.out)
    @rule(data=st.data(), priority=st.sampled_from([None, 0, 7, 5000]))
    def give_back(self, data: st.DataObject, priority: int | None) -> None:
        job = data.draw(st.sampled_from(self.out))
        self.out.remove(job)
        if (key := key_wanted(job)) and self.slots.free(key):
            self.freed.append(key)
        job.state = GIVE_BACK[job.state]
        if priority is not None:
            job.priority = priority
        self.line.add_back(job)

    @precondition(lambda self: self.ready())
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        job = data.draw(st.sampled_from(self.ready()))
        del self.jobs[job.index]
        self.line.discard(job)
        if key := key_wanted(job):
            self.slots.leave(key)

    @precondition(lambda self: self.ready())
    @rule(data=st.data())
    def pull_from_the_middle(self, data: st.DataObject) -> None:
        job = data.draw(st.sampled_from(self.ready()))
        key = key_wanted(job)
        if key and self.slots.is_full(key):
            return
        self.line.discard(job)
        job.state = RESERVED
        if key:
            self.slots.take(key)
        self.out.append(job)

    @precondition(lambda self: self.ready())
    @rule(data=st.data(), priority=st.sampled_from([0, 7, 1023]))
    def prioritise(self, data: st.DataObject, priority: int) -> None:
        self.line.prioritise(data.draw(st.sampled_from(self.ready())), priority)

    @rule()
    def sweep(self) -> None:
        self.line._sweep()

    @invariant()
    def is_as_the_model(self) -> None:
        ready = self.ready()
        assert self.line.live == len(ready)
        assert self.line.urgent == sum(job.priority < 1024 for job in ready)
        assert self.line.first(3) == ready[:3]
        assert self.line.first(99) == ready
        entries = sum(len(fresh) + len(back) for fresh, back in self.line._lanes.values())
        entries += len(self.line._large) + len(self.line._parking or ())
        assert entries == self.line.live + self.line._dead

    # Some of what looks tidies up; so each looks only now and then.

    @rule()
    def the_first(self) -> None:
        assert self.line.first(1) == self.ready()[:1]

    @rule()
    def the_oldest(self) -> None:
        oldest = min(self.ready(), key=lambda job: job.index, default=None)
        assert self.line.oldest() == oldest

    @rule()
    def a_look_before_it_is_told(self) -> None:
        self.line.offerable()
        self.line.head()

    @rule()
    def the_head(self) -> None:
        self.tell()
        assert self.line.head() == self.can_leave(False, [])


TestLineMachine = LineMachine.TestCase
TestLineMachine.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)


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


def test_a_job_picked_from_the_middle_comes_back_to_one_place() -> None:
    """With a larger number it leaves behind those that it stood before."""
    jobs = {index: new_job(index, priority=100) for index in range(3)}
    line = Line(jobs, Slots(), b"jobs")
    for job in jobs.values():
        line.add(job)
    line.discard(jobs[0])
    jobs[0].priority = 200
    line.add_back(jobs[0])
    assert line.head() is jobs[1]
    assert line.reserve(9) == [jobs[1], jobs[2], jobs[0]]
    assert line.head() is None


def test_a_sweep_in_the_moment_of_leaving_counts_the_one_that_leaves() -> None:
    """So many are picked from the middle that the line is swept: none of them is met alive."""
    count = 3 * limits.LINE_DEAD_MIN
    jobs = {index: new_job(index) for index in range(count)}
    line = Line(jobs, Slots(), b"jobs")
    for job in jobs.values():
        line.add(job)
    for index in range(1, count - 1):
        line.discard(jobs[index])
        jobs[index].state = RESERVED
    assert line.reserve(9) == [jobs[0], jobs[count - 1]]
    assert line.head() is None
    assert line._dead == 0


def test_more_urgent_ones_of_a_large_line_are_swept_too() -> None:
    """A job whose priority rises again and again does not keep its old places."""
    jobs = {index: new_job(index, priority=10**6) for index in range(2)}
    line = Line(jobs, Slots(), b"jobs")
    for job in jobs.values():
        line.add(job)
    for priority in range(10**6 - 1, 10**6 - 5 * limits.LINE_DEAD_MIN, -1):
        line.prioritise(jobs[1], priority)
    assert sum(len(fresh) + len(back) for fresh, back in line._lanes.values()) < 1100
    assert line.reserve(9) == [jobs[1], jobs[0]]


def test_a_parked_job_that_left_and_came_back_is_given_once() -> None:
    """Picked from the middle, given back, parked, and let go again: one job, one reservation."""
    slots = Slots()
    jobs = {index: new_job(index, con=b"x") for index in range(2)}
    line = Line(jobs, slots, b"jobs")
    for job in jobs.values():
        slots.enter(b"x", 1)
        line.add(job)
    line.discard(jobs[1])
    line.add_back(jobs[1])
    assert line.reserve(9) == [jobs[0]]
    assert line.head() is None
    slots.free(b"x")
    line.slot_freed(b"x")
    assert line.reserve(9) == [jobs[1]]
    slots.free(b"x")
    line.slot_freed(b"x")
    assert line.head() is None


def test_the_slot_of_one_that_is_too_large_for_watches_is_for_those_behind_it() -> None:
    """Both may leave: the large one by a reserve, or a small one by a watch."""
    slots = Slots()
    jobs = {1: new_job(1, body=bytes(9), con=b"x"), 2: new_job(2, con=b"x")}
    line = Line(jobs, slots, b"jobs", LARGE)
    for job in jobs.values():
        slots.enter(b"x", 1)
        line.add(job)
    slots.take(b"x")
    assert line.offerable() is None
    slots.free(b"x")
    line.slot_freed(b"x")
    assert line.offerable() is jobs[2]
    assert line.head() is jobs[1]
    assert line.take(9, 0) == [jobs[2]]
    assert line.head() is None


def test_a_large_one_put_aside_makes_room_for_one_before_it() -> None:
    """Which was parked, and comes back to the very lane that is looked at."""
    slots = Slots()
    jobs = {1: new_job(1, con=b"x"), 2: new_job(2, body=bytes(9), con=b"x"), 3: new_job(3)}
    line = Line(jobs, slots, b"jobs", LARGE)
    for job in jobs.values():
        if key_wanted(job):
            slots.enter(b"x", 1)
        line.add(job)
    line.discard(jobs[2])
    jobs[2].state = RESERVED
    slots.take(b"x")
    assert line.head() is jobs[3]
    slots.free(b"x")
    jobs[2].state = READY
    line.add_back(jobs[2])
    line.discard(jobs.pop(3))
    assert line.offerable() is jobs[1]
    assert line.head() is jobs[1]
    assert line.reserve(9) == [jobs[1]]
    assert line.first(9) == [jobs[2]]


def test_large_ones_keep_their_place_for_reserves() -> None:
    """Put aside for a watch, they are still first where they are first."""
    jobs = {index: new_job(index, body=bytes(9 * (index % 2))) for index in range(4)}
    line = Line(jobs, Slots(), b"jobs", LARGE)
    for job in jobs.values():
        line.add(job)
    assert line.take(1, 0) == [jobs[0]]
    assert line.offerable() is jobs[2]
    assert line.head() is jobs[1]
    assert line.reserve(1) == [jobs[1]]
    assert line.offerable() is jobs[2]
    assert line.reserve(9) == [jobs[2], jobs[3]]
    assert line.offerable() is None
