"""What all queues of a node share."""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count

from etcdq.actors import limits
from etcdq.actors.message import Handle
from etcdq.actors.queue.groups import Groups
from etcdq.actors.queue.job import Job
from etcdq.actors.queue.messages import Credit
from etcdq.actors.queue.slots import Slots
from etcdq.actors.queue.tube_messages import Face
from etcdq.actors.queue.tubes import Tubes


class Numbers:
    """Gives out job ids, from 1, and indexes; both rise over all queues and never repeat.

    Args:
        first_index: the first index: the wall clock in microseconds at start, so that a key of
            an earlier run hits nothing.
    """

    __slots__ = ("next_index", "next_job_id")

    def __init__(self, first_index: int) -> None:
        self.next_job_id: Callable[[], int] = count(1).__next__
        self.next_index: Callable[[], int] = count(first_index).__next__


@dataclass(slots=True)
class JobsBudget:
    """Bytes that the jobs of all queues take (see `job.cost_bytes`), and may take; 0: no limit."""

    bytes_max: int = 0
    used_bytes: int = 0


@dataclass(slots=True)
class Totals:
    """What has happened to the jobs of all queues, also of those that are gone."""

    jobs: int = 0
    timeouts: int = 0
    deletes: int = 0


def _nobody(_name: bytes) -> Handle:
    raise LookupError("this node has no other queue to tell")


def _faceless(_name: bytes, _now_s: float) -> Face | None:
    return None


@dataclass(slots=True)
class QueueContext:
    """What a queue is given by its node; shared by all queues, so not to be changed by one.

    Args:
        node_id: value of the registry keys.
        registry: takes `SetRegistry` and `DropRegistry`.
        numbers: shared by all queues of the node.
        prefix: the canonical queue prefix, with both slashes.
        budget: shared by all queues of the node.
        credit: what a consumer gets that does not ask for another one.
        max_jobs: jobs one queue may hold (`--max-jobs-per-queue`); 0 for no limit.
        idle_s: an unused queue is reaped after this many seconds (`--queue-idle`).
        request_bytes_max: a larger body is not offered to watches (rule 7); 0 for no limit.
        draining: set by the node when it takes no new jobs; read at every put.
        directory: every job of the node by its id.
        slots, groups: the keys that span queues.
        tubes: the names of the queues that exist, in the order beanstalkd lists them.
        totals: counters over all queues.
        queue: the handle of another queue.
        face: what another queue shows at an instant, or None; read by workers.
    """

    node_id: bytes
    registry: Handle
    numbers: Numbers
    prefix: bytes = b"/q/"
    budget: JobsBudget = field(default_factory=JobsBudget)
    credit: Credit = field(default_factory=Credit)
    max_jobs: int = 0
    idle_s: float = limits.QUEUE_IDLE_S
    request_bytes_max: int = 0
    draining: bool = False
    directory: dict[int, Job] = field(default_factory=dict)
    slots: Slots = field(default_factory=Slots)
    groups: Groups = field(default_factory=Groups)
    tubes: Tubes = field(default_factory=Tubes)
    totals: Totals = field(default_factory=Totals)
    queue: Callable[[bytes], Handle] = _nobody
    face: Callable[[bytes, float], Face | None] = _faceless
