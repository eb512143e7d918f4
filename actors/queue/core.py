"""One queue, which is a tube as well: jobs in, offers to consumers and waiting connections,
acknowledgements, and looking at all that.

Theory of operation. Messages move jobs between the places of `places.py`; what is ready is handed
out in `settle`, once per batch: offered to a consumer of the etcd door (`consuming.py`), or told to
the first beanstalk connection that waits (`reserving.py`), in turns where both could take it.

A queue exists from its first put, consumer or connection until it is reaped. A core that was born
by any other message answers as an empty queue would and asks to be stopped: looking creates
nothing.
"""

from collections.abc import Callable
from typing import Any, ClassVar

from etcdq.actors.core import NEVER_S
from etcdq.actors.effect import Effect, Stop, Tell
from etcdq.actors.queue import consuming, looking, producing, removing, reserving
from etcdq.actors.queue import messages as m
from etcdq.actors.queue import tube_messages as t
from etcdq.actors.queue.job import Job, key_wanted
from etcdq.actors.queue.state import QueueState


class QueueCore(QueueState):
    """One queue; see `QueueState` for its arguments."""

    __slots__ = ()

    def step(self, message: Any, now_s: float) -> list[Effect]:
        """Take one message of `messages.py` or `tube_messages.py` in."""
        self.now_s = now_s
        return self._STEPS[type(message)](self, message, now_s)

    def settle(self, now_s: float) -> list[Effect]:
        """Ripen delayed jobs, end reservations and a pause, hand out what is ready, ask to be
        reaped."""
        places = self.places
        if not self.exists:
            return [*self._tell_queues(), Stop()]
        self.now_s = now_s
        if places.delays.live and places.delays.soon_s() <= now_s:
            places.ripen(now_s)
        if places.expiries.live and places.expiries.soon_s() <= now_s:
            reserving.expire(self, now_s)
        if self.idempotency is not None:
            self.idempotency.sweep(now_s)
        effects = self._tell_queues() if places.freed or places.completed else []
        if places.line.live and now_s >= self.paused_until_s:
            if self.roster.by_identity or self.waiting.open:
                effects += self._serve()
            return effects
        if now_s >= self.idle_deadline_s():
            return [*effects, *self.end(), Stop()]
        return effects

    def next_deadline_s(self) -> float:
        """Return when a delay, a reservation or a pause ends, or the queue is to be reaped."""
        if not self.exists:
            return NEVER_S
        places = self.places
        deadline_s = places.delays.soon_s() if places.delays.live else NEVER_S
        if places.expiries.live:
            deadline_s = min(deadline_s, places.expiries.soon_s())
        if places.line.live and self.now_s < self.paused_until_s:
            deadline_s = min(deadline_s, self.paused_until_s)
        if self.idempotency is not None:
            deadline_s = min(deadline_s, self.idempotency.next_s())
        if places.all:
            return deadline_s  # it is needed: this is what the next look would say
        return min(deadline_s, self.idle_deadline_s())

    def statistics(self, now_s: float | None = None) -> m.QueueStatistics:
        """Return a snapshot; ages are as of the last message if `now_s` is not given."""
        return looking.queue_statistics(self, self.now_s if now_s is None else now_s)

    def face(self, now_s: float) -> t.Face | None:
        """Return what workers see of it."""
        return reserving.face(self, now_s)

    def _serve(self, *, queued_up: bool = False) -> list[Effect]:
        """Offer or announce the jobs at the head of the line, in turns where both could be.

        Args:
            queued_up: it comes after those that were invited by other queues in the meantime.
        """
        effects: list[Effect] = []
        line, waiting = self.places.line, self.waiting
        while True:
            job = line.offerable() if self.offering is None and len(self.roster) else None
            consumer = self.roster.first_open(len(job.body)) if job is not None else None
            if waiting.open and (consumer is None or not self.consumers_next) and line.head():
                return effects + reserving.invite(self)
            if consumer is None or waiting.invited:
                return effects
            if not queued_up and self._shares_its_key(job):
                return [*effects, Tell(self.context.queue(self.name), t.Serve())]
            effects += consuming.hand_out(self, consumer)
            if not waiting.open:
                return effects

    def _shares_its_key(self, job: Job | None) -> bool:
        """Return whether another queue wants the slot that this job would take."""
        key = key_wanted(job) if job is not None and job.extra is not None else b""
        return bool(key) and any(name != self.name for name in self.context.slots.parked(key))

    def _serve_now(self, message: t.Serve, now_s: float) -> list[Effect]:
        return self._serve(queued_up=True) if now_s >= self.paused_until_s else []

    def _tell_queues(self) -> list[Effect]:
        """Tell whoever waits for the slots that were freed and the groups that are complete."""
        effects: list[Effect] = []
        places, context = self.places, self.context
        for key in places.freed:
            for name in context.slots.parked(key):
                effects.append(Tell(context.queue(name), t.SlotFreed(key)))
        for name, index in places.completed:
            effects.append(Tell(context.queue(name), t.GroupCompleted(index)))
        places.freed.clear()
        places.completed.clear()
        return effects

    def _slot_freed(self, message: t.SlotFreed, now_s: float) -> list[Effect]:
        self.places.line.slot_freed(message.key)
        return []

    def _group_completed(self, message: t.GroupCompleted, now_s: float) -> list[Effect]:
        self.places.group_completed(message.index)
        return []

    _STEPS: ClassVar[dict[type, Callable[[Any, Any, float], list[Effect]]]] = {
        m.Put: producing.put,
        t.Puts: producing.puts,
        m.ReadKey: producing.read_key,
        m.DeleteKey: producing.delete_key,
        m.Register: consuming.register,
        m.Accepted: consuming.accepted,
        m.Taken: consuming.taken,
        m.Ended: consuming.ended,
        m.Acknowledge: removing.acknowledge,
        m.Purge: removing.purge,
        m.Look: looking.look,
        m.ReadDelivery: looking.read_delivery,
        m.Kick: looking.kick,
        m.Peek: looking.peek,
        m.Pause: looking.pause,
        m.Show: looking.show,
        t.Claim: reserving.claim,
        t.ClaimJob: reserving.claim_job,
        t.Wait: reserving.wait,
        t.Forget: reserving.forget,
        t.Abandon: reserving.abandon,
        t.Refer: reserving.refer,
        t.Serve: _serve_now,
        t.SlotFreed: _slot_freed,
        t.GroupCompleted: _group_completed,
        t.DeleteJob: removing.delete_job,
        t.DeleteJobs: removing.delete_jobs,
        t.ReleaseJob: reserving.release,
        t.BuryJob: reserving.bury,
        t.TouchJob: reserving.touch,
        t.KickJob: reserving.kick_job,
        t.PeekJob: looking.peek_job,
        t.ShowJob: looking.show_job,
        t.PauseTube: looking.pause_tube,
        t.FlushTube: removing.flush,
        t.ShowTube: looking.show_tube,
    }
