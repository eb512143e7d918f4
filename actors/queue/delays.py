"""The delayed jobs of a queue, by the instant at which they become ready."""

import heapq
from collections.abc import Mapping

from etcdq.actors import limits
from etcdq.actors.core import NEVER_S
from etcdq.actors.queue.job import DELAYED, RIPEN, Job


class Delays:
    """A heap of (ready_at_s, index); entries of jobs that left are skipped, and swept.

    Args:
        jobs: all jobs of the queue by index; owned and changed by the queue.
    """

    __slots__ = ("_heap", "_jobs", "live")

    def __init__(self, jobs: Mapping[int, Job]) -> None:
        self._jobs = jobs
        self._heap: list[tuple[float, int]] = []
        self.live = 0

    def add(self, job: Job) -> None:
        """Take in a delayed job."""
        assert job.extra is not None, "a delayed job knows until when"
        heapq.heappush(self._heap, (job.extra.ready_at_s, job.index))
        self.live += 1

    def discard(self) -> None:
        """Take note that one job is no longer delayed, or no longer there."""
        self.live -= 1
        assert self.live >= 0, "more delayed jobs left than entered"
        dead = len(self._heap) - self.live
        if dead > limits.LINE_DEAD_MIN and dead > self.live:
            self._heap = [entry for entry in self._heap if self._living(entry[1]) is not None]
            heapq.heapify(self._heap)

    def next_s(self) -> float:
        """Return when the next job becomes ready, `NEVER_S` if there is none."""
        heap = self._heap
        while heap:
            if self._living(heap[0][1]) is not None:
                return heap[0][0]
            heapq.heappop(heap)
        return NEVER_S

    def ripen(self, now_s: float) -> list[Job]:
        """Make every job ready whose delay is over at `now_s`; the caller puts them in line."""
        ripe: list[Job] = []
        while self.next_s() <= now_s:
            job = self._jobs[heapq.heappop(self._heap)[1]]
            job.state = RIPEN[job.state]
            self.live -= 1
            ripe.append(job)
        return ripe

    def first(self, limit: int) -> list[Job]:
        """Return the `limit` jobs that become ready first, in that order."""
        living = (entry for entry in self._heap if self._living(entry[1]) is not None)
        return [self._jobs[index] for _, index in heapq.nsmallest(limit, living)]

    def _living(self, index: int) -> Job | None:
        job = self._jobs.get(index)
        return job if job is not None and job.state is DELAYED else None
