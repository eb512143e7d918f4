"""Jobs out: acknowledgements, deletes by id, purges, and a tube flushed."""

from collections.abc import Iterable

from etcdq.actors.effect import Effect, Reply
from etcdq.actors.errors import NoSuchJobError, NoSuchQueueError
from etcdq.actors.queue import look
from etcdq.actors.queue import messages as m
from etcdq.actors.queue import tube_messages as t
from etcdq.actors.queue.consumers import Consumer
from etcdq.actors.queue.job import BURIED, RESERVED, Job, tags_of, tail_of
from etcdq.actors.queue.state import QueueState
from etcdq.actors.queue.tubes import DEFAULT

_NONE_DELETED = m.Deleted((), 0)
_ONE_DELETED = m.Deleted((), 1)
_DONE = t.Done()


def acknowledge(queue: QueueState, message: m.Acknowledge, now_s: float) -> list[Effect]:
    """Delete one delivery key. What a beanstalk connection holds is that connection's."""
    job = queue.places.all.get(message.index)
    if job is None or (job.tail or tail_of(job)) != message.tail:
        return [Reply(message.to, _NONE_DELETED)]
    if type(job.holder) is t.Reserver:
        return [Reply(message.to, _NONE_DELETED)]
    deleted = m.Deleted((look.view(job, now_s),), 1) if message.shown else _ONE_DELETED
    if job.state is RESERVED or job.state is BURIED:
        queue.acknowledged_total += 1
    else:
        queue.deleted_total += 1
    if job.extra is not None:
        _leave(queue, job, now_s)
    holder = queue.places.remove(job)
    if type(holder) is Consumer and not holder.queued:
        queue.roster.wake(holder)
    queue.used_s = now_s
    return [Reply(message.to, deleted)]


def purge(queue: QueueState, message: m.Purge, now_s: float) -> list[Effect]:
    """Delete every job of a range, in any state."""
    jobs = look.held_by(message.holder, queue.places, queue.roster)
    meant = list(look.in_range(jobs, message.start, message.end))
    return delete(queue, message, meant, now_s)


def delete(
    queue: QueueState, message: m.DeleteKey | m.Purge, jobs: list[Job], now_s: float
) -> list[Effect]:
    """Delete these jobs and say so."""
    shown = tuple([look.view(job, now_s) for job in jobs]) if message.shown else ()
    _remove_all(queue, jobs, now_s)
    queue.deleted_total += len(jobs)
    queue.used_s = now_s
    return [Reply(message.to, m.Deleted(shown, len(jobs)))]


def delete_job(queue: QueueState, message: t.DeleteJob, now_s: float) -> list[Effect]:
    """Delete a job by its id, if it is in no other hands."""
    job = queue.context.directory[message.job_id]
    if not _delete(queue, job, message.connection, now_s):
        return [Reply(message.to, NoSuchJobError("another connection holds the job"))]
    reply = Reply(message.to, _DONE)
    return [reply] if queue.places.all else [reply, *queue.fade()]


def delete_jobs(queue: QueueState, message: t.DeleteJobs, now_s: float) -> list[Effect]:
    """Delete jobs by their ids, those that are there and in no other hands."""
    get, connection = queue.context.directory.get, message.connection
    deleted = [
        (job := get(job_id)) is not None and _delete(queue, job, connection, now_s)
        for job_id in message.job_ids
    ]
    reply = Reply(message.to, t.JobsDeleted(tuple(deleted)))
    return [reply] if queue.places.all else [reply, *queue.fade()]


def _delete(queue: QueueState, job: Job, connection: int, now_s: float) -> bool:
    """Delete a job, if nobody but that connection holds it."""
    holder, extra = job.holder, job.extra
    if holder is not None:
        if type(holder) is not t.Reserver or holder.connection != connection:
            return False
        assert extra is not None, "a reserved job knows since when"
        if queue.timing is not None:
            queue.timing.processed(now_s - extra.reserved_at_s)
        queue.acknowledged_total += 1
    else:
        queue.deleted_total += 1
    if extra is not None and extra.tags is not None:
        _leave(queue, job, now_s)
    queue.places.remove(job)
    queue.used_s = now_s
    queue.deletes_total += 1
    queue.context.totals.deletes += 1
    return True


def flush(queue: QueueState, message: t.FlushTube, now_s: float) -> list[Effect]:
    """Delete everything, and what is remembered of deleted jobs."""
    if not queue.exists and queue.name != DEFAULT:
        return [Reply(message.to, NoSuchQueueError(f"there is no tube {queue.text()!r}"))]
    jobs = list(queue.places.all.values())
    _remove_all(queue, jobs, now_s)
    if queue.idempotency is not None:
        queue.idempotency.flush()
    queue.used_s = now_s
    queue.deleted_total += len(jobs)
    queue.deletes_total += len(jobs)
    queue.context.totals.deletes += len(jobs)
    return [Reply(message.to, t.Flushed(len(jobs))), *queue.fade()]


def _remove_all(queue: QueueState, jobs: Iterable[Job], now_s: float) -> None:
    for job in jobs:
        _leave(queue, job, now_s)
        holder = queue.places.remove(job)
        if type(holder) is Consumer:
            queue.roster.wake(holder)


def _leave(queue: QueueState, job: Job, now_s: float) -> None:
    """Free the idempotency key of a job that is about to be deleted, now or in a while."""
    tags = tags_of(job)
    if tags is not None and tags.idp:
        assert queue.idempotency is not None, "the job's put made it"
        queue.idempotency.leave(tags.idp, job.job_id, tags.idp_ttl_s, now_s)
