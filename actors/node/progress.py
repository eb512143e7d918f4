"""Requests for progress, each open until the watches it names have come far enough."""

from collections import deque
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from etcdq.actors.message import Address

if TYPE_CHECKING:
    from etcdq.actors.node.watchers import Watch


class _Ask:
    __slots__ = ("revision", "to", "waiting", "watches")

    def __init__(self, to: Address, revision: int, watches: Iterable["Watch"]) -> None:
        self.to = to
        self.revision = revision
        self.watches = dict.fromkeys(watches)
        self.waiting = len(self.watches)


class Asks:
    """All open requests for progress.

    A watch is looked at when it is asked about, and while it is neither outstanding nor far
    enough. So a request that waits for a watch whose client does not read costs nothing.
    """

    def __init__(self) -> None:
        self._complete: list[_Ask] = []
        self._asks_of: dict[Watch, deque[_Ask]] = {}  # in the order of their revisions
        self._moved: dict[Watch, None] = {}

    def __bool__(self) -> bool:
        return bool(self._complete or self._asks_of)

    def add(self, to: Address, revision: int, watches: Iterable["Watch"]) -> None:
        """Open a request about everything up to `revision`, which never falls."""
        ask = _Ask(to, revision, watches)
        for watch in ask.watches:
            self._asks_of.setdefault(watch, deque()).append(ask)
            self._moved[watch] = None
        if not ask.watches:
            self._complete.append(ask)

    def moved(self, watch: "Watch") -> None:
        """Have a watch looked at from now on, until it is told something: it has drained."""
        if watch in self._asks_of:
            self._moved[watch] = None

    def drop(self, watch: "Watch") -> None:
        """The watch is gone: nobody waits for it."""
        self._moved.pop(watch, None)
        for ask in self._asks_of.pop(watch, ()):
            del ask.watches[watch]
            self._came(ask)

    def answers(self, idle_at: int) -> Iterator[tuple[Address, int]]:
        """Close the requests that are fulfilled.

        Args:
            idle_at: the revision up to which an idle watch was told everything.

        Returns:
            For each one, where the answer goes and up to where all its watches have come.
        """
        for watch in list(self._moved):
            if watch.outstanding:
                del self._moved[watch]  # looked at again when it has drained
                continue
            position = watch.told if watch.behind else idle_at
            asks = self._asks_of[watch]
            while asks and asks[0].revision <= position:
                self._came(asks.popleft())
            if not asks:
                del self._asks_of[watch]
                del self._moved[watch]
        complete, self._complete = self._complete, []
        for ask in complete:
            floors = (_floor(ask, watch, idle_at) for watch in ask.watches)
            yield ask.to, min(floors, default=ask.revision)

    def _came(self, ask: _Ask) -> None:
        ask.waiting -= 1
        if not ask.waiting:
            self._complete.append(ask)


def _floor(ask: _Ask, watch: "Watch", idle_at: int) -> int:
    """What a watch that fulfilled a request has surely been told and has written."""
    if watch.outstanding:
        return ask.revision
    return watch.told if watch.behind else idle_at
