"""The jobs of a queue that are in one state until an instant: delayed ones, and reserved ones."""

import heapq
from collections.abc import Mapping

from etcdq.actors import limits
from etcdq.actors.core import NEVER_S
from etcdq.actors.queue.job import Job
from etcdq.actors.queue.messages import JobState


class Timers:
    """A heap of (due_s, index); entries of jobs that left that state are skipped, and swept.

    Args:
        jobs: all jobs of the queue by index; owned and changed by the queue.
        state: the state its jobs are in.
    """

    __slots__ = ("_heap", "_jobs", "_state", "live")

    def __init__(self, jobs: Mapping[int, Job], state: JobState) -> None:
        self._jobs = jobs
        self._state = state
        self._heap: list[tuple[float, int]] = []
        self.live = 0

    def add(self, job: Job) -> None:
        """Take in a job that is in the state now, until its `due_s`."""
        assert job.extra is not None, "a job with a timer knows until when"
        heapq.heappush(self._heap, (job.extra.due_s, job.index))
        self.live += 1

    def discard(self) -> None:
        """Take note that one job is no longer in that state, or no longer there."""
        self.live -= 1
        assert self.live >= 0, "more timers ended than began"
        if len(self._heap) - self.live > limits.LINE_DEAD_MIN:
            self._sweep()

    def move(self, job: Job) -> None:
        """Take note that a job of the heap has another `due_s` now."""
        assert job.extra is not None, "a job with a timer knows until when"
        heapq.heappush(self._heap, (job.extra.due_s, job.index))
        self._sweep()

    def next_s(self) -> float:
        """Return when the next job is due, `NEVER_S` if there is none."""
        heap = self._heap
        while heap:
            if self._living(heap[0]) is not None:
                return heap[0][0]
            heapq.heappop(heap)
        return NEVER_S

    def soon_s(self) -> float:
        """Return when to look for what is due: not later than `next_s`, and at hand."""
        return self._heap[0][0] if self._heap else NEVER_S

    def head(self) -> Job | None:
        """Return the job that is due first."""
        return self._living(self._heap[0]) if self.next_s() != NEVER_S else None

    def take_due(self, now_s: float) -> list[Job]:
        """Take out every job that is due at `now_s`, in order; the caller changes its state."""
        due: list[Job] = []
        while self.next_s() <= now_s:
            job = self._jobs[heapq.heappop(self._heap)[1]]
            if not due or due[-1] is not job:  # it may have come back for the same instant
                due.append(job)
        self.live -= len(due)
        return due

    def first(self, limit: int) -> list[Job]:
        """Return the `limit` jobs that are due first, in that order."""
        living = {entry for entry in self._heap if self._living(entry) is not None}
        return [self._jobs[index] for _, index in heapq.nsmallest(limit, living)]

    def _living(self, entry: tuple[float, int]) -> Job | None:
        job = self._jobs.get(entry[1])
        if job is None or job.state is not self._state or job.extra is None:
            return None
        return job if job.extra.due_s == entry[0] else None

    def _sweep(self) -> None:
        dead = len(self._heap) - self.live
        if dead > limits.LINE_DEAD_MIN and dead > self.live:
            living = {entry for entry in self._heap if self._living(entry) is not None}
            self._heap = sorted(living)
