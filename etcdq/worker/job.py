"""A reserved job, as handlers see it."""

from math import inf

from trio.abc import Clock

from etcdq.worker.failure import History


class ReservedJob:
    """A job that this worker holds, or held.

    Attributes may be read from any thread.

    Args:
        job_id: of the server.
        body: any bytes.
        history: what the server knows of it.
        clock: against which the end of the reservation is measured.
    """

    __slots__ = (
        "_clock",
        "body",
        "history",
        "is_lost",
        "job_id",
        "valid_until_s",
    )

    def __init__(self, job_id: int, body: bytes, history: History, clock: Clock) -> None:
        self.job_id = job_id
        self.body = body
        self.history = history
        self.is_lost = False
        """Whether the reservation is known to be gone: somebody else may have the job by now."""
        self.valid_until_s = -inf
        """Until when nobody else can have it, as far as the server has confirmed."""
        self._clock = clock

    def __repr__(self) -> str:
        return f"<job {self.job_id} of {self.tube}, try {self.number}>"

    @property
    def tube(self) -> str:
        """The tube it is in."""
        return self.history.tube

    @property
    def number(self) -> int:
        """Which try this is; the first is 1."""
        return self.history.tries + 1

    @property
    def tries(self) -> int:
        """Tries before this one."""
        return self.history.tries

    @property
    def vanished(self) -> int:
        """Workers that vanished with it."""
        return self.history.vanished

    @property
    def is_valid(self) -> bool:
        """Whether nobody else can have the job: ask before what must not happen twice.

        False as well when the server has not confirmed the reservation for nearly a whole TTR.
        """
        return not self.is_lost and self._clock.current_time() < self.valid_until_s
