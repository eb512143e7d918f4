"""Odd lines in the beanstalkd dialect. That the real one says so too is tested against it."""

import pytest

from etcdq.server.beanstalk import commands as c
from etcdq.server.beanstalk.beanstalkd_lines import read_line
from tests.support.beanstalk_lines import BAD, SINGLE_LINES, U32


@pytest.mark.parametrize(("line", "expected"), SINGLE_LINES)
def test_odd_lines(line: bytes, expected: c.Command | c.Refused) -> None:
    """Each line is the command beanstalkd takes it for, or refused as it refuses it."""
    assert read_line(line) == expected


def test_timeouts_are_checked() -> None:
    """A reserve's timeout is a number as all others: beanstalkd's own reading is a fault."""
    good = {b"5": 5, b"  5": 5, b"4294967295": U32}
    bad = [b"-1", b"4294967296", b"5x", b"", b" ", b"x", b"0 ", b"+0", b"\t0", b"5 5", b"1.5"]

    for text, timeout_s in good.items():
        assert read_line(b"reserve-with-timeout " + text) == c.ReserveWithTimeout(timeout_s)
    assert [read_line(b"reserve-with-timeout " + text) for text in bad] == [BAD] * len(bad)
