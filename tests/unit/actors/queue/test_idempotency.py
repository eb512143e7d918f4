"""Idempotency keys: whose they are, for how long, and what remembering costs."""

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from etcdq.actors import limits
from etcdq.actors.core import NEVER_S
from etcdq.actors.queue.context import JobsBudget
from etcdq.actors.queue.idempotency import Idempotency, Tombstone, tombstone_cost_bytes
from etcdq.actors.queue.job import READY, Job

K_COST_BYTES = 1 + limits.TOMBSTONE_OVERHEAD_BYTES


def new_job(job_id: int) -> Job:
    return Job(
        index=job_id,
        job_id=job_id,
        queue=b"q",
        key=b"",
        tail=b"",
        body=b"",
        priority=1024,
        put_s=0.0,
        state=READY,
    )


def test_a_key_is_its_living_jobs() -> None:
    """While the job lives a put of its key finds it; after its deletion the key is free."""
    keys = Idempotency(JobsBudget())
    assert keys.find(b"k", 0.0) is None
    job = new_job(1)
    keys.enter(b"k", job)
    assert keys.find(b"k", 1e9) is job
    assert keys.find(b"other", 0.0) is None
    keys.leave(b"k", 1, 0, 5.0)
    assert keys.find(b"k", 5.0) is None
    assert (keys.next_s(), keys.cost_bytes) == (NEVER_S, 0)


def test_a_cooldown_ends_at_its_instant() -> None:
    """Until then the key is the deleted job's, from then on nobody's, swept or not."""
    keys = Idempotency(JobsBudget())
    keys.enter(b"k", new_job(7))
    keys.leave(b"k", 7, 30, 100.0)
    assert keys.find(b"k", 100.0) == Tombstone(7, 130.0)
    assert keys.find(b"k", 129.999) == Tombstone(7, 130.0)
    assert keys.find(b"k", 130.0) is None
    assert keys.next_s() == 130.0


def test_tombstones_count_in_the_budget_until_they_are_swept() -> None:
    """Key and overhead, for all queues together; living jobs' keys cost nothing here."""
    budget = JobsBudget(used_bytes=1000)
    one, other = Idempotency(budget), Idempotency(budget)
    one.enter(b"k", new_job(1))
    other.enter(b"longer", new_job(2))
    assert budget.used_bytes == 1000
    one.leave(b"k", 1, 10, 0.0)
    other.leave(b"longer", 2, 20, 0.0)
    assert tombstone_cost_bytes(b"longer") == 6 + 128
    assert (one.cost_bytes, other.cost_bytes) == (129, 134)
    assert budget.used_bytes == 1000 + 129 + 134
    one.sweep(9.999)
    assert one.cost_bytes == 129
    one.sweep(10.0)
    assert (one.cost_bytes, one.next_s()) == (0, NEVER_S)
    assert budget.used_bytes == 1000 + 134


def test_tombstones_are_swept_by_their_instants() -> None:
    """Those whose time is over go, the others stay; the next instant is the soonest."""
    keys = Idempotency(JobsBudget())
    for job_id, ttl_s in enumerate((30, 10, 20)):
        keys.enter(b"%d" % job_id, new_job(job_id))
        keys.leave(b"%d" % job_id, job_id, ttl_s, 0.0)
    assert keys.next_s() == 10.0
    keys.sweep(20.0)
    assert keys.next_s() == 30.0
    assert keys.find(b"0", 20.0) == Tombstone(0, 30.0)
    assert keys.cost_bytes == K_COST_BYTES


def test_a_new_job_takes_over_from_a_tombstone_that_was_not_swept() -> None:
    """Its cost goes at once, and its late sweep touches neither the job nor its own tombstone."""
    budget = JobsBudget()
    keys = Idempotency(budget)
    keys.enter(b"k", new_job(1))
    keys.leave(b"k", 1, 10, 0.0)
    job = new_job(2)
    keys.enter(b"k", job)
    assert (keys.cost_bytes, budget.used_bytes) == (0, 0)
    assert keys.find(b"k", 12.0) is job
    keys.leave(b"k", 2, 10, 12.0)
    assert keys.cost_bytes == K_COST_BYTES
    keys.sweep(12.0)
    assert keys.find(b"k", 12.0) == Tombstone(2, 22.0)
    assert keys.next_s() == 22.0
    keys.sweep(22.0)
    assert (keys.cost_bytes, budget.used_bytes) == (0, 0)


def test_a_sweep_leaves_a_living_job_its_key() -> None:
    """The time of the one before it means nothing to it."""
    keys = Idempotency(JobsBudget())
    keys.enter(b"k", new_job(1))
    keys.leave(b"k", 1, 10, 0.0)
    job = new_job(2)
    keys.enter(b"k", job)
    keys.sweep(20.0)
    assert keys.find(b"k", 20.0) is job


