"""What the beanstalk client returns. All values are snapshots."""

from collections.abc import Iterator, Mapping
from enum import Enum

from msgspec import Struct

Figure = int | float | str


class Job(Struct, frozen=True, gc=False):
    """A job as it was reserved or peeked at."""

    job_id: int
    body: bytes


class Inserted(Struct, frozen=True, gc=False):
    """The answer to a put.

    Where the put's idempotency key was taken, `job_id` is the job that has it, `state` the word
    for what that one is (READY, RESERVED, DELAYED, BURIED, or DELETED within the key's cooldown),
    and `priority` its new priority, if the put raised it. Else both are None.
    """

    job_id: int
    state: str | None = None
    priority: int | None = None


class DeletedBatch(Struct, frozen=True, gc=False):
    """How many jobs of a batch were deleted, and how many were not there or not ours."""

    deleted: int
    not_found: int


class ReserveMode(Enum):
    """How a server chooses among the watched tubes, in the dialect of tuber."""

    FIFO = "fifo"
    """The most urgent job of all of them, then the oldest."""
    WEIGHTED = "weighted"
    """A tube by chance, in proportion to its weight, then its most urgent job."""
    WEIGHTED_FAIR = "weighted-fair"
    """As weighted, but what is shared out is the workers' time, not the jobs."""


class Statistics(Mapping[str, Figure]):
    """A statistics document: `figures["current-jobs-ready"]`, with the server's own names.

    What fields there are depends on the server; `count`, `number` and `text` give a value of the
    type they say, and nothing (0 or "") for a field that is not there.
    """

    __slots__ = ("_figures",)

    def __init__(self, figures: dict[str, Figure]) -> None:
        self._figures = figures

    def __getitem__(self, name: str) -> Figure:
        return self._figures[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._figures)

    def __len__(self) -> int:
        return len(self._figures)

    def __repr__(self) -> str:
        return f"Statistics({self._figures!r})"

    def count(self, name: str) -> int:
        """Return a whole number."""
        value = self._figures.get(name, 0)
        return value if isinstance(value, int) else 0

    def number(self, name: str) -> float:
        """Return a number, for instance of seconds."""
        value = self._figures.get(name, 0)
        return 0.0 if isinstance(value, str) else float(value)

    def text(self, name: str) -> str:
        """Return a value as text."""
        return str(self._figures.get(name, ""))
