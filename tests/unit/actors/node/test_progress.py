"""Requests for progress stay open until every watch named has come far enough."""

import pytest

from etcdq.actors.message import Address
from etcdq.actors.node.progress import Asks
from etcdq.actors.node.watch_index import Group
from etcdq.actors.node.watchers import Watch
from tests.support.playbook import Named

HOST = Named("host")
TO = Address(HOST, "asker")


@pytest.fixture
def watch() -> Watch:
    """An idle watch."""
    return Watch(Address(HOST, 1), Group(b"k", b"", False, True, True), 2, False)


def test_an_idle_watch_has_come_as_far_as_idle_watches_have(watch: Watch) -> None:
    """Not before the revision asked about; the answer says how far."""
    asks = Asks()
    asks.add(TO, 5, [watch])

    assert list(asks.answers(4)) == []
    assert list(asks.answers(7)) == [(TO, 7)]
    assert list(asks.answers(8)) == []
    assert not asks


def test_an_outstanding_watch_is_waited_for_until_it_has_drained(watch: Watch) -> None:
    """What was told is not yet written, so it does not count."""
    asks = Asks()
    watch.outstanding = True
    asks.add(TO, 5, [watch])

    assert list(asks.answers(5)) == []
    watch.outstanding = False
    asks.moved(watch)
    assert list(asks.answers(5)) == [(TO, 5)]


def test_a_watch_behind_has_come_as_far_as_it_was_told(watch: Watch) -> None:
    """Requests are answered one by one as it catches up."""
    asks = Asks()
    watch.behind, watch.told = True, 5
    asks.add(TO, 5, [watch])
    asks.add(Address(HOST, "later"), 6, [watch])

    assert list(asks.answers(9)) == [(TO, 5)]
    watch.told = 6
    assert list(asks.answers(9)) == [(Address(HOST, "later"), 6)]


def test_the_answer_is_the_least_of_all_watches(watch: Watch) -> None:
    """One watch is further than the other: what both have come to is said."""
    asks = Asks()
    behind = Watch(Address(HOST, 2), watch.group, 2, False)
    behind.behind, behind.told = True, 6
    asks.add(TO, 5, [watch, behind])

    assert list(asks.answers(9)) == [(TO, 6)]


def test_a_watch_that_goes_is_not_waited_for(watch: Watch) -> None:
    """The request is answered by the others, or, without any, with its own revision."""
    asks = Asks()
    watch.outstanding = True
    asks.add(TO, 5, [watch])
    assert list(asks.answers(5)) == []
    asks.drop(watch)

    assert list(asks.answers(9)) == [(TO, 5)]
    assert not asks


def test_a_watch_named_twice_counts_once(watch: Watch) -> None:
    """A careless asker is answered once, too."""
    asks = Asks()
    asks.add(TO, 5, [watch, watch])

    assert list(asks.answers(5)) == [(TO, 5)]
