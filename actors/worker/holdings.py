"""What one connection holds, and which of its reservations ends first.

Queues take jobs out of its hands without a word: their time is over, they are flushed or purged. So
a job that was granted is looked up before anything is said of it. The one that ends first stands on
top of a heap; what came since the last look is sorted in at the next one, and a touched job, which
stands too far in front, when it comes to the top. So a look costs the same for few and many jobs.
"""

import heapq
from collections.abc import Iterable, Mapping

from etcdq.actors import limits
from etcdq.actors.core import NEVER_S
from etcdq.actors.queue.job import Job
from etcdq.actors.queue.tube_messages import Grant, Reserver


class Holdings:
    """The jobs of one connection.

    Args:
        reserver: as whose they are held.
        directory: every job of the node by its id.
    """

    __slots__ = ("_directory", "_dues", "_fresh", "_many", "_queues", "_reserver")

    def __init__(self, reserver: Reserver, directory: Mapping[int, Job]) -> None:
        self._reserver = reserver
        self._directory = directory
        self._queues: dict[int, bytes] = {}
        """Of each job that was granted, but for those found to be gone."""
        self._dues: list[tuple[float, int]] = []
        self._fresh: list[int] = []
        """Granted since the last look."""
        self._many = limits.HELD_GONE_MAX

    def __len__(self) -> int:
        return len(self._queues)

    def add(self, grants: Iterable[Grant], queue: bytes) -> None:
        """Take in what a queue granted."""
        queues, fresh = self._queues, self._fresh
        for grant in grants:
            job_id = grant.job_id
            queues[job_id] = queue
            fresh.append(job_id)
        if len(self._fresh) + len(self._dues) > self._many:
            self._forget_gone()
            self._many = 2 * len(self._queues) + limits.HELD_GONE_MAX

    def soonest_s(self) -> float:
        """Return when the first of its reservations ends, `NEVER_S` if none does."""
        dues = self._dues
        for job_id in self._fresh:
            due_s = self._due_s(job_id)
            if due_s is not None:
                heapq.heappush(dues, (due_s, job_id))
        self._fresh.clear()
        while dues:
            known_s, job_id = dues[0]
            due_s = self._due_s(job_id)
            if due_s == known_s:
                return known_s
            if due_s is None:
                heapq.heappop(dues)
            else:
                heapq.heapreplace(dues, (due_s, job_id))
        return NEVER_S

    def by_queue(self) -> dict[bytes, list[int]]:
        """Return what was granted and may still be held, by its queue."""
        found: dict[bytes, list[int]] = {}
        for job_id, queue in self._queues.items():
            found.setdefault(queue, []).append(job_id)
        return found

    def _due_s(self, job_id: int) -> float | None:
        """Return when the reservation of a job ends; None for one that is held no longer."""
        job = self._directory.get(job_id)
        if job is None or job.holder is not self._reserver:
            self._queues.pop(job_id, None)
            return None
        return job.extra.due_s if job.extra is not None else NEVER_S

    def _forget_gone(self) -> None:
        held = [job_id for job_id in list(self._queues) if self._due_s(job_id) is not None]
        self._dues.clear()
        self._fresh = held
