"""How many jobs a worker has run, in a file that the bench watches from outside.

Shared memory: one store a job, also where each job runs in a process of its own. Of the standard
library only, for it is imported in the environments of all frameworks.
"""

import mmap
import os

COUNTER = "ETCDQ_BENCH_COUNTER"
"""The environment's name of the file, of 8 bytes; and of where the broker is."""
BROKER = "ETCDQ_BENCH_BROKER"


def counter() -> memoryview:
    """Return the number of jobs, to be read and set at [0]."""
    with open(os.environ[COUNTER], "r+b") as file:
        return memoryview(mmap.mmap(file.fileno(), 8)).cast("Q")
