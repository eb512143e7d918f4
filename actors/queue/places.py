"""All jobs of one queue, each in exactly one place.

A ready job is in the line, a delayed one among the delays, a reserved one in the hands of its
holder, a buried one in `buried`. Moving a job changes its state by the table in `job.py`. `all`
has every job in index order, because a job only ever enters with the highest index so far (put
and kick). `by_key` has the living ones by producer key. Bytes are counted here and nowhere else.
"""

from collections.abc import Callable
from itertools import islice

from etcdq.actors import limits
from etcdq.actors.queue import keys
from etcdq.actors.queue.consumers import Consumer
from etcdq.actors.queue.context import JobsBudget
from etcdq.actors.queue.delays import Delays
from etcdq.actors.queue.job import (
    BURIED,
    BURY,
    DELAYED,
    GIVE_BACK,
    KICK,
    READY,
    RESERVED,
    Job,
)
from etcdq.actors.queue.keys import Keys
from etcdq.actors.queue.line import Line


class Places:
    """The jobs of one queue.

    Args:
        budget: shared by all queues of the node.
    """

    __slots__ = ("_budget", "all", "body_bytes", "buried", "by_key", "delays", "line")

    def __init__(self, budget: JobsBudget) -> None:
        self._budget = budget
        self.all: dict[int, Job] = {}
        self.by_key: Keys = {}
        self.line = Line(self.all)
        self.delays = Delays(self.all)
        self.buried: dict[int, Job] = {}
        """In order of burial."""
        self.body_bytes = 0

    def reserved(self) -> int:
        """Return how many jobs are in the hands of consumers."""
        reserved = len(self.all) - self.line.live - self.delays.live - len(self.buried)
        assert reserved >= 0, "a job is in two places"
        return reserved

    def enter(self, job: Job, cost_bytes: int) -> None:
        """Take in a new job, ready or delayed; `cost_bytes` is what it takes of the budget."""
        self._budget.used_bytes += cost_bytes
        self.body_bytes += len(job.body)
        self.all[job.index] = job
        keys.add(self.by_key, job)
        if job.state is READY:
            self.line.add(job)
        else:
            self.delays.add(job)

    def remove(self, job: Job) -> Consumer | None:
        """Delete a job, wherever it is; return whose hands it was in."""
        del self.all[job.index]
        state = job.state
        holder = job.holder
        if holder is not None:
            assert state is RESERVED, "only a reserved job has a holder"
            holder.let_go(job)
        elif state is READY:
            self.line.discard(job)
        elif state is DELAYED:
            self.delays.discard()
        else:
            del self.buried[job.index]
        if state is not BURIED:
            keys.remove(self.by_key, job)
        body_bytes = len(job.body)
        self.body_bytes -= body_bytes
        budget = self._budget
        budget.used_bytes -= body_bytes + len(job.key) + limits.JOB_OVERHEAD_BYTES
        assert budget.used_bytes >= 0, "more bytes left the node than entered it"
        return holder

    def hand_out(self, consumer: Consumer) -> list[Job]:
        """Move jobs from the front of the line to `consumer`, as many as it has room for."""
        jobs = self.line.take(*consumer.room())
        held = consumer.held
        for job in jobs:
            job.holder = consumer
            held[job.index] = job
            consumer.held_bytes += len(job.body)
        return jobs

    def give_back(self, job: Job, consumer: Consumer) -> None:
        """Move a job from `consumer` to its place in the line."""
        consumer.let_go(job)
        job.state = GIVE_BACK[job.state]
        self.line.add_back(job)

    def bury(self, job: Job, consumer: Consumer) -> None:
        """Set aside a job that `consumer` held; its producer key is free again."""
        consumer.let_go(job)
        job.state = BURY[job.state]
        keys.remove(self.by_key, job)
        self.buried[job.index] = job

    def ripen(self, now_s: float) -> None:
        """Move the jobs whose delay is over to their place in the line."""
        for job in self.delays.ripen(now_s):
            self.line.add_back(job)

    def kick(self, bound: int, next_index: Callable[[], int]) -> int:
        """Move up to `bound` buried jobs, or delayed ones if none are buried, to the line's end.

        Each gets a new index. Returns how many there were.
        """
        bound = min(bound, len(self.all))  # islice takes no number beyond 63 bits
        jobs = list(islice(self.buried.values(), bound)) or self.delays.first(bound)
        for job in jobs:
            del self.all[job.index]
            if job.state is BURIED:
                del self.buried[job.index]
            else:
                keys.remove(self.by_key, job)
            was_delayed = job.state is DELAYED
            job.state = KICK[job.state]
            if was_delayed:
                self.delays.discard()
            job.index = next_index()
            self.all[job.index] = job
            keys.add(self.by_key, job)
            self.line.add(job)
        return len(jobs)
