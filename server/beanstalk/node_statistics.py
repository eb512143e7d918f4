"""The document `stats`, in both dialects.

Fields, order, quoting and number formats are those of beanstalkd 1.12 or of tuber 0.6.4, byte for
byte. What has no counterpart here is what the reference shows without a log: `binlog-*`, `toast-*`,
`*-bodies`, `max-storage-bytes`.

Sources: beanstalkd doc/protocol.txt, prot.c fmt_stats; tuber docs/statistics.md, src/server.rs
cmd_stats. Meanings: docs/beanstalk.md.
"""

from etcdq.server.beanstalk.counts import CommandCounts
from etcdq.server.beanstalk.documents import Fields, document, plain, quoted, six_digits
from etcdq.server.beanstalk.door import Dialect, DoorSettings, NodeFacts, NodeTotals

SPOKEN = {"beanstalkd": "1.12", "tuber": "tuber 0.6.4"}
"""The version that is spoken. Programs know tuber by its first word, and read beanstalkd's as a
number."""

BINLOG_FILE_BYTES = 10_485_760
"""beanstalkd's `binlog-max-size`, which it shows without a log too; tuber shows 0."""

COUNTED = (
    "put", "peek", "peek-ready", "peek-delayed", "peek-buried", "peek-reserved", "reserve",
    "reserve-with-timeout", "delete", "release", "use", "watch", "ignore", "bury", "kick", "touch",
    "stats", "stats-job", "stats-tube", "list-tubes", "list-tube-used", "list-tubes-watched",
    "pause-tube", "reserve-mode",
)  # fmt: skip
"""The commands whose numbers are shown, in order."""

TUBER_ONLY = frozenset({"peek-reserved", "reserve-mode"})

COUNTED_WITH = {"reserve": "reserve-job", "kick": "kick-job"}
"""Of tuber: a command and another that raises its number. beanstalkd shows those two nowhere."""


def stats(
    totals: NodeTotals, counts: CommandCounts, facts: NodeFacts, settings: DoorSettings
) -> bytes:
    """Return the document of `stats`.

    Jobs are those of all queues, whichever door they came by; connections and commands are those
    of this door. `pid`, `rusage-*` and `uptime` are the whole node's.
    """
    tuber = settings.dialect == "tuber"
    fields: Fields = [
        ("current-jobs-urgent", totals.urgent),
        ("current-jobs-ready", totals.ready),
        ("current-jobs-reserved", totals.reserved),
        ("current-jobs-delayed", totals.delayed),
        ("current-jobs-buried", totals.buried),
        *_commands(counts, settings.dialect),
        ("job-timeouts", totals.timeouts_total),
        ("total-jobs", totals.jobs_total),
        ("max-job-size", settings.job_bytes_max),
    ]
    if tuber:
        fields += [
            ("current-jobs-size", totals.jobs_bytes),
            ("max-jobs-size", totals.jobs_bytes_max),
            ("accounting-drift-events", totals.drift_events),
        ]
    fields += [
        ("current-tubes", totals.tubes),
        ("current-connections", counts.connections),
        ("current-producers", counts.producers),
        ("current-workers", counts.workers),
        ("current-waiting", totals.waiting),
        ("total-connections", counts.connections_total),
        *_process(facts, settings.dialect),
        *_store(tuber),
    ]
    if tuber:
        fields.append(("current-concurrency-keys", totals.concurrency_keys))
    fields += _node(facts, tuber)
    return document(fields)


def _commands(counts: CommandCounts, dialect: Dialect) -> Fields:
    given = counts.given
    if dialect == "beanstalkd":
        return [(f"cmd-{name}", given[name]) for name in COUNTED if name not in TUBER_ONLY]
    return [
        (f"cmd-{name}", given[name] + (given[COUNTED_WITH[name]] if name in COUNTED_WITH else 0))
        for name in COUNTED
    ]


def _process(facts: NodeFacts, dialect: Dialect) -> Fields:
    version = SPOKEN[dialect]
    if dialect == "tuber":
        version += f" (etcdq {facts.version})"
    fields: Fields = [
        ("pid", facts.pid),
        ("version", quoted(version)),
        ("rusage-utime", six_digits(facts.user_s)),
        ("rusage-stime", six_digits(facts.system_s)),
    ]
    if dialect == "tuber":
        fields.append(("rusage-maxrss", facts.resident_bytes_max))
    fields.append(("uptime", int(facts.uptime_s)))
    return fields


def _store(tuber: bool) -> Fields:
    fields: Fields = [
        ("binlog-oldest-index", 0),
        ("binlog-current-index", 0),
        ("binlog-records-migrated", 0),
        ("binlog-records-written", 0),
        ("binlog-max-size", 0 if tuber else BINLOG_FILE_BYTES),
    ]
    if tuber:
        fields += [
            ("binlog-enabled", "false"),
            ("binlog-file-count", 0),
            ("binlog-total-bytes", 0),
            ("toast-total-bytes", 0),
            ("toast-live-bytes", 0),
            ("toast-segments", 0),
            ("toast-compactions-total", 0),
            ("toast-bodies-migrated-total", 0),
            ("toast-bodies-dropped-corrupted", 0),
            ("recovered-missing-bodies", 0),
            ("reclaimed-orphan-bodies", 0),
            ("reclaimed-stranded-bodies", 0),
            ("max-storage-bytes", 0),
        ]
    return fields


def _node(facts: NodeFacts, tuber: bool) -> Fields:
    """Return what the node says of itself; beanstalkd writes even a kernel's `#1 SMP` as it is."""
    text = plain if tuber else str
    fields: Fields = [
        ("draining", "true" if facts.draining else "false"),
        ("id", facts.node_id),
    ]
    if tuber:
        fields.append(("name", plain(facts.name)))
    return [
        *fields,
        ("hostname", text(facts.hostname)),
        ("os", text(facts.kernel if tuber else facts.os)),
        ("platform", text(facts.platform)),
    ]
