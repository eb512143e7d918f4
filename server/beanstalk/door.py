"""What the beanstalk door is given by the node it opens on."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from etcdq.actors import limits
from etcdq.actors.message import Handle
from etcdq.actors.turns import Turns
from etcdq.server.beanstalk.counts import CommandCounts
from etcdq.server.readers import Readers

Dialect = Literal["tuber", "beanstalkd"]
"""`beanstalkd`: no extension, and statistics with exactly its fields."""


@dataclass(frozen=True, slots=True)
class DoorSettings:
    """What the operator may change about this door."""

    job_bytes_max: int = limits.JOB_BYTES_MAX
    dialect: Dialect = "tuber"


@dataclass(frozen=True, slots=True)
class NodeTotals:
    """A snapshot over all queues of the node. `*_total` counts since its start.

    `waiting`: connections whose reserve waits now, and consumers of watches that could take a job.
    `jobs_bytes` is what all jobs cost against `jobs_bytes_max` (0: no limit). `drift_events`: how
    often that sum was found to be wrong.
    """

    urgent: int
    ready: int
    reserved: int
    delayed: int
    buried: int
    waiting: int
    timeouts_total: int
    jobs_total: int
    tubes: int
    concurrency_keys: int
    jobs_bytes: int
    jobs_bytes_max: int
    drift_events: int


@dataclass(frozen=True, slots=True)
class GroupStatistics:
    """A snapshot of one group: its members by their state, and how many jobs are held until the
    last of them is deleted. `cycle`: groups that wait for each other, and with them this one."""

    ready: int
    reserved: int
    delayed: int
    buried: int
    waiting: int
    cycle: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """What the node says of itself and its process, at the moment it is asked.

    `node_id` is 16 hexadecimal digits, new at each start; `name` the operator's.
    """

    version: str
    name: str
    node_id: str
    draining: bool
    pid: int
    user_s: float
    """CPU time in user mode, and in the kernel below."""
    system_s: float
    resident_bytes_max: int
    uptime_s: float
    hostname: str
    os: str
    """What uname calls the system's version, as beanstalkd shows it; `kernel` is tuber's."""
    platform: str
    kernel: str = ""


@dataclass(frozen=True, slots=True)
class BeanstalkDoor:
    """The node, seen from the beanstalk door.

    Args:
        queue: the handle of a queue by name; creates nothing.
        job: a handle that reaches the queue that has the job.
        queue_of: the queue that has the job at this moment, None if there is none; `queues_of` the
            set of those of several jobs.
        worker: the handle of a connection's worker, by the connection's number.
        tubes: names of living tubes that this door can say, in the order of `list-tubes`.
        totals, facts: a snapshot.
        group: None for one that nobody belongs to and nobody waits for.
        set_draining: whether puts are refused from now on, on every door.
        new_connection: a number that no other connection of the node ever had.
        readers: of its sockets; they take the turns of the node's shells.
        spend_job_id: no job gets the next id: a refused put has used it up.
    """

    queue: Callable[[bytes], Handle]
    job: Callable[[int], Handle]
    queue_of: Callable[[int], bytes | None]
    queues_of: Callable[[list[int]], set[bytes | None]]
    worker: Callable[[int], Handle]
    tubes: Callable[[], list[bytes]]
    totals: Callable[[], NodeTotals]
    group: Callable[[bytes], GroupStatistics | None]
    facts: Callable[[], NodeFacts]
    set_draining: Callable[[bool], None]
    new_connection: Callable[[], int]
    spend_job_id: Callable[[], object]
    readers: Readers = field(default_factory=lambda: Readers(Turns(())))
    counts: CommandCounts = field(default_factory=CommandCounts)
    settings: DoorSettings = DoorSettings()
