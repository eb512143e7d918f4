"""The node behind the doors: its actors, what they share, and what a door is given of them.

Without a store a restart is an etcd whose data was wiped: revision 1, a new cluster.

Trio shell.
"""

import secrets
import time
from collections.abc import Sequence
from typing import Any

import trio

from etcdq.actors import limits
from etcdq.actors.core import Core
from etcdq.actors.mailbox import KeyedHandle
from etcdq.actors.node.keyspace import KeySpaceCore
from etcdq.actors.node.mvcc.store import FIRST_REVISION
from etcdq.actors.queue.context import JobsBudget, Numbers, QueueContext
from etcdq.actors.queue.core import QueueCore
from etcdq.actors.queue.messages import QueueStatistics
from etcdq.actors.shell import Shell, WriteLog
from etcdq.actors.stage import Stage
from etcdq.server.config import NodeConfig
from etcdq.server.etcd.door import Door, DoorSettings, Identity

API_VERSION = "3.5.0"
"""What clients that ask are told: the version of etcd's API that this node speaks."""

_KEY_SPACE = "keys"


class Node:
    """The key space and the queues of one node, in two shells, and the door's view of them.

    A queue is born by the first message to its name, so a handle to any name is at hand.

    Args:
        config: the operator's choices.
        urls: where clients reach the node.
        log: takes the log lines of the cores.
    """

    def __init__(self, config: NodeConfig, urls: Sequence[str], *, log: WriteLog) -> None:
        board: dict[str, Any] = {}
        identity = Identity(
            name=config.name,
            cluster_id=_new_id(),
            member_id=_new_id(),
            version=API_VERSION,
            client_urls=tuple(urls),
        )
        self._key_space = KeySpaceCore()
        board["revision"] = FIRST_REVISION
        self._keys = Shell(Stage(self._bear_key_space), board, log=log)
        self._queues = Shell(Stage(self._bear_queue), board, log=log)
        self._handles: dict[bytes, KeyedHandle] = {}
        """Those asked for lately: nearly every call names a queue that another one has named."""
        keys = KeyedHandle(self._keys.mailbox, _KEY_SPACE)
        self._context = QueueContext(
            node_id=f"{identity.member_id:x}".encode(),
            registry=keys,
            numbers=Numbers(time.time_ns() // 1_000),
            prefix=config.queue_prefixes[0],
            budget=JobsBudget(config.max_jobs_size),
            credit=config.consumer_credit,
            max_jobs=config.max_jobs_per_queue,
            idle_s=config.queue_idle,
        )
        self.door = Door(
            identity=identity,
            board=board,
            keys=keys,
            queue=self.queue,
            census=self.census,
            keys_statistics=self._key_space.statistics,
            settings=DoorSettings(
                queue_prefixes=config.queue_prefixes,
                request_bytes_max=config.max_request_bytes,
                accept_timeout_s=config.accept_timeout,
                credit=config.consumer_credit,
                jobs_per_queue_max=config.max_jobs_per_queue,
                jobs_bytes_max=config.max_jobs_size,
            ),
        )

    async def start(self, nursery: trio.Nursery) -> None:
        """Run both shells in `nursery`; a `CoreFault` ends it."""
        await nursery.start(self._keys.run)
        await nursery.start(self._queues.run)

    def drain(self) -> None:
        """Refuse puts from now on; everything that shrinks a queue still works."""
        self._context.draining = True

    def queue(self, name: bytes) -> KeyedHandle:
        """Return the handle of a queue; creates nothing."""
        handles = self._handles
        handle = handles.get(name)
        if handle is None:
            if len(handles) >= limits.QUEUE_HANDLES_MAX:
                handles.clear()
            handle = handles[name] = KeyedHandle(self._queues.mailbox, name)
        return handle

    def census(self) -> list[QueueStatistics]:
        """Return the statistics of every living queue."""
        return [core.statistics() for core in self._queues.stage.cores.values()]

    def _bear_key_space(self, _key: str) -> Core:
        return self._key_space

    def _bear_queue(self, name: bytes) -> Core:
        return QueueCore(name, self._context)


def _new_id() -> int:
    """Return a random unsigned 64-bit id that is not 0: etcd reads 0 as no member at all."""
    return secrets.randbelow(2**64 - 1) + 1
