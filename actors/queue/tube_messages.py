"""The vocabulary of a queue as a tube: what beanstalk connections ask it, and tell it.

Jobs are asked for by their id, and a post to a job's id reaches the queue that has it (`stage.py`).
A connection is named by its number; what it holds is told to its worker (`actors/worker/`). A
refusal is a reply whose value is an error; `NoSuchJobError` covers every job that is not there or
not in the state the request needs. Source: docs/semantics.md section 4.
"""

from typing import NamedTuple

from etcdq.actors.message import Address
from etcdq.actors.queue.messages import JobState, JobView, Message, Put, Tags


class Puts(Message, frozen=True, gc=False):
    """Several puts, in order. Replies a tuple of what each `Put` would reply."""

    to: Address
    puts: tuple[Put, ...]


class Duplicate(Message, frozen=True, gc=False):
    """Reply to a `Put` whose `idp` is taken: by a job in `state`, None: deleted a while ago.

    `priority` is what the put made the job's priority, None if that stays.
    """

    job_id: int
    state: JobState | None
    priority: int | None = None


# reserving ----------------------------------------------------------------------------------

Head = tuple[int, int]
"""(priority, index) of a job: the smallest leaves first, over all queues."""


class Face(NamedTuple):
    """What a queue with a job to give shows to workers.

    `connection` is 0, or the one that may claim: it was invited, the others wait behind it.
    `processing_s` is the average of its jobs' times, over `samples` jobs.
    """

    head: Head
    connection: int
    processing_s: float
    samples: int


class Reserver:
    """A beanstalk connection as the holder of jobs: one object per connection, for all queues."""

    __slots__ = ("connection", "identity")

    def __init__(self, connection: int) -> None:
        self.connection = connection
        self.identity = f"connection {connection}"


class Claim(Message, frozen=True, gc=False):
    """A worker wants up to `count` jobs from the head on, none behind `limit` (None: any). Told
    `Granted`."""

    worker: Address
    reserver: Reserver
    limit: Head | None = None
    count: int = 1


class ClaimJob(Message, frozen=True, gc=False):
    """A worker wants this job, in whatever state but reserved. Told `Granted`."""

    worker: Address
    reserver: Reserver
    job_id: int


class Grant(Message, frozen=True, gc=False):
    """A job that is reserved from now on."""

    job_id: int
    body: bytes


class Granted(Message, frozen=True, gc=False):
    """Told to a worker: the answer to its claim; empty: there is no such job now."""

    queue: bytes
    grants: tuple[Grant, ...]


class Wait(Message, frozen=True, gc=False):
    """A worker waits for a job of this queue, behind those that wait already."""

    worker: Address
    connection: int


class Forget(Message, frozen=True, gc=False):
    """A worker waits no longer."""

    connection: int


class Invite(Message, frozen=True, gc=False):
    """Told to the first that waits: there is a job, claim. Nobody else is told meanwhile."""

    queue: bytes


class Abandon(Message, frozen=True, gc=False):
    """A connection is over: of these jobs those it holds are ready again."""

    connection: int
    job_ids: tuple[int, ...]


class Refer(Message, frozen=True, gc=False):
    """So many connections more (or fewer) use, and watch, this queue: it lives while one does."""

    using: int = 0
    watching: int = 0


# among queues -------------------------------------------------------------------------------


class Serve(Message, frozen=True, gc=False):
    """Told by a queue to itself: offer the job now. It wants a slot that others want, too; had it
    taken it at once, those that others invited would always have come too late."""


class SlotFreed(Message, frozen=True, gc=False):
    """Told to a queue: a slot of this concurrency key is free."""

    key: bytes


class GroupCompleted(Message, frozen=True, gc=False):
    """Told to a queue: the group that its job of that index was held for is complete."""

    index: int


# jobs by id ---------------------------------------------------------------------------------


class Done(Message, frozen=True, gc=False):
    """It is done."""


class DeleteJob(Message, frozen=True, gc=False):
    """Delete a job that this connection reserved, or that nobody did. Replies `Done`."""

    to: Address
    job_id: int
    connection: int


class DeleteJobs(Message, frozen=True, gc=False):
    """Delete jobs of this queue, each as by `DeleteJob`. Replies `JobsDeleted`."""

    to: Address
    job_ids: tuple[int, ...]
    connection: int


class JobsDeleted(Message, frozen=True, gc=False):
    """Of each of them, whether it was deleted."""

    deleted: tuple[bool, ...]


class ReleaseJob(Message, frozen=True, gc=False):
    """Make a job that this connection reserved ready or delayed. Replies `Done`."""

    to: Address
    job_id: int
    connection: int
    priority: int
    delay_s: float


class BuryJob(Message, frozen=True, gc=False):
    """Bury a job that this connection reserved. Replies `Done`."""

    to: Address
    job_id: int
    connection: int
    priority: int


class TouchJob(Message, frozen=True, gc=False):
    """Let the time of a reservation of this connection begin anew. Replies `Done`."""

    to: Address
    job_id: int
    connection: int


class KickJob(Message, frozen=True, gc=False):
    """Make a buried or delayed job ready. Replies `Done`."""

    to: Address
    job_id: int


class PeekJob(Message, frozen=True, gc=False):
    """Replies the job's `JobView`."""

    to: Address
    job_id: int


class ShowJob(Message, frozen=True, gc=False):
    """Replies `JobStatistics`."""

    to: Address
    job_id: int


class JobStatistics(Message, frozen=True, gc=False):
    """A job and its life so far. `time_left_s` of its reservation or delay, 0.0 otherwise."""

    queue: bytes
    view: JobView
    time_left_s: float
    reserved_s: float
    """How long it has been reserved."""
    reserves: int
    timeouts: int
    releases: int
    buries: int
    kicks: int
    tags: Tags


# tubes --------------------------------------------------------------------------------------


class PauseTube(Message, frozen=True, gc=False):
    """Hand out nothing for `pause_s` seconds. Replies `Done`, or `NoSuchQueueError`."""

    to: Address
    pause_s: float


class FlushTube(Message, frozen=True, gc=False):
    """Delete every job in any state, and what is remembered of deleted ones.

    Replies `Flushed`, or `NoSuchQueueError`.
    """

    to: Address


class Flushed(Message, frozen=True, gc=False):
    """How many jobs were deleted."""

    count: int


class ShowTube(Message, frozen=True, gc=False):
    """Replies `TubeStatistics`, or `NoSuchQueueError`."""

    to: Address
