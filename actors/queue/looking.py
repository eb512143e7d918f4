"""Looking at a queue and its jobs, and steering it: nothing here makes or ends a job."""

from etcdq.actors.core import NEVER_S
from etcdq.actors.effect import Effect, Reply
from etcdq.actors.errors import NoSuchQueueError
from etcdq.actors.queue import look as views
from etcdq.actors.queue import messages as m
from etcdq.actors.queue import tube_messages as t
from etcdq.actors.queue.job import Job, JobExtra
from etcdq.actors.queue.messages import TimingStatistics
from etcdq.actors.queue.state import QueueState
from etcdq.actors.queue.tubes import DEFAULT

_DONE = t.Done()
_NO_EXTRA = JobExtra()
_NO_TAGS = m.Tags()
_NO_TIMING = TimingStatistics()


def look(queue: QueueState, message: m.Look, now_s: float) -> list[Effect]:
    """List jobs."""
    listing = views.listing(message, queue.places, queue.roster, now_s)
    return [Reply(message.to, listing)]


def read_delivery(queue: QueueState, message: m.ReadDelivery, now_s: float) -> list[Effect]:
    """Show the job of a delivery key."""
    return [Reply(message.to, views.delivery(message, queue.places, now_s))]


def peek(queue: QueueState, message: m.Peek, now_s: float) -> list[Effect]:
    """Show the first jobs of a state."""
    return [Reply(message.to, views.peek(message, queue.places, now_s))]


def peek_job(queue: QueueState, message: t.PeekJob, now_s: float) -> list[Effect]:
    """Show one job."""
    return [Reply(message.to, views.view(queue.context.directory[message.job_id], now_s))]


def show_job(queue: QueueState, message: t.ShowJob, now_s: float) -> list[Effect]:
    """Show one job and its life so far."""
    job = queue.context.directory[message.job_id]
    extra = job.extra or _NO_EXTRA
    reserved = type(job.holder) is t.Reserver  # of a watch it is not known since when
    statistics = t.JobStatistics(
        queue=queue.name,
        view=views.view(job, now_s),
        time_left_s=max(0.0, extra.due_s - now_s) if _is_due(job.state, extra.due_s) else 0.0,
        reserved_s=now_s - extra.reserved_at_s if reserved else 0.0,
        reserves=extra.reserves,
        timeouts=extra.timeouts,
        releases=extra.releases,
        buries=extra.buries,
        kicks=extra.kicks,
        tags=extra.tags or _NO_TAGS,
    )
    return [Reply(message.to, statistics)]


def _is_due(state: m.JobState, due_s: float) -> bool:
    return state in (m.JobState.RESERVED, m.JobState.DELAYED) and due_s != NEVER_S


def kick(queue: QueueState, message: m.Kick, now_s: float) -> list[Effect]:
    """Make buried jobs, or delayed ones, ready."""
    count = queue.places.kick(message.bound, queue.context.numbers.next_index)
    queue.kicked_total += count
    queue.used_s = now_s
    return [Reply(message.to, m.Kicked(count))]


def pause(queue: QueueState, message: m.Pause, now_s: float) -> list[Effect]:
    """Hand out nothing for a while."""
    _pause(queue, message.pause_s, now_s)
    return [Reply(message.to, m.Paused())]


def pause_tube(queue: QueueState, message: t.PauseTube, now_s: float) -> list[Effect]:
    """Hand out nothing for a while, if the tube is there."""
    if not _is_tube(queue):
        return [Reply(message.to, _no_tube(queue))]
    queue.begin()
    _pause(queue, message.pause_s, now_s)
    queue.pauses_total += 1
    return [Reply(message.to, _DONE)]


def _pause(queue: QueueState, pause_s: float, now_s: float) -> None:
    queue.pause_s = pause_s
    queue.paused_until_s = now_s + pause_s
    queue.used_s = now_s


def show(queue: QueueState, message: m.Show, now_s: float) -> list[Effect]:
    """Show the queue."""
    return [Reply(message.to, queue_statistics(queue, now_s))]


def show_tube(queue: QueueState, message: t.ShowTube, now_s: float) -> list[Effect]:
    """Show the queue as a tube, if it is there."""
    if not _is_tube(queue):
        return [Reply(message.to, _no_tube(queue))]
    return [Reply(message.to, tube_statistics(queue, now_s))]


def queue_statistics(queue: QueueState, now_s: float) -> m.QueueStatistics:
    """Return a snapshot of the queue."""
    places = queue.places
    oldest, head = places.line.oldest(), places.line.head()
    return m.QueueStatistics(
        name=queue.name,
        exists=queue.exists,
        ready=places.line.live,
        reserved=places.reserved(),
        delayed=places.delayed(),
        buried=len(places.buried),
        urgent=places.line.urgent,
        body_bytes=places.body_bytes,
        oldest_ready_age_s=now_s - oldest.put_s if oldest is not None else 0.0,
        pause_left_s=max(0.0, queue.paused_until_s - now_s),
        puts_total=queue.puts_total,
        deliveries_total=queue.deliveries_total,
        acknowledged_total=queue.acknowledged_total,
        deleted_total=queue.deleted_total,
        kicked_total=queue.kicked_total,
        buried_total=queue.buried_total,
        dropped_consumers_total=queue.dropped_total,
        consumers=tuple(consumer.statistics(now_s) for consumer in queue.roster),
        tube=tube_statistics(queue, now_s),
        oversized_head=head is not None and queue.is_oversized(len(head.body)),
    )


def tube_statistics(queue: QueueState, now_s: float) -> m.TubeStatistics:
    """Return a snapshot of the queue as a tube."""
    places = queue.places
    waiting = sum(one.is_waiting() for one in queue.roster)
    pause_left_s = max(0.0, queue.paused_until_s - now_s)
    ready = next(iter(places.line.first(1)), None)
    delayed = places.delays.head()
    buried = next(iter(places.buried.values()), None)
    return m.TubeStatistics(
        name=queue.name,
        urgent=places.line.urgent,
        ready=places.line.live,
        reserved=places.reserved(),
        delayed=places.delays.live,
        buried=len(places.buried),
        using=queue.using,
        watching=queue.watching + len(queue.roster),
        waiting=waiting + len(queue.waiting),
        pause_s=queue.pause_s if pause_left_s else 0.0,
        pause_left_s=pause_left_s,
        jobs_total=queue.puts_total,
        deletes_total=queue.deletes_total,
        pauses_total=queue.pauses_total,
        reserves_total=queue.reserves_total,
        timeouts_total=queue.timeouts_total,
        buries_total=queue.buried_total,
        timing=queue.timing.statistics() if queue.timing is not None else _NO_TIMING,
        oldest_ready_id=ready.job_id if ready is not None else 0,
        oldest_ready_age_s=_age_s(ready, now_s),
        oldest_delayed_age_s=_age_s(delayed, now_s),
        oldest_buried_age_s=_age_s(buried, now_s),
    )


def _age_s(job: Job | None, now_s: float) -> float:
    return now_s - job.put_s if job is not None else 0.0


def _is_tube(queue: QueueState) -> bool:
    return queue.exists or queue.name == DEFAULT


def _no_tube(queue: QueueState) -> NoSuchQueueError:
    return NoSuchQueueError(f"there is no tube {queue.text()!r}")
