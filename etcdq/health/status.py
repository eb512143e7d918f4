"""What is asked of a process, and what is told of it. Without I/O."""

from collections.abc import Collection, Mapping
from typing import Final, Protocol

from msgspec import Struct

BEAT_LATE_S: Final = 10.0
"""A loop that has not turned for so long is blocked. It beats every second."""


class Status(Protocol):
    """What a worker or a scheduler keeps of itself.

    It is read from another thread, at any moment: plain values that are replaced, never awaited.
    """

    @property
    def kind(self) -> str:
        """What the process is, one word: "worker", "scheduler". Names its metrics."""

    @property
    def beat_s(self) -> float:
        """When its loop last turned, on `time.monotonic`: see `Pulse`."""

    @property
    def tasks_down(self) -> Collection[str]:
        """The tasks that have to run beside the jobs, and do not: a scheduler, a heartbeat."""

    @property
    def is_connected(self) -> bool:
        """Whether it is connected to its server, and has introduced itself there."""

    @property
    def is_accepting(self) -> bool:
        """Whether it takes new work: not before its start is complete, nor once it stops."""

    @property
    def jobs_running(self) -> int:
        """How many jobs run now."""

    @property
    def counts(self) -> Mapping[str, int]:
        """Sums since its start, by names that are words: done, failed, given_up."""


class Report(Struct, frozen=True, gc=False):
    """The body of an answer."""

    live: bool
    ready: bool
    heartbeat_age_s: float
    jobs_running: int
    problems: tuple[str, ...]
    """Why it is not live or not ready, one each."""


def report(status: Status, now_s: float) -> Report:
    """Judge a process.

    Live is: its loop turns, and its tasks run; the server may be away. Ready is: live, connected,
    and taking work.

    Args:
        status: of the process.
        now_s: on `time.monotonic`.
    """
    age_s = max(0.0, now_s - status.beat_s)
    dead = [f"task {name} does not run" for name in tuple(status.tasks_down)]
    if age_s > BEAT_LATE_S:
        dead.append(f"the loop has not turned for {age_s:.0f} s")
    unready = [] if status.is_connected else ["not connected"]
    if not status.is_accepting:
        unready.append("takes no work")
    return Report(
        live=not dead,
        ready=not dead and not unready,
        heartbeat_age_s=round(age_s, 3),
        jobs_running=status.jobs_running,
        problems=(*dead, *unready),
    )
