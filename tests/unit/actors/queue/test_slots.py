"""Concurrency keys: how many of their jobs are reserved at once, and who waits for a slot."""

from collections import Counter
from dataclasses import dataclass

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from etcdq.actors.queue.slots import Slots, SlotsStatistics

KEYS = (b"a", b"b")
QUEUES = (b"q1", b"q2", b"q3")


def entered(*limits: int) -> Slots:
    slots = Slots()
    for limit in limits:
        slots.enter(b"k", limit)
    return slots


def test_a_key_is_full_at_its_limit() -> None:
    """As many jobs as the limit says are reserved at once, and a freed slot is there again."""
    slots = entered(2, 2, 2)
    assert not slots.is_full(b"k")
    slots.take(b"k")
    assert not slots.is_full(b"k")
    slots.take(b"k")
    assert slots.is_full(b"k")
    slots.free(b"k")
    assert not slots.is_full(b"k")


def test_keys_are_apart() -> None:
    """A full key holds nobody back but its own jobs."""
    slots = entered(1, 1)
    slots.enter(b"other", 1)
    slots.take(b"k")
    assert slots.is_full(b"k")
    assert not slots.is_full(b"other")


def test_the_largest_limit_of_the_living_counts() -> None:
    """A smaller limit takes no slot away, and the largest stays while any job of the key lives."""
    slots = entered(3, 1, 1, 1)
    for _ in range(3):
        slots.take(b"k")
    assert slots.is_full(b"k")
    slots.free(b"k")
    slots.leave(b"k")
    assert not slots.is_full(b"k"), "another has a right to the third slot"


def test_a_limit_outlives_idleness_but_not_the_last_job() -> None:
    """That nobody has a slot changes no limit; the end of the last job does."""
    slots = entered(2, 2)
    slots.take(b"k")
    slots.free(b"k")
    slots.take(b"k")
    assert not slots.is_full(b"k")
    slots.free(b"k")
    slots.leave(b"k")
    slots.leave(b"k")
    slots.enter(b"k", 1)
    slots.take(b"k")
    assert slots.is_full(b"k")


def test_a_raised_limit_makes_room() -> None:
    """A put with a larger limit says whether someone is to be told; any other put does not."""
    slots = Slots()
    assert not slots.enter(b"k", 1)
    slots.take(b"k")
    slots.park(b"k", b"q")
    assert not slots.enter(b"k", 1)
    assert slots.room(b"k") == 0
    assert slots.enter(b"k", 3)
    assert slots.room(b"k") == 2
    slots.unpark(b"k", b"q")
    assert not slots.enter(b"k", 4), "nobody is parked"


def test_every_freed_slot_is_told() -> None:
    """Also one of a key that was not full: several may free before anyone takes one."""
    slots = entered(2, 2, 2)
    slots.take(b"k")
    slots.take(b"k")
    slots.park(b"k", b"q")
    assert slots.free(b"k")
    assert slots.free(b"k")
    assert slots.room(b"k") == 2
    slots.take(b"k")
    slots.unpark(b"k", b"q")
    assert not slots.free(b"k"), "nobody is parked"


def test_who_takes_a_slot_goes_behind_the_others() -> None:
    """Queues that wait for one key take turns; taking parks nobody."""
    slots = entered(3, 3, 3)
    slots.park(b"k", b"q1")
    slots.park(b"k", b"q2")
    slots.take(b"k", b"q1")
    assert slots.parked(b"k") == (b"q2", b"q1")
    slots.take(b"k", b"q2")
    assert slots.parked(b"k") == (b"q1", b"q2")
    slots.take(b"k", b"q3")
    assert slots.parked(b"k") == (b"q1", b"q2")


def test_queues_wait_in_the_order_in_which_they_parked() -> None:
    """Parking twice keeps the place; unparking and parking anew goes to the end."""
    slots = entered(1)
    for queue in (b"q1", b"q2", b"q3", b"q1"):
        slots.park(b"k", queue)
    assert slots.parked(b"k") == (b"q1", b"q2", b"q3")
    slots.unpark(b"k", b"q1")
    slots.park(b"k", b"q1")
    assert slots.parked(b"k") == (b"q2", b"q3", b"q1")
    slots.unpark(b"k", b"q3")
    slots.unpark(b"k", b"q3")
    assert slots.parked(b"k") == (b"q2", b"q1")


def test_nobody_is_parked_at_an_unknown_key() -> None:
    """Asking for and unparking at a key without jobs is allowed, and makes nothing."""
    slots = Slots()
    slots.unpark(b"k", b"q")
    assert slots.parked(b"k") == ()
    assert slots.statistics() == SlotsStatistics(0, 0, 0)


