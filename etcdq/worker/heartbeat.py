"""When the jobs that a worker holds have to be touched, without I/O."""

from collections.abc import Mapping
from math import inf
from typing import Final

BEATS_PER_TTR: Final = 3
"""One touch may be lost, and the next one still comes in time."""

SAFE_PART: Final = 0.9
"""Of a TTR: a reservation begins at the server before its answer is here, and so it ends."""


class Heartbeat:
    """The jobs held on one connection; all are touched at the pace of the shortest TTR.

    Args:
        now_s: when they were reserved, in seconds of any clock.
    """

    def __init__(self, now_s: float) -> None:
        self._began_s = now_s
        self._last_s = now_s
        self._ttrs_s: dict[int, int] = {}
        self._touched_s: dict[int, float] = {}  # when the last touch of each was sent, if any was

    def hold(self, ttrs_s: Mapping[int, int]) -> None:
        """Take on jobs that were reserved when this began, with the TTR of each."""
        self._ttrs_s.update(ttrs_s)

    def let_go(self, job_id: int) -> bool:
        """Touch it no more; return whether it was held."""
        self._touched_s.pop(job_id, None)
        return self._ttrs_s.pop(job_id, None) is not None

    @property
    def held(self) -> list[int]:
        """The ids of the jobs, in the order in which they came."""
        return list(self._ttrs_s)

    @property
    def due_s(self) -> float:
        """When to touch next; inf: nothing is held."""
        return self._last_s + min(self._ttrs_s.values(), default=inf) / BEATS_PER_TTR

    @property
    def expires_s(self) -> float:
        """When the first reservation may end unless it is touched; inf: nothing is held."""
        return min(map(self.valid_until_s, self._ttrs_s), default=inf)

    def valid_until_s(self, job_id: int) -> float:
        """Return when the reservation may end unless it is touched; -inf: it is not held."""
        ttr_s = self._ttrs_s.get(job_id)
        if ttr_s is None:
            return -inf
        return self._touched_s.get(job_id, self._began_s) + ttr_s * SAFE_PART

    def beat(self, now_s: float) -> list[int]:
        """Begin to touch; return whom."""
        self._last_s = now_s
        return self.held

    def touched(self, job_id: int) -> None:
        """The touch of the last beat has reached the server."""
        if job_id in self._ttrs_s:
            self._touched_s[job_id] = self._last_s
