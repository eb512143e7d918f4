"""The documents of a job, a tube and a group, byte for byte."""

from typing import Any

import msgspec
import pytest
import yaml

from etcdq.actors.queue.messages import JobState, JobView, Tags, TimingStatistics, TubeStatistics
from etcdq.actors.queue.tube_messages import JobStatistics
from etcdq.server.beanstalk.door import Dialect, GroupStatistics
from etcdq.server.beanstalk.statistics import stats_group, stats_job, stats_tube

ALL_TAGS = Tags(
    idp=b"once", idp_ttl_s=300, grp=b"import", aft=b"fetch", con=b"api.example", con_limit=3
)

JOB = JobStatistics(
    queue=b"mail",
    view=JobView(
        job_id=17,
        index=1_790_000_000_000_001,
        key=b"",
        tail=b"",
        body=b"hello",
        priority=4294967295,
        state=JobState.RESERVED,
        delay_s=5.0,
        ttr_s=60.0,
        age_s=71.999,
        holder="4",
    ),
    time_left_s=58.25,
    reserved_s=1.75,
    reserves=2,
    timeouts=1,
    releases=3,
    buries=4,
    kicks=5,
    tags=ALL_TAGS,
)

BEANSTALKD_JOB = b"""---
id: 17
tube: mail
state: reserved
pri: 4294967295
age: 71
delay: 5
ttr: 60
time-left: 58
file: 0
reserves: 2
timeouts: 1
releases: 3
buries: 4
kicks: 5
"""

TUBER_JOB = b"""---
id: 17
tube: "mail"
state: reserved
pri: 4294967295
age: 71
delay: 5
ttr: 60
time-left: 58
time-reserved: 1
file: 0
reserves: 2
timeouts: 1
releases: 3
buries: 4
kicks: 5
idempotency-key: once
idempotency-ttl: 300
group: import
after-group: fetch
concurrency-key: api.example
concurrency-limit: 3
"""

TUBE = TubeStatistics(
    name=b"mail",
    urgent=1,
    ready=2,
    reserved=3,
    delayed=4,
    buried=5,
    using=6,
    watching=7,
    waiting=8,
    pause_s=86400.0,
    pause_left_s=86399.5,
    jobs_total=21,
    deletes_total=9,
    pauses_total=10,
    reserves_total=12,
    timeouts_total=11,
    buries_total=8,
    timing=TimingStatistics(
        processing_ewma_s=0.25,
        processing_min_s=0.000001,
        processing_max_s=12.5,
        processing_samples=9,
        fast_ewma_s=0.03125,
        fast_samples=4,
        slow_ewma_s=1.5,
        slow_samples=5,
        p50_s=0.75,
        p95_s=11.0,
        p99_s=12.5,
        queue_ewma_s=3.0,
        queue_min_s=0.0,
        queue_max_s=3600.0,
        queue_samples=12,
    ),
    oldest_ready_id=13,
    oldest_ready_age_s=100.9,
    oldest_delayed_age_s=200.9,
    oldest_buried_age_s=300.9,
)

BEANSTALKD_TUBE = b"""---
name: mail
current-jobs-urgent: 1
current-jobs-ready: 2
current-jobs-reserved: 3
current-jobs-delayed: 4
current-jobs-buried: 5
total-jobs: 21
current-using: 6
current-watching: 7
current-waiting: 8
cmd-delete: 9
cmd-pause-tube: 10
pause: 86400
pause-time-left: 86399
"""

TUBER_TUBE = b"""---
name: "mail"
current-jobs-urgent: 1
current-jobs-ready: 2
current-jobs-reserved: 3
current-jobs-delayed: 4
current-jobs-buried: 5
total-jobs: 21
current-using: 6
current-watching: 7
current-waiting: 8
oldest-ready-id: 13
oldest-ready-age: 100
oldest-delayed-age: 200
oldest-buried-age: 300
cmd-delete: 9
cmd-pause-tube: 10
pause: 86400
pause-time-left: 86399
total-reserves: 12
total-timeouts: 11
total-buries: 8
bury-rate: 0.666667
processing-time-ewma: 0.250000
processing-time-min: 0.000001
processing-time-max: 12.500000
processing-time-samples: 9
processing-time-fast-threshold: 0.100000
processing-time-ewma-fast: 0.031250
processing-time-samples-fast: 4
processing-time-ewma-slow: 1.500000
processing-time-samples-slow: 5
processing-time-p50: 0.750000
processing-time-p95: 11.000000
processing-time-p99: 12.500000
queue-time-ewma: 3.000000
queue-time-min: 0.000000
queue-time-max: 3600.000000
queue-time-samples: 12
"""


