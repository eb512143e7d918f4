"""One queue: jobs in, offers to consumers, acknowledgements, and looking at all that.

Theory of operation. Messages move jobs between the places of `places.py`; what is ready is handed
out in `settle`, once per batch. At most one offer is unresolved. Only when the watch has said
what it took is the next one made, to the same consumer or the next in rank. So jobs are handed
over strictly in line order, and what a consumer declines is back in its place before anyone else
is asked.

A queue exists from its first put or registration until it is reaped. A core that was born by
any other message answers as an empty queue would and asks to be stopped: looking creates nothing.
"""

from collections.abc import Callable
from typing import Any, ClassVar

from etcdq.actors import limits
from etcdq.actors.core import NEVER_S
from etcdq.actors.effect import Effect, Log, Reply, Stop, Tell
from etcdq.actors.errors import DrainingError, EtcdqError, OverLimitError
from etcdq.actors.node.messages import DropRegistry, SetRegistry
from etcdq.actors.queue import keys, look
from etcdq.actors.queue import messages as m
from etcdq.actors.queue.consumers import Consumer, Roster
from etcdq.actors.queue.context import QueueContext
from etcdq.actors.queue.job import BURIED, DELAYED, READY, RESERVED, Job, JobExtra
from etcdq.actors.queue.places import Places

_NONE_DELETED = m.Deleted((), 0)
_ONE_DELETED = m.Deleted((), 1)


