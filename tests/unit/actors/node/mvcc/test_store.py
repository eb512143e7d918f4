"""The store: revisions, history, the registry's keys, and the whole of it against a dumb model."""

from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from etcdq.actors.limits import EVENT_OVERHEAD_BYTES
from etcdq.actors.node.messages import Change, KeyValue
from etcdq.actors.node.mvcc.errors import CompactedError, FutureRevisionError
from etcdq.actors.node.mvcc.store import Store

ALL = (b"\0", b"\0")
NO_LIMIT_BYTES = 1 << 40


def test_an_empty_store_has_revision_1() -> None:
    """The first put makes revision 2."""
    store = Store()
    assert store.revision == 1
    assert store.read(*ALL) == ([], 0)
    assert store.put(b"k", b"v", lease=3).kv == KeyValue(b"k", b"v", 2, 2, 1, 3)
    assert store.revision == 2


def test_one_delete_is_one_revision() -> None:
    """All keys of a range go at one revision, in key order."""
    store = Store()
    for key in (b"b", b"a", b"c"):
        store.put(key, b"v")
    held, changes = store.delete_range(b"a", b"c")
    assert store.revision == 5
    assert [kv.key for kv in held] == [b"a", b"b"]
    assert [change.kv for change in changes] == [
        KeyValue(b"a", b"", 0, 5, 0),
        KeyValue(b"b", b"", 0, 5, 0),
    ]
    assert [change.prev for change in changes] == held
    assert store.get(b"a") is None
    assert store.get(b"c") is not None


def test_a_delete_of_nothing_makes_no_revision() -> None:
    """Neither an unknown key nor one deleted before."""
    store = Store()
    store.put(b"k", b"v")
    store.delete_range(b"k")
    assert store.delete_range(b"k") == ([], [])
    assert store.delete_range(b"x", b"\0") == ([], [])
    assert store.revision == 3


def test_read_at_a_revision() -> None:
    """The past stays as it was, and the future is refused."""
    store = Store()
    store.put(b"a", b"1")
    store.put(b"b", b"1")
    store.put(b"a", b"2")
    store.delete_range(b"b")
    assert store.read(*ALL, revision=3) == (
        [KeyValue(b"a", b"1", 2, 2, 1), KeyValue(b"b", b"1", 3, 3, 1)],
        2,
    )
    assert store.read(b"b", revision=4) == ([KeyValue(b"b", b"1", 3, 3, 1)], 1)
    assert store.read(b"b", revision=5) == ([], 0)
    assert store.read(*ALL, revision=3, limit=1)[0] == [KeyValue(b"a", b"1", 2, 2, 1)]
    assert store.read(b"a", revision=-1) == store.read(b"a")
    with pytest.raises(FutureRevisionError):
        store.read(b"a", revision=6)


def test_compacted_revisions_are_refused() -> None:
    """The compacted revision itself can still be read and watched from."""
    store = Store()
    for _ in range(4):
        store.put(b"k", b"v")
    store.compact_revision = 3
    with pytest.raises(CompactedError) as refused:
        store.read(b"k", revision=2)
    assert refused.value.compact_revision == 3
    with pytest.raises(CompactedError):
        store.count(b"k", revision=1)
    with pytest.raises(CompactedError):
        store.events_since(2, NO_LIMIT_BYTES)
    assert store.read(b"k", revision=3)[1] == 1
    assert [revision for revision, _ in store.events_since(3, NO_LIMIT_BYTES)] == [3, 4, 5]


def test_events_since_tells_all_revisions_from_there_on() -> None:
    """Each with its changes in key order and what they replaced."""
    store = Store()
    store.put(b"b", b"1")
    store.put(b"a", b"2")
    store.delete_range(*ALL)
    store.put(b"a", b"3")
    first, second = KeyValue(b"b", b"1", 2, 2, 1), KeyValue(b"a", b"2", 3, 3, 1)
    gone = [
        Change(KeyValue(b"a", b"", 0, 4, 0), True, second),
        Change(KeyValue(b"b", b"", 0, 4, 0), True, first),
    ]
    again = [Change(KeyValue(b"a", b"3", 5, 5, 1), False)]
    assert store.events_since(0, NO_LIMIT_BYTES) == [
        (2, [Change(first, False)]),
        (3, [Change(second, False)]),
        (4, gone),
        (5, again),
    ]
    assert store.events_since(5, NO_LIMIT_BYTES) == [(5, again)]
    assert store.events_since(6, NO_LIMIT_BYTES) == []


