"""etcdq: a message queue that needs no client of its own.

What applications import. The node's rooms (`etcdq.actors`, `etcdq.server`) are links to the
folders beside this one, see docs/adr/0001-one-import-name.md.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from etcdq.beanstalk.errors import BadFormatError as BadFormatError
    from etcdq.beanstalk.errors import BuriedError as BuriedError
    from etcdq.beanstalk.errors import DeadlineSoonError as DeadlineSoonError
    from etcdq.beanstalk.errors import DrainingError as DrainingError
    from etcdq.beanstalk.errors import ExpectedCrlfError as ExpectedCrlfError
    from etcdq.beanstalk.errors import InternalError as InternalError
    from etcdq.beanstalk.errors import JobTooBigError as JobTooBigError
    from etcdq.beanstalk.errors import NotIgnoredError as NotIgnoredError
    from etcdq.beanstalk.errors import OutOfMemoryError as OutOfMemoryError
    from etcdq.beanstalk.errors import OutOfStorageError as OutOfStorageError
    from etcdq.beanstalk.errors import TimedOutError as TimedOutError
    from etcdq.beanstalk.errors import UnknownCommandError as UnknownCommandError
    from etcdq.client.client import Client as Client
    from etcdq.client.client import connect as connect
    from etcdq.client.consume import Message as Message
    from etcdq.client.consume import Messages as Messages
    from etcdq.client.queue import Queue as Queue
    from etcdq.client.records import ConsumerStatistics as ConsumerStatistics
    from etcdq.client.records import Event as Event
    from etcdq.client.records import EventKind as EventKind
    from etcdq.client.records import Job as Job
    from etcdq.client.records import JobState as JobState
    from etcdq.client.records import KeyRange as KeyRange
    from etcdq.client.records import KeyValue as KeyValue
    from etcdq.client.records import QueueStatistics as QueueStatistics
    from etcdq.client.records import QueueSummary as QueueSummary
    from etcdq.client.records import TubeStatistics as TubeStatistics
    from etcdq.client.watch import Watch as Watch
    from etcdq.embedded import open_node as open_node
    from etcdq.errors import ClosedError as ClosedError
    from etcdq.errors import ConflictError as ConflictError
    from etcdq.errors import ConnectionLostError as ConnectionLostError
    from etcdq.errors import ConsumerReplacedError as ConsumerReplacedError
    from etcdq.errors import DeadlineExceededError as DeadlineExceededError
    from etcdq.errors import EtcdqError as EtcdqError
    from etcdq.errors import InvalidArgumentError as InvalidArgumentError
    from etcdq.errors import NotConnectedError as NotConnectedError
    from etcdq.errors import NotFoundError as NotFoundError
    from etcdq.errors import OutOfRangeError as OutOfRangeError
    from etcdq.errors import OverLimitError as OverLimitError
    from etcdq.errors import PermissionDeniedError as PermissionDeniedError
    from etcdq.errors import RemoteProtocolError as RemoteProtocolError
    from etcdq.errors import RequestError as RequestError
    from etcdq.errors import ServerUnavailableError as ServerUnavailableError
    from etcdq.errors import UnavailableError as UnavailableError
    from etcdq.errors import UnsupportedError as UnsupportedError
    from etcdq.errors import WatchCanceledError as WatchCanceledError
    from etcdq.schedule.dispatch import DispatchError as DispatchError
    from etcdq.schedule.file import ScheduleError as ScheduleError
    from etcdq.worker.failure import PermanentError as PermanentError
    from etcdq.worker.failure import TriesUsedUpError as TriesUsedUpError

__version__ = "0.1.0"

_LAZY = {
    "open_node": "etcdq.embedded",
    "Client": "etcdq.client.client",
    "connect": "etcdq.client.client",
    "Message": "etcdq.client.consume",
    "Messages": "etcdq.client.consume",
    "Queue": "etcdq.client.queue",
    "Watch": "etcdq.client.watch",
    "ConsumerStatistics": "etcdq.client.records",
    "Event": "etcdq.client.records",
    "EventKind": "etcdq.client.records",
    "Job": "etcdq.client.records",
    "JobState": "etcdq.client.records",
    "KeyRange": "etcdq.client.records",
    "KeyValue": "etcdq.client.records",
    "QueueStatistics": "etcdq.client.records",
    "QueueSummary": "etcdq.client.records",
    "TubeStatistics": "etcdq.client.records",
    "BadFormatError": "etcdq.beanstalk.errors",
    "BuriedError": "etcdq.beanstalk.errors",
    "DeadlineSoonError": "etcdq.beanstalk.errors",
    "DrainingError": "etcdq.beanstalk.errors",
    "ExpectedCrlfError": "etcdq.beanstalk.errors",
    "InternalError": "etcdq.beanstalk.errors",
    "JobTooBigError": "etcdq.beanstalk.errors",
    "NotIgnoredError": "etcdq.beanstalk.errors",
    "OutOfMemoryError": "etcdq.beanstalk.errors",
    "OutOfStorageError": "etcdq.beanstalk.errors",
    "TimedOutError": "etcdq.beanstalk.errors",
    "UnknownCommandError": "etcdq.beanstalk.errors",
    "ClosedError": "etcdq.errors",
    "ConflictError": "etcdq.errors",
    "ConnectionLostError": "etcdq.errors",
    "ConsumerReplacedError": "etcdq.errors",
    "DeadlineExceededError": "etcdq.errors",
    "EtcdqError": "etcdq.errors",
    "InvalidArgumentError": "etcdq.errors",
    "NotConnectedError": "etcdq.errors",
    "NotFoundError": "etcdq.errors",
    "OutOfRangeError": "etcdq.errors",
    "OverLimitError": "etcdq.errors",
    "PermissionDeniedError": "etcdq.errors",
    "RemoteProtocolError": "etcdq.errors",
    "RequestError": "etcdq.errors",
    "ServerUnavailableError": "etcdq.errors",
    "UnavailableError": "etcdq.errors",
    "UnsupportedError": "etcdq.errors",
    "WatchCanceledError": "etcdq.errors",
    "DispatchError": "etcdq.schedule.dispatch",
    "ScheduleError": "etcdq.schedule.file",
    "PermanentError": "etcdq.worker.failure",
    "TriesUsedUpError": "etcdq.worker.failure",
}
"""Names whose modules are imported when they are first asked for: a client needs no server."""


def __getattr__(name: str) -> Any:
    module = _LAZY.get(name)
    if module is None:
        raise AttributeError(f"module 'etcdq' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(module), name)
    return value
