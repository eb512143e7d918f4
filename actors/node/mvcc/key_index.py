"""Which record of a key was valid when, and which keys are there, in order.

A *record* is a `KeyValue`: what one revision did to one key. A *tombstone* is the record of a
delete: version 0, no value. A *generation* is one life of a key: its records from version 1 on
to the tombstone that ends it. The last generation of a live key has no tombstone yet. One
revision touches a key at most once, so a key's records are ordered by mod_revision alone.

Worked example. Put k (revision 2), put k (3), delete k (5), put k (8):

    revision   2     3     5           8
    record     v1    v2    tombstone   v1
    generation [created 2           ]  [created 8 ...

    at(k, 1)   None: before its first life      at(k, 5..7)   None: a tombstone is no value
    at(k, 2)   v1                               at(k, 8...)   v1 of the second life
    at(k, 3)   v2, and at(k, 4) too

Newest records lie in one dict, by key; earlier ones in a second that only keys with a past are
in. So a key that was put once costs no container of its own, and the garbage collector has
nothing to walk. A key whose newest record is a tombstone moves from the sorted list of live
keys to that of dead ones: a range over the present never meets the dead.

Compaction to a revision R may later drop, per key, all records before the newest one that is not
after R, and that one too if it is a tombstone from before R; a key without records goes. Whole
generations go that way, and no other structure needs to know.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from heapq import merge
from operator import attrgetter

from sortedcontainers import SortedList

from etcdq.actors.node.messages import Change, KeyValue
from etcdq.actors.node.ranges import FROM_KEY

_mod_revision = attrgetter("mod_revision")


class KeyIndex:
    """All keys with all their records. Owns every record it is given."""

    def __init__(self) -> None:
        self._newest: dict[bytes, KeyValue] = {}
        self._older: dict[bytes, list[KeyValue]] = {}
        self._live: SortedList = SortedList()
        self._dead: SortedList = SortedList()

    def newest(self, key: bytes) -> KeyValue | None:
        """Return what key holds now, None if it is not there."""
        record = self._newest.get(key)
        return record if record is not None and record.version else None

    def at(self, key: bytes, revision: int) -> KeyValue | None:
        """Return what key held at a revision, None if it was not there."""
        record = self._newest.get(key)
        if record is None:
            return None
        if record.mod_revision > revision:
            older = self._older.get(key, ())
            position = bisect_right(older, revision, key=_mod_revision)
            if position == 0:
                return None
            record = older[position - 1]
        return record if record.version else None

    def put(self, key: bytes, value: bytes, lease: int, revision: int) -> Change:
        """Add a record; begins a new generation where the key is not there."""
        before = self._newest.get(key)
        if before is None:
            self._live.add(key)
            record = KeyValue(key, value, revision, revision, 1, lease)
            self._newest[key] = record
            return Change(record, False)
        key = before.key  # all records of a key share one object
        self._remember(before)
        if before.version:
            record = KeyValue(
                key, value, before.create_revision, revision, before.version + 1, lease
            )
            self._newest[key] = record
            return Change(record, False, before)
        self._dead.remove(key)
        self._live.add(key)
        record = KeyValue(key, value, revision, revision, 1, lease)
        self._newest[key] = record
        return Change(record, False)

    def delete(self, key: bytes, revision: int) -> Change:
        """Add a tombstone: ends the generation of a key that is there."""
        before = self._newest[key]
        assert before.version, "only a live key can be deleted"
        self._remember(before)
        tombstone = KeyValue(before.key, b"", 0, revision, 0)
        self._newest[key] = tombstone
        self._live.remove(key)
        self._dead.add(before.key)
        return Change(tombstone, True, before)

    def put_only(self, key: bytes, value: bytes, revision: int) -> Change:
        """Let one record be all there is of a key: its versions go on, its past is forgotten."""
        before = self.newest(key)
        self._older.pop(key, None)
        if before is None:
            self.forget(key)
            self._live.add(key)
            record = KeyValue(key, value, revision, revision, 1)
        else:
            created, version = before.create_revision, before.version + 1
            record = KeyValue(before.key, value, created, revision, version)
        self._newest[record.key] = record
        return Change(record, False, before)

    def forget(self, key: bytes) -> None:
        """Drop a key with its past, without a trace; nothing happens if it is unknown."""
        record = self._newest.pop(key, None)
        self._older.pop(key, None)
        if record is not None:
            (self._live if record.version else self._dead).remove(key)

    def live(self, start: bytes, end: bytes) -> Iterator[KeyValue]:
        """Iterate over what the keys of [start, end) hold now, in key order.

        `end` is not b"". Nothing may be put or deleted meanwhile.
        """
        return map(self._newest.__getitem__, _in_range(self._live, start, end))

    def count_live(self, start: bytes, end: bytes) -> int:
        """Return how many keys [start, end) has now, without walking them."""
        live = self._live
        stop: int = len(live) if end == FROM_KEY else live.bisect_left(end)
        count: int = stop - live.bisect_left(start)
        return max(0, count)

    def live_at(self, start: bytes, end: bytes, revision: int) -> Iterator[KeyValue]:
        """Iterate over what the keys of [start, end) held at a revision, in key order."""
        keys = merge(_in_range(self._live, start, end), _in_range(self._dead, start, end))
        for key in keys:
            record = self.at(key, revision)
            if record is not None:
                yield record

    def __len__(self) -> int:
        """Count the keys that have any record, dead ones too."""
        return len(self._newest)

    def _remember(self, record: KeyValue) -> None:
        older = self._older.get(record.key)
        if older is None:
            self._older[record.key] = [record]
        else:
            older.append(record)


def _in_range(keys: SortedList, start: bytes, end: bytes) -> Iterable[bytes]:
    """The keys of the half-open range [start, end), or from start on where end is FROM_KEY."""
    found: Iterable[bytes] = keys.irange(
        start, None if end == FROM_KEY else end, inclusive=(True, False)
    )
    return found
