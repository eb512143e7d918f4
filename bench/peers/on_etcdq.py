"""Empty handlers of `etcdq worker`; run as a script: so many jobs for them, put one by one."""

import os
import sys

from progress import BROKER, counter

from etcdq.beanstalk import BlockingClient
from etcdq.worker import ReservedJob, TubeConsumer

done = counter()


class Single(TubeConsumer):
    """As it comes: one job at a time."""

    tubes = ("bench",)

    async def process(self, job: ReservedJob) -> None:
        """Count it."""
        done[0] += 1


class Empty(Single):
    """Reserves many, and runs them one after another."""

    batch_size = 1000


class Plain(TubeConsumer):
    """The same with a plain function, off the loop."""

    tubes = ("bench",)
    batch_size = 1000

    def process(self, job: ReservedJob) -> None:
        """Count it."""
        done[0] += 1


class Batch(TubeConsumer):
    """Many at a time."""

    tubes = ("bench",)
    batch_size = 1000

    def process_batch(self, jobs: list[ReservedJob]) -> None:
        """Count them."""
        done[0] += len(jobs)


if __name__ == "__main__":
    queue = BlockingClient(os.environ[BROKER])
    for number in range(int(sys.argv[1])):
        queue.put("bench", b"[%d]" % number)
