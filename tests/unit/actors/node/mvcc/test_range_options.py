"""Range options: filters, order, limit, and the count that none of them changes."""

import pytest

from etcdq.actors.node.messages import KeyRange, KeyValue, RangeOptions, SortOrder, SortTarget
from etcdq.actors.node.mvcc.errors import FutureRevisionError
from etcdq.actors.node.mvcc.range_options import read_limit, read_range, select
from etcdq.actors.node.mvcc.store import Store

ALL = (b"\0", b"\0")


@pytest.fixture
def store() -> Store:
    """k1..k5, put in this order at revisions 2 to 6."""
    store = Store()
    for number in range(1, 6):
        store.put(b"k%d" % number, b"v%d" % (9 - number))
    return store


def shuffled() -> Store:
    """Keys whose five sort targets all give another order."""
    store = Store()
    for key, value in [(b"b", b"2"), (b"d", b"1"), (b"a", b"9"), (b"c", b"5")]:
        store.put(key, value)
    for key, value in [(b"d", b"4"), (b"d", b"0"), (b"a", b"3")]:
        store.put(key, value)
    return store


def keys(answer: KeyRange) -> bytes:
    """The keys of an answer, strung together."""
    return b"".join(kv.key for kv in answer.kvs)


def test_count_is_the_whole_range(store: Store) -> None:
    """Neither a limit nor a filter nor count_only changes the count."""
    limited = read_range(store, b"k1", b"k6", RangeOptions(limit=2))
    assert (keys(limited), limited.more, limited.count) == (b"k1k2", True, 5)
    counted = read_range(store, b"k1", b"k6", RangeOptions(limit=2, count_only=True))
    assert counted == KeyRange(6, (), False, 5)
    filtered = read_range(store, b"k1", b"k6", RangeOptions(min_mod_revision=6))
    assert (keys(filtered), filtered.more, filtered.count) == (b"k5", False, 5)
    assert read_range(store, b"k6", b"k1") == KeyRange(6, (), False, 0)


def test_limit_of_all_there_is_leaves_no_more(store: Store) -> None:
    """A limit that takes nothing away says so, a negative one is none."""
    for limit in (5, 2**63 - 1, -1, 0):
        answer = read_range(store, *ALL, RangeOptions(limit=limit))
        assert (len(answer.kvs), answer.more) == (5, False)


def test_count_of_single_keys(store: Store) -> None:
    """A single key counts one or none, now and in the past."""
    only = RangeOptions(count_only=True)
    past = RangeOptions(count_only=True, revision=3)
    assert [read_range(store, key, b"", only).count for key in (b"k3", b"k9")] == [1, 0]
    assert [read_range(store, key, b"", past).count for key in (b"k2", b"k3")] == [1, 0]
    assert read_range(store, *ALL, past).count == 2


def test_revision_of_the_answer_is_now(store: Store) -> None:
    """A read of the past carries the present revision."""
    answer = read_range(store, *ALL, RangeOptions(revision=3))
    assert (keys(answer), answer.revision, answer.count) == (b"k1k2", 6, 2)


def test_future_revision_is_refused(store: Store) -> None:
    """Also where only the count is asked for."""
    for options in (RangeOptions(revision=7), RangeOptions(revision=7, count_only=True)):
        with pytest.raises(FutureRevisionError):
            read_range(store, *ALL, options)


@pytest.mark.parametrize(
    ("target", "upward"),
    [
        (SortTarget.KEY, b"abcd"),
        (SortTarget.VERSION, b"bcad"),
        (SortTarget.CREATE, b"bdac"),
        (SortTarget.MOD, b"bcda"),
        (SortTarget.VALUE, b"dbac"),
    ],
)
def test_sort_targets(target: SortTarget, upward: bytes) -> None:
    """Each target orders upward and downward; no order is upward."""
    store = shuffled()
    order = [SortOrder.NONE, SortOrder.ASCEND, SortOrder.DESCEND]
    options = [RangeOptions(sort_order=each, sort_target=target) for each in order]
    answers = [keys(read_range(store, *ALL, each)) for each in options]
    downward = b"dabc" if target is SortTarget.VERSION else upward[::-1]  # b and c are equal
    assert answers == [upward, upward, downward]


def test_sort_comes_before_the_limit() -> None:
    """The limit takes the first of the sorted ones."""
    options = RangeOptions(limit=2, sort_order=SortOrder.DESCEND, sort_target=SortTarget.MOD)
    answer = read_range(shuffled(), *ALL, options)
    assert (keys(answer), answer.more, answer.count) == (b"ad", True, 4)


def test_target_without_order_sorts_what_the_limit_left() -> None:
    """As in etcd: the first limit + 1 keys are sorted, and the limit cuts again."""
    options = RangeOptions(limit=1, sort_target=SortTarget.MOD)
    answer = read_range(shuffled(), *ALL, options)
    assert (keys(answer), answer.more, answer.count) == (b"b", True, 4)


@pytest.mark.parametrize(
    ("options", "left"),
    [
        (RangeOptions(min_mod_revision=5), b"acd"),
        (RangeOptions(max_mod_revision=5), b"bc"),
        (RangeOptions(min_create_revision=4), b"ac"),
        (RangeOptions(max_create_revision=3), b"bd"),
        (RangeOptions(min_mod_revision=5, max_create_revision=4), b"ad"),
    ],
)
def test_filters_include_their_bounds(options: RangeOptions, left: bytes) -> None:
    """Filters leave what lies between their bounds, both included, and never the count."""
    answer = read_range(shuffled(), *ALL, options)
    assert (keys(answer), answer.count) == (left, 4)


def test_filters_come_before_the_limit() -> None:
    """More means more of what passes the filters."""
    answer = read_range(shuffled(), *ALL, RangeOptions(min_mod_revision=5, limit=3))
    assert (keys(answer), answer.more) == (b"acd", False)
    answer = read_range(shuffled(), *ALL, RangeOptions(min_mod_revision=5, limit=2))
    assert (keys(answer), answer.more) == (b"ac", True)


def test_keys_only_drops_values_after_sorting_by_them() -> None:
    """Records keep everything but the value."""
    options = RangeOptions(keys_only=True, limit=1, sort_target=SortTarget.VALUE)
    whole = without_values(read_range(shuffled(), b"d", b""))
    assert read_range(shuffled(), b"d", b"", options).kvs == whole
    options = RangeOptions(
        keys_only=True, sort_order=SortOrder.DESCEND, sort_target=SortTarget.VALUE
    )
    assert keys(read_range(shuffled(), *ALL, options)) == b"cabd"


def without_values(answer: KeyRange) -> tuple[KeyValue, ...]:
    """The records of an answer, rebuilt by hand without their values."""
    return tuple(
        KeyValue(kv.key, b"", kv.create_revision, kv.mod_revision, kv.version, kv.lease)
        for kv in answer.kvs
    )


def test_select_takes_more_records_than_needed(store: Store) -> None:
    """A caller with a list of its own need not cut it to the read limit first."""
    options = RangeOptions(limit=1, sort_target=SortTarget.VALUE)
    records, _ = store.read(*ALL)
    cut, _ = store.read(*ALL, limit=read_limit(options))
    assert len(cut) == 2
    assert select(records, options) == select(cut, options) == ([cut[1]], True)
