"""etcdq.v1.Queues: what etcd's API has no words for, looking at queues and tending them.

Queues are named as in keys (`actors/queue/names.py`).
"""

from etcdq.actors.errors import InvalidArgumentError, NoSuchQueueError
from etcdq.actors.message import Address
from etcdq.actors.queue import messages as queue
from etcdq.actors.queue.names import queue_name, spelled
from etcdq.server.etcd.context import Ask, Context
from etcdq.server.etcd.pb import queues_pb2 as pb

_STATES = {
    pb.READY: queue.JobState.READY,
    pb.RESERVED: queue.JobState.RESERVED,
    pb.DELAYED: queue.JobState.DELAYED,
    pb.BURIED: queue.JobState.BURIED,
}
_WIRE_STATES = {state: number for number, state in _STATES.items()}


def ask_list(context: Context, _request: pb.ListRequest, _to: Address) -> bytes:
    """List every queue of this node, by name."""
    census = sorted(context.door.census(), key=lambda one: one.name)
    queues = [_summary(one) for one in census if one.exists]
    return pb.ListResponse(queues=queues).SerializeToString()


def ask_show(context: Context, request: pb.ShowRequest, to: Address) -> Ask:
    """Show one queue."""
    name = _name(request.name)
    return Ask(context.queue(name), queue.Show(to), _answer_show)


def ask_kick(context: Context, request: pb.KickRequest, to: Address) -> Ask:
    """Return buried jobs to the line, or delayed ones if none is buried."""
    name = _name(request.name)
    return Ask(context.queue(name), queue.Kick(to, request.bound), _answer_kick)


def ask_peek(context: Context, request: pb.PeekRequest, to: Address) -> Ask:
    """Look at jobs of one state."""
    name = _name(request.name)
    state = _STATES.get(request.state)
    if state is None:
        raise InvalidArgumentError("etcdq: state is one of READY, RESERVED, DELAYED, BURIED")
    peek = queue.Peek(to, state, request.limit or 1)
    return Ask(context.queue(name), peek, _answer_peek)


def ask_pause(context: Context, request: pb.PauseRequest, to: Address) -> Ask:
    """Hand out nothing for a while."""
    name = _name(request.name)
    if not 0 <= request.pause_s < float("inf"):
        raise InvalidArgumentError("etcdq: pause_s is a number of seconds, 0 or more")
    return Ask(context.queue(name), queue.Pause(to, request.pause_s), _answer_pause)


def ask_purge(context: Context, request: pb.PurgeRequest, to: Address) -> Ask:
    """Delete every job, in whatever state."""
    name = _name(request.name)
    return Ask(context.queue(name), queue.Purge(to, shown=False), _answer_purge)


def _name(text: str) -> bytes:
    name = queue_name(text.encode())
    if name is None:
        raise InvalidArgumentError(
            f"etcdq: {text!r} is no queue name: 1 to 200 bytes of UTF-8, no control characters,"
            ' no "/" (the one of a tube\'s name is spelled %2F)'
        )
    return name


def _text(name: bytes) -> str:
    return spelled(name).decode()


def _summary(one: queue.QueueStatistics) -> pb.QueueSummary:
    return pb.QueueSummary(
        name=_text(one.name),
        ready=one.ready,
        reserved=one.reserved,
        delayed=one.delayed,
        buried=one.buried,
        consumers=one.tube.watching,
        waiting=one.tube.waiting,
    )


def _answer_show(context: Context, one: queue.QueueStatistics, _asked: Ask) -> bytes:
    if not one.exists:
        raise NoSuchQueueError(f"etcdq: there is no queue {_text(one.name)!r}")
    settings = context.door.settings
    consumers = [
        pb.Consumer(
            uuid=consumer.consumer,
            peer=consumer.peer,
            held_messages=consumer.held_messages,
            held_bytes=consumer.held_bytes,
            credit_messages=consumer.credit.messages,
            credit_bytes=consumer.credit.body_bytes,
            since_s=consumer.since_s,
        )
        for consumer in one.consumers
    ]
    response = pb.ShowResponse(
        summary=_summary(one),
        urgent=one.urgent,
        puts=one.puts_total,
        deliveries=one.deliveries_total,
        acknowledgements=one.acknowledged_total,
        deletes=one.deleted_total,
        kicks=one.kicked_total,
        dropped_consumers=one.dropped_consumers_total,
        body_bytes=one.body_bytes,
        oldest_age_s=one.oldest_ready_age_s,
        paused_s=one.pause_left_s,
        dispatcher=f"{context.door.identity.member_id:x}",
        consumers=consumers,
        limits=pb.Limits(
            jobs_max=settings.jobs_per_queue_max,
            jobs_bytes_max=settings.jobs_bytes_max,
            request_bytes_max=settings.request_bytes_max,
        ),
        tube=_tube(one.tube),
        oversized_head=one.oversized_head,
    )
    return response.SerializeToString()


def _tube(one: queue.TubeStatistics) -> pb.Tube:
    times = one.timing
    return pb.Tube(
        using=one.using,
        pauses=one.pauses_total,
        reserves=one.reserves_total,
        timeouts=one.timeouts_total,
        buries=one.buries_total,
        bury_rate=one.bury_rate,
        processing=pb.Times(
            average_s=times.processing_ewma_s,
            min_s=times.processing_min_s,
            max_s=times.processing_max_s,
            samples=times.processing_samples,
        ),
        processing_fast=pb.Times(average_s=times.fast_ewma_s, samples=times.fast_samples),
        processing_slow=pb.Times(average_s=times.slow_ewma_s, samples=times.slow_samples),
        processing_p50_s=times.p50_s,
        processing_p95_s=times.p95_s,
        processing_p99_s=times.p99_s,
        queueing=pb.Times(
            average_s=times.queue_ewma_s,
            min_s=times.queue_min_s,
            max_s=times.queue_max_s,
            samples=times.queue_samples,
        ),
    )


def _answer_kick(_context: Context, value: queue.Kicked, _asked: Ask) -> bytes:
    return pb.KickResponse(kicked=value.count).SerializeToString()


def _answer_peek(_context: Context, value: queue.Listing, _asked: Ask) -> bytes:
    jobs = [
        pb.Job(
            job_id=job.job_id,
            index=job.index,
            key=job.key,
            body=job.body,
            priority=job.priority,
            delay_s=job.delay_s,
            ttr_s=job.ttr_s,
            state=_WIRE_STATES[job.state],
            age_s=job.age_s,
            holder=job.holder,
        )
        for job in value.jobs
    ]
    return pb.PeekResponse(jobs=jobs).SerializeToString()


def _answer_pause(_context: Context, _value: queue.Paused, _asked: Ask) -> bytes:
    return pb.PauseResponse().SerializeToString()


def _answer_purge(_context: Context, value: queue.Deleted, _asked: Ask) -> bytes:
    return pb.PurgeResponse(deleted=value.count).SerializeToString()
