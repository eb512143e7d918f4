"""Reservations of beanstalk connections: claims, waiting, and what ends a reservation.

A worker (`actors/worker/`) that sees a job here claims it. Who finds none waits, and is invited
when there is one. Jobs that are there while others wait are spoken for: a claim of one that was
not invited is refused, so nobody is overtaken. Neither is a consumer of the etcd door: what one
could take is offered at the end of the batch, and until then a claim gets one job, in its turn.
"""

from etcdq.actors.core import NEVER_S
from etcdq.actors.effect import Effect, Reply, Tell
from etcdq.actors.errors import NoSuchJobError
from etcdq.actors.queue import tube_messages as t
from etcdq.actors.queue.job import (
    BURIED,
    DELAYED,
    RESERVED,
    Job,
    extra_of,
    place_of,
    tags_of,
)
from etcdq.actors.queue.state import QueueState
from etcdq.actors.queue.timing import Timing

_DONE = t.Done()


def face(queue: QueueState, now_s: float) -> t.Face | None:
    """Return what a worker sees of the queue; None if it has no job to give."""
    if not queue.places.line.live or now_s < queue.paused_until_s:
        return None
    head = queue.places.line.head()
    waiting = queue.waiting
    if head is None or waiting.open:
        return None
    is_wanted = queue.roster.by_identity and not waiting.invited and queue.consumers_next
    if is_wanted and _is_open_to_watches(queue):
        return None
    timing = queue.timing
    if timing is None:
        return t.Face(place_of(head), waiting.invited, 0.0, 0)
    processing = timing.processing
    return t.Face(place_of(head), waiting.invited, processing.ewma_s, processing.samples)


def claim(queue: QueueState, message: t.Claim, now_s: float) -> list[Effect]:
    """Reserve jobs from the head on, if the claimer is the one whose turn it is.

    Where others wait behind it it is given one job: the next is for them.
    """
    reserver = message.reserver
    waiting = queue.waiting
    grants: tuple[t.Grant, ...] = ()
    others = len(waiting)
    invited = waiting.invited == reserver.connection
    if now_s >= queue.paused_until_s and (invited or not others):
        count = message.count if others <= 1 else 1
        if queue.roster.by_identity and _is_open_to_watches(queue):
            count = 1 if invited or not queue.consumers_next else 0
        jobs = queue.places.line.reserve(count, message.limit)
        grants = tuple([_grant(queue, job, reserver, now_s) for job in jobs])
    if grants:
        queue.consumers_next = True
    else:
        waiting.decline(reserver.connection)
    return [Tell(message.worker.handle, t.Granted(queue.name, grants))]


def _is_open_to_watches(queue: QueueState) -> bool:
    """Return whether a consumer could be offered the job at the head now."""
    if queue.offering is not None:
        return False
    head = queue.places.line.head()
    if head is None or queue.is_oversized(len(head.body)):
        return False
    return queue.roster.first_open(len(head.body)) is not None


def claim_job(queue: QueueState, message: t.ClaimJob, now_s: float) -> list[Effect]:
    """Reserve this job wherever it is, but in someone's hands or behind its key or group."""
    context = queue.context
    job = context.directory.get(message.job_id)  # it may be gone since the worker saw it
    grants: tuple[t.Grant, ...] = ()
    if job is not None and _is_free(queue, job):
        queue.places.pick(job, context.numbers.next_index)
        grants = (_grant(queue, job, message.reserver, now_s),)
    return [Tell(message.worker.handle, t.Granted(queue.name, grants))]


def _is_free(queue: QueueState, job: Job) -> bool:
    if job.state is RESERVED:
        return False
    tags = tags_of(job)
    if tags is None:
        return True
    if tags.con and queue.context.slots.is_full(tags.con):
        return False
    return not tags.aft or queue.context.groups.is_complete(tags.aft)


def wait(queue: QueueState, message: t.Wait, now_s: float) -> list[Effect]:
    """Let a worker wait, behind those that wait already; one that was invited declines."""
    queue.waiting.add(message.connection, message.worker)
    return []


