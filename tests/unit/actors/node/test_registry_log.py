"""The registry's log has one change per key, in order, and a bounded number of deletes."""

from etcdq.actors.node.messages import Change, KeyValue
from etcdq.actors.node.registry_log import RegistryLog


def put(key: bytes, revision: int) -> Change:
    """A put of a registry key."""
    return Change(KeyValue(key, b"node", revision, revision, 1), False)


def delete(key: bytes, revision: int) -> Change:
    """A delete of one."""
    return Change(KeyValue(key, b"", 0, revision, 0), True)


def test_only_the_last_change_of_a_key_is_known() -> None:
    """A key that is put again moves to its new place; the old change is gone."""
    log = RegistryLog()
    for change in (put(b"a", 2), put(b"b", 3), put(b"a", 4)):
        log.add(change)

    assert log.since(0) == [put(b"b", 3), put(b"a", 4)]


def test_since_leaves_out_the_revision_itself() -> None:
    """Changes after a revision, oldest first."""
    log = RegistryLog()
    for change in (put(b"a", 2), put(b"b", 3), delete(b"a", 4)):
        log.add(change)

    assert log.since(3) == [delete(b"a", 4)]
    assert log.since(4) == []


def test_the_oldest_deletes_are_forgotten_beyond_the_bound() -> None:
    """What stands is never forgotten, nor what was deleted and came back."""
    log = RegistryLog(gone_max=2)
    for change in (
        put(b"stays", 2),
        delete(b"a", 3),
        delete(b"b", 4),
        put(b"a", 5),
        delete(b"c", 6),
    ):
        log.add(change)
    assert log.forget() == []
    log.add(delete(b"d", 7))

    assert log.forget() == [delete(b"b", 4)]
    assert log.forget() == []
    assert log.since(0) == [put(b"stays", 2), put(b"a", 5), delete(b"c", 6), delete(b"d", 7)]
