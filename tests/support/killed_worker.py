"""A worker process that is started in a moment and killed in one: it is forked from a process that
has loaded everything already.

What its handlers do is noted in a file before and after, so that the notes outlive it.
"""

import os
import time
from collections.abc import Iterator
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final

import structlog
import trio
from msgspec import Struct

from etcdq.worker import ReservedJob, TubeConsumer
from etcdq.worker.link import Server
from etcdq.worker.process import WorkerProcess

TUBE: Final = "killed"
TRIES_MAX: Final = 1000
"""A job may be in hand whenever a worker is killed: none is to be given up for that."""
GRACE_S: Final = 60.0
END_S: Final = 60.0
WORK_S: Final = 0.002
FORKS: Final = get_context("forkserver")


class Noting(TubeConsumer):
    """Notes each run, with the process that runs it. Some runs wait, as for another server."""

    tubes = (TUBE,)
    batch_size = 4
    concurrency = 2
    tries_max = TRIES_MAX

    def __init__(self, notes: int) -> None:
        super().__init__()
        self._notes = notes

    def note(self, what: str, job: ReservedJob) -> None:
        """Write a line; whole, or not at all."""
        os.write(self._notes, f"{what} {job.body.decode()} {os.getpid()}\n".encode())

    async def process(self, job: ReservedJob) -> None:
        self.note("begin", job)
        if int(job.body) % 2:
            await trio.sleep(WORK_S)
        else:
            time.sleep(WORK_S)  # noqa: ASYNC251 - handlers do such things
        self.note("end", job)


def work(address: str, notes: str) -> None:
    """Be a worker process; leave by its exit code."""
    structlog.configure(processors=[_drop])
    descriptor = os.open(notes, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    process = WorkerProcess([Noting(descriptor)], Server(address), GRACE_S)
    raise SystemExit(trio.run(process.run))


def _drop(_logger: Any, _method: str, _event: Any) -> Any:
    raise structlog.DropEvent


def start(address: str, notes: Path) -> Any:
    """Start one; returns its process."""
    FORKS.set_forkserver_preload([__name__])
    process = FORKS.Process(target=work, args=(address, str(notes)), daemon=True)
    process.start()
    return process


class Run(Struct, frozen=True):
    """One run of a job."""

    body: str
    pid: int
    is_finished: bool


def read_runs(notes: Path) -> Iterator[Run]:
    """Return the runs in the order in which they began.

    A process runs each job once at a time, so its next end is that of its last begin.
    """
    lines = [line.split() for line in notes.read_text().splitlines()]
    ends: dict[tuple[str, str], int] = {}
    for what, body, pid in lines:
        if what == "end":
            ends[body, pid] = ends.get((body, pid), 0) + 1
    for what, body, pid in lines:
        if what == "begin":
            left = ends.get((body, pid), 0)
            ends[body, pid] = left - 1
            yield Run(body, int(pid), left > 0)
