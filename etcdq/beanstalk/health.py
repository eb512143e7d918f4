"""How many jobs wait, told so that a server that cannot be asked is never taken for an empty one.

`depth == 0`, `depth < 1`, `not depth` and `depths.get("mail", 0) == 0` are all false of what is
not known. Nothing here raises because a server is away: the value says it.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any, Final

from etcdq.beanstalk import talks
from etcdq.beanstalk.commands import line
from etcdq.beanstalk.documents import SERVER_TEXTS, TUBE_TEXTS
from etcdq.beanstalk.records import Statistics
from etcdq.errors import NotFoundError

READY: Final = "current-jobs-ready"


class Unknown(float):
    """The type of `UNKNOWN`: not a number, in words, truth and comparisons.

    It is no 0 and equals nothing, no comparison of it holds, sums with it are not a number
    either, and it is true. It reads "unknown" in any format. Ask `depth is UNKNOWN`.
    """

    __slots__ = ()

    def __new__(cls) -> "Unknown":
        """Return the one there is."""
        return _THE_ONE if _THE_ONE is not None else super().__new__(cls, math.nan)

    def __repr__(self) -> str:
        return "unknown"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return "unknown"

    def __reduce__(self) -> Any:
        return Unknown, ()  # also out of a cache it is the one that `is` asks for


_THE_ONE: Unknown | None = None
_THE_ONE = UNKNOWN = Unknown()
"""Instead of a number of jobs, where the server could not be asked."""

Depth = int | Unknown


class Depths(Mapping[str, Depth]):
    """How many jobs wait in each tube.

    Any name may be asked for: a tube that is not there is empty, `depths["mail"] == 0`. Where
    `known` is false, each is `UNKNOWN`; then the one item is "?", for those who show them all.

    Args:
        found: tube to jobs; None: the server could not be asked.
    """

    def __init__(self, found: Mapping[str, int] | None) -> None:
        self.known = found is not None
        self._depths: Mapping[str, Depth] = {"?": UNKNOWN} if found is None else dict(found)

    def __getitem__(self, tube: str) -> Depth:
        return self._depths.get(tube, 0) if self.known else UNKNOWN

    def __contains__(self, tube: object) -> bool:
        return self.known and tube in self._depths

    def __iter__(self) -> Iterator[str]:
        return iter(self._depths)

    def __len__(self) -> int:
        return len(self._depths)

    def __repr__(self) -> str:
        return f"Depths({dict(self._depths)!r})"


def reach() -> talks.Talk[bool]:
    """See whether a beanstalk server answers."""
    yield from talks.ask(b"list-tube-used\r\n", "USING")
    return True


def depth(tube: str | None) -> talks.Talk[Depth]:
    """Ask how many jobs are ready in a tube, or in all."""
    if tube is None:
        return (yield from talks.stats(b"stats\r\n", SERVER_TEXTS)).count(READY)
    try:
        return (yield from talks.stats(line("stats-tube", tube), TUBE_TEXTS)).count(READY)
    except NotFoundError:
        return 0  # a tube is there while it has jobs or somebody uses or watches it


def depths() -> talks.Talk[Depths]:
    """Ask how many jobs are ready in each tube."""
    found: dict[str, Statistics] = yield from talks.stats_tubes()
    return Depths({tube: figures.count(READY) for tube, figures in found.items()})
