"""A job, and the one table of how its state may change.

Rules of this file: whoever changes a job's state looks the new one up here,
`job.state = HAND_OUT[job.state]`, so a change that is not in the table is a KeyError at once.
A job is deleted from any state; then it is in no place at all. What a state means for the
queue's places (line, delays, a consumer's hands, buried) is kept by `core.py`.
"""

from typing import TYPE_CHECKING

import msgspec

from etcdq.actors.queue.messages import JobState

if TYPE_CHECKING:
    from etcdq.actors.queue.consumers import Consumer

READY = JobState.READY
RESERVED = JobState.RESERVED
DELAYED = JobState.DELAYED
BURIED = JobState.BURIED

Change = dict[JobState, JobState]

HAND_OUT: Change = {READY: RESERVED}
GIVE_BACK: Change = {RESERVED: READY}
BURY: Change = {RESERVED: BURIED}
RIPEN: Change = {DELAYED: READY}
KICK: Change = {BURIED: READY, DELAYED: READY}

TRANSITIONS: dict[str, Change] = {
    "hand out": HAND_OUT,
    "give back": GIVE_BACK,
    "bury": BURY,
    "ripen": RIPEN,
    "kick": KICK,
}
"""Every change of state after the put, which makes a job ready or, with a delay, delayed."""


class JobExtra(msgspec.Struct, gc=False, eq=False):
    """What few jobs have; times in seconds, `ready_at_s` on the shell's clock."""

    delay_s: float
    ttr_s: float
    ready_at_s: float


class Job(msgspec.Struct, gc=False, eq=False):
    """One job. Made by the million, so it is small and no business of the garbage collector.

    `tail` is often the same object as `key`. `holder` is set exactly while it is reserved.
    """

    index: int
    job_id: int
    key: bytes
    tail: bytes
    body: bytes
    priority: int
    put_s: float
    state: JobState
    holder: "Consumer | None" = None
    extra: JobExtra | None = None
