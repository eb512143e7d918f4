"""Bytes to commands, in any pieces."""

from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from etcdq.actors import limits
from etcdq.actors.queue.messages import Tags
from etcdq.server.beanstalk import commands as c
from etcdq.server.beanstalk import parser, replies
from etcdq.server.beanstalk.door import Dialect
from etcdq.server.beanstalk.parser import Parser, Received
from tests.support.beanstalk_lines import (
    BAD,
    NO_CRLF,
    SESSIONS,
    SINGLE_LINES,
    TOO_BIG,
    U64,
    UNKNOWN,
    USED,
    USED_LINE,
    Session,
)  # fmt: skip

BODY_BYTES_MAX = 65_535
DIALECTS: list[Dialect] = ["beanstalkd", "tuber"]
LONGEST = limits.TUBER_LINE_BYTES_MAX
KEY = b"k" * 200
TUBER_TOO_BIG = c.Refused(replies.JOB_TOO_BIG)
TUBER_NO_CRLF = c.Refused(replies.EXPECTED_CRLF)


def receive(dialect: Dialect, pieces: Iterator[bytes] | list[bytes]) -> list[Received]:
    """Return all that comes out of a fresh parser."""
    fresh = Parser(BODY_BYTES_MAX, dialect)
    return [item for piece in pieces for item in fresh.receive(piece)]


def each_byte(said: bytes) -> Iterator[bytes]:
    """Return a piece per byte, and an empty one between."""
    for at in range(len(said)):
        yield said[at : at + 1]
        yield b""


TUBER_SESSIONS: list[Session] = [
    (b"put 1 2 3 3 idp:k\r\nabc\r\n" + USED_LINE, [c.Put(1, 2, 3, b"abc", Tags(idp=b"k")), USED]),
    (b"put 1 2 3 3\nabc\r\nlist-tube-used\n", [c.Put(1, 2, 3, b"abc"), USED]),
    (b"list-tube-used\nlist-tube-used\r\r\n" + USED_LINE, [USED] * 3),
    (b"\n\r\n \r\n" + USED_LINE, [UNKNOWN] * 3 + [USED]),
    # Only LF ends a line, a CR alone is white space.
    (b"delete\r5\r\ndelete \r5\r\n", [UNKNOWN, c.Delete(5)]),
    (b"put 0 0 1 70000\r\n" + b"x" * 70_002 + USED_LINE, [TUBER_TOO_BIG, USED]),
    (b"put 0 0 1 70000 x\r\n" + USED_LINE, [BAD, USED]),
    (b"put 0 0 1 3 x\r\nabc\r\n" + USED_LINE, [BAD, UNKNOWN, USED]),
    (b"put 0 0 1 3\r\nabcde" + USED_LINE, [TUBER_NO_CRLF, USED]),
    (b"put 0 0 1 3\r\nabc\n\n" + USED_LINE, [TUBER_NO_CRLF, USED]),
    (b"put 0 0 1 2\r\n\r\n\r\n" + USED_LINE, [c.Put(0, 0, 1, b"\r\n"), USED]),
    (
        b"put 0 0 1 0 idp:%b:4294967295 grp:%b aft:%b con:%b:4294967295\r\n\r\n" % ((KEY,) * 4),
        [c.Put(0, 0, 1, b"", Tags(KEY, 2**32 - 1, KEY, KEY, KEY, 2**32 - 1))],
    ),
    (
        b"delete-batch " + b" ".join([b"%d" % U64] * 1_000) + b"\r\n" + USED_LINE,
        [c.DeleteBatch((U64,) * 1_000), USED],
    ),
    (b"quit\r\n" + USED_LINE, [c.Quit()]),
    (b"x" * (LONGEST - 1) + b"\n" + USED_LINE, [UNKNOWN, USED]),
    (b"x" * LONGEST + b"\n" + USED_LINE, [BAD, c.Close()]),
    (b"x" * LONGEST, [BAD, c.Close()]),
    (b"x" * (LONGEST - 1), []),
    (USED_LINE + b"x" * 100_000, [USED, BAD, c.Close()]),
]
ALL = [("beanstalkd", *session) for session in SESSIONS]
ALL += [("tuber", *session) for session in TUBER_SESSIONS]


@pytest.mark.parametrize(("dialect", "said", "expected"), ALL)
def test_sessions(dialect: Dialect, said: bytes, expected: Sequence[Received]) -> None:
    """What a connection says, is the same whole, byte by byte and with more behind it."""
    assert receive(dialect, [said]) == expected
    assert receive(dialect, each_byte(said)) == expected
    assert receive(dialect, [said, b"sta"])[: len(expected)] == expected
    assert receive(dialect, [said + b"sta"])[: len(expected)] == expected


PIECES = [line + b"\r\n" for line, _ in SINGLE_LINES if b"quit" not in line]
PIECES += [said for _, said, _ in ALL if len(said) < 1_000 and b"quit" not in said]
PIECES += [b"\r", b"\n", b"\r\n", b" ", b"put 0 0 1 300\r\n", b"x" * 223, b"\0"]


