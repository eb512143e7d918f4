"""The key space actor: answers of puts, ranges and deletes, the registry, the board, counters."""

import pytest

from etcdq.actors.core import NEVER_S
from etcdq.actors.effect import Publish, Reply
from etcdq.actors.errors import EtcdqError
from etcdq.actors.node.keyspace import KeySpaceCore
from etcdq.actors.node.messages import (
    AskProgress,
    DropRegistry,
    KeyPut,
    KeyRange,
    KeysDeleted,
    KeyValue,
    Progress,
    PutKey,
    SetRegistry,
)
from etcdq.actors.node.mvcc.errors import (
    FutureRevisionError,
    KeyNotFoundError,
    LeaseNotFoundError,
)
from tests.support.keyspace_host import KeySpaceHost


def test_put_then_range_as_etcd_answers() -> None:
    """The first put makes revision 2; a range shows value, revisions and version."""
    host = KeySpaceHost()

    assert host.put(b"a", b"1") == KeyPut(2)
    assert host.put(b"a", b"2") == KeyPut(3)
    assert host.range(b"a") == KeyRange(3, (KeyValue(b"a", b"2", 2, 3, 2),), False, 1)


def test_prev_comes_only_where_asked_for_and_there() -> None:
    """No previous value on a first put, none where it was not asked for."""
    host = KeySpaceHost()

    assert host.put(b"k", b"1", prev_kv=True) == KeyPut(2, None)
    assert host.put(b"k", b"2", prev_kv=True) == KeyPut(3, KeyValue(b"k", b"1", 2, 2, 1))
    assert host.put(b"k", b"3") == KeyPut(4, None)
    assert host.delete(b"k", prev_kv=True) == KeysDeleted(5, 1, (KeyValue(b"k", b"3", 2, 4, 3),))
    assert host.delete(b"k", prev_kv=True) == KeysDeleted(5, 0, ())


def test_delete_of_a_range_is_one_revision() -> None:
    """Three keys go at one revision; without prev_kv only their number is told."""
    host = KeySpaceHost()
    for key in (b"a1", b"a2", b"a3", b"b"):
        host.put(key)

    assert host.delete(b"a", b"b") == KeysDeleted(6, 3)
    assert [kv.key for kv in host.range(b"\0", b"\0").kvs] == [b"b"]


def test_ignore_value_keeps_the_value_and_needs_the_key() -> None:
    """ignore_value puts what is there anew; on a missing key it is an error of etcd's text."""
    host = KeySpaceHost()

    missing = host.put(b"k", ignore_value=True)
    host.put(b"k", b"v")
    host.put(b"k", ignore_value=True)

    assert missing == KeyNotFoundError()
    assert missing.text == "etcdserver: key not found"
    assert host.range(b"k").kvs == (KeyValue(b"k", b"v", 2, 3, 2),)


def test_ignore_lease_needs_the_key_too() -> None:
    """ignore_lease takes the new value; on a missing key it is the same error."""
    host = KeySpaceHost()

    assert host.put(b"k", b"v", ignore_lease=True) == KeyNotFoundError()
    host.put(b"k", b"v")
    host.put(b"k", b"w", ignore_lease=True)
    assert host.range(b"k").kvs == (KeyValue(b"k", b"w", 2, 3, 2),)


def test_a_put_under_a_lease_finds_no_lease() -> None:
    """There are no leases yet: the put is refused as etcd refuses an unknown one."""
    host = KeySpaceHost()

    refused = host.put(b"k", b"v", lease=777)

    assert refused == LeaseNotFoundError()
    assert refused.text == "etcdserver: requested lease not found"
    assert host.range(b"k") == KeyRange(1, (), False, 0)


def test_range_at_a_past_and_at_a_future_revision() -> None:
    """The past is shown as it was; the future is an error value, and the actor lives on."""
    host = KeySpaceHost()
    host.put(b"a", b"1")
    host.put(b"a", b"2")

    assert host.range(b"a", revision=2) == KeyRange(3, (KeyValue(b"a", b"1", 2, 2, 1),), False, 1)
    future = host.range(b"a", revision=4)
    assert future == FutureRevisionError()
    assert isinstance(future, EtcdqError)
    assert host.range(b"a").count == 1


