"""Reading the past: cuts fall between revisions, registry changes come at their place."""

import pytest

from etcdq.actors import limits
from etcdq.actors.node.history import History, Response, cut, merged, without_prev
from etcdq.actors.node.messages import Change, KeyValue
from etcdq.actors.node.mvcc.errors import CompactedError
from etcdq.actors.node.mvcc.store import Store
from etcdq.actors.node.watch_index import Group

THIRD = limits.RESPONSE_EVENTS_BYTES_MAX // 3


def put(revision: int, size: int = 0, key: bytes = b"k") -> Change:
    """A put of `size` bytes at a revision."""
    return Change(KeyValue(key, bytes(size), revision, revision, 1), False)


def test_small_news_are_not_cut() -> None:
    """All of it, and that is everything up to now."""
    news = [put(3), put(5)]

    assert cut(news, 9) == ((put(3), put(5)), 9)


def test_news_are_cut_before_the_revision_that_does_not_fit() -> None:
    """What is told is everything up to just before the first revision left out."""
    news = [put(3, THIRD), put(5, THIRD), put(8, THIRD), put(9)]

    told, up_to = cut(news, 9)

    assert [change.kv.mod_revision for change in told] == [3, 5]
    assert up_to == 7


def test_a_revision_larger_than_a_response_is_told_whole_and_alone() -> None:
    """A revision is never split."""
    large = [put(4, THIRD, b"%d" % number) for number in range(5)]

    told, up_to = cut([*large, put(5)], 5)
    assert (list(told), up_to) == (large, 4)
    told, up_to = cut([put(3), *large], 5)
    assert (list(told), up_to) == ([put(3)], 3)


def test_a_response_takes_what_its_group_wants_until_it_is_full() -> None:
    """Other keys take no room; the first revision without room is named."""
    response = Response(Group(b"k", b"", prev_kv=False, put=True, delete=True))

    full_at = response.take(
        [
            (2, [put(2, THIRD)]),
            (3, [put(3, 9 * THIRD, b"other")]),
            (4, [put(4, THIRD)]),
            (5, [put(5, THIRD)]),
        ]
    )

    assert full_at == 5
    assert [change.kv.mod_revision for change in response.changes] == [2, 4]


def test_previous_values_are_left_out_where_nobody_asked() -> None:
    """And only then."""
    change = Change(put(3).kv, False, put(2).kv)

    assert without_prev(change) == put(3)
    assert cut([change], 3)[0] == (change,)


def test_registry_changes_come_at_their_revision_and_in_bounds() -> None:
    """Only those after what was told and up to what was read."""
    history = [(4, [put(4)]), (6, [put(6)])]
    registry = [put(revision, key=b"/q/j") for revision in (3, 5, 7)]

    assert [revision for revision, _ in merged(history, registry, 3, 6)] == [4, 5, 6]


def test_equal_reads_are_shared_and_all_are_counted() -> None:
    """Two watches that are equally far cost one look at the store, and both use the budget."""
    store = Store()
    store.put(b"k", b"")
    history = History(store)

    assert history.since(1) is history.since(1)
    assert not history.is_enough
    for _ in range(limits.CATCH_UP_EVENTS_PER_BATCH):
        history.since(3)
    assert history.is_enough


def test_what_is_compacted_cannot_be_read() -> None:
    """The watch is to be refused."""
    store = Store()
    store.compact_revision = 5

    with pytest.raises(CompactedError):
        History(store).since(4)
