"""Measure what 1,000,000 waiting jobs take beyond their bodies and keys. Prints bytes per job.

    python bench/line_memory.py

Bodies of 100 bytes and distinct keys of 10 bytes are made first and measured as they are, so
what is printed is the queue's own bookkeeping: resident memory after the puts, less before.
"""

import resource
from pathlib import Path

from etcdq.actors.message import Address
from etcdq.actors.queue.context import Numbers, QueueContext
from etcdq.actors.queue.core import QueueCore
from etcdq.actors.queue.messages import Put

JOBS = 1_000_000


class Nowhere:
    """A handle whose actor does not listen."""

    def post(self, message: object) -> None:
        """Drop the message."""


def resident_bytes() -> int:
    """Return the resident memory of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def main() -> None:
    """Print the figure."""
    texts = [(b"k%09d" % number, b"%0100d" % number) for number in range(JOBS)]
    queue = QueueCore(b"jobs", QueueContext(b"1", Nowhere(), Numbers(1_764_525_600_000_001)))
    to = Address(Nowhere(), 1)
    before = resident_bytes()
    for number, (key, body) in enumerate(texts):
        # Every put comes at a time of its own, as the worst case.
        queue.step(Put(to, key, key, body), number / 1e6)
    used = resident_bytes() - before
    assert queue.statistics().ready == JOBS
    print(f"{used / JOBS:.0f} bytes a waiting job beyond body and key, {JOBS:,} jobs")


if __name__ == "__main__":
    main()