def test_limit_and_count() -> None:
    """Count is of the whole range, whatever limit and count_only say."""
    host = KeySpaceHost()
    for number in range(1, 6):
        host.put(b"k%d" % number)

    limited = host.range(b"k1", b"k6", limit=2)
    counted = host.range(b"k1", b"k6", limit=2, count_only=True)
    filtered = host.range(b"k1", b"k6", min_mod_revision=6)

    assert (len(limited.kvs), limited.more, limited.count) == (2, True, 5)
    assert (len(counted.kvs), counted.more, counted.count) == (0, False, 5)
    assert (len(filtered.kvs), filtered.more, filtered.count) == (1, False, 5)


def test_registry_keys_are_read_counted_and_stay() -> None:
    """Rule 14: a delete over registry keys counts and returns them, and they stay."""
    host = KeySpaceHost()
    host.put(b"/q", b"mine")
    host.run(SetRegistry(b"/q/jobs", b"node-1"))

    deleted = host.delete(b"/", b"0", prev_kv=True)

    assert deleted.deleted == 2
    assert [kv.key for kv in deleted.prevs] == [b"/q", b"/q/jobs"]
    assert [(kv.key, kv.value) for kv in host.range(b"/", b"0").kvs] == [(b"/q/jobs", b"node-1")]
    host.run(DropRegistry(b"/q/jobs"))
    assert host.range(b"/q/jobs").count == 0


def test_registry_keys_make_no_history() -> None:
    """Endless comings and goings of a registry key leave nothing behind."""
    host = KeySpaceHost()
    for _ in range(100):
        host.run(SetRegistry(b"/q/jobs/c/u", b"n"), DropRegistry(b"/q/jobs/c/u"))

    statistics = host.core.statistics()
    assert (statistics.keys, statistics.approximate_bytes) == (0, 0)


def test_dropping_an_unknown_registry_key_changes_nothing() -> None:
    """A second drop makes no revision."""
    host = KeySpaceHost()

    assert host.run(DropRegistry(b"/q/jobs")) == []
    assert host.core.statistics().revision == 1


def test_the_revision_is_published_once_per_batch_that_changed_it() -> None:
    """The board gets one revision a batch, and none from a batch that only read."""
    core = KeySpaceCore()
    host = KeySpaceHost()
    to = host.address()
    for key in (b"a", b"b"):
        core.step(PutKey(to, key, b""), 0.0)

    assert [Publish("revision", 3)] == core.settle(0.0)
    core.step(AskProgress(to, ()), 0.0)
    assert [Reply(to, Progress(3))] == core.settle(0.0)


def test_an_idle_key_space_is_never_due() -> None:
    """Nothing happens in it by itself."""
    host = KeySpaceHost()
    host.put(b"a")
    host.watch(b"a")

    assert host.core.next_deadline_s() == NEVER_S


def test_statistics_count_what_happened() -> None:
    """Totals, keys, watchers and bytes are those of the calls made."""
    host = KeySpaceHost()
    watch = host.watch(b"a")
    host.put(b"a", b"12345")
    host.put(b"b")
    host.put(b"a", b"")
    host.delete(b"b")
    host.range(b"a")

    statistics = host.core.statistics()

    assert (statistics.revision, statistics.compact_revision, statistics.keys) == (5, 0, 1)
    assert (statistics.watchers, statistics.slow_watchers) == (1, 1)
    assert (
        statistics.puts_total,
        statistics.deletes_total,
        statistics.ranges_total,
    ) == (3, 1, 1)
    assert statistics.events_total == 1
    assert 9 < statistics.approximate_bytes < 1_000
    host.unwatch(watch)
    assert host.core.statistics().watchers == 0


def test_statistics_cannot_be_changed() -> None:
    """A snapshot is a value."""
    statistics = KeySpaceHost().core.statistics()

    with pytest.raises(AttributeError):
        statistics.keys = 5  # type: ignore[misc]
