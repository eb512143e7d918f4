"""Watches: what etcd promises of them over random histories, and cases people reported."""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from etcdq.actors import limits
from etcdq.actors.core import NEVER_S
from etcdq.actors.effect import Reply
from etcdq.actors.node.messages import (
    AskProgress,
    Change,
    Changes,
    Drained,
    DropRegistry,
    KeyValue,
    Progress,
    PutKey,
    SetRegistry,
    WatchingKeys,
    WatchKeys,
    WatchRefused,
)
from tests.support.keyspace_host import KeySpaceHost
from tests.support.watch_world import World


@given(seed=st.integers(0, 2**32), steps=st.integers(1, 250))
@settings(max_examples=150, deadline=None)
def test_every_watch_is_told_its_part_of_the_history(seed: int, steps: int) -> None:
    """However batches, watches and drains fall, no event is lost, doubled, split or overtaken.

    Source: etcd tests/robustness, validate/watch.go: filter, ordered, unique, atomic, reliable,
    resumable, bookmarkable, previous values, is_create.
    """
    world = World(Random(seed))
    for _ in range(steps):
        world.act()
    world.finish()

    world.check()


# beginning and end --------------------------------------------------------------------------


def test_the_watch_stands_before_it_is_told_anything() -> None:
    """A watch on the past and its history in one batch: `WatchingKeys` comes first."""
    host = KeySpaceHost()
    host.put(b"k", b"1")
    watch = host.address()

    heard = host.run(WatchKeys(watch, watch, b"k", start_revision=1))

    assert heard == [
        Reply(watch, WatchingKeys(2)),
        Changes(watch, (Change(KeyValue(b"k", b"1", 2, 2, 1), False),), 2),
    ]


def test_what_the_batch_did_before_the_watch_is_not_told() -> None:
    """From now on means from the request on, not from its batch on."""
    host = KeySpaceHost()
    other = host.watch(b"k")
    watch = host.address()
    to = host.address()

    host.run(PutKey(to, b"k", b"1"), WatchKeys(watch, watch, b"k"), PutKey(to, b"k", b"2"))

    assert host.replies(watch) == [WatchingKeys(2)]
    assert host.events(watch) == [("PUT", b"k", 3)]
    assert host.events(other) == [("PUT", b"k", 2), ("PUT", b"k", 3)]


def test_c08_a_watch_from_a_future_revision_sees_nothing_older() -> None:
    """Created only; nothing for R+1, and no progress that claims the start revision."""
    host = KeySpaceHost()
    revision = host.put(b"fut").revision
    watch = host.watch(b"fut", start_revision=revision + 2, progress=True)

    host.put(b"fut")
    asked = host.ask_progress(watch)
    assert host.events(watch) == []
    assert host.replies(asked) == [Progress(revision + 1)]
    host.put(b"fut")
    assert host.events(watch) == [("PUT", b"fut", revision + 2)]


def test_a_negative_start_revision_is_refused() -> None:
    """etcd takes it for a compacted one: created, then refused with compact revision -1."""
    host = KeySpaceHost()
    host.put(b"k")
    watch = host.address()

    heard = host.run(WatchKeys(watch, watch, b"k", start_revision=-5))

    assert heard == [Reply(watch, WatchingKeys(2)), WatchRefused(watch, -1)]
    assert host.core.statistics().watchers == 0


def test_c16_nothing_follows_the_end_of_a_watch_and_500_leave_nothing() -> None:
    """After an unwatch no event; a drain or a second unwatch of it does no harm."""
    host = KeySpaceHost()
    watch = host.watch(b"k")
    host.put(b"k")
    host.unwatch(watch)
    host.put(b"k")
    host.drain(watch)
    host.unwatch(watch)
    for number in range(500):
        host.unwatch(host.watch(b"k%d" % number, b"l", start_revision=number % 2))

    assert host.events(watch) == [("PUT", b"k", 2)]
    assert host.core.statistics().watchers == 0


# what events say ----------------------------------------------------------------------------


def test_c13_previous_values_are_absent_where_there_are_none() -> None:
    """No previous value on the first put; a delete has only key and mod_revision."""
    host = KeySpaceHost()
    watch = host.watch(b"k", prev_kv=True)
    to = host.address()
    host.run(PutKey(to, b"k", b"1"), PutKey(to, b"k", b"2"))
    host.delete(b"k")
    host.drain(watch)
    first, second = KeyValue(b"k", b"1", 2, 2, 1), KeyValue(b"k", b"2", 2, 3, 2)

    assert [change for changes in host.told(watch) for change in changes.changes] == [
        Change(first, False, None),
        Change(second, False, first),
        Change(KeyValue(b"k", b"", 0, 4, 0), True, second),
    ]