def forget(queue: QueueState, message: t.Forget, now_s: float) -> list[Effect]:
    """Let a worker wait no longer."""
    queue.waiting.drop(message.connection)
    return []


def invite(queue: QueueState) -> list[Effect]:
    """Tell the first that waits of a job."""
    worker = queue.waiting.invite()
    return [Tell(worker.handle, t.Invite(queue.name))]


def refer(queue: QueueState, message: t.Refer, now_s: float) -> list[Effect]:
    """Count the connections that use and watch the queue; it exists for them."""
    queue.begin()
    queue.used_s = now_s
    queue.using += message.using
    queue.watching += message.watching
    assert queue.using >= 0, "more connections left the queue than used it"
    assert queue.watching >= 0, "more connections left the queue than watched it"
    return queue.fade()


def abandon(queue: QueueState, message: t.Abandon, now_s: float) -> list[Effect]:
    """Make ready again what a connection that is over holds."""
    queue.waiting.drop(message.connection)
    for job_id in message.job_ids:
        job = queue.context.directory.get(job_id)
        if job is not None and _holds(job, message.connection):
            queue.places.give_back(job)
    return []


def release(queue: QueueState, message: t.ReleaseJob, now_s: float) -> list[Effect]:
    """Make a held job ready or delayed, with the priority that its holder says."""
    job = queue.context.directory[message.job_id]
    if not _holds(job, message.connection):
        return [Reply(message.to, _not_held(message.job_id))]
    extra = extra_of(job)
    extra.releases += 1
    extra.delay_s = message.delay_s
    job.priority = message.priority
    if message.delay_s:
        queue.places.delay(job, now_s + message.delay_s)
    else:
        queue.places.give_back(job)
    return [Reply(message.to, _DONE)]


def bury(queue: QueueState, message: t.BuryJob, now_s: float) -> list[Effect]:
    """Set a held job aside."""
    job = queue.context.directory[message.job_id]
    if not _holds(job, message.connection):
        return [Reply(message.to, _not_held(message.job_id))]
    extra_of(job).buries += 1
    job.priority = message.priority
    queue.places.bury(job, spent=False)
    queue.buried_total += 1
    return [Reply(message.to, _DONE)]


def touch(queue: QueueState, message: t.TouchJob, now_s: float) -> list[Effect]:
    """Let a reservation's time begin anew."""
    job = queue.context.directory[message.job_id]
    if not _holds(job, message.connection):
        return [Reply(message.to, _not_held(message.job_id))]
    extra = extra_of(job)
    if extra.due_s != NEVER_S:
        extra.due_s = now_s + extra.ttr_s
        queue.places.expiries.move(job)
    return [Reply(message.to, _DONE)]


def kick_job(queue: QueueState, message: t.KickJob, now_s: float) -> list[Effect]:
    """Make one buried or delayed job ready, but not one that is held for its group."""
    job = queue.context.directory[message.job_id]
    if job.state not in (BURIED, DELAYED) or job.index in queue.places.held:
        text = f"job {message.job_id} is neither buried nor delayed"
        return [Reply(message.to, NoSuchJobError(text))]
    queue.places.kick_one(job, queue.context.numbers.next_index)
    queue.kicked_total += 1
    return [Reply(message.to, _DONE)]


def expire(queue: QueueState, now_s: float) -> None:
    """Make ready again what was not finished within its time to run."""
    for job in queue.places.take_expired(now_s):
        extra_of(job).timeouts += 1
        queue.timeouts_total += 1
        queue.context.totals.timeouts += 1


def _grant(queue: QueueState, job: Job, reserver: t.Reserver, now_s: float) -> t.Grant:
    queue.places.reserve(job, reserver, now_s)
    queue.reserves_total += 1
    timing = queue.timing
    if timing is None:
        timing = queue.timing = Timing()
    timing.queue.add(now_s - job.put_s)
    return t.Grant(job.job_id, job.body)


def _holds(job: Job, connection: int) -> bool:
    holder = job.holder
    return type(holder) is t.Reserver and holder.connection == connection


def _not_held(job_id: int) -> NoSuchJobError:
    return NoSuchJobError(f"this connection does not hold job {job_id}")