def test_a_flush_frees_every_key() -> None:
    """Living and remembered ones, with what they cost; other queues keep theirs."""
    budget = JobsBudget()
    keys, other = Idempotency(budget), Idempotency(budget)
    for queue in (keys, other):
        queue.enter(b"k", new_job(1))
        queue.leave(b"k", 1, 10, 0.0)
    keys.enter(b"living", new_job(2))
    keys.flush()
    assert keys.is_empty()
    assert keys.find(b"k", 0.0) is None
    assert keys.find(b"living", 0.0) is None
    assert (keys.cost_bytes, keys.next_s()) == (0, NEVER_S)
    assert budget.used_bytes == other.cost_bytes == K_COST_BYTES


def test_a_queue_with_a_key_is_not_empty() -> None:
    """Neither with a living job's nor with a deleted one's."""
    keys = Idempotency(JobsBudget())
    assert keys.is_empty()
    keys.enter(b"k", new_job(1))
    assert not keys.is_empty()
    keys.leave(b"k", 1, 10, 0.0)
    assert not keys.is_empty()
    keys.sweep(10.0)
    assert keys.is_empty()


def test_what_cannot_be_is_a_fault() -> None:
    """Two living jobs of a key, a second deletion and the deletion of another job are bugs."""
    keys = Idempotency(JobsBudget())
    keys.enter(b"k", new_job(1))
    with pytest.raises(AssertionError, match="two living jobs"):
        keys.enter(b"k", new_job(2))
    with pytest.raises(AssertionError, match="another job"):
        keys.leave(b"k", 2, 10, 0.0)
    keys.leave(b"k", 1, 10, 0.0)
    with pytest.raises(AssertionError, match="deleted twice"):
        keys.leave(b"k", 1, 10, 0.0)


NAMES = st.sampled_from([b"k", b"key", b"a key"])


class IdempotencyModel(RuleBasedStateMachine):
    """Against a list of all tombstones there ever were; the clock moves on in whole seconds."""

    def __init__(self) -> None:
        super().__init__()
        self.budget = JobsBudget(used_bytes=10)
        self.keys = Idempotency(self.budget)
        self.now_s = 0.0
        self.next_id = 1
        self.living: dict[bytes, Job] = {}
        self.counted: dict[bytes, Tombstone] = {}
        """Tombstones not swept yet, their time over or not."""

    def tombstone(self, key: bytes) -> Tombstone | None:
        there = self.counted.get(key)
        return there if there is not None and there.ends_s > self.now_s else None

    @rule(key=NAMES)
    def put(self, key: bytes) -> None:
        there = self.keys.find(key, self.now_s)
        assert there is self.living.get(key) or there == self.tombstone(key)
        if there is not None:
            return
        self.counted.pop(key, None)
        self.living[key] = new_job(self.next_id)
        self.next_id += 1
        self.keys.enter(key, self.living[key])

    @precondition(lambda self: self.living)
    @rule(data=st.data(), ttl_s=st.integers(0, 4))
    def delete(self, data: st.DataObject, ttl_s: int) -> None:
        key = data.draw(st.sampled_from(sorted(self.living)))
        job = self.living.pop(key)
        self.keys.leave(key, job.job_id, ttl_s, self.now_s)
        if ttl_s:
            self.counted[key] = Tombstone(job.job_id, self.now_s + ttl_s)

    @rule(seconds=st.integers(1, 5))
    def wait(self, seconds: int) -> None:
        self.now_s += seconds

    @rule()
    def sweep(self) -> None:
        self.keys.sweep(self.now_s)
        self.counted = {key: t for key, t in self.counted.items() if t.ends_s > self.now_s}
        soonest_s = min((t.ends_s for t in self.counted.values()), default=NEVER_S)
        assert self.keys.next_s() == soonest_s

    @rule()
    def flush(self) -> None:
        self.keys.flush()
        self.living.clear()
        self.counted.clear()

    @invariant()
    def finds_who_has_the_key(self) -> None:
        for key in (b"k", b"key", b"a key"):
            living = self.living.get(key)
            there = self.keys.find(key, self.now_s)
            if living is not None:
                assert there is living
            else:
                assert there == self.tombstone(key)

    @invariant()
    def counts_every_byte(self) -> None:
        cost_bytes = sum(len(key) + 128 for key in self.counted)
        assert self.keys.cost_bytes == cost_bytes
        assert self.budget.used_bytes == 10 + cost_bytes

    @invariant()
    def wakes_in_time(self) -> None:
        """Nothing is swept later than it could be; an early call finds nothing to do."""
        for tombstone in self.counted.values():
            assert self.keys.next_s() <= tombstone.ends_s
        assert self.keys.is_empty() == (not self.living and not self.counted)


TestIdempotencyModel = IdempotencyModel.TestCase
