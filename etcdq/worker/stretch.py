"""Runs of a plain handler, done by a thread one after another.

To hop into a thread for each job would cost more than many a handler does. So a thread is given
jobs for a short while: those that are not begun by then come back to the loop, and so does what is
withdrawn meanwhile. The loop and the thread both call this, hence the lock.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import Final

from etcdq.worker.job import ReservedJob

TURN_S: Final = 0.005
"""How long handlers run one after another until others get their turn: who deletes what is done so
far, heeds stops, and touches."""


class Stretch:
    """Jobs for a thread.

    Args:
        runs: the jobs of each run.
    """

    def __init__(self, runs: Iterable[list[ReservedJob]]) -> None:
        self._lock = threading.Lock()
        self._runs = deque(runs)
        self._current: list[ReservedJob] = []
        self._finished: list[ReservedJob] = []

    def run(self, handle: Callable[[list[ReservedJob]], None]) -> None:
        """Run what is here, in the thread, until the turn is over or a run fails."""
        turn_s = time.monotonic() + TURN_S
        while jobs := self._begin():
            handle(jobs)
            with self._lock:
                self._finished += jobs
                self._current = []
            if time.monotonic() >= turn_s:
                break

    def _begin(self) -> list[ReservedJob]:
        with self._lock:
            while self._runs and not self._current:
                self._current = [job for job in self._runs.popleft() if not job.is_lost]
            return self._current

    def take_finished(self) -> list[ReservedJob]:
        """Return what has finished since this was asked last."""
        with self._lock:
            finished, self._finished = self._finished, []
            return finished

    def withdraw(self) -> list[list[ReservedJob]]:
        """Begin no more; return the runs that were not begun."""
        with self._lock:
            return self._withdraw()

    def end(self) -> tuple[list[list[ReservedJob]], list[ReservedJob], list[ReservedJob]]:
        """Begin no more. All in one look, for a thread that was left to itself goes on.

        Returns:
            The runs that were not begun; what has finished; and the jobs of the run that goes on,
            or has failed.
        """
        with self._lock:
            finished, self._finished = self._finished, []
            return self._withdraw(), finished, self._current

    def _withdraw(self) -> list[list[ReservedJob]]:
        runs = list(self._runs)
        self._runs.clear()
        return runs
