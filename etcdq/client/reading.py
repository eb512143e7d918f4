"""Wire messages into the records that applications get."""

from typing import Any

from etcdq.client.records import (
    ConsumerStatistics,
    Job,
    JobState,
    KeyValue,
    QueueStatistics,
    QueueSummary,
    TubeStatistics,
)
from etcdq.wire import mvccpb
from etcdq.wire.etcdq import v1
from etcdq.wire.upb import kv_pb2

WIRE_STATES: dict[JobState, Any] = {  # to mypy, members of a betterproto.Enum are int
    JobState.READY: v1.JobState.READY,
    JobState.RESERVED: v1.JobState.RESERVED,
    JobState.DELAYED: v1.JobState.DELAYED,
    JobState.BURIED: v1.JobState.BURIED,
}
_STATES = {wire: state for state, wire in WIRE_STATES.items()}


def key_value(kv: mvccpb.KeyValue | kv_pb2.KeyValue) -> KeyValue:
    """Read a key of either kind of message; their fields have the same names."""
    return KeyValue(kv.key, kv.value, kv.create_revision, kv.mod_revision, kv.version, kv.lease)


def queue_summary(one: v1.QueueSummary) -> QueueSummary:
    """Read the counts of a queue."""
    return QueueSummary(
        one.name, one.ready, one.reserved, one.delayed, one.buried, one.consumers, one.waiting
    )


def queue_statistics(one: v1.ShowResponse) -> QueueStatistics:
    """Read the statistics of a queue."""
    return QueueStatistics(
        summary=queue_summary(one.summary),
        urgent=one.urgent,
        puts_total=one.puts,
        deliveries_total=one.deliveries,
        acknowledged_total=one.acknowledgements,
        deleted_total=one.deletes,
        kicked_total=one.kicks,
        dropped_consumers_total=one.dropped_consumers,
        body_bytes=one.body_bytes,
        oldest_age_s=one.oldest_age_s,
        oversized_head=one.oversized_head,
        paused_s=one.paused_s,
        dispatcher=one.dispatcher,
        consumers=tuple(
            ConsumerStatistics(
                each.uuid,
                each.peer,
                each.held_messages,
                each.held_bytes,
                each.credit_messages,
                each.credit_bytes,
                each.since_s,
            )
            for each in one.consumers
        ),
        tube=tube_statistics(one.tube),
        jobs_max=one.limits.jobs_max,
        jobs_bytes_max=one.limits.jobs_bytes_max,
        request_bytes_max=one.limits.request_bytes_max,
    )


def tube_statistics(one: v1.Tube) -> TubeStatistics:
    """Read what the beanstalk door counts of a queue."""
    return TubeStatistics(
        using=one.using,
        pauses_total=one.pauses,
        reserves_total=one.reserves,
        timeouts_total=one.timeouts,
        buries_total=one.buries,
        bury_rate=one.bury_rate,
        processing_average_s=one.processing.average_s,
        processing_min_s=one.processing.min_s,
        processing_max_s=one.processing.max_s,
        processing_samples=one.processing.samples,
        fast_average_s=one.processing_fast.average_s,
        fast_samples=one.processing_fast.samples,
        slow_average_s=one.processing_slow.average_s,
        slow_samples=one.processing_slow.samples,
        processing_p50_s=one.processing_p50_s,
        processing_p95_s=one.processing_p95_s,
        processing_p99_s=one.processing_p99_s,
        queue_average_s=one.queueing.average_s,
        queue_min_s=one.queueing.min_s,
        queue_max_s=one.queueing.max_s,
        queue_samples=one.queueing.samples,
    )


def job(one: v1.Job) -> Job:
    """Read a job as it is shown."""
    return Job(
        job_id=one.job_id,
        index=one.index,
        key=one.key,
        body=one.body,
        priority=one.priority,
        delay_s=one.delay_s,
        ttr_s=one.ttr_s,
        state=_STATES[one.state],
        age_s=one.age_s,
        holder=one.holder,
    )
