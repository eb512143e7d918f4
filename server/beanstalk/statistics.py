"""The documents `stats-job`, `stats-tube` and `stats-group`, in both dialects.

Fields, their order, quoting and number formats are those of beanstalkd 1.12 or of tuber 0.6.4,
byte for byte: a strict client compares them as they are, and knows no further ones. Times are whole
seconds, rounded down. `file` is 0: the reference's value without a log.

Sources: beanstalkd doc/protocol.txt, prot.c fmt_job_stats and fmt_stats_tube; tuber
docs/statistics.md, src/server.rs cmd_stats_job and others. Meanings: docs/beanstalk.md.
"""

from etcdq.actors import limits
from etcdq.actors.queue.messages import Tags, TubeStatistics
from etcdq.actors.queue.tube_messages import JobStatistics
from etcdq.server.beanstalk.documents import (
    Fields,
    document,
    quoted,
    seconds_left,
    six_digits,
    tube_name,
)
from etcdq.server.beanstalk.door import Dialect, GroupStatistics


def stats_job(statistics: JobStatistics, dialect: Dialect) -> bytes:
    """Return the document of `stats-job`.

    A job of the etcd door has `ttr` 0, and held there `time-left` 0: it is held without a limit of
    time. `delay` is that of its put, or of its last release.
    """
    view, tuber = statistics.view, dialect == "tuber"
    fields: Fields = [
        ("id", view.job_id),
        ("tube", tube_name(statistics.queue, dialect)),
        ("state", view.state.value),
        ("pri", view.priority),
        ("age", int(view.age_s)),
        ("delay", int(view.delay_s)),
        ("ttr", int(view.ttr_s)),
        ("time-left", seconds_left(statistics.time_left_s)),
    ]
    if tuber:
        fields.append(("time-reserved", int(statistics.reserved_s)))
    fields += [
        ("file", 0),
        ("reserves", statistics.reserves),
        ("timeouts", statistics.timeouts),
        ("releases", statistics.releases),
        ("buries", statistics.buries),
        ("kicks", statistics.kicks),
    ]
    if tuber:
        fields += _tags(statistics.tags)
    return document(fields)


def _tags(tags: Tags) -> Fields:
    return [
        ("idempotency-key", tags.idp.decode()),
        ("idempotency-ttl", tags.idp_ttl_s),
        ("group", tags.grp.decode()),
        ("after-group", tags.aft.decode()),
        ("concurrency-key", tags.con.decode()),
        ("concurrency-limit", tags.con_limit),
    ]


def stats_tube(statistics: TubeStatistics, dialect: Dialect) -> bytes:
    """Return the document of `stats-tube`.

    Jobs that an etcd consumer holds count as reserved. Of tuber's fields, `oldest-*` are of the job
    that would leave its state first, 0 where there is none.
    """
    tuber = dialect == "tuber"
    fields: Fields = [
        ("name", tube_name(statistics.name, dialect)),
        ("current-jobs-urgent", statistics.urgent),
        ("current-jobs-ready", statistics.ready),
        ("current-jobs-reserved", statistics.reserved),
        ("current-jobs-delayed", statistics.delayed),
        ("current-jobs-buried", statistics.buried),
        ("total-jobs", statistics.jobs_total),
        ("current-using", statistics.using),
        ("current-watching", statistics.watching),
        ("current-waiting", statistics.waiting),
    ]
    if tuber:
        fields += [
            ("oldest-ready-id", statistics.oldest_ready_id),
            ("oldest-ready-age", int(statistics.oldest_ready_age_s)),
            ("oldest-delayed-age", int(statistics.oldest_delayed_age_s)),
            ("oldest-buried-age", int(statistics.oldest_buried_age_s)),
        ]
    fields += [
        ("cmd-delete", statistics.deletes_total),
        ("cmd-pause-tube", statistics.pauses_total),
        ("pause", int(statistics.pause_s)),
        ("pause-time-left", seconds_left(statistics.pause_left_s)),
    ]
    if tuber:
        fields += _throughput(statistics)
    return document(fields)


def _throughput(statistics: TubeStatistics) -> Fields:
    timing, reserves = statistics.timing, statistics.reserves_total
    return [
        ("total-reserves", reserves),
        ("total-timeouts", statistics.timeouts_total),
        ("total-buries", statistics.buries_total),
        ("bury-rate", six_digits(statistics.buries_total / reserves if reserves else 0.0)),
        ("processing-time-ewma", six_digits(timing.processing_ewma_s)),
        ("processing-time-min", six_digits(timing.processing_min_s)),
        ("processing-time-max", six_digits(timing.processing_max_s)),
        ("processing-time-samples", timing.processing_samples),
        ("processing-time-fast-threshold", six_digits(limits.FAST_JOB_S)),
        ("processing-time-ewma-fast", six_digits(timing.fast_ewma_s)),
        ("processing-time-samples-fast", timing.fast_samples),
        ("processing-time-ewma-slow", six_digits(timing.slow_ewma_s)),
        ("processing-time-samples-slow", timing.slow_samples),
        ("processing-time-p50", six_digits(timing.p50_s)),
        ("processing-time-p95", six_digits(timing.p95_s)),
        ("processing-time-p99", six_digits(timing.p99_s)),
        ("queue-time-ewma", six_digits(timing.queue_ewma_s)),
        ("queue-time-min", six_digits(timing.queue_min_s)),
        ("queue-time-max", six_digits(timing.queue_max_s)),
        ("queue-time-samples", timing.queue_samples),
    ]


def stats_group(name: bytes, statistics: GroupStatistics) -> bytes:
    """Return the document of `stats-group`, which only tuber has.

    Beyond tuber's fields, `cycle` is there if the group is in a cycle or waits for one: the names
    of its groups, each of which waits for the next, and the last for the first.
    """
    fields: Fields = [
        ("name", quoted(name.decode())),
        ("ready", statistics.ready),
        ("reserved", statistics.reserved),
        ("delayed", statistics.delayed),
        ("buried", statistics.buried),
        ("waiting-jobs", statistics.waiting),
    ]
    if statistics.cycle:
        names = ", ".join(quoted(group.decode()) for group in statistics.cycle)
        fields.append(("cycle", f"[{names}]"))
    return document(fields)