def test_events_since_never_splits_a_revision() -> None:
    """One revision may be over the limit, a second is told only while both are within it."""
    store = Store()
    for key in (b"a", b"b", b"c"):
        store.put(key, b"v" * 8)
    store.delete_range(b"a", b"c")
    one = 9 + EVENT_OVERHEAD_BYTES
    told = [
        [revision for revision, _ in store.events_since(since, limit)]
        for since, limit in [(2, 0), (2, one), (2, 2 * one), (2, 3 * one - 1), (5, 1)]
    ]
    assert told == [[2], [2], [2, 3], [2, 3], [5]]
    assert len(store.events_since(5, 1)[0][1]) == 2


def test_registry_keys_are_seen_now_and_leave_no_history() -> None:
    """They make revisions and changes for live watchers, and nothing else."""
    store = Store()
    store.put(b"a", b"1")
    change = store.put_current(b"/q/x", b"node")
    assert change == Change(KeyValue(b"/q/x", b"node", 3, 3, 1), False)
    assert store.is_registry(b"/q/x")
    assert store.put_current(b"/q/x", b"other").prev == change.kv
    assert store.revision == 4
    assert store.read(*ALL)[1] == 2
    assert store.read(b"/q/x", revision=3) == ([], 0)
    assert store.read(*ALL, revision=3)[1] == 1
    gone = store.delete_current(b"/q/x")
    assert gone == Change(
        KeyValue(b"/q/x", b"", 0, 5, 0), True, KeyValue(b"/q/x", b"other", 3, 4, 2)
    )
    assert store.delete_current(b"/q/x") is None
    assert store.revision == 5
    assert store.read(b"/q/x", revision=4) == ([], 0)
    assert [revision for revision, _ in store.events_since(1, NO_LIMIT_BYTES)] == [2]


def test_delete_range_counts_registry_keys_and_leaves_them() -> None:
    """The client gets its number, the key stays, and no revision is made for it."""
    store = Store()
    store.put_current(b"/q/x", b"node")
    held, changes = store.delete_range(b"/q/x")
    assert ([kv.key for kv in held], changes, store.revision) == ([b"/q/x"], [], 2)
    store.put(b"a", b"v")
    held, changes = store.delete_range(*ALL)
    assert [kv.key for kv in held] == [b"/q/x", b"a"]
    assert [change.kv.key for change in changes] == [b"a"]
    assert store.get(b"/q/x") is not None


def test_put_is_not_for_registry_keys() -> None:
    """Whoever owns the store answers a client that overwrites one."""
    store = Store()
    store.put_current(b"/q/x", b"node")
    with pytest.raises(AssertionError):
        store.put(b"/q/x", b"mine")


def reachable(root: object) -> int:
    """Count the objects an object holds, all the way down."""
    seen: dict[int, object] = {}
    todo = [root]
    while todo:
        each = todo.pop()
        if id(each) in seen:
            continue
        seen[id(each)] = each
        if isinstance(each, dict):
            todo.extend([*each.keys(), *each.values()])
        elif isinstance(each, list | tuple | set):
            todo.extend(each)
        todo.extend(vars(each).values() if hasattr(each, "__dict__") else [])
    return len(seen)


def test_endless_churn_of_registry_keys_leaves_nothing_behind() -> None:
    """Ten thousand consumers that came and went hold no object."""
    store = Store()
    store.put(b"a", b"v")
    before = reachable(store)
    for number in range(10_000):
        store.put_current(b"/q/x/c/%d" % number, b"node")
        store.put_current(b"/q/x/c/%d" % number, b"node 2")
        store.delete_current(b"/q/x/c/%d" % number)
    assert store.revision == 30_002
    assert reachable(store) <= before + 4  # the sorted list keeps a few empty ones


KEYS = st.sampled_from([b"\0", b"a", b"a\0", b"aa", b"ab", b"b", b"b\xff", b"c", b"\xff"])
REGISTRY = st.sampled_from([b"a/q", b"b/q"])
ENDS = st.one_of(st.sampled_from([b"", b"\0", b"d"]), KEYS)