def test_filtered_events_move_the_watch_all_the_same() -> None:
    """A watch without puts is told deletes only, and is not behind for the puts."""
    host = KeySpaceHost()
    watch = host.watch(b"k", put=False)
    host.put(b"k")

    assert host.told(watch) == []
    assert host.replies(host.ask_progress(watch)) == [Progress(2)]
    host.delete(b"k")
    assert host.events(watch) == [("DELETE", b"k", 3)]


def test_a_delete_of_many_keys_is_told_as_one() -> None:
    """One revision is never split, even if it is over the size of a response."""
    host = KeySpaceHost()
    keys = [b"k%04d" % number for number in range(15_000)]
    to = host.address()
    host.run(*(PutKey(to, key, b"") for key in keys))
    watch = host.watch(b"k", b"l")
    host.delete(b"k", b"l")

    assert [len(changes.changes) for changes in host.told(watch)] == [15_000]


# slow watches -------------------------------------------------------------------------------


def test_nothing_is_queued_for_a_watch_that_does_not_drain() -> None:
    """One telling, then silence however much happens; all of the rest upon `Drained`."""
    host = KeySpaceHost()
    watch = host.watch(b"k")
    for _ in range(50):
        host.put(b"k")

    assert host.events(watch) == [("PUT", b"k", 2)]
    assert host.core.statistics().slow_watchers == 1
    assert [change.kv.mod_revision for change in host.drain(watch)] == list(range(3, 52))
    host.drain(watch)
    assert host.core.statistics().slow_watchers == 0


def test_a_response_has_a_mebibyte_at_most() -> None:
    """News of one batch beyond the size of a response wait for `Drained`."""
    host = KeySpaceHost()
    watch = host.watch(b"k")
    to = host.address()
    host.run(*(PutKey(to, b"k", b"x" * 300_000) for _ in range(5)))

    assert [len(changes.changes) for changes in host.told(watch)] == [3]
    assert host.told(watch)[0].revision == 4
    assert len(host.drain(watch)) == 2


def test_reading_the_past_is_spread_over_batches() -> None:
    """A watch that wants nothing of a long history holds nobody up: a bounded part per batch."""
    host = KeySpaceHost()
    to = host.address()
    host.run(*(PutKey(to, b"other", b"") for _ in range(25_000)))
    host.put(b"k")
    watch = host.watch(b"k", start_revision=1)
    batches = 1
    while not host.told(watch):
        assert host.next_deadline_s() <= 0.0
        host.run()
        batches += 1

    assert batches >= 25_000 // limits.CATCH_UP_EVENTS_PER_BATCH
    assert host.events(watch) == [("PUT", b"k", 25_002)]
    assert host.next_deadline_s() == NEVER_S


# progress -----------------------------------------------------------------------------------


def test_c10_progress_never_overtakes_events() -> None:
    """300 events of the past and a question in the same write: events first."""
    host = KeySpaceHost()
    for number in range(300):
        host.put(b"h%d" % number)
    watch = host.address()
    asked = host.address()

    host.run(WatchKeys(watch, watch, b"h", b"i", start_revision=2), AskProgress(asked, (watch,)))
    assert len(host.events(watch)) == 300
    assert host.replies(asked) == []
    host.drain(watch)
    assert host.replies(asked) == [Progress(301)]


def test_c10_progress_comes_on_a_quiet_watch() -> None:
    """A watch on a key that never changes gets its answer at once."""
    host = KeySpaceHost()
    revision = host.put(b"bar").revision
    watch = host.watch(b"quiet", start_revision=revision)

    assert host.replies(host.ask_progress(watch)) == [Progress(revision)]
    assert host.replies(host.ask_progress()) == [Progress(revision)]


def test_progress_comes_under_a_load_that_never_pauses() -> None:
    """Each drain comes with another put, so the watch is never idle: answered in between."""
    host = KeySpaceHost()
    watch = host.watch(b"k")
    host.put(b"k")
    host.put(b"k")
    asked = host.ask_progress(watch)
    to = host.address()
    for _ in range(2):
        before = len(host.heard)
        host.run(Drained(watch), PutKey(to, b"k", b""))

    answers = [one for one in host.heard[before:] if one in (Reply(asked, Progress(4)),)]
    assert len(answers) == 1
    assert host.heard.index(answers[0]) < host.heard.index(host.told(watch)[-1])