def test_the_last_job_takes_its_key_with_it() -> None:
    """Nothing is left of a key without jobs, also not who was parked there."""
    slots = entered(1)
    slots.park(b"k", b"q")
    slots.leave(b"k")
    assert slots.statistics() == SlotsStatistics(0, 0, 0)
    slots.enter(b"k", 1)
    assert slots.parked(b"k") == ()


def test_statistics_count_keys_and_reserved_jobs() -> None:
    """Keys that are known, keys with a reserved job, and reserved jobs with a key."""
    slots = entered(2, 2)
    slots.enter(b"other", 1)
    slots.enter(b"idle", 1)
    slots.take(b"k")
    slots.take(b"k")
    slots.take(b"other")
    assert slots.statistics() == SlotsStatistics(keys=3, taken_keys=2, taken=3)
    slots.free(b"other")
    assert slots.statistics() == SlotsStatistics(keys=3, taken_keys=1, taken=2)


def test_what_cannot_be_is_a_fault() -> None:
    """A slot too many, one that nobody took, and a deleted job that keeps its slot are bugs."""
    slots = entered(1, 1)
    with pytest.raises(AssertionError, match="nobody took"):
        slots.free(b"k")
    slots.take(b"k")
    with pytest.raises(AssertionError, match="more jobs reserved"):
        slots.take(b"k")
    slots.leave(b"k")
    with pytest.raises(AssertionError, match="keeps its slot"):
        slots.leave(b"k")
    with pytest.raises(AssertionError, match="without slots"):
        slots.enter(b"new", 0)


@dataclass(eq=False)
class ModelJob:
    key: bytes
    reserved: bool = False


class SlotsModel(RuleBasedStateMachine):
    """Against a list of jobs that is counted anew each time."""

    def __init__(self) -> None:
        super().__init__()
        self.slots = Slots()
        self.jobs: list[ModelJob] = []
        self.limits: dict[bytes, int] = {}
        self.waiting: dict[bytes, list[bytes]] = {key: [] for key in KEYS}

    def taken(self, key: bytes) -> int:
        return sum(job.reserved for job in self.jobs if job.key == key)

    def room(self, key: bytes) -> int:
        return self.limits[key] - self.taken(key)

    @rule(key=st.sampled_from(KEYS), limit=st.integers(1, 3))
    def put(self, key: bytes, limit: int) -> None:
        is_raised = limit > self.limits.get(key, 0)
        self.limits[key] = max(limit, self.limits.get(key, 0))
        self.jobs.append(ModelJob(key))
        assert self.slots.enter(key, limit) == (is_raised and bool(self.waiting[key]))

    @precondition(lambda self: self.jobs)
    @rule(data=st.data(), queue=st.sampled_from(QUEUES))
    def reserve_or_free(self, data: st.DataObject, queue: bytes) -> None:
        job = data.draw(st.sampled_from(self.jobs))
        waiting = self.waiting[job.key]
        if job.reserved:
            job.reserved = False
            assert self.slots.free(job.key) == bool(waiting)
        elif self.room(job.key):
            job.reserved = True
            self.slots.take(job.key, queue)
            if queue in waiting:
                waiting.remove(queue)
                waiting.append(queue)

    @precondition(lambda self: self.jobs)
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        job = data.draw(st.sampled_from(self.jobs))
        if job.reserved:
            self.slots.free(job.key)
        self.slots.leave(job.key)
        self.jobs.remove(job)
        if all(other.key != job.key for other in self.jobs):
            del self.limits[job.key]
            self.waiting[job.key] = []

    @rule(key=st.sampled_from(KEYS), queue=st.sampled_from(QUEUES))
    def park_or_unpark(self, key: bytes, queue: bytes) -> None:
        if queue in self.waiting[key]:
            self.waiting[key].remove(queue)
            self.slots.unpark(key, queue)
        elif key in self.limits:
            self.waiting[key].append(queue)
            self.slots.park(key, queue)

    @invariant()
    def tells_the_truth(self) -> None:
        taken = Counter({key: self.taken(key) for key in KEYS})
        assert self.slots.statistics() == SlotsStatistics(
            len(self.limits), sum(count > 0 for count in taken.values()), taken.total()
        )
        for key in KEYS:
            assert self.slots.parked(key) == tuple(self.waiting[key])
        for key in self.limits:
            assert self.slots.room(key) == self.room(key)
            assert self.slots.is_full(key) == (self.room(key) == 0)


TestSlotsModel = SlotsModel.TestCase
