"""Who answers for a job that is not there."""

from typing import Any

from etcdq.actors.core import NEVER_S
from etcdq.actors.effect import Effect, Reply
from etcdq.actors.errors import NoSuchJobError


class NoJobCore:
    """Stands in for the queue of a job whose id nobody has, for one message.

    Args:
        job_id: the id that was asked for.
    """

    def __init__(self, job_id: int) -> None:
        self._error = NoSuchJobError(f"there is no job {job_id}")

    def step(self, message: Any, now_s: float) -> list[Effect]:
        """Say that there is no such job."""
        return [Reply(message.to, self._error)]

    def settle(self, now_s: float) -> list[Effect]:
        """Nothing: no message but the one finds it."""
        return []

    def next_deadline_s(self) -> float:
        """Never."""
        return NEVER_S

    def statistics(self) -> None:
        """Nothing."""
