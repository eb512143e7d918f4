"""A dumb model of one queue: lists, sorted anew each time, and nothing kept twice.

It takes the same messages as `QueueCore` and returns the same effects, so the two can be run side
by side. What it leaves out: limits, reaping and logs.
"""

from dataclasses import dataclass, field
from typing import Any

from etcdq.actors.effect import Reply, Tell
from etcdq.actors.message import Address
from etcdq.actors.node.messages import DropRegistry, SetRegistry
from etcdq.actors.queue import messages as m
from etcdq.actors.queue.context import Numbers

READY, RESERVED = m.JobState.READY, m.JobState.RESERVED
DELAYED, BURIED = m.JobState.DELAYED, m.JobState.BURIED
HANDED_OVER = (RESERVED, BURIED)


@dataclass(eq=False)
class ModelJob:
    """One job; `burial` is the number of its burial."""

    index: int
    job_id: int
    put: m.Put
    put_s: float
    state: m.JobState
    holder: "ModelConsumer | None" = None
    burial: int = 0

    def view(self, now_s: float) -> m.JobView:
        """Return it as it is shown."""
        put = self.put
        return m.JobView(
            job_id=self.job_id,
            index=self.index,
            key=put.key,
            tail=put.tail,
            body=put.body,
            priority=put.priority,
            state=self.state,
            delay_s=put.delay_s,
            ttr_s=put.ttr_s,
            age_s=now_s - self.put_s,
            holder=self.holder.identity if self.holder is not None else "",
        )


@dataclass(eq=False)
class ModelConsumer:
    """One consumer; `untaken` belongs to `serving`, in the states offered and stalled."""

    identity: str
    credit: m.Credit
    watches: list[Address]
    current: bool = True
    serving: Address | None = None
    offered: list[int] = field(default_factory=list)
    stalled: list[int] = field(default_factory=list)

    def free(self) -> bool:
        """Return whether it may be offered something."""
        return self.current and len(self.watches) == 1 and not self.stalled


