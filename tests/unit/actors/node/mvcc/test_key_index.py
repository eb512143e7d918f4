"""The key index: generations, what was valid when, and order."""

import pytest

from etcdq.actors.node.messages import Change, KeyValue
from etcdq.actors.node.mvcc.key_index import KeyIndex
from etcdq.actors.node.ranges import FROM_KEY


@pytest.fixture
def index() -> KeyIndex:
    """The worked example of key_index.py: put 2, put 3, delete 5, put 8."""
    index = KeyIndex()
    index.put(b"k", b"a", 0, 2)
    index.put(b"k", b"b", 0, 3)
    index.delete(b"k", 5)
    index.put(b"k", b"c", 0, 8)
    return index


def test_worked_example(index: KeyIndex) -> None:
    """Each revision shows the record that was valid then, none between two lives."""
    seen = [index.at(b"k", revision) for revision in range(1, 10)]
    first = KeyValue(b"k", b"a", 2, 2, 1)
    second = KeyValue(b"k", b"b", 2, 3, 2)
    third = KeyValue(b"k", b"c", 8, 8, 1)
    assert seen == [None, first, second, second, None, None, None, third, third]
    assert index.newest(b"k") == third


def test_unknown_key_was_never_there(index: KeyIndex) -> None:
    """A key without records is absent at every revision."""
    assert index.at(b"x", 9) is None
    assert index.newest(b"x") is None


def test_changes_tell_what_was_there() -> None:
    """A put and a delete carry the record they replace, a new generation carries none."""
    index = KeyIndex()
    assert index.put(b"k", b"a", 4, 2) == Change(KeyValue(b"k", b"a", 2, 2, 1, 4), False)
    before = KeyValue(b"k", b"a", 2, 2, 1, 4)
    after = KeyValue(b"k", b"b", 2, 3, 2)
    assert index.put(b"k", b"b", 0, 3) == Change(after, False, before)
    assert index.delete(b"k", 4) == Change(KeyValue(b"k", b"", 0, 4, 0), True, after)
    assert index.put(b"k", b"c", 0, 5) == Change(KeyValue(b"k", b"c", 5, 5, 1), False)


def test_only_a_live_key_can_be_deleted(index: KeyIndex) -> None:
    """A second tombstone would be our bug."""
    index.delete(b"k", 9)
    with pytest.raises(AssertionError):
        index.delete(b"k", 10)


def test_ranges_are_half_open_and_ordered() -> None:
    """The start is in, the end is not, and one zero byte is no end."""
    index = KeyIndex()
    for revision, key in enumerate([b"c", b"a", b"d", b"b"], start=2):
        index.put(key, b"", 0, revision)
    assert [kv.key for kv in index.live(b"a", b"c")] == [b"a", b"b"]
    assert [kv.key for kv in index.live(b"b", FROM_KEY)] == [b"b", b"c", b"d"]
    assert [kv.key for kv in index.live(b"c", b"a")] == []
    counts = [index.count_live(*ends) for ends in [(b"a", b"c"), (b"b", FROM_KEY), (b"c", b"a")]]
    assert counts == [2, 3, 0]


def test_the_dead_are_seen_in_the_past_only() -> None:
    """A deleted key leaves the present range and stays in the earlier one, in key order."""
    index = KeyIndex()
    for revision, key in enumerate([b"c", b"a", b"b"], start=2):
        index.put(key, b"", 0, revision)
    index.delete(b"b", 5)
    assert [kv.key for kv in index.live(b"a", FROM_KEY)] == [b"a", b"c"]
    assert index.count_live(b"a", FROM_KEY) == 2
    assert [kv.key for kv in index.live_at(b"a", FROM_KEY, 4)] == [b"a", b"b", b"c"]
    assert [kv.key for kv in index.live_at(b"a", FROM_KEY, 3)] == [b"a", b"c"]
    assert [kv.key for kv in index.live_at(b"a", FROM_KEY, 5)] == [b"a", b"c"]


def test_put_only_forgets_the_past() -> None:
    """A record that is all there is of its key goes on counting versions, and shows no past."""
    index = KeyIndex()
    index.put_only(b"q", b"1", 2)
    change = index.put_only(b"q", b"2", 3)
    assert change == Change(KeyValue(b"q", b"2", 2, 3, 2), False, KeyValue(b"q", b"1", 2, 2, 1))
    assert index.at(b"q", 2) is None
    assert index.at(b"q", 3) == change.kv


def test_put_only_takes_over_a_live_key() -> None:
    """Its life goes on, and the records from before are dropped."""
    index = KeyIndex()
    index.put(b"k", b"1", 0, 2)
    before = index.put(b"k", b"2", 0, 3).kv
    change = index.put_only(b"k", b"3", 4)
    assert change == Change(KeyValue(b"k", b"3", 2, 4, 3), False, before)
    assert [index.at(b"k", revision) for revision in (2, 3, 4)] == [None, None, change.kv]


def test_put_only_takes_over_a_dead_key(index: KeyIndex) -> None:
    """It begins a new life where the key was deleted, and drops the records from before."""
    index.delete(b"k", 9)
    change = index.put_only(b"k", b"now", 10)
    assert change == Change(KeyValue(b"k", b"now", 10, 10, 1), False)
    assert index.at(b"k", 8) is None
    assert [kv.key for kv in index.live(b"a", FROM_KEY)] == [b"k"]


def test_forget_leaves_nothing(index: KeyIndex) -> None:
    """A forgotten key, live, dead or unknown, is gone from every list."""
    index.put(b"dead", b"", 0, 9)
    index.delete(b"dead", 10)
    for key in (b"k", b"dead", b"unknown"):
        index.forget(key)
    assert len(index) == 0
    assert index.count_live(b"a", FROM_KEY) == 0
    assert list(index.live_at(b"a", FROM_KEY, 9)) == []


def test_records_of_a_key_share_its_bytes() -> None:
    """A thousand versions hold one copy of the key."""
    index = KeyIndex()
    first = index.put(bytes(bytearray(b"long key")), b"", 0, 2).kv
    second = index.put(bytes(bytearray(b"long key")), b"", 0, 3).kv
    assert second.key is first.key
