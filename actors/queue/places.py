"""All jobs of one queue, each in exactly one place.

A ready job is in the line, a delayed one among the delays or held for its group, a reserved one
in the hands of its holder, a buried one in `buried`. Moving a job changes its state by the table
in `job.py`, and takes or frees what comes with that: the slot of its concurrency key, its place
in its group. `all` has every job in index order, because a job only ever enters with the highest
index so far (a put, or a kick that gives a new one). `by_key` has the living ones by producer key.
Bytes are counted here and nowhere else.
"""

from collections.abc import Callable
from itertools import islice

from etcdq.actors import limits
from etcdq.actors.core import NEVER_S
from etcdq.actors.queue import keys
from etcdq.actors.queue.consumers import Consumer
from etcdq.actors.queue.context import QueueContext
from etcdq.actors.queue.groups import Waiter
from etcdq.actors.queue.job import (
    BURIED,
    BURY,
    DELAY,
    DELAYED,
    GIVE_BACK,
    KICK,
    READY,
    RESERVE,
    RESERVED,
    RIPEN,
    Job,
    extra_of,
    key_wanted,
    tags_of,
)
from etcdq.actors.queue.keys import Keys
from etcdq.actors.queue.line import Line
from etcdq.actors.queue.messages import Tags
from etcdq.actors.queue.timers import Timers
from etcdq.actors.queue.tube_messages import Reserver


