"""The index of watches finds exactly the groups whose range has the key, and forgets them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from etcdq.actors.message import Address
from etcdq.actors.node.messages import Change, KeyValue
from etcdq.actors.node.ranges import prefix_end
from etcdq.actors.node.watch_index import Group, WatchIndex
from etcdq.actors.node.watchers import Watch
from tests.support.playbook import Named
from tests.support.watch_history import covers

short = st.binary(max_size=3).map(lambda raw: bytes(b"ab\xff\0"[byte % 4] for byte in raw))
ranges = st.one_of(
    st.tuples(short, st.just(b"")),
    short.map(lambda prefix: (prefix, prefix_end(prefix))),
    st.tuples(short, short),
)


@given(st.lists(st.tuples(ranges, st.booleans()), max_size=12), short)
def test_finds_what_a_look_at_every_range_finds(
    watched: list[tuple[tuple[bytes, bytes], bool]], key: bytes
) -> None:
    """Dicts by key and prefix and the scan of the rest agree with the plain definition."""
    index = WatchIndex()
    groups = {index.group(start, end, prev_kv, True, True) for (start, end), prev_kv in watched}
    change = Change(KeyValue(key, b"", 2, 2, 1), False)

    found = list(index.find(key))

    assert len(found) == len(set(found))
    assert set(found) == {group for group in groups if covers(group.start, group.end, key)}
    assert set(found) == {group for group in groups if group.wants(change)}


@given(st.lists(ranges, unique=True, max_size=12), short)
def test_forgets_what_is_discarded(watched: list[tuple[bytes, bytes]], key: bytes) -> None:
    """Every second group is discarded; the others are found as before, those never."""
    index = WatchIndex()
    groups = [index.group(start, end, False, True, True) for start, end in watched]
    for group in groups[::2]:
        index.discard(group)

    assert set(index.find(key)) == {
        group for group in groups[1::2] if covers(group.start, group.end, key)
    }
    for group in groups[1::2]:
        index.discard(group)
    assert list(index.find(key)) == []


def test_watches_that_want_the_same_share_a_group() -> None:
    """Equal ranges and wishes: one group; another wish: another group."""
    index = WatchIndex()

    assert index.group(b"a", b"b", False, True, True) is index.group(b"a", b"b", False, True, True)
    different = {
        index.group(b"a", b"b", False, True, True),
        index.group(b"a", b"b", True, True, True),
        index.group(b"a", b"b", False, True, False),
        index.group(b"a", b"c", False, True, True),
        index.group(b"a", b"", False, True, True),
    }
    assert len(different) == 5


def test_a_group_with_watches_is_not_discarded() -> None:
    """That would lose their events: our bug, and caught as one."""
    index = WatchIndex()
    group = index.group(b"a", b"", False, True, True)
    group.watches[Watch(Address(Named("host"), 1), group, 2, False)] = None

    with pytest.raises(AssertionError, match="last watch"):
        index.discard(group)


def test_a_group_wants_only_its_kinds_of_event() -> None:
    """NOPUT and NODELETE are looked at before the range."""
    put = Change(KeyValue(b"a", b"", 2, 2, 1), False)
    delete = Change(KeyValue(b"a", b"", 0, 3, 0), True)
    puts = Group(b"a", b"", prev_kv=False, put=True, delete=False)
    deletes = Group(b"a", b"", prev_kv=False, put=False, delete=True)

    assert (puts.wants(put), puts.wants(delete)) == (True, False)
    assert (deletes.wants(put), deletes.wants(delete)) == (False, True)
