"""The node behind the doors: its actors, what they share, and what each door is given of them.

Without a store a restart is an etcd whose data was wiped: revision 1, a new cluster.

Trio shell.
"""

import random
import secrets
import time
from collections.abc import Sequence
from functools import partial
from itertools import count
from typing import Any

import trio

from etcdq.actors import limits
from etcdq.actors.core import Core
from etcdq.actors.mailbox import KeyedHandle
from etcdq.actors.message import Address
from etcdq.actors.node.keyspace import KeySpaceCore
from etcdq.actors.node.mvcc.store import FIRST_REVISION
from etcdq.actors.queue.context import JobsBudget, Numbers, QueueContext
from etcdq.actors.queue.core import QueueCore
from etcdq.actors.queue.messages import QueueStatistics
from etcdq.actors.queue.nobody import NoJobCore
from etcdq.actors.queue.tube_messages import Face
from etcdq.actors.shell import Shell, WriteLog
from etcdq.actors.stage import Stage
from etcdq.actors.turns import Turns
from etcdq.actors.worker.core import WorkerCore
from etcdq.server.beanstalk.door import BeanstalkDoor, Dialect
from etcdq.server.beanstalk.door import DoorSettings as BeanstalkSettings
from etcdq.server.config import NodeConfig
from etcdq.server.etcd.door import Door, DoorSettings, Identity
from etcdq.server.facts import Facts
from etcdq.server.readers import Readers
from etcdq.server.totals import GroupLook, TotalsLook, tube_names

API_VERSION = "3.5.0"
"""What clients that ask are told: the version of etcd's API that this node speaks."""

_KEY_SPACE = "keys"
_WORKER = "worker"


class Node:
    """The key space, the queues and the workers of one node, in two shells, and the doors' views.

    A queue is born by the first message to its name, so a handle to any name is at hand. A job's
    id is a handle as well: to the queue that has the job.

    Args:
        config: the operator's choices.
        urls: where clients of the etcd door reach the node.
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
        stage = Stage(self._bear)
        stage.aliases = self._queue_of_job
        self._queues = Shell(stage, board, log=log)
        self._handles: dict[bytes, KeyedHandle] = {}
        """Those asked for lately: nearly every call names a queue that another one has named."""
        self._facts = Facts(config.name)
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
            request_bytes_max=config.max_request_bytes,
            queue=self.queue,
            face=self._face,
        )
        readers = Readers(Turns((self._queues, self._keys)))
        self.door = Door(
            identity=identity,
            board=board,
            keys=keys,
            queue=self.queue,
            census=self.census,
            keys_statistics=self._key_space.statistics,
            readers=readers,
            settings=DoorSettings(
                queue_prefixes=config.queue_prefixes,
                request_bytes_max=config.max_request_bytes,
                accept_timeout_s=config.accept_timeout,
                credit=config.consumer_credit,
                jobs_per_queue_max=config.max_jobs_per_queue,
                jobs_bytes_max=config.max_jobs_size,
            ),
        )
        dialect: Dialect = "beanstalkd" if config.beanstalk_dialect == "beanstalkd" else "tuber"
        self.beanstalk = BeanstalkDoor(
            queue=self.queue,
            job=self._job,
            queue_of=self._queue_of,
            queues_of=self._queues_of,
            worker=self._worker,
            tubes=partial(tube_names, self._context),
            totals=TotalsLook(self._context, stage.cores),
            group=GroupLook(self._context),
            facts=lambda: self._facts(draining=self._context.draining),
            set_draining=self.set_draining,
            new_connection=count(1).__next__,
            spend_job_id=self._spend_job_id,
            readers=readers,
            settings=BeanstalkSettings(config.max_job_size, dialect),
        )

    async def start(self, nursery: trio.Nursery) -> None:
        """Run both shells in `nursery`; a `CoreFault` ends it."""
        await nursery.start(self._keys.run)
        await nursery.start(self._queues.run)
        await nursery.start(self.door.readers.run)

    def drain(self) -> None:
        """Refuse puts from now on; everything that shrinks a queue still works."""
        self.set_draining(True)

    def set_draining(self, draining: bool) -> None:
        """Refuse puts from now on, or take them again."""
        self._context.draining = draining

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
        cores = self._queues.stage.cores.values()
        return [core.statistics() for core in cores if type(core) is QueueCore]

    def _spend_job_id(self) -> None:
        self._context.numbers.next_job_id()

    def _job(self, job_id: int) -> KeyedHandle:
        return KeyedHandle(self._queues.mailbox, job_id)

    def _queue_of(self, job_id: int) -> bytes | None:
        job = self._context.directory.get(job_id)
        return None if job is None else job.queue

    def _queues_of(self, job_ids: list[int]) -> set[bytes | None]:
        get = self._context.directory.get
        return {None if (job := get(job_id)) is None else job.queue for job_id in job_ids}

    def _worker(self, connection: int) -> KeyedHandle:
        return KeyedHandle(self._queues.mailbox, (_WORKER, connection))

    def _face(self, name: bytes, now_s: float) -> Face | None:
        core = self._queues.stage.cores.get(name)
        return core.face(now_s) if type(core) is QueueCore else None

    def _queue_of_job(self, key: Any) -> Any:
        if type(key) is not int:
            return key
        job = self._context.directory.get(key)
        return None if job is None else job.queue

    def _bear_key_space(self, _key: str) -> Core:
        return self._key_space

    def _bear(self, key: Any) -> Core:
        if type(key) is bytes:
            return QueueCore(key, self._context)
        if type(key) is int:
            return NoJobCore(key)
        worker = Address(KeyedHandle(self._queues.mailbox, key), None)
        return WorkerCore(key[1], worker, self._context, random.random)


def _new_id() -> int:
    """Return a random unsigned 64-bit id that is not 0: etcd reads 0 as no member at all."""
    return secrets.randbelow(2**64 - 1) + 1
