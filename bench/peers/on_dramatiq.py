"""An empty actor of dramatiq; run as a script: so many messages for it."""

import os
import sys

import dramatiq
from dramatiq.brokers.redis import RedisBroker
from progress import BROKER, counter

done = counter()
dramatiq.set_broker(RedisBroker(url=os.environ[BROKER]))


@dramatiq.actor
def empty(number: int) -> None:
    """Count it. Threads run in about the order of the numbers."""
    done[0] = number


if __name__ == "__main__":
    for number in range(int(sys.argv[1])):
        empty.send(number)
