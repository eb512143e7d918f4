"""What the lines of both dialects are made of."""

import pytest

from etcdq.server.beanstalk import commands as c
from etcdq.server.beanstalk.reading import BAD_FORMAT, U32_MAX, U64_MAX, is_name, named, number
from tests.support.beanstalk_lines import BAD_NAMES, GOOD_NAMES


@pytest.mark.parametrize(
    ("digits", "maximum", "expected"),
    [
        (b"0", 0, 0),
        (b"1", 0, -1),
        (b"4294967295", U32_MAX, U32_MAX),
        (b"4294967296", U32_MAX, -1),
        (b"18446744073709551615", U64_MAX, U64_MAX),
        (b"18446744073709551616", U64_MAX, -1),
        (b"0" * 10_000, U64_MAX, 0),
        (b"0" * 10_000 + b"18446744073709551615", U64_MAX, U64_MAX),
        (b"9" * 10_000, U64_MAX, -1),
        (b"", U64_MAX, -1),
        (b"+1", U64_MAX, -1),
        (b"-1", U64_MAX, -1),
        (b" 1", U64_MAX, -1),
        (b"1_0", U64_MAX, -1),
        (b"\xb2", U64_MAX, -1),
        (b"1\n", U64_MAX, -1),
    ],
)
def test_number(digits: bytes, maximum: int, expected: int) -> None:
    """Only ASCII digits are a number, however many, and only up to its maximum."""
    assert number(digits, maximum) == expected


def test_names() -> None:
    """A name is 1 to 200 of beanstalkd's bytes, the first no hyphen."""
    assert [name for name in [*GOOD_NAMES, *BAD_NAMES] if is_name(name)] == GOOD_NAMES
    right = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/;.$_()"
    assert bytes(n for n in range(256) if is_name(bytes((n,)))) == bytes(sorted(right))
    assert is_name(b"a-")


def test_named() -> None:
    """A command with one name is refused without a right one."""
    assert named(c.Use)(b"a") == c.Use(b"a")
    assert named(c.Use)(b"a b") == BAD_FORMAT
