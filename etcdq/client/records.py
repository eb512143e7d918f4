"""What the client library returns. All values are snapshots."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum


@dataclass(frozen=True, slots=True)
class KeyValue:
    """A key as it was at one revision."""

    key: bytes
    value: bytes
    create_revision: int
    mod_revision: int
    version: int
    lease: int = 0


@dataclass(frozen=True, slots=True)
class KeyRange:
    """The answer to a get, in key order.

    `count` is of all keys in the range, `more` says that the limit cut some off, `revision` is
    the store's when it answered. Iterating gives the keys that are here.
    """

    kvs: tuple[KeyValue, ...]
    count: int
    more: bool
    revision: int

    @property
    def first(self) -> KeyValue | None:
        """The key that was asked for, or the first of the range; None: there is none."""
        return self.kvs[0] if self.kvs else None

    def __iter__(self) -> Iterator[KeyValue]:
        return iter(self.kvs)

    def __len__(self) -> int:
        return len(self.kvs)


class EventKind(Enum):
    """What happened to a key."""

    PUT = "put"
    DELETE = "delete"


@dataclass(frozen=True, slots=True)
class Event:
    """One change of a key. A deleted one carries its key and the revision of its end."""

    kind: EventKind
    kv: KeyValue
    prev_kv: KeyValue | None = None


class JobState(Enum):
    """Where a message is in its life."""

    READY = "ready"
    RESERVED = "reserved"
    DELAYED = "delayed"
    BURIED = "buried"


@dataclass(frozen=True, slots=True)
class Job:
    """A message as it is shown. `ttr_s` 0: no time to run; `holder` "": nobody holds it."""

    job_id: int
    index: int
    key: bytes
    body: bytes
    priority: int
    delay_s: float
    ttr_s: float
    state: JobState
    age_s: float
    holder: str


@dataclass(frozen=True, slots=True)
class QueueSummary:
    """Counts of one queue: messages by state, consumers, and those that could take one now.

    Consumers are watches, and beanstalk connections that watch it. A "/" in a tube's name is
    spelled `%2F` in `name`.
    """

    name: str
    ready: int
    reserved: int
    delayed: int
    buried: int
    consumers: int
    waiting: int


@dataclass(frozen=True, slots=True)
class ConsumerStatistics:
    """One registered consumer. A credit of 0 is no limit; `since_s` counts from registration."""

    uuid: str
    peer: str
    held_messages: int
    held_bytes: int
    credit_messages: int
    credit_bytes: int
    since_s: float


@dataclass(frozen=True, slots=True)
class TubeStatistics:
    """What the beanstalk door counts of a queue; times in seconds, 0 without samples.

    `using`: connections whose puts go here. `processing_*` is from a message's reservation to its
    deletion; fast ones take less than 0.1 s; percentiles are of the last 1000 slow ones, or of
    fast ones where none was slow. `queue_*` is from its put to its reservation.
    """

    using: int
    pauses_total: int
    reserves_total: int
    timeouts_total: int
    buries_total: int
    bury_rate: float
    processing_average_s: float
    processing_min_s: float
    processing_max_s: float
    processing_samples: int
    fast_average_s: float
    fast_samples: int
    slow_average_s: float
    slow_samples: int
    processing_p50_s: float
    processing_p95_s: float
    processing_p99_s: float
    queue_average_s: float
    queue_min_s: float
    queue_max_s: float
    queue_samples: int


@dataclass(frozen=True, slots=True)
class QueueStatistics:
    """One queue. The `*_total` counters count since it began; `dispatcher` is a node id.

    `body_bytes` is of all messages that are here, `oldest_age_s` of the ready one that was put
    first, `paused_s` what is left of a pause. Limits of 0 are none. `oversized_head`: the next
    message is too large for watches, which pass it over: a beanstalk connection has to reserve it.
    """

    summary: QueueSummary
    urgent: int
    puts_total: int
    deliveries_total: int
    acknowledged_total: int
    deleted_total: int
    kicked_total: int
    dropped_consumers_total: int
    body_bytes: int
    oldest_age_s: float
    oversized_head: bool
    paused_s: float
    dispatcher: str
    consumers: tuple[ConsumerStatistics, ...]
    tube: TubeStatistics
    jobs_max: int
    jobs_bytes_max: int
    request_bytes_max: int
