"""The rows of the table: what is measured, in which unit, and what it is to reach."""

from collections.abc import Sequence
from dataclasses import dataclass

from bench.processes import BEANSTALK_KINDS, KINDS, WORKER_KINDS

GENERATOR = ".generator"
"""Ends the name of a figure that is the generator's CPU share while the row was measured."""


@dataclass(frozen=True, slots=True)
class Target:
    """A bound on our figure, or on its ratio to the row's first peer: etcd as it comes, beanstalkd.

    `at_least` or `at_most` is set, not both; `aim` is what we hope for beyond it, and is not
    judged.
    """

    at_least: float | None = None
    at_most: float | None = None
    aim: float | str | None = None
    ratio: bool = True

    def met(self, ours: float | None, theirs: float | None) -> bool | None:
        """Whether the bound is kept; None where the figures to tell are missing."""
        value = quotient(ours, theirs) if self.ratio else ours
        if value is None:
            return None
        if self.at_least is not None:
            return value >= self.at_least
        assert self.at_most is not None, "a target has a bound"
        return value <= self.at_most

    def __str__(self) -> str:
        sign, bound = (">=", self.at_least) if self.at_least is not None else ("<=", self.at_most)
        aim = "" if self.aim is None else f" (aim {self.aim})"
        return f"{sign} {bound:,}{'x' if self.ratio else ''}{aim}"


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a table. A figure is the median of its repetitions.

    `kinds`: the servers of its table, ours first. The target's ratio is to the first peer, or to
    the best one: then the figure is a rate.
    """

    name: str
    unit: str
    target: Target | None = None
    kinds: tuple[str, ...] = KINDS
    best: bool = False

    def rival(self, theirs: Sequence[float | None]) -> float | None:
        """The figure, of those of all peers, that the target is judged against."""
        if self.best:
            return max((each for each in theirs if each is not None), default=None)
        return theirs[0]


def _worker(name: str, unit: str, target: Target | None = None) -> Row:
    return Row(name, unit, target, WORKER_KINDS, best=True)


def _beanstalk(name: str, unit: str, target: Target | None = None) -> Row:
    return Row(name, unit, target, BEANSTALK_KINDS)


ROWS = {
    row.name: row
    for row in (
        Row("put-queue-8x8", "puts/s", Target(at_least=2.5, aim=4)),
        Row("put-key-8x8", "puts/s", Target(at_least=2, aim=3)),
        Row("put-queue-fresh", "puts/s", Target(at_least=2)),
        Row("put-key-fresh", "puts/s"),
        Row("put-queue-1x1", "us mean", Target(at_most=0.5)),
        Row("put-key-1x1", "us mean"),
        Row("cycle-1", "cycles/s", Target(at_least=2)),
        Row("cycle-8", "cycles/s", Target(at_least=2)),
        Row("cycle-64", "cycles/s", Target(at_least=2)),
        Row("cycle-512", "cycles/s", Target(at_least=4)),
        Row("waiting-memory", "bytes each", Target(at_most=512, ratio=False)),
        Row("waiting-fill", "puts/s"),
        Row("million-memory", "bytes each", Target(at_most=512, ratio=False)),
        Row("million-puts-before", "puts/s"),
        Row("million-puts-after", "puts/s"),
        Row("million-puts-ratio", "after/before", Target(at_least=0.75, ratio=False)),
        Row("million-takes-before", "takes/s"),
        Row("million-takes-after", "takes/s"),
        Row("million-takes-ratio", "after/before", Target(at_least=0.75, ratio=False)),
        Row("idle-memory", "MB", Target(at_most=60, ratio=False)),
        Row("idle-pause", "ms longest", Target(at_most=60, ratio=False)),
        _beanstalk("bs-put-1", "puts/s", Target(at_least=0.5)),
        _beanstalk("bs-take-1", "jobs/s", Target(at_least=0.5)),
        _beanstalk("bs-put-100", "puts/s", Target(at_least=2, aim=4)),
        _beanstalk("bs-take-100", "jobs/s", Target(at_least=2, aim=4)),
        _beanstalk("bs-jobs-50", "jobs/s", Target(at_least=0.7, aim=1)),
        _beanstalk("bs-batch-1000", "jobs/s", Target(at_least=1.5, aim="300,000/s")),
        _beanstalk("bs-con-5", "jobs/s", Target(at_least=5_000, ratio=False)),
        _beanstalk("bs-million-put-before", "puts/s"),
        _beanstalk("bs-million-put-after", "puts/s"),
        _beanstalk("bs-million-put", "after/before", Target(at_least=0.75, ratio=False)),
        _beanstalk("bs-million-take-before", "jobs/s"),
        _beanstalk("bs-million-take-after", "jobs/s"),
        _beanstalk("bs-million-take", "after/before", Target(at_least=0.75, ratio=False)),
        _worker("worker-empty", "jobs/CPU s", Target(at_least=5)),
        _worker("worker-empty-wall", "jobs/s"),
        _worker("worker-batch", "jobs/CPU s", Target(at_least=20)),
        _worker("worker-batch-wall", "jobs/s"),
        _worker("worker-plain", "jobs/CPU s"),
        _worker("worker-plain-wall", "jobs/s"),
        _worker("worker-single", "jobs/CPU s"),
        _worker("worker-single-wall", "jobs/s"),
    )
}


def row(name: str) -> Row:
    """The row of this name; the client library's own rates are calls or messages per second."""
    return ROWS.get(name) or Row(name, "1/s")


def quotient(ours: float | None, theirs: float | None) -> float | None:
    """ours / theirs where both are known."""
    return ours / theirs if ours is not None and theirs else None