class Places:
    """The jobs of one queue.

    Args:
        name: the queue's.
        context: what it shares with the node's other queues.
    """

    __slots__ = (
        "_context",
        "_name",
        "all",
        "body_bytes",
        "buried",
        "by_key",
        "completed",
        "delays",
        "expiries",
        "freed",
        "held",
        "line",
        "spent",
    )

    def __init__(self, name: bytes, context: QueueContext) -> None:
        self._name = name
        self._context = context
        self.all: dict[int, Job] = {}
        self.by_key: Keys = {}
        offer_bytes_max = context.request_bytes_max or limits.JOB_BYTES_ALL
        self.line = Line(self.all, context.slots, name, offer_bytes_max)
        self.delays = Timers(self.all, DELAYED)
        self.expiries = Timers(self.all, RESERVED)
        """Reservations that end by the clock: those with a TTR."""
        self.held: dict[int, Job] = {}
        """Delayed without an end, by index: they wait for their after-group."""
        self.buried: dict[int, Job] = {}
        """In order of burial."""
        self.spent: set[int] = set()
        """Indexes of buried jobs that were handed over through a watch: a kick gives a new one."""
        self.freed: dict[bytes, None] = {}
        """Concurrency keys of which a slot was freed since the last look."""
        self.completed: list[Waiter] = []
        """Held jobs, of any queue, whose group is complete since the last look."""
        self.body_bytes = 0

    def delayed(self) -> int:
        """Return how many jobs are delayed, those that wait for a group included."""
        return self.delays.live + len(self.held)

    def reserved(self) -> int:
        """Return how many jobs are in someone's hands."""
        reserved = len(self.all) - self.line.live - self.delayed() - len(self.buried)
        assert reserved >= 0, "a job is in two places"
        return reserved

    def enter(self, job: Job, cost_bytes: int) -> None:
        """Take in a new job, ready or delayed; `cost_bytes` is what it takes of the budget."""
        context = self._context
        context.budget.used_bytes += cost_bytes
        self.body_bytes += len(job.body)
        self.all[job.index] = job
        context.directory[job.job_id] = job
        if job.key:
            keys.add(self.by_key, job)
        tags = job.extra.tags if job.extra is not None else None
        if tags is not None:
            if tags.con and context.slots.enter(tags.con, tags.con_limit):
                self.freed[tags.con] = None
            if tags.grp:
                context.groups.enter(tags.grp)
        if job.state is READY:
            self.line.add(job)
        else:
            self._wait(job)

    def remove(self, job: Job) -> Consumer | Reserver | None:
        """Delete a job, wherever it is; return whose hands it was in."""
        del self.all[job.index]
        context = self._context
        del context.directory[job.job_id]
        state = job.state
        holder = job.holder
        if holder is not None:
            assert state is RESERVED, "only a reserved job has a holder"
            self._leave_hands(job)
        elif state is READY:
            self.line.discard(job)
        elif state is DELAYED:
            self._leave_delays(job)
        else:
            self._unbury(job)
        if state is not BURIED and job.key:
            keys.remove(self.by_key, job)
        if job.extra is not None and job.extra.tags is not None:
            self._leave_tags(job)
        body_bytes = len(job.body)
        self.body_bytes -= body_bytes
        budget = context.budget
        budget.used_bytes -= body_bytes + len(job.key) + limits.JOB_OVERHEAD_BYTES
        assert budget.used_bytes >= 0, "more bytes left the node than entered it"
        return holder

    def hand_out(self, consumer: Consumer, messages: int, body_bytes: int) -> list[Job]:
        """Move jobs from the front of the line to `consumer`, as many as it has room for."""
        jobs = self.line.take(messages, body_bytes)
        held = consumer.held
        for job in jobs:
            job.holder = consumer
            held[job.index] = job
            consumer.held_bytes += len(job.body)
        return jobs

    def reserve(self, job: Job, holder: Reserver, now_s: float) -> None:
        """Give a job that the line took or that was picked to `holder`, for its TTR."""
        job.holder = holder
        extra = job.extra or extra_of(job)
        extra.reserves += 1
        extra.reserved_at_s = now_s
        if extra.ttr_s:
            extra.due_s = now_s + extra.ttr_s
            self.expiries.add(job)
        else:
            extra.due_s = NEVER_S

    def pick(self, job: Job, next_index: Callable[[], int]) -> None:
        """Take a job that is not reserved out of its place and make it reserved."""
        state = job.state
        if state is READY:
            self.line.discard(job)
        elif state is DELAYED:
            self._leave_delays(job)
        else:
            self._revive(job, next_index)
        job.state = RESERVE[state]
        key = key_wanted(job)
        if key:
            self._context.slots.take(key, self._name)

    def give_back(self, job: Job) -> None:
        """Move a reserved job to its place in the line."""
        self._leave_hands(job)
        job.state = GIVE_BACK[job.state]
        self.line.add_back(job)

    def delay(self, job: Job, due_s: float) -> None:
        """Move a reserved job to the delays, until `due_s`."""
        self._leave_hands(job)
        job.state = DELAY[job.state]
        extra_of(job).due_s = due_s
        self.delays.add(job)

    def bury(self, job: Job, *, spent: bool) -> None:
        """Set aside a reserved job; its producer key is free again.

        Args:
            spent: it was handed over through a watch.
        """
        self._leave_hands(job)
        job.state = BURY[job.state]
        if job.key:
            keys.remove(self.by_key, job)
        self.buried[job.index] = job
        if spent:
            self.spent.add(job.index)
        tags = tags_of(job)
        if tags is not None and tags.grp:
            self._context.groups.bury(tags.grp)

    def take_expired(self, now_s: float) -> list[Job]:
        """Move the jobs whose reservation is over to their place in the line; return them."""
        due = self.expiries.take_due(now_s)
        for job in due:
            extra_of(job).due_s = NEVER_S
            self.give_back(job)
        return due

    def ripen(self, now_s: float) -> None:
        """Move the jobs whose delay is over to the line, or let them wait for their group."""
        for job in self.delays.take_due(now_s):
            tags = tags_of(job)
            if tags is not None and tags.aft and not self._context.groups.is_complete(tags.aft):
                self._hold(job, tags)
            else:
                extra_of(job).due_s = NEVER_S
                job.state = RIPEN[job.state]
                self.line.add_back(job)

    def group_completed(self, index: int) -> None:
        """The group that a held job waited for is complete: it is ready now."""
        job = self.held.pop(index, None)
        if job is not None:
            job.state = RIPEN[job.state]
            self.line.add_back(job)

    def kick(self, bound: int, next_index: Callable[[], int]) -> int:
        """Move up to `bound` buried jobs, or delayed ones if none are buried, to the line.

        Returns how many there were.
        """
        bound = min(bound, len(self.all))  # islice takes no number beyond 63 bits
        jobs = list(islice(self.buried.values(), bound)) or self.delays.first(bound)
        for job in jobs:
            self.kick_one(job, next_index)
        return len(jobs)

    def kick_one(self, job: Job, next_index: Callable[[], int]) -> None:
        """Move a buried or delayed job, also one held for its group, to its place in the line."""
        extra_of(job).kicks += 1
        state = job.state
        if state is DELAYED:
            self._leave_delays(job)
            job.state = KICK[DELAYED]
            self.line.add_back(job)
            return
        is_last = self._revive(job, next_index)
        job.state = KICK[BURIED]
        if is_last:
            self.line.add(job)
        else:
            self.line.add_back(job)

    # what comes with a move -----------------------------------------------------------------

    def _wait(self, job: Job) -> None:
        """Let a new job wait for its delay, or for its group."""
        extra = job.extra
        assert extra is not None, "a delayed job knows until when"
        if extra.due_s != NEVER_S:
            self.delays.add(job)
        else:
            assert extra.tags is not None, "a job without an end of its delay waits for a group"
            self._hold(job, extra.tags)

    def _hold(self, job: Job, tags: Tags) -> None:
        extra_of(job).due_s = NEVER_S
        self.held[job.index] = job
        held = self._context.groups.hold(tags.aft, self._name, job.index, tags.grp)
        assert held, "a job is held for a group that is complete"

    def _leave_hands(self, job: Job) -> None:
        holder = job.holder
        assert holder is not None, "a reserved job is in someone's hands"
        if type(holder) is Consumer:
            holder.let_go(job)
        else:
            job.holder = None
        extra = job.extra
        if extra is None:
            return
        if extra.due_s != NEVER_S:
            self.expiries.discard()
            extra.due_s = NEVER_S
        key = extra.tags.con if extra.tags is not None else b""
        if key and self._context.slots.free(key):
            self.freed[key] = None

    def _leave_delays(self, job: Job) -> None:
        if self.held.pop(job.index, None) is None:
            extra_of(job).due_s = NEVER_S
            self.delays.discard()
            return
        tags = tags_of(job)
        assert tags is not None, "a held job waits for a group"
        self._context.groups.drop(tags.aft, job.index)

    def _revive(self, job: Job, next_index: Callable[[], int]) -> bool:
        """Let a buried job, and its producer key, live again.

        One that was handed over through a watch gets a new index, so that its old delivery key
        hits nothing.

        Returns:
            Whether it did: it is the last of its queue now.
        """
        spent = job.index in self.spent
        self._unbury(job)
        if spent:
            del self.all[job.index]
            job.index = next_index()
            self.all[job.index] = job
        if job.key and spent:
            keys.add(self.by_key, job)
        elif job.key:
            keys.add_back(self.by_key, job)
        return spent

    def _unbury(self, job: Job) -> None:
        del self.buried[job.index]
        self.spent.discard(job.index)
        tags = tags_of(job)
        if tags is not None and tags.grp:
            self._context.groups.unbury(tags.grp)

    def _leave_tags(self, job: Job) -> None:
        tags = tags_of(job)
        assert tags is not None, "only jobs with tags leave them"
        context = self._context
        if tags.con:
            context.slots.leave(tags.con)
        if tags.grp:
            self.completed += context.groups.leave(tags.grp)
