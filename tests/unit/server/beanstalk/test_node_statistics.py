"""The document `stats`, byte for byte."""

from dataclasses import replace

import pytest
import yaml

from etcdq.server.beanstalk.counts import COMMANDS, CommandCounts
from etcdq.server.beanstalk.door import Dialect, DoorSettings, NodeFacts, NodeTotals
from etcdq.server.beanstalk.node_statistics import COUNTED, stats

TOTALS = NodeTotals(
    urgent=1,
    ready=2,
    reserved=3,
    delayed=4,
    buried=5,
    waiting=6,
    timeouts_total=7,
    jobs_total=8,
    tubes=9,
    concurrency_keys=10,
    jobs_bytes=5170,
    jobs_bytes_max=10000,
    drift_events=0,
)
FACTS = NodeFacts(
    version="0.3.0",
    name="node-1",
    node_id="0123456789abcdef",
    draining=False,
    pid=4711,
    user_s=12.5,
    system_s=0.000001,
    resident_bytes_max=31457280,
    uptime_s=99.99,
    hostname="example",
    os="Linux 6.1",
    platform="x86_64",
    kernel="Linux 6.1",
)


def counted() -> CommandCounts:
    """Each command given another number of times: 100, 101, ..."""
    given = {name: number for number, name in enumerate(COMMANDS, 100)}
    return CommandCounts(
        given=given, connections=20, producers=21, workers=22, connections_total=23
    )


def shown(dialect: Dialect) -> bytes:
    """The document of the node above."""
    return stats(TOTALS, counted(), FACTS, DoorSettings(dialect=dialect))


def commands(*names: str) -> bytes:
    """The lines of these commands, where each counts for itself."""
    return b"".join(b"cmd-%b: %d\n" % (n.encode(), COMMANDS.index(n) + 100) for n in names)


HEAD = b"""---
current-jobs-urgent: 1
current-jobs-ready: 2
current-jobs-reserved: 3
current-jobs-delayed: 4
current-jobs-buried: 5
"""
CONNECTIONS = b"""current-tubes: 9
current-connections: 20
current-producers: 21
current-workers: 22
current-waiting: 6
total-connections: 23
pid: 4711
"""


def test_beanstalkd() -> None:
    """The beanstalkd dialect has that server's fields and no other."""
    assert shown("beanstalkd") == HEAD + commands(
        "put", "peek", "peek-ready", "peek-delayed", "peek-buried", "reserve",
        "reserve-with-timeout", "delete", "release", "use", "watch", "ignore", "bury", "kick",
        "touch", "stats", "stats-job", "stats-tube", "list-tubes", "list-tube-used",
        "list-tubes-watched", "pause-tube",
    ) + b"job-timeouts: 7\ntotal-jobs: 8\nmax-job-size: 65535\n" + CONNECTIONS + (
        b"""version: "1.12"
rusage-utime: 12.500000
rusage-stime: 0.000001
uptime: 99
binlog-oldest-index: 0
binlog-current-index: 0
binlog-records-migrated: 0
binlog-records-written: 0
binlog-max-size: 10485760
draining: false
id: 0123456789abcdef
hostname: example
os: Linux 6.1
platform: x86_64
"""
    )  # fmt: skip


def test_tuber() -> None:
    """The tuber dialect has all of its fields, in its order."""
    number = COMMANDS.index
    reserve = b"cmd-reserve: %d\n" % (number("reserve") + number("reserve-job") + 200)
    kick = b"cmd-kick: %d\n" % (number("kick") + number("kick-job") + 200)
    assert shown("tuber") == HEAD + commands(
        "put", "peek", "peek-ready", "peek-delayed", "peek-buried", "peek-reserved",
    ) + reserve + commands(
        "reserve-with-timeout", "delete", "release", "use", "watch", "ignore", "bury",
    ) + kick + commands(
        "touch", "stats", "stats-job", "stats-tube", "list-tubes", "list-tube-used",
        "list-tubes-watched", "pause-tube", "reserve-mode",
    ) + (
        b"job-timeouts: 7\ntotal-jobs: 8\nmax-job-size: 65535\ncurrent-jobs-size: 5170\n"
        b"max-jobs-size: 10000\naccounting-drift-events: 0\n"
    ) + CONNECTIONS + (
        b"""version: "tuber 0.6.4 (etcdq 0.3.0)"
rusage-utime: 12.500000
rusage-stime: 0.000001
rusage-maxrss: 31457280
uptime: 99
binlog-oldest-index: 0
binlog-current-index: 0
binlog-records-migrated: 0
binlog-records-written: 0
binlog-max-size: 0
binlog-enabled: false
binlog-file-count: 0
binlog-total-bytes: 0
toast-total-bytes: 0
toast-live-bytes: 0
toast-segments: 0
toast-compactions-total: 0
toast-bodies-migrated-total: 0
toast-bodies-dropped-corrupted: 0
recovered-missing-bodies: 0
reclaimed-orphan-bodies: 0
reclaimed-stranded-bodies: 0
max-storage-bytes: 0
current-concurrency-keys: 10
draining: false
id: 0123456789abcdef
name: node-1
hostname: example
os: Linux 6.1
platform: x86_64
"""
    )  # fmt: skip


def test_what_is_shown_is_counted() -> None:
    """No number of the document is of a command that does not exist."""
    assert set(COUNTED) <= set(COMMANDS)


@pytest.mark.parametrize("dialect", ["beanstalkd", "tuber"])
def test_draining(dialect: Dialect) -> None:
    """A drain shows as YAML's true."""
    facts = replace(FACTS, draining=True)
    document = stats(TOTALS, counted(), facts, DoorSettings(dialect=dialect))
    assert b"\ndraining: true\n" in document
    assert yaml.safe_load(document)["draining"] is True


def test_texts_of_the_machine_are_not_yaml() -> None:
    """A kernel's version that would be a comment, or a name with a colon, is still read whole."""
    facts = replace(FACTS, kernel="#1 SMP", name="a: b", hostname="ø")
    document = yaml.safe_load(stats(TOTALS, counted(), facts, DoorSettings()))
    assert (document["os"], document["name"], document["hostname"]) == ("#1 SMP", "a: b", "ø")


def test_beanstalkd_quotes_nothing_of_the_machine() -> None:
    """In that dialect a kernel's version stands as the system says it, comment or not."""
    facts = replace(FACTS, os="#1 SMP Debian 6.1")
    document = stats(TOTALS, counted(), facts, DoorSettings(dialect="beanstalkd"))
    assert document.endswith(b"hostname: example\nos: #1 SMP Debian 6.1\nplatform: x86_64\n")


def test_settings() -> None:
    """The largest body is the one the operator allowed."""
    document = stats(TOTALS, counted(), FACTS, DoorSettings(job_bytes_max=10))
    assert b"\nmax-job-size: 10\n" in document
