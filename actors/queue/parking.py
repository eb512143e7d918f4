"""Ready jobs that wait for their concurrency key, apart from the line that must not stop at them.

A job is parked when it comes to the head of the line and its key is full. When slots of the key
are free, so many of its parked jobs go back to their place in the line. By key a heap of
(priority, index); jobs that left it are skipped.
"""

import heapq
from collections.abc import Iterator, Mapping

from etcdq.actors.queue.job import Job


class Parking:
    """The parked jobs of one queue.

    Args:
        jobs: all jobs of the queue by index; owned and changed by the queue.
    """

    __slots__ = ("_heaps", "_jobs", "_parked")

    def __init__(self, jobs: Mapping[int, Job]) -> None:
        self._jobs = jobs
        self._heaps: dict[bytes, list[tuple[int, int]]] = {}
        self._parked: dict[int, bytes] = {}
        """The key of each job that is parked, by its index."""

    def __len__(self) -> int:
        return len(self._parked)

    def __iter__(self) -> Iterator[Job]:
        """Iterate over what is parked, in no order."""
        return (self._jobs[index] for index in self._parked)

    def add(self, key: bytes, job: Job) -> None:
        """Park a ready job that has left the line."""
        self._parked[job.index] = key
        heapq.heappush(self._heaps.setdefault(key, []), (job.priority, job.index))

    def discard(self, job: Job) -> bool:
        """Forget a job that is no longer ready; return whether it was parked."""
        key = self._parked.pop(job.index, None)
        if key is None:
            return False
        self._clear(key)
        return True

    def take(self, key: bytes) -> Job | None:
        """Take out the first job that waits for `key`, None if none does."""
        if not self._clear(key):
            return None
        index = self._heaps[key][0][1]
        del self._parked[index]
        self._clear(key)
        return self._jobs[index]

    def waits_for(self, key: bytes) -> bool:
        """Return whether a job waits for `key`."""
        return key in self._heaps

    def _clear(self, key: bytes) -> bool:
        """Drop dead entries from the front; return whether a living one is left."""
        heap = self._heaps.get(key, [])
        while heap:
            priority, index = heap[0]
            if self._parked.get(index) == key and self._jobs[index].priority == priority:
                return True
            heapq.heappop(heap)
        self._heaps.pop(key, None)
        return False
