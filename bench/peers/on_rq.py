"""An empty function of rq; run as a script: so many jobs for it."""

import os
import sys

from progress import BROKER, counter
from redis import Redis
from rq import Queue

done = counter()


def empty(number: int) -> None:
    """Count it."""
    done[0] = number


if __name__ == "__main__":
    queue = Queue(connection=Redis.from_url(os.environ[BROKER]))
    for number in range(int(sys.argv[1])):
        # By its name: this module is another one in the worker.
        queue.enqueue("on_rq.empty", number)