def job(**changes: Any) -> JobStatistics:
    """The job, seen differently."""
    fields = {name: changes.pop(name) for name in list(changes) if hasattr(JOB.view, name)}
    view = msgspec.structs.replace(JOB.view, **fields)
    return msgspec.structs.replace(JOB, view=view, **changes)


@pytest.mark.parametrize(
    ("dialect", "expected"), [("beanstalkd", BEANSTALKD_JOB), ("tuber", TUBER_JOB)]
)
def test_job(dialect: Dialect, expected: bytes) -> None:
    """A job is shown as the reference shows it; the tags are tuber's alone."""
    assert stats_job(JOB, dialect) == expected


@pytest.mark.parametrize("state", list(JobState))
def test_job_states(state: JobState) -> None:
    """A state is shown by its word."""
    assert b"\nstate: %b\n" % state.value.encode() in stats_job(job(state=state), "beanstalkd")


def test_job_without_tags() -> None:
    """What a put did not say is empty, or 0; its space stays, as with tuber."""
    assert stats_job(job(tags=Tags()), "tuber").endswith(
        b"kicks: 5\nidempotency-key: \nidempotency-ttl: 0\ngroup: \nafter-group: \n"
        b"concurrency-key: \nconcurrency-limit: 0\n"
    )


def test_job_of_the_etcd_door() -> None:
    """A job that a consumer holds has no time to run."""
    shown = yaml.safe_load(stats_job(job(ttr_s=0.0, time_left_s=0.0), "tuber"))
    assert (shown["ttr"], shown["time-left"], shown["state"]) == (0, 0, "reserved")


def test_job_at_the_end_of_its_time() -> None:
    """What is left is never negative, however late the clock is looked at."""
    assert b"\ntime-left: 0\n" in stats_job(job(time_left_s=-0.5), "beanstalkd")


def test_longest_ttr() -> None:
    """The largest TTR is echoed as it came, with a second less to go."""
    shown = yaml.safe_load(stats_job(job(ttr_s=4294967295.0, time_left_s=4294967295.0), "tuber"))
    assert (shown["ttr"], shown["time-left"]) == (4294967295, 4294967294)


@pytest.mark.parametrize(
    ("dialect", "expected"), [("beanstalkd", BEANSTALKD_TUBE), ("tuber", TUBER_TUBE)]
)
def test_tube(dialect: Dialect, expected: bytes) -> None:
    """A tube is shown as the reference shows it; times and rates are tuber's alone."""
    assert stats_tube(TUBE, dialect) == expected


def test_bury_rate_without_reserves() -> None:
    """Nothing reserved is a rate of 0, not an error."""
    fresh = msgspec.structs.replace(TUBE, reserves_total=0, buries_total=0)
    assert b"\nbury-rate: 0.000000\n" in stats_tube(fresh, "tuber")


def test_pause_that_has_just_begun() -> None:
    """A pause is shown whole, and as less than whole in what is left."""
    paused = msgspec.structs.replace(TUBE, pause_s=10.0, pause_left_s=10.0)
    assert b"\npause: 10\npause-time-left: 9\n" in stats_tube(paused, "beanstalkd")


def test_group() -> None:
    """A group shows its members by state, and how many jobs wait for them."""
    shown = GroupStatistics(ready=1, reserved=2, delayed=3, buried=4, waiting=5)
    assert stats_group(b"import", shown) == (
        b'---\nname: "import"\nready: 1\nreserved: 2\ndelayed: 3\nburied: 4\nwaiting-jobs: 5\n'
    )


def test_group_in_a_cycle() -> None:
    """Groups that wait for each other are named, so that somebody can end it."""
    shown = GroupStatistics(
        ready=0, reserved=0, delayed=1, buried=0, waiting=1, cycle=(b"a.1", b"b")
    )
    document = stats_group(b"a.1", shown)
    assert document.endswith(b'waiting-jobs: 1\ncycle: ["a.1", "b"]\n')
    assert yaml.safe_load(document)["cycle"] == ["a.1", "b"]
