"""Which watches a changed key concerns, without asking every watch.

Watches of one range that want the same are one *group*: what happened is put together once per
group, however many watches are in it. Groups are found

- of one exact key, in a dict by that key;
- of a prefix (almost every range of a real client is one), in a dict by that prefix, one dict
  per length: a key is looked up once per length that occurs, which are few;
- of any other range, by looking at each distinct one of them. Many thousands of overlapping
  ranges that are no prefixes are slow here, and only here.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeVar

from etcdq.actors.node.messages import Change
from etcdq.actors.node.ranges import contains, prefix_end

if TYPE_CHECKING:
    from etcdq.actors.node.watchers import Watch

K = TypeVar("K")


class Group:
    """The watches of one range that want the same events. `news` is what the batch brought."""

    __slots__ = ("delete", "end", "news", "prev_kv", "put", "start", "watches")

    def __init__(self, start: bytes, end: bytes, prev_kv: bool, put: bool, delete: bool) -> None:
        self.start = start
        self.end = end
        self.prev_kv = prev_kv
        self.put = put
        self.delete = delete
        self.watches: dict[Watch, None] = {}
        self.news: list[Change] = []

    def wants(self, change: Change) -> bool:
        """Say whether an event of this key and kind is for these watches."""
        if not (self.delete if change.deleted else self.put):
            return False
        return contains(self.start, self.end, change.kv.key)

    def is_alike(self, prev_kv: bool, put: bool, delete: bool) -> bool:
        """Say whether a watch that wants this belongs here."""
        return self.prev_kv == prev_kv and self.put == put and self.delete == delete


class WatchIndex:
    """All groups, by the keys they cover."""

    def __init__(self) -> None:
        self._exact: dict[bytes, tuple[Group, ...]] = {}
        self._prefixes: dict[int, dict[bytes, tuple[Group, ...]]] = {}
        self._ranges: dict[tuple[bytes, bytes], tuple[Group, ...]] = {}

    def group(self, start: bytes, end: bytes, prev_kv: bool, put: bool, delete: bool) -> Group:
        """Return the group of watches that want this; a new one if there is none."""
        found: tuple[Group, ...]
        if not end:
            found = self._exact.get(start, ())
        elif end == prefix_end(start):
            found = self._prefixes.get(len(start), {}).get(start, ())
        else:
            found = self._ranges.get((start, end), ())
        for group in found:
            if group.is_alike(prev_kv, put, delete):
                return group
        group = Group(start, end, prev_kv, put, delete)
        self._store(start, end, (*found, group))
        return group

    def discard(self, group: Group) -> None:
        """Forget a group whose last watch is gone."""
        assert not group.watches, "a group goes after its last watch"
        start, end = group.start, group.end
        if not end:
            found = self._exact[start]
        elif end == prefix_end(start):
            found = self._prefixes[len(start)][start]
        else:
            found = self._ranges[start, end]
        self._store(start, end, tuple(other for other in found if other is not group))

    def find(self, key: bytes) -> Iterator[Group]:
        """Iterate over the groups whose range contains the key, whatever kind of event they want.

        Nothing may be added or discarded meanwhile.
        """
        yield from self._exact.get(key, ())
        for length, prefixes in self._prefixes.items():
            if len(key) >= length:
                yield from prefixes.get(key[:length], ())
        for (start, end), groups in self._ranges.items():
            if contains(start, end, key):
                yield from groups

    def _store(self, start: bytes, end: bytes, groups: tuple[Group, ...]) -> None:
        if not end:
            _set(self._exact, start, groups)
        elif end == prefix_end(start):
            prefixes = self._prefixes.setdefault(len(start), {})
            _set(prefixes, start, groups)
            if not prefixes:
                del self._prefixes[len(start)]
        else:
            _set(self._ranges, (start, end), groups)


def _set(groups_of: dict[K, tuple[Group, ...]], key: K, groups: tuple[Group, ...]) -> None:
    if groups:
        groups_of[key] = groups
    else:
        del groups_of[key]
