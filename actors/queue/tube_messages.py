"""The vocabulary of a queue as a tube: what beanstalk connections ask it, and tell it.

Jobs are asked for by their id, and a post to a job's id reaches the queue that has it (`stage.py`).
A connection is named by its number; what it holds is told to its worker (`actors/worker/`). A
refusal is a reply whose value is an error; `NoSuchJobError` covers every job that is not there or
not in the state the request needs. Source: docs/semantics.md section 4.
"""

from etcdq.actors.message import Address
from etcdq.actors.queue.messages import JobState, JobView, Message, Tags
from etcdq.actors.queue.timing import TimingStatistics


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


class Claim(Message, frozen=True, gc=False):
    """A worker wants the head, if it is not behind `limit` (None: any). Told `Granted`."""

    worker: Address
    connection: int
    limit: Head | None = None


class ClaimJob(Message, frozen=True, gc=False):
    """A worker wants this job, in whatever state but reserved. Told `Granted`."""

    worker: Address
    connection: int
    job_id: int


class Grant(Message, frozen=True, gc=False):
    """A job that is reserved from now on. `expires_s` is on the shell's clock."""

    job_id: int
    body: bytes
    expires_s: float


class Granted(Message, frozen=True, gc=False):
    """Told to a worker: the answer to its claim; None: there is no such job now."""

    queue: bytes
    grant: Grant | None


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


class LetGo(Message, frozen=True, gc=False):
    """Told to a worker: it holds this job no longer, by its own doing or by the clock's."""

    job_id: int


class Extended(Message, frozen=True, gc=False):
    """Told to a worker: its reservation of this job now ends at `expires_s`."""

    job_id: int
    expires_s: float


class Abandon(Message, frozen=True, gc=False):
    """A connection is over: what it holds here is ready again, and nobody is to blame."""

    connection: int


class Refer(Message, frozen=True, gc=False):
    """So many connections more (or fewer) use, and watch, this queue: it lives while one does."""

    using: int = 0
    watching: int = 0


# jobs by id ---------------------------------------------------------------------------------


class Done(Message, frozen=True, gc=False):
    """It is done."""


class DeleteJob(Message, frozen=True, gc=False):
    """Delete a job that this connection reserved, or that nobody did. Replies `Done`."""

    to: Address
    job_id: int
    connection: int


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


class TubeStatistics(Message, frozen=True, gc=False):
    """A queue as a tube. `*_total` count since it was created; consumers of the etcd door count
    as watching, and as waiting while they could take a job. `oldest_*` are of the job that would
    leave its state first, its age since its put; 0 where there is none."""

    name: bytes
    urgent: int
    ready: int
    reserved: int
    delayed: int
    buried: int
    using: int
    watching: int
    waiting: int
    pause_s: float
    pause_left_s: float
    jobs_total: int
    deletes_total: int
    pauses_total: int
    reserves_total: int
    timeouts_total: int
    buries_total: int
    timing: TimingStatistics
    oldest_ready_id: int = 0
    oldest_ready_age_s: float = 0.0
    oldest_delayed_age_s: float = 0.0
    oldest_buried_age_s: float = 0.0
