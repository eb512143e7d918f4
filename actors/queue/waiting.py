"""The beanstalk connections that wait for a job of one queue, in the order in which they came.

Only the first is told that there is a job (`Invite`), and nobody else until it claims, forgets or
says that it found nothing (`Wait`): it may wait on many queues and take a better job elsewhere, and
the job may be gone when it looks. So nobody is passed over, and no job is ever kept for a
connection that left.
"""

from collections.abc import Iterator

from etcdq.actors.message import Address


class Waiting:
    """The waiting workers of one queue.

    Attributes:
        invited: the connection that was told, 0 while none is.
    """

    __slots__ = ("_workers", "invited")

    def __init__(self) -> None:
        self._workers: dict[int, Address] = {}
        self.invited = 0

    def __len__(self) -> int:
        return len(self._workers)

    def __iter__(self) -> Iterator[int]:
        """Iterate over their connections, in order."""
        return iter(self._workers)

    def add(self, connection: int, worker: Address) -> None:
        """Let a worker wait, last; one that waits already keeps its place."""
        self._workers.setdefault(connection, worker)
        self.decline(connection)

    def decline(self, connection: int) -> None:
        """It took nothing, keeps its place, and can be invited anew."""
        if self.invited == connection:
            self.invited = 0

    def drop(self, connection: int) -> None:
        """Let it wait no longer; the next one can be invited."""
        self._workers.pop(connection, None)
        self.decline(connection)

    def invite(self) -> Address:
        """Return the first, who is told; there is one, and nobody is invited."""
        assert self.invited == 0, "one invitation at a time"
        self.invited, worker = next(iter(self._workers.items()))
        return worker

    @property
    def open(self) -> bool:
        """Whether there is one to invite."""
        return bool(self._workers) and not self.invited
