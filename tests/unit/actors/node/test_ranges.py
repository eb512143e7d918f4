"""Which keys a range has."""

import pytest

from etcdq.actors.node.ranges import FROM_KEY, contains, prefix_end


@pytest.mark.parametrize(
    ("start", "end", "inside", "outside"),
    [
        (b"b", b"", [b"b"], [b"a", b"ba", b""]),
        (b"b", b"d", [b"b", b"b\0", b"c\xff"], [b"a\xff", b"d", b""]),
        (b"b", FROM_KEY, [b"b", b"\xff\xff"], [b"a\xff", b""]),
        (b"d", b"b", [], [b"b", b"c", b"d"]),
    ],
)
def test_contains(start: bytes, end: bytes, inside: list[bytes], outside: list[bytes]) -> None:
    """A single key, a half-open range, everything from a key on, an empty range."""
    assert all(contains(start, end, key) for key in inside)
    assert not any(contains(start, end, key) for key in outside)


@pytest.mark.parametrize(
    ("prefix", "end"),
    [
        (b"a", b"b"),
        (b"/q/", b"/q0"),
        (b"a\xff", b"b"),
        (b"\xff\xff", b"\0"),
        (b"", b"\0"),
    ],
)
def test_prefix_end(prefix: bytes, end: bytes) -> None:
    """The end of a prefix's range is etcd's clientv3.GetPrefixRangeEnd."""
    assert prefix_end(prefix) == end
