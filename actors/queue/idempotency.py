"""Idempotency keys of one queue: a put whose key is taken makes no new job.

A key is taken while its job lives, in any state, and for as long after the job's deletion as its
put asked for; then a tombstone keeps the job's id. Tombstones are counted against the node's
budget of bytes, with their key and an overhead; the keys of living jobs are not, as the job is.

The tombstones' heap may carry a dead entry: of a tombstone whose time was over before it was
swept, and whose key a new job took. Its instant has passed, so the next sweep removes it.

Source: docs/semantics.md section 4; tuber's README, "Unique Jobs".
"""

import heapq

import msgspec

from etcdq.actors import limits
from etcdq.actors.core import NEVER_S
from etcdq.actors.queue.context import JobsBudget
from etcdq.actors.queue.job import Job


class Tombstone(msgspec.Struct, frozen=True, gc=False):
    """A deleted job whose key is taken before `ends_s`, on the shell's clock."""

    job_id: int
    ends_s: float


def tombstone_cost_bytes(key: bytes) -> int:
    """Return what a tombstone of `key` takes of the budget of bytes."""
    return len(key) + limits.TOMBSTONE_OVERHEAD_BYTES


class Idempotency:
    """The idempotency keys of one queue.

    Args:
        budget: shared by all queues of the node; `used_bytes` rises and falls with `cost_bytes`.
    """

    __slots__ = ("_budget", "_heap", "_keys", "cost_bytes")

    def __init__(self, budget: JobsBudget) -> None:
        self._budget = budget
        self._keys: dict[bytes, Job | Tombstone] = {}
        self._heap: list[tuple[float, bytes]] = []
        self.cost_bytes = 0
        """What the tombstones take of the budget."""

    def find(self, key: bytes, now_s: float) -> Job | Tombstone | None:
        """Return who has `key` at `now_s`: a living job, a deleted one, or nobody."""
        there = self._keys.get(key)
        is_over = isinstance(there, Tombstone) and there.ends_s <= now_s
        return None if is_over else there

    def enter(self, key: bytes, job: Job) -> None:
        """Let a new job have `key`, which nobody has."""
        there = self._keys.get(key)
        assert not isinstance(there, Job), "two living jobs with one key"
        self._keys[key] = job
        if there is not None:
            self._spend(-tombstone_cost_bytes(key))

    def leave(self, key: bytes, job_id: int, ttl_s: float, now_s: float) -> None:
        """Take note that the job that had `key` is deleted; it stays taken for `ttl_s` seconds."""
        there = self._keys[key]
        assert isinstance(there, Job), "a job is deleted twice"
        assert there.job_id == job_id, "another job has the key"
        if ttl_s <= 0:
            del self._keys[key]
            return
        ends_s = now_s + ttl_s
        self._keys[key] = Tombstone(job_id, ends_s)
        heapq.heappush(self._heap, (ends_s, key))
        self._spend(tombstone_cost_bytes(key))

    def next_s(self) -> float:
        """Return when `sweep` has something to do, `NEVER_S` if there is no tombstone."""
        return self._heap[0][0] if self._heap else NEVER_S

    def sweep(self, now_s: float) -> None:
        """Remove the tombstones whose time is over at `now_s`."""
        heap = self._heap
        while heap and heap[0][0] <= now_s:
            ends_s, key = heapq.heappop(heap)
            there = self._keys.get(key)
            if isinstance(there, Tombstone) and there.ends_s == ends_s:
                del self._keys[key]
                self._spend(-tombstone_cost_bytes(key))

    def flush(self) -> None:
        """Forget every key: all jobs of the queue are deleted, and nothing is to be remembered."""
        self._keys.clear()
        self._heap.clear()
        self._spend(-self.cost_bytes)

    def is_empty(self) -> bool:
        """Say whether no key is taken, so that the queue may go."""
        return not self._keys

    def _spend(self, difference_bytes: int) -> None:
        self.cost_bytes += difference_bytes
        self._budget.used_bytes += difference_bytes
        assert self.cost_bytes >= 0, "more bytes of tombstones went than came"