@given(
    dialect=st.sampled_from(DIALECTS),
    said=st.lists(st.sampled_from(PIECES) | st.binary(max_size=9), max_size=20).map(b"".join),
    cuts=st.lists(st.integers(0, 2_000), max_size=8),
)
def test_pieces_change_nothing(dialect: Dialect, said: bytes, cuts: list[int]) -> None:
    """Wherever a connection's bytes are cut, they say the same."""
    places = sorted(min(cut, len(said)) for cut in cuts)
    pieces = [said[a:b] for a, b in zip([0, *places], [*places, len(said)], strict=True)]
    assert receive(dialect, pieces) == receive(dialect, [said])


@pytest.mark.parametrize("dialect", DIALECTS)
def test_bodies_are_bytes(dialect: Dialect) -> None:
    """A body is `bytes` of the declared length, whether it came with its line or later."""
    said = b"put 0 0 1 4\r\na\r\nb\r\n"
    for at in range(1, len(said)):
        (put,) = receive(dialect, [said[:at], said[at:]])
        assert isinstance(put, c.Put)
        assert type(put.body) is bytes
        assert put.body == b"a\r\nb"


def test_when_too_big_is_said() -> None:
    """beanstalkd answers a body that is too big when it is over, tuber before it comes."""
    line, body = b"put 0 0 1 70000\r\n", b"x" * 70_002
    answers: dict[Dialect, tuple[list[Received], list[Received]]] = {
        "beanstalkd": ([], [TOO_BIG]),
        "tuber": ([TUBER_TOO_BIG], []),
    }
    for dialect, (first, then) in answers.items():
        fresh = Parser(BODY_BYTES_MAX, dialect)
        assert fresh.receive(line) == first
        assert fresh.receive(body[:-1]) == []
        assert fresh.kept_bytes == 0
        assert fresh.receive(body[-1:] + USED_LINE) == [*then, USED]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_largest_body(dialect: Dialect) -> None:
    """A body of the most bytes is taken, also in pieces; what is kept of it is its own bytes."""
    fresh = Parser(100_000, dialect)
    assert fresh.receive(b"put 0 0 1 100000\r\n") == []
    for taken in range(0, 100_000, 10_000):
        assert fresh.kept_bytes == taken
        assert fresh.receive(b"x" * 10_000) == []
    assert fresh.receive(b"\r\n") == [c.Put(0, 0, 1, b"x" * 100_000)]
    assert fresh.kept_bytes == 0
    assert Parser(99_999, dialect).receive(b"put 0 0 1 100000\r\n" + b"x" * 100_002) != []


@pytest.mark.parametrize("dialect", DIALECTS)
def test_endless_line(dialect: Dialect) -> None:
    """Of a line without end no more is kept than the longest line has."""
    longest = {"beanstalkd": limits.BEANSTALKD_LINE_BYTES_MAX, "tuber": LONGEST}[dialect]
    fresh = Parser(BODY_BYTES_MAX, dialect)
    most = 0
    for _ in range(2_000):
        fresh.receive(b"x" * 99)
        most = max(most, fresh.kept_bytes)
    assert longest - 99 <= most < longest


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("last", [b"quit\r\n", b"x" * LONGEST])
def test_nothing_after_the_end(dialect: Dialect, last: bytes) -> None:
    """After a quit, or a line that ends the connection, nothing is read or kept."""
    fresh = Parser(BODY_BYTES_MAX, dialect)
    items = fresh.receive(last + USED_LINE)
    over = not (dialect == "beanstalkd" and last.startswith(b"x"))
    assert [type(item) for item in items][-1] in ((c.Quit, c.Close) if over else (c.Refused,))
    assert fresh.receive(USED_LINE + b"put") == ([] if over else [USED])
    assert fresh.kept_bytes == (0 if over else 3)


def test_known_lines() -> None:
    """That lines are known by heart changes nothing, and they are bounded."""
    line = b"put 0 0 1 2\r\nab\r\n"
    small, large = Parser(1, "tuber"), Parser(2, "tuber")
    for _ in range(2):
        assert large.receive(line) == [c.Put(0, 0, 1, b"ab")]
        assert small.receive(line) == [TUBER_TOO_BIG]
    for number in range(limits.COMMAND_LINES_MAX + 10):
        assert large.receive(b"put %d 0 1 2\r\nab\r\n" % number) == [c.Put(number, 0, 1, b"ab")]
        assert large.receive(line) == [c.Put(0, 0, 1, b"ab")]
        assert len(parser.KNOWN["tuber"]) <= limits.COMMAND_LINES_MAX
    # A put with tags is mostly the only one of its kind.
    receive("tuber", [b"put 7 7 7 0 idp:7\r\n\r\n"])
    assert not any(b"idp" in line for line in parser.KNOWN["tuber"])
    assert receive("beanstalkd", [b"reserve-with-timeout 5 \r\n"]) == [BAD]
    assert receive("tuber", [b"reserve-with-timeout 5 \r\n"] * 2) == [c.ReserveWithTimeout(5)] * 2
    assert receive("beanstalkd", [b"reserve-with-timeout 5 \r\n"]) == [BAD]


def test_a_wrong_body_has_used_an_id() -> None:
    """Where beanstalkd spends an id on a put that it refuses, ours says so; tuber never does."""
    said = b"put 0 0 1 1\r\nabc"
    assert receive("beanstalkd", [said]) == [NO_CRLF]
    assert NO_CRLF.put_id_spent
    assert NO_CRLF.counted == "put"
    assert receive("tuber", [said]) == [TUBER_NO_CRLF]
    assert not TUBER_NO_CRLF.put_id_spent
