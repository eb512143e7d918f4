"""What watches read of the past: a bounded piece at a time, cut at revisions."""

from etcdq.actors import limits
from etcdq.actors.node.messages import Change
from etcdq.actors.node.mvcc.store import Store, change_bytes
from etcdq.actors.node.watch_index import Group

Revision = tuple[int, list[Change]]
"""A revision and what it changed."""


class History:
    """The store's history as read in one batch: watches that are equally far share a read."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._from: int | None = None
        self._revisions: list[Revision] = []
        self.read_events = 0

    @property
    def is_enough(self) -> bool:
        """Whether this batch has read what a batch may read."""
        return self.read_events >= limits.CATCH_UP_EVENTS_PER_BATCH

    def since(self, revision: int) -> list[Revision]:
        """Return some of what happened at `revision` and later; nothing: that is all.

        Raises:
            CompactedError: that is forgotten.
        """
        if revision != self._from:
            self._revisions = self._store.events_since(revision, limits.CATCH_UP_READ_BYTES)
            self._from = revision
        self.read_events += 1 + len(self._revisions)
        return self._revisions


class Response:
    """What one group's watch wants of the history, up to a response's worth."""

    def __init__(self, group: Group) -> None:
        self._group = group
        self._bytes = 0
        self.changes: list[Change] = []

    def take(self, revisions: list[Revision]) -> int | None:
        """Take what is wanted; return the first revision that found no room."""
        group = self._group
        for revision, changes in revisions:
            wanted = [change for change in changes if group.wants(change)]
            if not wanted:
                continue
            if not group.prev_kv:
                wanted = [without_prev(change) for change in wanted]
            size = sum(map(change_bytes, wanted))
            if self.changes and self._bytes + size > limits.RESPONSE_EVENTS_BYTES_MAX:
                return revision
            self.changes += wanted
            self._bytes += size
        return None


def merged(
    revisions: list[Revision], registry: list[Change], after: int, end: int
) -> list[Revision]:
    """Return history and the registry's changes of (after, end], in revision order."""
    due = [
        (change.kv.mod_revision, [change])
        for change in registry
        if after < change.kv.mod_revision <= end
    ]
    return sorted(revisions + due, key=_revision_of) if due else revisions


def _revision_of(revision: Revision) -> int:
    return revision[0]


def cut(news: list[Change], now: int) -> tuple[tuple[Change, ...], int]:
    """Return a response's worth of the news, and the revision up to which this is everything."""
    size = 0
    begin = 0  # of the revision that the next change belongs to
    for position, change in enumerate(news):
        if change.kv.mod_revision != news[begin].kv.mod_revision:
            begin = position
        size += change_bytes(change)
        if begin and size > limits.RESPONSE_EVENTS_BYTES_MAX:
            return tuple(news[:begin]), news[begin].kv.mod_revision - 1
    return tuple(news), now


def without_prev(change: Change) -> Change:
    """Return the change as a watch sees it that did not ask for previous values."""
    return change if change.prev is None else Change(change.kv, change.deleted)
