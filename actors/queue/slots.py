"""Concurrency keys: of the jobs of one key only so many are reserved at once, over all queues.

A key is here as long as a job with it lives, in any state, in any queue; its limit is the largest
that any of them was put with. A job takes a slot when it is handed out and frees it when it is in
no one's hands any more: deleted, released, buried, timed out, its connection gone.

A queue that has a job waiting for a slot is parked at the key. Who frees a slot, or raises the
limit, tells the parked queues, in order; each of them looks for itself how many it can take now.
One that takes a slot goes behind the others, so that none of them waits for ever.

Source: docs/semantics.md section 4; tuber's README, "Concurrency Keys".
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SlotsStatistics:
    """A snapshot: keys of living jobs, those of them with a job reserved, and such jobs."""

    keys: int
    taken_keys: int
    taken: int


class _Key:
    __slots__ = ("limit", "living", "parked", "taken")

    def __init__(self) -> None:
        self.living = 0
        self.limit = 0
        self.taken = 0
        self.parked: dict[bytes, None] = {}


class Slots:
    """The concurrency keys of a node; shared by all queues."""

    __slots__ = ("_keys", "_taken", "_taken_keys")

    def __init__(self) -> None:
        self._keys: dict[bytes, _Key] = {}
        self._taken = 0
        self._taken_keys = 0

    def enter(self, key: bytes, limit: int) -> bool:
        """Take note of a new job with `key`, which may be reserved `limit` (1 or more) at once.

        Returns:
            Whether this raised the limit and a queue is parked at the key: tell them.
        """
        assert limit > 0, "a key without slots would hold its jobs for ever"
        entry = self._keys.get(key)
        if entry is None:
            entry = self._keys[key] = _Key()
        entry.living += 1
        if limit <= entry.limit:
            return False
        entry.limit = limit
        return bool(entry.parked)

    def leave(self, key: bytes) -> None:
        """Take note that a job with `key` is deleted; it freed its slot before.

        With the last one all that is known of the key goes, also who is parked.
        """
        entry = self._keys[key]
        entry.living -= 1
        assert entry.taken <= entry.living, "a deleted job keeps its slot"
        if entry.living == 0:
            del self._keys[key]

    def is_full(self, key: bytes) -> bool:
        """Say whether no further job with `key` may be reserved now; one lives."""
        return self.room(key) == 0

    def room(self, key: bytes) -> int:
        """Return how many more jobs with `key` may be reserved now; one lives."""
        entry = self._keys[key]
        return entry.limit - entry.taken

    def take(self, key: bytes, queue: bytes = b"") -> None:
        """Take a slot for a job that is reserved from now on; `is_full` said no.

        Args:
            queue: whose job it is. If it is parked it goes behind the other queues.
        """
        entry = self._keys[key]
        assert entry.taken < entry.limit, "more jobs reserved than the key allows"
        assert entry.taken < entry.living, "a job has two slots"
        if entry.taken == 0:
            self._taken_keys += 1
        entry.taken += 1
        self._taken += 1
        if queue in entry.parked:
            del entry.parked[queue]
            entry.parked[queue] = None

    def free(self, key: bytes) -> bool:
        """Free the slot of a job that is reserved no longer.

        Returns:
            Whether a queue is parked at the key: tell them, also if the key was not full. Who was
            told before may not have needed the slot that was free.
        """
        entry = self._keys[key]
        assert entry.taken > 0, "a slot is freed that nobody took"
        entry.taken -= 1
        self._taken -= 1
        if entry.taken == 0:
            self._taken_keys -= 1
        return bool(entry.parked)

    def park(self, key: bytes, queue: bytes) -> None:
        """Let `queue`, which has a ready job for `key`, be told; it keeps a place it has."""
        self._keys[key].parked[queue] = None

    def unpark(self, key: bytes, queue: bytes) -> None:
        """Let `queue` no longer be told; nothing happens if it would not be anyway."""
        entry = self._keys.get(key)
        if entry is not None:
            entry.parked.pop(queue, None)

    def parked(self, key: bytes) -> tuple[bytes, ...]:
        """Return the queues parked at `key`, those that parked first first."""
        entry = self._keys.get(key)
        return () if entry is None else tuple(entry.parked)

    def statistics(self) -> SlotsStatistics:
        """Return a snapshot of counts."""
        return SlotsStatistics(len(self._keys), self._taken_keys, self._taken)
