"""A job, and the one table of how its state may change.

Rules of this file: whoever changes a job's state looks the new one up here,
`job.state = HAND_OUT[job.state]`, so a change that is not in the table is a KeyError at once.
A job is deleted from any state; then it is in no place at all. What a state means for the
queue's places (line, delays, a consumer's hands, buried) is kept by `core.py`.
"""

from typing import TYPE_CHECKING

import msgspec

from etcdq.actors.core import NEVER_S
from etcdq.actors.queue.messages import JobState, Tags

if TYPE_CHECKING:
    from etcdq.actors.queue.consumers import Consumer
    from etcdq.actors.queue.tube_messages import Reserver

READY = JobState.READY
RESERVED = JobState.RESERVED
DELAYED = JobState.DELAYED
BURIED = JobState.BURIED

Change = dict[JobState, JobState]

Place = tuple[int, int]
"""Priority and index of a job: the smallest leaves first."""

HAND_OUT: Change = {READY: RESERVED}
RESERVE: Change = {READY: RESERVED, DELAYED: RESERVED, BURIED: RESERVED}
GIVE_BACK: Change = {RESERVED: READY}
DELAY: Change = {RESERVED: DELAYED}
BURY: Change = {RESERVED: BURIED}
RIPEN: Change = {DELAYED: READY}
KICK: Change = {BURIED: READY, DELAYED: READY}

TRANSITIONS: dict[str, Change] = {
    "hand out": HAND_OUT,
    "reserve by id": RESERVE,
    "give back": GIVE_BACK,
    "delay": DELAY,
    "bury": BURY,
    "ripen": RIPEN,
    "kick": KICK,
}
"""Every change of state after the put, which makes a job ready or, with a delay, delayed."""


class JobExtra(msgspec.Struct, gc=False, eq=False):
    """What not every job has. `delay_s` and `ttr_s` are as last asked for; `due_s` is when a delay
    or a reservation ends, `reserved_at_s` when that began, on the shell's clock."""

    delay_s: float = 0.0
    ttr_s: float = 0.0
    due_s: float = NEVER_S
    reserved_at_s: float = 0.0
    reserves: int = 0
    timeouts: int = 0
    releases: int = 0
    buries: int = 0
    kicks: int = 0
    tags: Tags | None = None


class Job(msgspec.Struct, gc=False, eq=False):
    """One job. Made by the million, so it is small and no business of the garbage collector.

    `tail` is often the same object as `key`; both are empty where the job's id is its key (see
    `key_of`). `holder` is set exactly while it is reserved.
    """

    index: int
    job_id: int
    queue: bytes
    key: bytes
    tail: bytes
    body: bytes
    priority: int
    put_s: float
    state: JobState
    holder: "Consumer | Reserver | None" = None
    extra: JobExtra | None = None


def extra_of(job: Job) -> JobExtra:
    """Return the job's extra, made if it had none."""
    extra = job.extra
    if extra is None:
        extra = job.extra = JobExtra()
    return extra


def tags_of(job: Job) -> Tags | None:
    """Return what its put said beyond numbers."""
    extra = job.extra
    return extra.tags if extra is not None else None


def key_of(job: Job) -> bytes:
    """Return its producer key."""
    return job.key or b"%d" % job.job_id


def tail_of(job: Job) -> bytes:
    """Return the last segment of its producer key."""
    return job.tail or b"%d" % job.job_id


def key_wanted(job: Job) -> bytes:
    """Return the concurrency key of which a job takes a slot while it is reserved, or nothing."""
    tags = tags_of(job)
    return tags.con if tags is not None else b""


def place_of(job: Job) -> Place:
    """Return where a ready job stands, over all queues."""
    return job.priority, job.index
