"""A dumb model of a key space's history, and what etcd promises of a watch, checked against it."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from etcdq.actors.node.messages import Change, Changes, KeyValue, WatchKeys


def covers(start: bytes, end: bytes, key: bytes) -> bool:
    """Whether a range in etcd's spelling has the key."""
    if not end:
        return key == start
    return key >= start and (end == b"\0" or key < end)


@dataclass
class Model:
    """Every ordinary change that was ever made, computed from the requests alone."""

    revision: int = 1
    now: dict[bytes, KeyValue] = field(default_factory=dict)
    history: list[Change] = field(default_factory=list)
    registry: dict[bytes, KeyValue] = field(default_factory=dict)
    registry_history: list[Change] = field(default_factory=list)

    def put(self, key: bytes, value: bytes) -> None:
        """A put makes a revision."""
        self.revision += 1
        before = self.now.get(key)
        created = before.create_revision if before else self.revision
        version = before.version + 1 if before else 1
        self.now[key] = KeyValue(key, value, created, self.revision, version)
        self.history.append(Change(self.now[key], False, before))

    def delete(self, start: bytes, end: bytes) -> None:
        """A delete that hits something makes one revision."""
        gone = sorted(key for key in self.now if covers(start, end, key))
        if gone:
            self.revision += 1
        for key in gone:
            tombstone = KeyValue(key, b"", 0, self.revision, 0)
            self.history.append(Change(tombstone, True, self.now.pop(key)))

    def set_registry(self, key: bytes, value: bytes) -> None:
        """The server writes a registry key."""
        self.revision += 1
        before = self.registry.get(key)
        created = before.create_revision if before else self.revision
        version = before.version + 1 if before else 1
        self.registry[key] = KeyValue(key, value, created, self.revision, version)
        self.registry_history.append(Change(self.registry[key], False, before))

    def drop_registry(self, key: bytes) -> None:
        """The server removes a registry key."""
        before = self.registry.pop(key, None)
        if before is not None:
            self.revision += 1
            tombstone = KeyValue(key, b"", 0, self.revision, 0)
            self.registry_history.append(Change(tombstone, True, before))


def wanted(request: WatchKeys, changes: Iterable[Change], since: int) -> list[Change]:
    """What a watch is to be told of the changes from a revision on."""
    return [
        Change(change.kv, change.deleted, change.prev if request.prev_kv else None)
        for change in changes
        if change.kv.mod_revision >= since
        and covers(request.start, request.end, change.kv.key)
        and (request.delete if change.deleted else request.put)
    ]


def check_stream(
    model: Model, request: WatchKeys, since: int, told: list[Changes], *, complete: bool
) -> None:
    """Check all that a watch was told against the history.

    Filter, ordered, unique, reliable, resumable, prev_kv and is_create are one equality: the
    ordinary events are exactly the history's, from the first revision wanted on. Atomic and
    bookmarkable are looked at between the tellings.
    """
    events = [change for changes in told for change in changes.changes]
    is_registry = {change.kv.key for change in model.registry_history}
    ordinary = [event for event in events if event.kv.key not in is_registry]
    expected = wanted(request, model.history, since)
    assert ordinary == (expected if complete else expected[: len(ordinary)])
    revisions = [event.kv.mod_revision for event in events]
    assert revisions == sorted(revisions), "ordered"
    up_to = 0
    for changes in told:
        for change in changes.changes:
            assert up_to < change.kv.mod_revision <= changes.revision, "atomic, bookmarkable"
        assert changes.revision >= up_to
        up_to = changes.revision
    check_registry(model, request, since, events, is_registry, complete=complete)


def check_registry(
    model: Model,
    request: WatchKeys,
    since: int,
    events: list[Change],
    is_registry: set[bytes],
    *,
    complete: bool,
) -> None:
    """Registry events are true; the last change of each key, if it is wanted, is told last."""
    expected = wanted(request, model.registry_history, since)
    told = [event for event in events if event.kv.key in is_registry]
    by_revision = {change.kv.mod_revision: change for change in expected}
    for event in told:
        assert by_revision[event.kv.mod_revision] == event
    if complete:
        last_told = {event.kv.key: event for event in told}
        last = {change.kv.key: change.kv.mod_revision for change in model.registry_history}
        for change in expected:
            if last[change.kv.key] == change.kv.mod_revision:
                assert last_told.pop(change.kv.key) == change
