"""The key space: every ordinary key at every revision, and the registry's keys as they are now.

The store begins at revision 1. Each change makes the next revision; a delete of n keys is one
change. The log holds the record of every change, in order, and the records of one revision in the
order of its parts (etcd's sub-revisions): by it a watch catches up.

Registry keys are written by the server itself and come and go with consumers. They take part in
revisions, ranges and live watches, but have no history: nothing of them is in the log, an
earlier revision does not show them once they have changed, and a client cannot delete them. So
endless comings and goings leave nothing behind.

Ranges are given as in etcd: end b"" is the single key `start`, b"\\0" every key from `start` on,
else [start, end). Source: etcd v3.5 API; checked against a real etcd in tests/differential/.
"""

from bisect import bisect_left
from itertools import islice
from operator import attrgetter

from etcdq.actors.limits import EVENT_OVERHEAD_BYTES
from etcdq.actors.node.messages import Change, KeyValue
from etcdq.actors.node.mvcc.errors import CompactedError, FutureRevisionError
from etcdq.actors.node.mvcc.key_index import KeyIndex

FIRST_REVISION = 1
"""Revision of an empty store."""

_mod_revision = attrgetter("mod_revision")


class Store:
    """Keys in memory. Not an actor: whoever owns it calls it and publishes the changes."""

    def __init__(self) -> None:
        self.revision = FIRST_REVISION
        self.compact_revision = 0  # nothing compacts yet; readers are ready for it
        self._index = KeyIndex()
        self._log: list[KeyValue] = []
        self._registry: set[bytes] = set()

    def put(self, key: bytes, value: bytes, lease: int = 0) -> Change:
        """Put an ordinary key; makes a revision. Not for registry keys (see `is_registry`)."""
        assert key not in self._registry, "registry keys are the server's own"
        self.revision += 1
        change = self._index.put(key, value, lease, self.revision)
        self._log.append(change.kv)
        return change

    def delete_range(self, start: bytes, end: bytes = b"") -> tuple[list[KeyValue], list[Change]]:
        """Delete keys; makes a revision if one goes.

        Returns:
            What the keys of the range held, registry keys (which stay) too: their number is the
            answer to the client. And the changes that watchers must hear of. Both in key order.
        """
        held, _ = self.read(start, end)
        doomed = [kv.key for kv in held if kv.key not in self._registry]
        if not doomed:
            return held, []
        self.revision += 1
        changes = [self._index.delete(key, self.revision) for key in doomed]
        self._log.extend(change.kv for change in changes)
        return held, changes

    def put_current(self, key: bytes, value: bytes) -> Change:
        """Write a registry key; makes a revision and forgets all earlier ones of this key."""
        self.revision += 1
        self._registry.add(key)
        return self._index.put_only(key, value, self.revision)

    def delete_current(self, key: bytes) -> Change | None:
        """Remove a registry key without a trace; None, and no revision, if it is not there."""
        if key not in self._registry:
            return None
        before = self._index.newest(key)
        assert before is not None, "a registry key always has its one record"
        self.revision += 1
        self._registry.remove(key)
        self._index.forget(key)
        return Change(KeyValue(key, b"", 0, self.revision, 0), True, before)

    def is_registry(self, key: bytes) -> bool:
        """Say whether the server keeps this key itself."""
        return key in self._registry

    def get(self, key: bytes) -> KeyValue | None:
        """Return what a key holds now, None if it is not there."""
        return self._index.newest(key)

    def read(
        self, start: bytes, end: bytes = b"", *, revision: int = 0, limit: int = 0
    ) -> tuple[list[KeyValue], int]:
        """Read keys.

        Args:
            revision: as it was then; 0 or less: now.
            limit: at most so many records; 0 or less: all.

        Returns:
            The records, in key order, and how many keys the whole range has.

        Raises:
            FutureRevisionError, CompactedError: no such revision (any more).
        """
        at = self._checked(revision)
        if not end:
            record = self._index.at(start, at)
            return ([], 0) if record is None else ([record], 1)
        if at == self.revision:
            found = self._index.live(start, end)
            if limit > 0:
                cut = islice(found, min(limit, len(self._index)))
                return list(cut), self._index.count_live(start, end)
        else:
            found = self._index.live_at(start, end, at)
        records = list(found)
        return (records[:limit] if limit > 0 else records), len(records)

    def count(self, start: bytes, end: bytes = b"", *, revision: int = 0) -> int:
        """Count the keys of a range; arguments and errors as in `read`."""
        at = self._checked(revision)
        if not end:
            return 0 if self._index.at(start, at) is None else 1
        if at == self.revision:
            return self._index.count_live(start, end)
        return sum(1 for _ in self._index.live_at(start, end, at))

    def events_since(self, revision: int, limit_bytes: int) -> list[tuple[int, list[Change]]]:
        """Return what happened at `revision` and after it: (revision, its changes), in order.

        A revision is never split, and at least one is returned if there is one; beyond that
        keys, values and previous values stay within `limit_bytes`. Go on from the last
        revision returned plus 1; an empty list says that all is told. Revisions that only
        touched the registry are not in it.

        Raises:
            CompactedError: `revision` lies before the compacted one.
        """
        if revision < self.compact_revision:
            raise CompactedError(self.compact_revision)
        told: list[tuple[int, list[Change]]] = []
        told_bytes = 0
        position = bisect_left(self._log, revision, key=_mod_revision)
        while position < len(self._log):
            changes = self._changes_at(position)
            told_bytes += sum(change_bytes(change) for change in changes)
            if told and told_bytes > limit_bytes:
                break
            told.append((changes[0].kv.mod_revision, changes))
            position += len(changes)
        return told

    def _changes_at(self, position: int) -> list[Change]:
        """The changes of the revision whose first record lies at a position of the log."""
        revision = self._log[position].mod_revision
        changes = []
        while position < len(self._log) and self._log[position].mod_revision == revision:
            record = self._log[position]
            before = None if record.version == 1 else self._index.at(record.key, revision - 1)
            changes.append(Change(record, not record.version, before))
            position += 1
        return changes

    def _checked(self, revision: int) -> int:
        if revision <= 0:
            return self.revision
        if revision > self.revision:
            raise FutureRevisionError
        if revision < self.compact_revision:
            raise CompactedError(self.compact_revision)
        return revision


def change_bytes(change: Change) -> int:
    """Return what an event of this change takes in a response, at most."""
    held = len(change.kv.key) + len(change.kv.value) + EVENT_OVERHEAD_BYTES
    if change.prev is not None:
        held += len(change.prev.key) + len(change.prev.value) + EVENT_OVERHEAD_BYTES
    return held
