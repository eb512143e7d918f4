"""Consumers of beanstalk tubes for applications: etcdq's beanstalk door, beanstalkd, tuber.

Write a `TubeConsumer`, or decorate a function with `consumer`; `etcdq worker MODULE` runs them.
"""

from etcdq.worker.consumer import TubeConsumer as TubeConsumer
from etcdq.worker.consumer import consumer as consumer
from etcdq.worker.failure import DeadLetter as DeadLetter
from etcdq.worker.failure import PermanentError as PermanentError
from etcdq.worker.failure import TriesUsedUpError as TriesUsedUpError
from etcdq.worker.job import ReservedJob as ReservedJob
from etcdq.worker.statistics import ConsumerStatistics as ConsumerStatistics
