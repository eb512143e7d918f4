"""Clients for beanstalk servers: etcdq's beanstalk door, beanstalkd, tuber.

On Trio: `async with beanstalk.connect("127.0.0.1:11300") as client:` has every command on one
connection, `async with beanstalk.open_producer() as producer:` puts, and reconnects. Without an
event loop: `BlockingClient`. They need no node, and no gRPC.
"""

from etcdq.beanstalk.blocking import BlockingClient as BlockingClient
from etcdq.beanstalk.client import Client as Client
from etcdq.beanstalk.client import connect as connect
from etcdq.beanstalk.commands import PutOptions as PutOptions
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
from etcdq.beanstalk.health import UNKNOWN as UNKNOWN
from etcdq.beanstalk.health import Depth as Depth
from etcdq.beanstalk.health import Depths as Depths
from etcdq.beanstalk.producer import Producer as Producer
from etcdq.beanstalk.producer import open_producer as open_producer
from etcdq.beanstalk.records import DeletedBatch as DeletedBatch
from etcdq.beanstalk.records import Inserted as Inserted
from etcdq.beanstalk.records import Job as Job
from etcdq.beanstalk.records import ReserveMode as ReserveMode
from etcdq.beanstalk.records import Statistics as Statistics
from etcdq.errors import ClosedError as ClosedError
from etcdq.errors import ConnectionLostError as ConnectionLostError
from etcdq.errors import DeadlineExceededError as DeadlineExceededError
from etcdq.errors import EtcdqError as EtcdqError
from etcdq.errors import InvalidArgumentError as InvalidArgumentError
from etcdq.errors import NotConnectedError as NotConnectedError
from etcdq.errors import NotFoundError as NotFoundError
from etcdq.errors import RemoteProtocolError as RemoteProtocolError
from etcdq.errors import UnsupportedError as UnsupportedError
