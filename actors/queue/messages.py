"""The vocabulary of a queue: what it is asked, what it answers, what it tells consumers.

Names, keys and bodies are bytes, as they came. Every request carries the `Address` that its
`Reply` goes to; a refusal is a reply whose value is an error of `etcdq.actors.errors`.
Rules are those of docs/semantics.md section 2.
"""

from enum import Enum

import msgspec

from etcdq.actors import limits
from etcdq.actors.message import Address


class JobState(Enum):
    """Where a job is in its life. `RESERVED` covers held by a consumer and offered to one."""

    # By identity, in C: the table of transitions is looked up several times per job.
    __hash__ = object.__hash__

    READY = "ready"
    RESERVED = "reserved"
    DELAYED = "delayed"
    BURIED = "buried"


class Message(msgspec.Struct, frozen=True, gc=False):
    """Base of all messages and replies."""


class Credit(Message, frozen=True, gc=False):
    """What a consumer may hold unacknowledged (rule 11); 0 means no limit."""

    messages: int = limits.CONSUMER_CREDIT_MESSAGES
    body_bytes: int = limits.CONSUMER_CREDIT_BYTES


# producing ----------------------------------------------------------------------------------


class Tags(Message, frozen=True, gc=False):
    """What tuber lets a put say beyond its numbers; empty and 0 where it is not said.

    `idp`: one living job per key and queue, and for `idp_ttl_s` after its deletion none. `grp`: a
    member of that group. `aft`: held until that group is complete. `con`: at most `con_limit`
    jobs with that key are reserved at once, over all queues.
    """

    idp: bytes = b""
    idp_ttl_s: int = 0
    grp: bytes = b""
    aft: bytes = b""
    con: bytes = b""
    con_limit: int = 0


class Put(Message, frozen=True, gc=False):
    """Enter a job into the line. Replies `Inserted`, `OverLimitError` or `DrainingError`; with an
    `idp` tag also `Duplicate` (`tube_messages.py`).

    `tail` is the last segment of the producer key and goes into the delivery key; `key` is the
    whole producer key (client and tail together for `/i/{client}/{key}`). Both empty: the put came
    over beanstalk, and the job's id is its key.
    """

    to: Address
    key: bytes
    tail: bytes
    body: bytes
    priority: int = limits.PRIORITY_DEFAULT
    delay_s: float = 0.0
    ttr_s: float = 0.0
    tags: Tags | None = None


class Inserted(Message, frozen=True, gc=False):
    """The job is in the line."""

    job_id: int
    index: int


class ReadKey(Message, frozen=True, gc=False):
    """Read a producer key: the oldest job under it that is ready, delayed or held.

    Replies `Listing` with at most one job.
    """

    to: Address
    key: bytes


class DeleteKey(Message, frozen=True, gc=False):
    """Remove the jobs that wait (ready or delayed) under a producer key. Replies `Deleted`.

    `shown`: the reply carries what was removed, not only how many; so in all that follow.
    """

    to: Address
    key: bytes
    shown: bool = True


# consuming ----------------------------------------------------------------------------------


class Register(Message, frozen=True, gc=False):
    """A consumer begins to watch. Replies `Registered` before anything is offered.

    `watch` is the address of the consumer's core; a newer watch of the same `consumer` takes
    over (rule 4). `credit` None means the node's default. `peer` is what people are shown.
    """

    to: Address
    watch: Address
    consumer: str
    peer: str = ""
    credit: Credit | None = None


class Registered(Message, frozen=True, gc=False):
    """The consumer is in the registry."""


class Delivery(Message, frozen=True, gc=False):
    """One job as it is offered to a consumer."""

    index: int
    tail: bytes
    body: bytes


class Offer(Message, frozen=True, gc=False):
    """Told to a watch: take these, in order. Answered by exactly one `Accepted` or `Ended`."""

    watch: Address
    deliveries: tuple[Delivery, ...]


class Superseded(Message, frozen=True, gc=False):
    """Told to a watch: a newer watch of your consumer took over. Answered by `Ended`."""

    watch: Address


class Accepted(Message, frozen=True, gc=False):
    """A watch's word on its `Offer`: every offered index is in one of the three.

    `taken`: all bytes are written. `stalled`: it has them, not all bytes could be written at
    once; their end is told by `Taken` or `Ended`. `declined`: back to their place in the line.
    """

    watch: Address
    taken: tuple[int, ...]
    stalled: tuple[int, ...] = ()
    declined: tuple[int, ...] = ()


class Taken(Message, frozen=True, gc=False):
    """Stalled jobs whose bytes have all been written since."""

    watch: Address
    indexes: tuple[int, ...]


class Ended(Message, frozen=True, gc=False):
    """A watch is over. What it was offered and has not `taken` goes back to its place.

    `dropped`: because it made no progress for the accept timeout.
    """

    watch: Address
    taken: tuple[int, ...] = ()
    dropped: bool = False


class Acknowledge(Message, frozen=True, gc=False):
    """Delete one delivery key. Replies `Deleted`: no job if unknown or of an earlier hand-over."""

    to: Address
    index: int
    tail: bytes
    shown: bool = True


