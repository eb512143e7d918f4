"""What the etcd door is given by the node it opens on."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from etcdq.actors import limits
from etcdq.actors.message import Handle
from etcdq.actors.queue.messages import Credit, QueueStatistics
from etcdq.actors.turns import Turns
from etcdq.server.readers import Readers


@dataclass(frozen=True, slots=True)
class DoorSettings:
    """What the operator may change about this door. `queue_prefixes`: the first is canonical.

    `jobs_per_queue_max` and `jobs_bytes_max` are only shown; 0: no limit.
    """

    queue_prefixes: tuple[bytes, ...] = (b"/q/", b"/queue/")
    request_bytes_max: int = limits.REQUEST_BYTES_MAX
    accept_timeout_s: float = limits.ACCEPT_TIMEOUT_S
    credit: Credit = field(default_factory=Credit)
    jobs_per_queue_max: int = 0
    jobs_bytes_max: int = 0


@dataclass(frozen=True, slots=True)
class Identity:
    """Who the node is, as etcd clients see it. Ids are unsigned 64-bit and never 0."""

    name: str
    cluster_id: int
    member_id: int
    version: str
    client_urls: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Door:
    """The node, seen from the etcd door: handles by name, the board, who we are.

    `board["revision"]` is the store's current revision. `queue(name)` never creates anything.
    `census` returns the statistics of every living queue, `keys_statistics` of the key space.
    `readers` read the sockets of its sessions, and take the turns of the node's shells.
    """

    identity: Identity
    board: dict[str, Any]
    keys: Handle
    queue: Callable[[bytes], Handle]
    census: Callable[[], list[QueueStatistics]]
    keys_statistics: Callable[[], Any]
    readers: Readers = field(default_factory=lambda: Readers(Turns(())))
    settings: DoorSettings = DoorSettings()