class QueueModel:
    """See the top of this file."""

    def __init__(self, name: bytes, registry: Any, first_index: int, credit: m.Credit) -> None:
        self.key = b"/q/" + name
        self.registry = registry
        self.numbers = Numbers(first_index)
        self.credit = credit
        self.exists = False
        self.jobs: list[ModelJob] = []
        self.consumers: list[ModelConsumer] = []
        self.offering: ModelConsumer | None = None
        self.paused_until_s = 0.0
        self.burials = 0
        self.totals = dict.fromkeys(
            ["puts", "deliveries", "acknowledged", "deleted", "kicked", "buried", "dropped"], 0
        )

    # asking the lists -----------------------------------------------------------------------

    def of_state(self, *states: m.JobState) -> list[ModelJob]:
        """Return the jobs in one of those states, in index order."""
        return sorted((j for j in self.jobs if j.state in states), key=lambda job: job.index)

    def line(self) -> list[ModelJob]:
        """Return the ready jobs in line order."""
        return sorted(self.of_state(READY), key=lambda job: (job.put.priority, job.index))

    def delayed(self) -> list[ModelJob]:
        """Return the delayed jobs, soonest first."""
        jobs = self.of_state(DELAYED)
        return sorted(jobs, key=lambda job: (job.put_s + job.put.delay_s, job.index))

    def held_by(self, consumer: ModelConsumer) -> list[ModelJob]:
        """Return what a consumer has in its hands."""
        return [job for job in self.of_state(RESERVED) if job.holder is consumer]

    def job_of(self, index: int) -> ModelJob | None:
        """Return the job of that index."""
        return next((job for job in self.jobs if job.index == index), None)

    def consumer_of(self, watch: Address) -> ModelConsumer | None:
        """Return whose watch it is."""
        return next((one for one in self.consumers if watch in one.watches), None)

    # the core's protocol --------------------------------------------------------------------

    def step(self, message: Any, now_s: float) -> list[Any]:
        """Return what the core should want done."""
        return getattr(self, "step_" + type(message).__name__)(message, now_s)

    def settle(self, now_s: float) -> list[Any]:
        """Return the offer that the core should make."""
        for job in self.delayed():
            if job.put_s + job.put.delay_s <= now_s:
                job.state = READY
        line = self.line()
        if self.offering is not None or now_s < self.paused_until_s or not line:
            return []
        for consumer in self.consumers:
            jobs = self.what_fits(consumer, line) if consumer.free() else []
            if jobs:
                return [self.offer(consumer, jobs)]
        return []

    def what_fits(self, consumer: ModelConsumer, line: list[ModelJob]) -> list[ModelJob]:
        """Return the front of the line that the consumer's credit covers."""
        held = self.held_by(consumer)
        messages, body_bytes = len(held), sum(len(job.put.body) for job in held)
        fits = []
        for job in line:
            messages += 1
            body_bytes += len(job.put.body)
            over_messages = 0 < consumer.credit.messages < messages
            over_bytes = 0 < consumer.credit.body_bytes < body_bytes
            if messages > 1 and (over_messages or over_bytes):
                break
            fits.append(job)
        return fits

    def offer(self, consumer: ModelConsumer, jobs: list[ModelJob]) -> Tell:
        """Hand jobs to a consumer."""
        watch = consumer.watches[-1]
        for job in jobs:
            job.state, job.holder = RESERVED, consumer
        consumer.offered = [job.index for job in jobs]
        consumer.serving = watch
        self.offering = consumer
        deliveries = tuple(m.Delivery(job.index, job.put.tail, job.put.body) for job in jobs)
        return Tell(watch.handle, m.Offer(watch, deliveries))

    # messages -------------------------------------------------------------------------------

    def begin(self) -> list[Any]:
        """Exist from now on."""
        if self.exists:
            return []
        self.exists = True
        return [Tell(self.registry, SetRegistry(self.key, b"node"))]

    def consumer_key(self, identity: str) -> bytes:
        """Return the registry key of a consumer."""
        return self.key + b"/c/" + identity.encode()

    def step_Put(self, message: m.Put, now_s: float) -> list[Any]:
        index, job_id = self.numbers.next_index(), self.numbers.next_job_id()
        state = DELAYED if message.delay_s else READY
        self.jobs.append(ModelJob(index, job_id, message, now_s, state))
        self.totals["puts"] += 1
        return [*self.begin(), Reply(message.to, m.Inserted(job_id, index))]

    def step_Register(self, message: m.Register, now_s: float) -> list[Any]:
        effects: list[Any] = [Reply(message.to, m.Registered()), *self.begin()]
        credit = message.credit or self.credit
        known = [one for one in self.consumers if one.identity == message.consumer]
        if not known:
            self.consumers.append(ModelConsumer(message.consumer, credit, [message.watch]))
            entry = SetRegistry(self.consumer_key(message.consumer), b"node")
            return [*effects, Tell(self.registry, entry)]
        (consumer,) = known
        if consumer.current:
            old = consumer.watches[-1]
            effects.append(Tell(old.handle, m.Superseded(old)))
        consumer.watches.append(message.watch)
        consumer.current, consumer.credit = True, credit
        return effects

    def step_Accepted(self, message: m.Accepted, now_s: float) -> list[Any]:
        consumer = self.consumer_of(message.watch)
        if consumer is not None:
            self.offering = None
            consumer.offered, consumer.stalled = [], list(message.stalled)
            self.put_back(consumer, message.declined)
            self.totals["deliveries"] += len(message.taken)
        return []

    def step_Taken(self, message: m.Taken, now_s: float) -> list[Any]:
        consumer = self.consumer_of(message.watch)
        if consumer is not None:
            consumer.stalled = [i for i in consumer.stalled if i not in message.indexes]
            self.totals["deliveries"] += len(message.indexes)
        return []

    def step_Ended(self, message: m.Ended, now_s: float) -> list[Any]:
        consumer = self.consumer_of(message.watch)
        if consumer is None:
            return []
        self.totals["dropped"] += message.dropped
        self.totals["deliveries"] += len(message.taken)
        if consumer.serving == message.watch:
            untaken = consumer.offered + consumer.stalled
            self.put_back(consumer, [i for i in untaken if i not in message.taken])
            consumer.offered, consumer.stalled, consumer.serving = [], [], None
            if self.offering is consumer:
                self.offering = None
        if consumer.current and consumer.watches[-1] == message.watch:
            consumer.current = False
        consumer.watches.remove(message.watch)
        return [] if consumer.watches else self.end(consumer)

    def put_back(self, consumer: ModelConsumer, indexes: Any) -> None:
        """Give untaken jobs back to the line."""
        for index in indexes:
            job = self.job_of(index)
            if job is not None and job.holder is consumer:
                job.state, job.holder = READY, None

    def end(self, consumer: ModelConsumer) -> list[Any]:
        """Bury what the consumer holds and forget it."""
        for job in self.held_by(consumer):
            self.burials += 1
            self.totals["buried"] += 1
            job.state, job.holder, job.burial = BURIED, None, self.burials
        self.consumers.remove(consumer)
        return [Tell(self.registry, DropRegistry(self.consumer_key(consumer.identity)))]

    def remove(self, job: ModelJob, total: str) -> None:
        """Delete a job."""
        self.totals[total] += 1
        self.jobs.remove(job)

    def step_Acknowledge(self, message: m.Acknowledge, now_s: float) -> list[Any]:
        job = self.job_of(message.index)
        if job is None or job.put.tail != message.tail:
            return [Reply(message.to, m.Deleted((), 0))]
        shown = (job.view(now_s),) if message.shown else ()
        self.remove(job, "acknowledged" if job.state in HANDED_OVER else "deleted")
        return [Reply(message.to, m.Deleted(shown, 1))]

    def step_DeleteKey(self, message: m.DeleteKey, now_s: float) -> list[Any]:
        jobs = [job for job in self.of_state(READY, DELAYED) if job.put.key == message.key]
        return self.delete(jobs, message, now_s)

    def step_Purge(self, message: m.Purge, now_s: float) -> list[Any]:
        jobs = self.in_range(message, self.of_state(*m.JobState))
        if message.holder is not None:
            jobs = self.in_range(message, self.held_by_name(message.holder))
        return self.delete(jobs, message, now_s)

    def delete(self, jobs: list[ModelJob], message: Any, now_s: float) -> list[Any]:
        """Delete jobs and show what they were, if it is to be shown."""
        shown = tuple(job.view(now_s) for job in jobs) if message.shown else ()
        for job in jobs:
            self.remove(job, "deleted")
        return [Reply(message.to, m.Deleted(shown, len(jobs)))]

    def held_by_name(self, identity: str) -> list[ModelJob]:
        """Return what the consumer of that identity holds."""
        return [
            j
            for j in self.of_state(RESERVED)
            if j.holder is not None and j.holder.identity == identity
        ]

    def in_range(self, message: m.Look | m.Purge, jobs: list[ModelJob]) -> list[ModelJob]:
        """Return those in the message's range."""
        found = []
        for job in jobs:
            place = b"%016d/%s" % (job.index, job.put.tail)
            if message.start <= place and (message.end is None or place < message.end):
                found.append(job)
        return found

    def step_Look(self, message: m.Look, now_s: float) -> list[Any]:
        if message.holder is not None:
            jobs = self.in_range(message, self.held_by_name(message.holder))
        else:
            jobs = self.in_range(message, self.of_state(READY, DELAYED))
        shown = jobs[: message.limit] if message.limit else jobs
        return [self.listing(message.to, shown, len(jobs), now_s)]

    def step_ReadKey(self, message: m.ReadKey, now_s: float) -> list[Any]:
        living = self.of_state(READY, DELAYED, RESERVED)
        jobs = [job for job in living if job.put.key == message.key][:1]
        return [self.listing(message.to, jobs, len(jobs), now_s)]

    def step_Peek(self, message: m.Peek, now_s: float) -> list[Any]:
        jobs = {
            READY: self.line(),
            DELAYED: self.delayed(),
            RESERVED: self.of_state(RESERVED),
            BURIED: self.buried(),
        }[message.state]
        return [self.listing(message.to, jobs[: message.limit], len(jobs), now_s)]

    def buried(self) -> list[ModelJob]:
        """Return the buried jobs in order of burial."""
        return sorted(self.of_state(BURIED), key=lambda job: job.burial)

    def listing(self, to: Address, jobs: list[ModelJob], count: int, now_s: float) -> Reply:
        """Return the answer that shows jobs."""
        return Reply(to, m.Listing(tuple(job.view(now_s) for job in jobs), count))

    def step_Kick(self, message: m.Kick, now_s: float) -> list[Any]:
        jobs = (self.buried() or self.delayed())[: message.bound]
        for job in jobs:
            if job.state is BURIED:  # handed over before: its old key hits nothing
                job.index = self.numbers.next_index()
            job.state = READY
        self.totals["kicked"] += len(jobs)
        return [Reply(message.to, m.Kicked(len(jobs)))]

    def step_Pause(self, message: m.Pause, now_s: float) -> list[Any]:
        self.paused_until_s = now_s + message.pause_s
        return [Reply(message.to, m.Paused())]

    # comparing ------------------------------------------------------------------------------

    def check(self, shown: m.QueueStatistics) -> None:
        """Compare a core's statistics with the lists."""
        for state in m.JobState:
            assert getattr(shown, state.value) == len(self.of_state(state)), state
        assert shown.urgent == sum(job.put.priority < 1024 for job in self.of_state(READY))
        assert shown.body_bytes == sum(len(job.put.body) for job in self.jobs)
        totals = {
            "puts": shown.puts_total,
            "deliveries": shown.deliveries_total,
            "acknowledged": shown.acknowledged_total,
            "deleted": shown.deleted_total,
            "kicked": shown.kicked_total,
            "buried": shown.buried_total,
            "dropped": shown.dropped_consumers_total,
        }
        assert totals == self.totals
        assert [(one.consumer, one.held_messages) for one in shown.consumers] == [
            (one.identity, len(self.held_by(one))) for one in self.consumers
        ]