class Deleted(Message, frozen=True, gc=False):
    """What was removed, in index order (none if it was not to be shown), and how many."""

    jobs: tuple["JobView", ...]
    count: int


# looking ------------------------------------------------------------------------------------


class JobView(Message, frozen=True, gc=False):
    """A job as it is shown. `age_s` since its put, `holder` a consumer's identity or ""."""

    job_id: int
    index: int
    key: bytes
    tail: bytes
    body: bytes
    priority: int
    state: JobState
    delay_s: float = 0.0
    ttr_s: float = 0.0
    age_s: float = 0.0
    holder: str = ""


class Look(Message, frozen=True, gc=False):
    """List waiting jobs (`holder` None: ready and delayed) or those a consumer holds.

    Only jobs whose `{index}/{tail}` lies in [start, end) are meant; `end` None is no end. At most
    `limit` (0: all) are returned, in index order; the count is of all. Replies `Listing`.
    """

    to: Address
    start: bytes = b""
    end: bytes | None = None
    holder: str | None = None
    limit: int = 0


class Listing(Message, frozen=True, gc=False):
    """Jobs in index order, and how many there are in all."""

    jobs: tuple[JobView, ...]
    count: int


class ReadDelivery(Message, frozen=True, gc=False):
    """Read one delivery key: its job in any state, if `tail` is right (and `holder` holds it).

    Replies `Listing` with at most one job.
    """

    to: Address
    index: int
    tail: bytes
    holder: str | None = None


class Purge(Message, frozen=True, gc=False):
    """Acknowledge every job whose `{index}/{tail}` lies in [start, end), in any state (rule 15).

    `holder` not None: only what that consumer holds. Replies `Deleted`.
    """

    to: Address
    start: bytes = b""
    end: bytes | None = None
    holder: str | None = None
    shown: bool = True


class Kick(Message, frozen=True, gc=False):
    """Return up to `bound` buried jobs to the line, with new indexes; if there are none, delayed.

    Replies `Kicked`. Source: beanstalkd protocol, "kick".
    """

    to: Address
    bound: int


class Kicked(Message, frozen=True, gc=False):
    """How many jobs entered the line."""

    count: int


class Peek(Message, frozen=True, gc=False):
    """Look at `limit` jobs of one state, in the order they would leave it. Replies `Listing`."""

    to: Address
    state: JobState
    limit: int


class Pause(Message, frozen=True, gc=False):
    """Hand out nothing for `pause_s` seconds; 0 ends a pause. Replies `Paused`."""

    to: Address
    pause_s: float


class Paused(Message, frozen=True, gc=False):
    """The pause is in force."""


class Show(Message, frozen=True, gc=False):
    """Replies `QueueStatistics`."""

    to: Address


class ConsumerStatistics(Message, frozen=True, gc=False):
    """One registered consumer. `since_s` counts from its registration."""

    consumer: str
    peer: str
    held_messages: int
    held_bytes: int
    credit: Credit
    since_s: float
    stalled: bool


class TimingStatistics(Message, frozen=True, gc=False):
    """A snapshot, in seconds; all 0 where there is no sample. `processing_*` is from a job's
    reservation to its deletion, `queue_*` from its put to its reservation."""

    processing_ewma_s: float = 0.0
    processing_min_s: float = 0.0
    processing_max_s: float = 0.0
    processing_samples: int = 0
    fast_ewma_s: float = 0.0
    fast_samples: int = 0
    slow_ewma_s: float = 0.0
    slow_samples: int = 0
    p50_s: float = 0.0
    p95_s: float = 0.0
    p99_s: float = 0.0
    queue_ewma_s: float = 0.0
    queue_min_s: float = 0.0
    queue_max_s: float = 0.0
    queue_samples: int = 0


class TubeStatistics(Message, frozen=True, gc=False):
    """A queue as a tube. `*_total` count since it was created; consumers of the etcd door count
    as watching, and as waiting while they could take a job. `oldest_*` are of the job that would
    leave its state first, its age since its put; 0 where there is none. `delayed` leaves out those
    that are held for a group, as tuber does; `QueueStatistics.delayed` has them."""

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

    @property
    def bury_rate(self) -> float:
        """Jobs buried for each that was reserved; 0 where none was."""
        return self.buries_total / self.reserves_total if self.reserves_total else 0.0


class QueueStatistics(Message, frozen=True, gc=False):
    """A snapshot of one queue. `*_total` counters count since the queue was created.

    Every job that was put is in one of the four states, or counted once as acknowledged (removed
    by its delivery key after it was handed over) or as deleted (removed in any other way).
    """

    name: bytes
    exists: bool
    ready: int
    reserved: int
    delayed: int
    buried: int
    urgent: int
    body_bytes: int
    oldest_ready_age_s: float
    pause_left_s: float
    puts_total: int
    deliveries_total: int
    acknowledged_total: int
    deleted_total: int
    kicked_total: int
    buried_total: int
    dropped_consumers_total: int
    consumers: tuple[ConsumerStatistics, ...]
    tube: TubeStatistics
    oversized_head: bool = False
    """Whether the next job is too large for watches (rule 7): it waits for a reserve."""