class StoreMachine(RuleBasedStateMachine):
    """The store against a model that copies everything at every revision."""

    def __init__(self) -> None:
        super().__init__()
        self.store = Store()
        self.snapshots: list[dict[bytes, KeyValue]] = [{}, {}]  # ordinary keys, by revision
        self.events: list[tuple[int, list[Change]]] = []
        self.registry: dict[bytes, KeyValue] = {}

    def model_read(self, start: bytes, end: bytes, revision: int) -> list[KeyValue]:
        """What the model holds in a range at a revision."""
        there = dict(self.snapshots[revision])
        there.update({k: kv for k, kv in self.registry.items() if kv.mod_revision <= revision})
        if not end:
            return [there[start]] if start in there else []
        inside = (k for k in sorted(there) if k >= start and (end == b"\0" or k < end))
        return [there[key] for key in inside]

    def model_commit(self, now: dict[bytes, KeyValue]) -> None:
        """Make a revision."""
        self.snapshots.append(now)

    @rule(key=KEYS, value=st.binary(max_size=3), lease=st.integers(0, 2))
    def put(self, key: bytes, value: bytes, lease: int) -> None:
        """A put begins a life or goes on with one."""
        revision, before = len(self.snapshots), self.snapshots[-1].get(key)
        if before is None:
            kv = KeyValue(key, value, revision, revision, 1, lease)
        else:
            kv = KeyValue(key, value, before.create_revision, revision, before.version + 1, lease)
        change = Change(kv, False, before)
        assert self.store.put(key, value, lease) == change
        self.model_commit({**self.snapshots[-1], key: kv})
        self.events.append((revision, [change]))

    @rule(start=KEYS, end=ENDS)
    def delete_range(self, start: bytes, end: bytes) -> None:
        """A delete takes the ordinary keys of a range."""
        revision = len(self.snapshots)
        held = self.model_read(start, end, revision - 1)
        gone = [kv for kv in held if kv.key not in self.registry]
        changes = [Change(KeyValue(kv.key, b"", 0, revision, 0), True, kv) for kv in gone]
        assert self.store.delete_range(start, end) == (held, changes)
        if gone:
            now = dict(self.snapshots[-1])
            for kv in gone:
                del now[kv.key]
            self.model_commit(now)
            self.events.append((revision, changes))

    @rule(key=REGISTRY, value=st.binary(max_size=3))
    def put_current(self, key: bytes, value: bytes) -> None:
        """The registry holds one record of a key."""
        revision, before = len(self.snapshots), self.registry.get(key)
        created, version = (before.create_revision, before.version) if before else (revision, 0)
        kv = KeyValue(key, value, created, revision, version + 1)
        assert self.store.put_current(key, value) == Change(kv, False, before)
        self.registry[key] = kv
        self.model_commit(self.snapshots[-1])

    @rule(key=REGISTRY)
    def delete_current(self, key: bytes) -> None:
        """And none after its end."""
        change = self.store.delete_current(key)
        before = self.registry.pop(key, None)
        assert (change is None) == (before is None)
        if change is not None:
            tombstone = KeyValue(key, b"", 0, len(self.snapshots), 0)
            assert change == Change(tombstone, True, before)
            self.model_commit(self.snapshots[-1])

    @rule(start=KEYS, end=ENDS, limit=st.integers(-1, 4), data=st.data())
    def read(self, start: bytes, end: bytes, limit: int, data: Any) -> None:
        """Every range at every revision is what the model kept."""
        revision = data.draw(st.integers(0, len(self.snapshots) - 1), label="revision")
        expected = self.model_read(start, end, revision or len(self.snapshots) - 1)
        cut = expected[:limit] if limit > 0 else expected
        found = self.store.read(start, end, revision=revision, limit=limit)
        assert found == (cut, len(expected))
        assert self.store.count(start, end, revision=revision) == len(expected)

    @rule(since=st.integers(0, 60), limit_bytes=st.integers(0, 1000))
    def catch_up(self, since: int, limit_bytes: int) -> None:
        """Whoever goes on from what it was told hears every event once, in order."""
        told: list[tuple[int, list[Change]]] = []
        start = since
        while batch := self.store.events_since(start, limit_bytes):
            told += batch
            start = batch[-1][0] + 1
        assert told == [event for event in self.events if event[0] >= since]

    @invariant()
    def same_revision(self) -> None:
        """Every change makes one revision."""
        assert self.store.revision == len(self.snapshots) - 1


TestStoreAgainstModel = StoreMachine.TestCase
TestStoreAgainstModel.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)
