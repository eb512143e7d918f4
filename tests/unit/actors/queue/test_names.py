"""What a queue can be called, and how keys spell it."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from etcdq.actors.queue.names import queue_name, spelled


@pytest.mark.parametrize(
    ("segment", "name"),
    [
        (b"jobs", b"jobs"),
        (b"x" * 200, b"x" * 200),
        ("ü".encode() * 100, "ü".encode() * 100),
        (b"with blank", b"with blank"),
        (b"a%2Fb", b"a/b"),
        (b"a%2fb%2F", b"a/b/"),
        (b"%2F" * 200, b"/" * 200),
        (b"100%", b"100%"),
        (b"a%2", b"a%2"),
        (b"a%252Fb", b"a%252Fb"),
        (b"", None),
        (b"x" * 201, None),
        (b"%2F" * 200 + b"x", None),
        (b"a/b", None),
        (b"a\nb", None),
        (b"a\x7f", None),
        ("a\x85".encode(), None),
        (b"\xff", None),
    ],
)
def test_queue_name(segment: bytes, name: bytes | None) -> None:
    """Names are UTF-8, 1 to 200 bytes, without control characters; a `%2F` is their "/"."""
    assert queue_name(segment) == name


@given(st.text("ab/;$", min_size=1, max_size=200).map(str.encode))
def test_a_tubes_name_comes_back(name: bytes) -> None:
    """Every name of a tube is one segment in keys, and read back from there."""
    segment = spelled(name)
    assert b"/" not in segment
    assert queue_name(segment) == name


def test_names_that_are_too_long_are_not_remembered() -> None:
    """What is remembered about names is bounded in bytes: a client can send 2 MB as a name."""
    long = bytes([120]) * 1_000_000
    kept = sys.getrefcount(long)

    assert queue_name(long) is None

    assert sys.getrefcount(long) == kept
