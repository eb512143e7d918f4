"""The list of tubes, in beanstalkd's order."""

from etcdq.actors.queue.tubes import DEFAULT, Tubes


def filled(*names: bytes) -> Tubes:
    tubes = Tubes()
    for name in names:
        tubes.add(name)
    return tubes


def test_default_is_there_from_the_start() -> None:
    """And stays, whatever is said."""
    tubes = filled()
    tubes.add(DEFAULT)
    tubes.remove(DEFAULT)
    assert tubes.names() == [DEFAULT]


def test_a_new_tube_goes_to_the_end() -> None:
    """One that is there keeps its place."""
    assert filled(b"a", b"b", b"a").names() == [DEFAULT, b"a", b"b"]


def test_the_last_takes_the_place_of_one_that_goes() -> None:
    """As in beanstalkd's array."""
    tubes = filled(b"a", b"b", b"c", b"d")
    tubes.remove(b"a")
    assert tubes.names() == [DEFAULT, b"d", b"b", b"c"]
    tubes.remove(b"c")
    assert tubes.names() == [DEFAULT, b"d", b"b"]
    tubes.remove(b"d")
    tubes.add(b"a")
    assert tubes.names() == [DEFAULT, b"b", b"a"]


def test_who_asks_for_the_names_may_keep_them() -> None:
    """What comes and goes later does not change the answer."""
    tubes = filled(b"a")
    names = tubes.names()
    tubes.add(b"b")
    assert names == [DEFAULT, b"a"]
