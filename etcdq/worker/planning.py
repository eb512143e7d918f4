"""In which order, and how many together, jobs that were reserved at once are run. Without I/O.

A job whose worker vanished may be what ended it. It is run when nothing else is in hand, so that
the jobs beside it are not taken for the culprit when it does that again; after its last try it
is given up unrun. A job that failed before is not run in one batch with others, which would fail
with it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar


class Tried(Protocol):
    """A job, and what became of it before."""

    @property
    def tries(self) -> int:
        """Tries before this reservation."""

    @property
    def vanished(self) -> int:
        """Workers that vanished with it."""


J = TypeVar("J", bound=Tried)


@dataclass(frozen=True)
class Plan(Generic[J]):
    """What to do with the jobs of one reserve."""

    spent: list[J]
    """To be given up unrun."""
    runs: list[list[J]]
    """To be run one after another, each list together."""
    back: list[J]
    """To be handed back at once."""


def plan(jobs: Sequence[J], *, together: bool, tries_max: int) -> Plan[J]:
    """Sort jobs that were reserved at once.

    Args:
        jobs: in the order in which the server gave them.
        together: whether the handler takes many at a time.
        tries_max: after so many tries a job is not run any more.
    """
    if not any(job.tries or job.vanished for job in jobs):  # as nearly always
        fresh_runs = [list(jobs)] if together and jobs else [[job] for job in jobs]
        return Plan([], fresh_runs, [])
    spent = [job for job in jobs if job.tries >= tries_max]
    rest = [job for job in jobs if job.tries < tries_max]
    suspects = [job for job in rest if job.vanished]
    known = [job for job in rest if not job.vanished]
    fresh = [job for job in known if together and not job.tries]
    alone = [job for job in known if not together or job.tries]
    runs = [fresh] if fresh else []
    runs += [[job] for job in (*alone, *suspects[:1])]
    return Plan(spent, runs, suspects[1:])