def test_progress_waits_for_the_slowest_watch_named() -> None:
    """Two watches: no answer until both have drained; an ended one is not waited for."""
    host = KeySpaceHost()
    quick, slow = host.watch(b"k"), host.watch(b"k")
    host.put(b"k")
    first, second = host.ask_progress(quick, slow), host.ask_progress(quick, slow)

    host.drain(quick)
    assert host.replies(first) == []
    host.unwatch(slow)
    assert host.replies(first) == host.replies(second) == [Progress(2)]


def test_a_silent_watch_is_told_the_revision_every_ten_minutes() -> None:
    """progress_notify: at exactly 600 s of silence, once, and again 600 s later."""
    host = KeySpaceHost()
    watch = host.watch(b"k", progress=True)
    host.watch(b"k")
    host.put(b"other")

    assert host.next_deadline_s() == 600.0
    assert host.run(now_s=599.9) == []
    assert host.run(now_s=600.0) == [Changes(watch, (), 2)]
    host.drain(watch, now_s=601.0)
    assert host.next_deadline_s() == 1200.0
    assert host.run(now_s=1200.0) == [Changes(watch, (), 2)]


def test_events_put_the_sign_of_progress_off() -> None:
    """A watch that was told something is not silent; one that does not drain is told nothing."""
    host = KeySpaceHost()
    watch = host.watch(b"k", progress=True)
    host.run(PutKey(host.address(), b"k", b""), now_s=500.0)

    assert host.run(now_s=600.0) == []
    assert host.run(now_s=1100.0) == []
    host.drain(watch, now_s=1101.0)
    assert host.run(now_s=1700.0) == [Changes(watch, (), 2)]


# the registry -------------------------------------------------------------------------------


def test_a_live_watch_sees_every_change_of_the_registry() -> None:
    """Put, put, delete: each is told, with previous values, at revisions of their own."""
    host = KeySpaceHost()
    watch = host.watch(b"/q/j/c/", b"/q/j/c0", prev_kv=True)
    host.run(
        SetRegistry(b"/q/j/c/1", b"a"), SetRegistry(b"/q/j/c/1", b"b"), DropRegistry(b"/q/j/c/1")
    )
    first, second = KeyValue(b"/q/j/c/1", b"a", 2, 2, 1), KeyValue(b"/q/j/c/1", b"b", 2, 3, 2)

    assert [change for changes in host.told(watch) for change in changes.changes] == [
        Change(first, False),
        Change(second, False, first),
        Change(KeyValue(b"/q/j/c/1", b"", 0, 4, 0), True, second),
    ]


def test_a_lagging_watch_sees_the_last_change_of_each_registry_key() -> None:
    """What came and went meanwhile is told once, in its place among ordinary events."""
    host = KeySpaceHost()
    watch = host.watch(b"/", b"0")
    host.run(SetRegistry(b"/q/j/c/1", b"a"))
    host.run(SetRegistry(b"/q/j/c/2", b"a"))
    host.put(b"/mine")
    host.run(DropRegistry(b"/q/j/c/1"))
    host.put(b"/mine")
    host.run(SetRegistry(b"/q/j/c/2", b"b"))
    host.drain(watch)

    assert host.events(watch) == [
        ("PUT", b"/q/j/c/1", 2),
        ("PUT", b"/mine", 4),
        ("DELETE", b"/q/j/c/1", 5),
        ("PUT", b"/mine", 6),
        ("PUT", b"/q/j/c/2", 7),
    ]


def test_a_lagging_watch_that_would_miss_a_delete_is_refused() -> None:
    """More registry keys went than are remembered: the client must read anew."""
    host = KeySpaceHost()
    slow = host.watch(b"/q/j/c/", b"/q/j/c0")
    elsewhere = host.watch(b"/mine")
    host.run(SetRegistry(b"/q/j/c/first", b""))
    host.put(b"/mine")
    host.put(b"/mine")
    for number in range(limits.REGISTRY_GONE_MAX + 1):
        key = b"/q/j/c/%d" % number
        host.run(SetRegistry(key, b""), DropRegistry(key))
    revision = host.core.statistics().revision

    assert host.run(Drained(slow)) == [WatchRefused(slow, revision)]
    assert len(host.drain(elsewhere)) == 1
