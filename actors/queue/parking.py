"""Ready jobs that wait for their concurrency key, apart from the line that must not stop at them.

A job is parked when it comes to the head of the line and its key is full. When slots of the key
are free, so many of its parked jobs go back to their place in the line. By key a heap of
(priority, index); jobs that left it are skipped when they come to its front, and swept when they
outnumber the others.
"""

import heapq
from collections.abc import Iterator, Mapping

from etcdq.actors import limits
from etcdq.actors.queue.job import Job, Place, place_of


class Parking:
    """The parked jobs of one queue.

    Args:
        jobs: all jobs of the queue by index; owned and changed by the queue.
    """

    __slots__ = ("_entries", "_heaps", "_jobs", "_parked")

    def __init__(self, jobs: Mapping[int, Job]) -> None:
        self._jobs = jobs
        self._heaps: dict[bytes, list[Place]] = {}
        self._entries = 0
        """How many all heaps have, dead ones too."""
        self._parked: dict[int, bytes] = {}
        """The key of each job that is parked, by its index."""

    def __len__(self) -> int:
        return len(self._parked)

    def __contains__(self, job: Job) -> bool:
        return job.index in self._parked

    def __iter__(self) -> Iterator[Job]:
        """Iterate over what is parked, in no order."""
        return (self._jobs[index] for index in self._parked)

    def add(self, key: bytes, job: Job) -> None:
        """Park a ready job that has left the line."""
        self._parked[job.index] = key
        heapq.heappush(self._heaps.setdefault(key, []), place_of(job))
        self._entries += 1

    def discard(self, job: Job) -> bool:
        """Forget a job that is no longer ready; return whether it was parked."""
        key = self._parked.pop(job.index, None)
        if key is None:
            return False
        self._clear(key)
        if self._entries - len(self._parked) > limits.LINE_DEAD_MIN + len(self._parked):
            self._sweep()
        return True

    def take(self, key: bytes) -> Job | None:
        """Take out the first job that waits for `key`, None if none does."""
        if not self._clear(key):
            return None
        index = self._heaps[key][0][1]
        del self._parked[index]
        self._clear(key)
        return self._jobs[index]

    def first(self) -> Job | None:
        """Return the first job of all that are parked, None if none is."""
        places = [heap[0] for heap in self._heaps.values()]
        return self._jobs[min(places)[1]] if places else None

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
            self._entries -= 1
        self._heaps.pop(key, None)
        return False

    def _sweep(self) -> None:
        self._heaps = {}
        for index, key in self._parked.items():
            self._heaps.setdefault(key, []).append(place_of(self._jobs[index]))
        for heap in self._heaps.values():
            heapq.heapify(heap)
        self._entries = len(self._parked)