class QueueCore:
    """One queue.

    Args:
        name: as in its keys.
        context: what it shares with the node's other queues.
    """

    __slots__ = (
        "_acknowledged_total",
        "_buried_total",
        "_context",
        "_deleted_total",
        "_deliveries_total",
        "_dropped_total",
        "_exists",
        "_kicked_total",
        "_name",
        "_next_index",
        "_next_job_id",
        "_now_s",
        "_offering",
        "_paused_until_s",
        "_places",
        "_puts_total",
        "_roster",
        "_used_s",
    )

    def __init__(self, name: bytes, context: QueueContext) -> None:
        self._name = name
        self._context = context
        self._next_index = context.numbers.next_index
        self._next_job_id = context.numbers.next_job_id
        self._exists = False
        self._places = Places(context.budget)
        self._roster = Roster()
        self._offering: Consumer | None = None
        """Whose answer to an offer is awaited."""
        self._paused_until_s = 0.0
        self._used_s = 0.0
        self._now_s = 0.0
        self._puts_total = 0
        self._deliveries_total = 0
        self._acknowledged_total = 0
        self._deleted_total = 0
        self._kicked_total = 0
        self._buried_total = 0
        self._dropped_total = 0

    # the core protocol ----------------------------------------------------------------------

    def step(self, message: Any, now_s: float) -> list[Effect]:
        """Take one message of `messages.py` in."""
        self._now_s = now_s
        return self._STEPS[type(message)](self, message, now_s)

    def settle(self, now_s: float) -> list[Effect]:
        """Ripen delayed jobs, end a pause, hand out what is ready, ask to be reaped."""
        if not self._exists:
            return [Stop()]
        self._now_s = now_s
        places = self._places
        if places.delays.live:
            places.ripen(now_s)
        if self._offering is None and places.line.live and now_s >= self._paused_until_s:
            return self._hand_out()
        if now_s >= self._idle_deadline_s():
            self._exists = False
            return [Tell(self._context.registry, DropRegistry(self._registry_key())), Stop()]
        return []

    def next_deadline_s(self) -> float:
        """Return when a delay or a pause ends, or the queue is to be reaped."""
        if not self._exists:
            return NEVER_S
        places = self._places
        deadline_s = places.delays.next_s() if places.delays.live else NEVER_S
        if places.line.live and self._now_s < self._paused_until_s:
            deadline_s = min(deadline_s, self._paused_until_s)
        return min(deadline_s, self._idle_deadline_s())

    def statistics(self, now_s: float | None = None) -> m.QueueStatistics:
        """Return a snapshot; ages are as of the last message if `now_s` is not given."""
        if now_s is None:
            now_s = self._now_s
        places = self._places
        oldest = places.line.oldest()
        return m.QueueStatistics(
            name=self._name,
            exists=self._exists,
            ready=places.line.live,
            reserved=places.reserved(),
            delayed=places.delays.live,
            buried=len(places.buried),
            urgent=places.line.urgent,
            body_bytes=places.body_bytes,
            oldest_ready_age_s=now_s - oldest.put_s if oldest is not None else 0.0,
            pause_left_s=max(0.0, self._paused_until_s - now_s),
            puts_total=self._puts_total,
            deliveries_total=self._deliveries_total,
            acknowledged_total=self._acknowledged_total,
            deleted_total=self._deleted_total,
            kicked_total=self._kicked_total,
            buried_total=self._buried_total,
            dropped_consumers_total=self._dropped_total,
            consumers=tuple(consumer.statistics(now_s) for consumer in self._roster),
        )

    # producing ------------------------------------------------------------------------------

    def _put(self, message: m.Put, now_s: float) -> list[Effect]:
        key, tail, body = message.key, message.tail, message.body
        cost_bytes = len(body) + len(key) + limits.JOB_OVERHEAD_BYTES
        context = self._context
        if context.draining or context.budget.bytes_max or context.max_jobs:
            refusal = self._refusal(cost_bytes)
            if refusal is not None:
                return [Reply(message.to, refusal)]
        index, job_id = self._next_index(), self._next_job_id()
        if tail == key:
            tail = key
        job = Job(index, job_id, key, tail, body, message.priority, now_s, READY)
        delay_s, ttr_s = message.delay_s, message.ttr_s
        if delay_s or ttr_s:
            job.extra = JobExtra(delay_s, ttr_s, now_s + delay_s)
            job.state = DELAYED if delay_s else READY
        self._places.enter(job, cost_bytes)
        self._puts_total += 1
        self._used_s = now_s
        reply = Reply(message.to, m.Inserted(job_id, index))
        return [reply] if self._exists else [*self._begin(), reply]

    def _refusal(self, cost_bytes: int) -> EtcdqError | None:
        context = self._context
        budget = context.budget
        if context.draining:
            return DrainingError("the node is draining and takes no new jobs")
        if budget.bytes_max and budget.used_bytes + cost_bytes > budget.bytes_max:
            text = f"the node's jobs take all of --max-jobs-size ({budget.bytes_max} bytes)"
            return OverLimitError(text)
        if context.max_jobs and len(self._places.all) >= context.max_jobs:
            text = f"the queue has all of --max-jobs-per-queue ({context.max_jobs} jobs)"
            return OverLimitError(text)
        return None

    def _read_key(self, message: m.ReadKey, now_s: float) -> list[Effect]:
        job = keys.oldest(self._places.by_key, message.key)
        if job is None:
            return [Reply(message.to, m.Listing((), 0))]
        return [Reply(message.to, m.Listing((look.view(job, now_s),), 1))]

    def _delete_key(self, message: m.DeleteKey, now_s: float) -> list[Effect]:
        under = keys.under(self._places.by_key, message.key)
        return self._delete(message, [j for j in under if j.state is not RESERVED], now_s)

    # consuming ------------------------------------------------------------------------------

    def _register(self, message: m.Register, now_s: float) -> list[Effect]:
        effects: list[Effect] = [Reply(message.to, m.Registered())]
        self._used_s = now_s
        if not self._exists:
            effects += self._begin()
        consumer = self._roster.get(message.consumer)
        if consumer is None:
            consumer = self._roster.add(message.consumer, message.watch, now_s)
            entry = SetRegistry(self._consumer_key(consumer), self._context.node_id)
            effects.append(Tell(self._context.registry, entry))
        else:
            superseded = self._roster.take_over(consumer, message.watch)
            if superseded is not None:
                effects.append(Tell(superseded.handle, m.Superseded(superseded)))
        consumer.peer = message.peer
        consumer.credit = message.credit or self._context.credit
        return effects

    def _hand_out(self) -> list[Effect]:
        head = self._places.line.head()
        assert head is not None, "a line with living jobs has a head"
        consumer = self._roster.first_open(len(head.body))
        if consumer is None:
            return []
        watch = consumer.watch
        assert watch is not None, "an open consumer has a watch"
        assert not consumer.offered, "one offer at a time"
        jobs = self._places.hand_out(consumer)
        consumer.offered = tuple([m.Delivery(job.index, job.tail, job.body) for job in jobs])
        consumer.serving = watch
        self._offering = consumer
        return [Tell(watch.handle, m.Offer(watch, consumer.offered))]

    def _accepted(self, message: m.Accepted, now_s: float) -> list[Effect]:
        consumer = self._roster.of_watch(message.watch)
        if consumer is None:
            return []
        taken, stalled, declined = message.taken, message.stalled, message.declined
        assert consumer is self._offering, "only an offer can be accepted"
        assert consumer.serving == message.watch, "the offer was made to another watch"
        assert len(consumer.offered) == len(taken) + len(stalled) + len(declined), (
            "every offered index is taken, stalled or declined"
        )
        self._offering = None
        consumer.offered = ()
        consumer.stalled = dict.fromkeys(stalled)
        self._deliveries_total += len(taken)
        self._used_s = now_s
        for index in declined:
            job = consumer.held.get(index)
            if job is not None:
                self._places.give_back(job, consumer)
        self._roster.wake(consumer)
        return []

    def _taken(self, message: m.Taken, now_s: float) -> list[Effect]:
        consumer = self._roster.of_watch(message.watch)
        if consumer is None:
            return []
        assert consumer.serving == message.watch, "the jobs were sent to another watch"
        for index in message.indexes:
            del consumer.stalled[index]
        self._deliveries_total += len(message.indexes)
        self._used_s = now_s
        self._roster.wake(consumer)
        return []

    def _ended(self, message: m.Ended, now_s: float) -> list[Effect]:
        watch = message.watch
        consumer = self._roster.of_watch(watch)
        if consumer is None:
            return []
        effects: list[Effect] = []
        self._used_s = now_s
        if consumer.serving == watch:
            taken = frozenset(message.taken)
            self._deliveries_total += len(taken)
            for job in consumer.not_taken():
                if job.index not in taken:
                    self._places.give_back(job, consumer)
            if self._offering is consumer:
                self._offering = None
        if message.dropped:
            self._dropped_total += 1
            fields = {"queue": self._text(), "consumer": consumer.identity, "peer": consumer.peer}
            effects.append(Log("warning", "dropped a consumer that made no progress", fields))
        self._roster.end_watch(consumer, watch)
        if consumer.watch is None and not consumer.leaving:
            effects += self._end_consumer(consumer)
        else:
            self._roster.wake(consumer)
        return effects

    def _end_consumer(self, consumer: Consumer) -> list[Effect]:
        effects: list[Effect] = []
        if consumer.held:
            fields = {"queue": self._text(), "consumer": consumer.identity}
            text = f"buried {len(consumer.held)} jobs that an ended consumer held"
            effects.append(Log("warning", text, fields))
        # In index order, which is the order they were handed over in.
        for _, job in sorted(consumer.held.items()):
            self._places.bury(job, consumer)
            self._buried_total += 1
        self._roster.remove(consumer)
        entry = DropRegistry(self._consumer_key(consumer))
        return [*effects, Tell(self._context.registry, entry)]

    # removing -------------------------------------------------------------------------------

    def _acknowledge(self, message: m.Acknowledge, now_s: float) -> list[Effect]:
        job = self._places.all.get(message.index)
        if job is None or job.tail != message.tail:
            return [Reply(message.to, _NONE_DELETED)]
        deleted = m.Deleted((look.view(job, now_s),), 1) if message.shown else _ONE_DELETED
        if job.state is RESERVED or job.state is BURIED:
            self._acknowledged_total += 1
        else:
            self._deleted_total += 1
        holder = self._places.remove(job)
        if holder is not None and not holder.queued:
            self._roster.wake(holder)
        self._used_s = now_s
        return [Reply(message.to, deleted)]

    def _purge(self, message: m.Purge, now_s: float) -> list[Effect]:
        jobs = look.held_by(message.holder, self._places, self._roster)
        meant = list(look.in_range(jobs, message.start, message.end))
        return self._delete(message, meant, now_s)

    def _delete(
        self, message: m.DeleteKey | m.Purge, jobs: list[Job], now_s: float
    ) -> list[Effect]:
        shown = tuple([look.view(job, now_s) for job in jobs]) if message.shown else ()
        for job in jobs:
            holder = self._places.remove(job)
            if holder is not None:
                self._roster.wake(holder)
        self._deleted_total += len(jobs)
        self._used_s = now_s
        return [Reply(message.to, m.Deleted(shown, len(jobs)))]

    # looking and steering -------------------------------------------------------------------

    def _look(self, message: m.Look, now_s: float) -> list[Effect]:
        return [Reply(message.to, look.listing(message, self._places, self._roster, now_s))]

    def _read_delivery(self, message: m.ReadDelivery, now_s: float) -> list[Effect]:
        return [Reply(message.to, look.delivery(message, self._places, now_s))]

    def _peek(self, message: m.Peek, now_s: float) -> list[Effect]:
        return [Reply(message.to, look.peek(message, self._places, now_s))]

    def _kick(self, message: m.Kick, now_s: float) -> list[Effect]:
        count = self._places.kick(message.bound, self._next_index)
        self._kicked_total += count
        self._used_s = now_s
        return [Reply(message.to, m.Kicked(count))]

    def _pause(self, message: m.Pause, now_s: float) -> list[Effect]:
        self._paused_until_s = now_s + message.pause_s
        self._used_s = now_s
        return [Reply(message.to, m.Paused())]

    def _show(self, message: m.Show, now_s: float) -> list[Effect]:
        return [Reply(message.to, self.statistics(now_s))]

    # small things ---------------------------------------------------------------------------

    def _begin(self) -> list[Effect]:
        self._exists = True
        entry = SetRegistry(self._registry_key(), self._context.node_id)
        return [Tell(self._context.registry, entry)]

    def _idle_deadline_s(self) -> float:
        """Return when the queue is to be reaped; a pause counts as use until it ends."""
        if self._places.all or len(self._roster):
            return NEVER_S
        return max(self._used_s, self._paused_until_s) + self._context.idle_s

    def _text(self) -> str:
        return self._name.decode(errors="replace")

    def _registry_key(self) -> bytes:
        return self._context.prefix + self._name

    def _consumer_key(self, consumer: Consumer) -> bytes:
        return self._registry_key() + b"/c/" + consumer.identity.encode()

    _STEPS: ClassVar[dict[type, Callable[[Any, Any, float], list[Effect]]]] = {
        m.Put: _put,
        m.ReadKey: _read_key,
        m.DeleteKey: _delete_key,
        m.Register: _register,
        m.Accepted: _accepted,
        m.Taken: _taken,
        m.Ended: _ended,
        m.Acknowledge: _acknowledge,
        m.Look: _look,
        m.ReadDelivery: _read_delivery,
        m.Purge: _purge,
        m.Kick: _kick,
        m.Peek: _peek,
        m.Pause: _pause,
        m.Show: _show,
    }
