"""Time one job's way through a queue core: put, offer, accept, acknowledge. Prints µs per job.

    python bench/queue_micro.py [JOBS_PER_BATCH]

With one open consumer and batches as a busy node sees them; then puts alone, into an empty queue
and behind 1,000,000 waiting jobs. Each figure is the best of many rounds, because other programs
on the machine can only make a round slower.
"""

import gc
import sys
import time

from etcdq.actors.effect import Tell
from etcdq.actors.message import Address
from etcdq.actors.queue.context import Numbers, QueueContext
from etcdq.actors.queue.core import QueueCore
from etcdq.actors.queue.messages import Accepted, Acknowledge, Offer, Put, Register

BODY = b"x" * 100
ROUNDS = 2_000
WAITING = 1_000_000


class Nowhere:
    """A handle whose actor does not listen."""

    def post(self, message: object) -> None:
        """Drop the message."""


def new_queue() -> QueueCore:
    return QueueCore(b"jobs", QueueContext(b"1", Nowhere(), Numbers(1_764_525_600_000_001)))


def whole_way_us(jobs: int) -> float:
    """Return µs per job for put, offer, accept and acknowledge in batches of `jobs`."""
    queue, to, watch = new_queue(), Address(Nowhere(), 1), Address(Nowhere(), 2)
    queue.step(Register(to, watch, "consumer"), 0.0)
    # Messages are made outside the clock: making them is the doors' work.
    keys = [b"job-%d" % number for number in range(jobs)]
    best_s = float("inf")
    for _ in range(ROUNDS):
        puts = [Put(to, key, key, BODY) for key in keys]
        began_s = time.perf_counter()
        for put in puts:
            queue.step(put, 1.0)
        effects = queue.settle(1.0)
        spent_s = time.perf_counter() - began_s
        tell = effects[0]
        assert isinstance(tell, Tell)
        assert isinstance(tell.message, Offer)
        indexes = tuple(delivery.index for delivery in tell.message.deliveries)
        assert len(indexes) == jobs
        acknowledges = [
            Acknowledge(to, index, key) for index, key in zip(indexes, keys, strict=True)
        ]
        began_s = time.perf_counter()
        queue.step(Accepted(watch, indexes), 1.0)
        queue.settle(1.0)
        for acknowledge in acknowledges:
            queue.step(acknowledge, 1.0)
        queue.settle(1.0)
        spent_s += time.perf_counter() - began_s
        best_s = min(best_s, spent_s)
    return best_s / jobs * 1e6


def puts_us(queue: QueueCore, prefix: bytes) -> float:
    """Return µs per put, the best thousand of 100,000 jobs."""
    to = Address(Nowhere(), 1)
    best_s = float("inf")
    for thousand in range(100):
        keys = [prefix + b"%d" % (thousand * 1_000 + number) for number in range(1_000)]
        puts = [Put(to, key, key, BODY) for key in keys]
        began_s = time.perf_counter()
        for put in puts:
            queue.step(put, 1.0)
        best_s = min(best_s, time.perf_counter() - began_s)
    return best_s / 1_000 * 1e6


def main() -> None:
    """Print the figures."""
    gc.freeze()
    jobs = int(sys.argv[1]) if len(sys.argv) > 1 else 64
    print(f"put, offer, accept, acknowledge, batches of {jobs}: {whole_way_us(jobs):.2f} µs a job")
    queue = new_queue()
    few_us = puts_us(new_queue(), b"few-")
    to = Address(Nowhere(), 1)
    for number in range(WAITING):
        key = b"k%09d" % number
        queue.step(Put(to, key, key, BODY), 0.0)
    many_us = puts_us(queue, b"many-")
    print(f"put into an empty queue: {few_us:.2f} µs, behind {WAITING:,} jobs: {many_us:.2f} µs")
    print(f"ratio: {many_us / few_us:.2f}")


if __name__ == "__main__":
    main()
