"""Odd command lines, and what beanstalkd 1.12 makes of them: tests of ours and of it read them."""

from collections.abc import Callable, Sequence

from etcdq.server.beanstalk import commands as c
from etcdq.server.beanstalk import replies
from etcdq.server.beanstalk.parser import Received

BAD = c.Refused(replies.BAD_FORMAT)
UNKNOWN = c.Refused(replies.UNKNOWN_COMMAND)
U32 = 2**32 - 1
U64 = 2**64 - 1

Line = tuple[bytes, c.Command | c.Refused]

GOOD_NUMBERS = [
    (b"0", 0),
    (b"1", 1),
    (b"007", 7),
    (b"    7", 7),
    (b"0" * 40 + b"5", 5),
    (b"0" * 40, 0),
    (b"4294967295", U32),
]
BAD_NUMBERS = [
    b"",
    b" ",
    b"1 ",
    b"1 2",
    b"+1",
    b"-1",
    b"-0",
    b"1x",
    b"x",
    b"\t1",
    b"1\t",
    b"1\n",
    b"1.0",
    b"0x1",
    b"1_0",
    b"1,0",
    b"\xb2",
    b"\xef\xbc\x91",
    b"9" * 40,
    b"18446744073709551616",
]
GOOD_NAMES = [b"a", b"0", b"x_y", b"a/b;c.d$e(f)+-", b"+", b"/", b"a" * 200, b"default"]
BAD_NAMES = [
    b"",
    b" ",
    b" a",
    b"a ",
    b"a b",
    b"a 5",
    b"-x",
    b"-",
    b"a:b",
    b"a,b",
    b"a\tb",
    b"a\n",
    b"a%2Fb",
    b"a'b",
    b"\xc3\xa9",
    b"\xff",
    b"a" * 201,
]

WITH_ID: list[Callable[[int], c.Command]] = [
    c.Peek, c.ReserveJob, c.Delete, c.KickJob, c.Touch, c.StatsJob,
]  # fmt: skip
WITH_NAME: list[Callable[[bytes], c.Command]] = [c.StatsTube, c.Use, c.Watch, c.Ignore]
ALONE = [
    c.PeekReady(), c.PeekDelayed(), c.PeekBuried(), c.Reserve(), c.Stats(), c.ListTubesWatched(),
    c.ListTubeUsed(), c.ListTubes(), c.Quit(),
]  # fmt: skip

TUBER_ONLY: set[type[c.Command]] = {
    c.ReserveBatch, c.ReserveMode, c.DeleteBatch, c.PeekReserved, c.StatsGroup, c.FlushTube,
    c.Drain, c.Undrain,
}  # fmt: skip


def name_of(command: object) -> bytes:
    """Return how a command is called on the wire."""
    name: str = command.name  # type: ignore[attr-defined]
    return name.encode()


def ids() -> list[Line]:
    """Commands that take one id."""
    found: list[Line] = []
    for command in WITH_ID:
        word = name_of(command)
        found += [(word + b" " + text, command(job_id)) for text, job_id in GOOD_NUMBERS]
        found += [(word + b" 18446744073709551615", command(U64))]
        found += [(word + b" " + text, BAD) for text in BAD_NUMBERS]
        # Without its space it is another command's prefix, or none at all.
        alone = BAD if word in (b"reserve-job", b"stats-job") else UNKNOWN
        found += [(word, alone), (word + b"\t1", alone), (word + b"1", alone)]
    return found


def names() -> list[Line]:
    """Commands that take one name."""
    found: list[Line] = []
    for command in WITH_NAME:
        word = name_of(command)
        found += [(word + b" " + name, command(name)) for name in GOOD_NAMES]
        found += [(word + b" " + name, BAD) for name in BAD_NAMES]
        alone = BAD if word == b"stats-tube" else UNKNOWN
        found += [(word, alone), (word + b"\ta", alone)]
    return found


def alone() -> list[Line]:
    """Commands that take nothing."""
    found: list[Line] = []
    for command in ALONE:
        word = name_of(command)
        longer = command if isinstance(command, c.Quit) else BAD
        found += [(word, command)]
        found += [(word + more, longer) for more in (b" ", b"x", b" 5", b"\t", b"\n", b"-")]
        found += [(word.upper(), UNKNOWN), (b" " + word, UNKNOWN), (word[:3], UNKNOWN)]
    return found


def several() -> list[Line]:
    """Commands that take several numbers, or a number and a name."""
    counted = c.Refused(replies.BAD_FORMAT, counted="pause-tube")
    found: list[Line] = [
        (b"release 1 2 3", c.Release(1, 2, 3)),
        (b"release   1   2   3", c.Release(1, 2, 3)),
        (b"release %d %d %d" % (U64, U32, U32), c.Release(U64, U32, U32)),
        (b"bury 1 2", c.Bury(1, 2)),
        (b"bury   1   2", c.Bury(1, 2)),
        (b"bury %d %d" % (U64, U32), c.Bury(U64, U32)),
        (b"pause-tube a 0", c.PauseTube(b"a", 0)),
        (b"pause-tube   a   4294967295", c.PauseTube(b"a", U32)),
        (b"pause-tube " + b"a" * 200 + b" 1", c.PauseTube(b"a" * 200, 1)),
        # Its name is a prefix without the space.
        (b"pause-tubea 1", c.PauseTube(b"a", 1)),
        (b"pause-tube-a 1", counted),
        (b"pause-tube -a 1", counted),
        (b"pause-tube " + b"a" * 201 + b" 1", counted),
        (b"pause-tube\ta 1", BAD),
    ]
    wrong = [
        b"", b" ", b" 1", b" 1 2 ", b" 1 2 3 4", b" 1 2 3 ", b" 1 2 +3", b" 1 2 -3", b" 1 2 x",
        b" 1 2x 3", b" 1\t2\t3", b" 18446744073709551616 2 3", b" 1 4294967296 3",
        b" 1 2 4294967296", b" x 2 3", b" +1 2 3", b" a 1 2", b" a 1 ", b" a 1x", b" a +1", b" a",
        b" a:b 1", b" a\t1", b" a -1", b" a  4294967296", b"\t1 2 3",
    ]  # fmt: skip
    for more in wrong:
        found += [(b"pause-tube" + more, BAD)] if more not in (b" 1 2", b" 1 2 ") else []
        unknown = not more.startswith(b" ")
        found += [(word + more, UNKNOWN if unknown else BAD) for word in (b"release", b"bury")]
    return found


def kicks() -> list[Line]:
    """`kick` is read by C's strtoul, and cut to 32 bits."""
    return [
        (b"kick 0", c.Kick(0)),
        (b"kick 10", c.Kick(10)),
        (b"kick  \t\n\v\f10", c.Kick(10)),
        (b"kick +1", c.Kick(1)),
        (b"kick -1", c.Kick(U32)),
        (b"kick -4294967295", c.Kick(1)),
        (b"kick 1x", c.Kick(1)),
        (b"kick 1 2", c.Kick(1)),
        (b"kick 0x10", c.Kick(0)),
        (b"kick 4294967295", c.Kick(U32)),
        (b"kick 4294967296", c.Kick(0)),
        (b"kick 18446744073709551615", c.Kick(U32)),
        (b"kick -18446744073709551615", c.Kick(1)),
        (b"kick 18446744073709551616", BAD),
        (b"kick -18446744073709551616", BAD),
        (b"kick x", BAD),
        (b"kick ", BAD),
        (b"kick + 1", BAD),
        (b"kick --1", BAD),
        (b"kick", UNKNOWN),
        (b"kick\t1", UNKNOWN),
    ]


def others() -> list[Line]:
    """Lines that are no command of beanstalkd, tuber's among them."""
    bad = [
        b"reserve-batch 5", b"reserve-mode fifo", b"stats-group g", b"reserve-with-timeout",
        b"watch a 5", b"a\0b", b"stats\0", b"\0", b"quit\0", b"delete 1\0", b"list-tubes-watche",
        b"list-tubes-watchedx", b"list-tube-usedx", b"use \0default",
    ]  # fmt: skip
    unknown = [
        b"", b" ", b"\t", b"\n", b"x", b"pu", b"list-tube", b"listtubes", b"peek-reserved",
        b"delete-batch 1", b"flush-tube a", b"drain", b"undrain", b"GET / HTTP/1.1", b"EHLO",
        b"PUT 0 0 1 1", b"\xff\xfe\xfd", b"putt 0 0 1 1", b"put", b"put\t0 0 1 1", b"-", b"pause",
        b"pause-tub", b"x" * 222,
    ]  # fmt: skip
    return [*((line, BAD) for line in bad), *((line, UNKNOWN) for line in unknown)]


def timeouts() -> list[Line]:
    """`reserve-with-timeout`, where both agree: beanstalkd 1.12 does not check its number."""
    return [
        (b"reserve-with-timeout 0", c.ReserveWithTimeout(0)),
        (b"reserve-with-timeout    0", c.ReserveWithTimeout(0)),
        (b"reserve-with-timeout 000", c.ReserveWithTimeout(0)),
        (b"reserve-with-timeout\t0", BAD),
    ]


SINGLE_LINES = [*ids(), *names(), *alone(), *several(), *kicks(), *others(), *timeouts()]
"""A line without its CRLF, and what it says."""

COUNTED = c.Refused(replies.BAD_FORMAT, counted="put")
TOO_BIG = c.Refused(replies.JOB_TOO_BIG, counted="put")
NO_CRLF = c.Refused(replies.EXPECTED_CRLF, counted="put", put_id_spent=True)
USED = c.ListTubeUsed()
USED_LINE = b"list-tube-used\r\n"

Session = tuple[bytes, Sequence[Received]]


def puts() -> list[Session]:
    """Puts and their bodies, each followed by a line that shows where reading goes on."""
    big = 65_536
    found: list[Session] = [
        (b"put 1 2 3 3\r\nabc\r\n", [c.Put(1, 2, 3, b"abc")]),
        (b"put 1 2 0 3\r\nabc\r\n", [c.Put(1, 2, 1, b"abc")]),
        (b"put 0 0 1 0\r\n\r\n", [c.Put(0, 0, 1, b"")]),
        (b"put 0 0 1 2\r\n\r\n\r\n", [c.Put(0, 0, 1, b"\r\n")]),
        (b"put 0 0 1 6\r\nquit\r\n\r\n", [c.Put(0, 0, 1, b"quit\r\n")]),
        (b"put 0 0 1 3\r\na\0\xff\r\n", [c.Put(0, 0, 1, b"a\0\xff")]),
        (b"put    1   2  3    3\r\nabc\r\n", [c.Put(1, 2, 3, b"abc")]),
        (b"put 01 002 0003 03\r\nabc\r\n", [c.Put(1, 2, 3, b"abc")]),
        (b"put %d %d %d 0\r\n\r\n" % (U32, U32, U32), [c.Put(U32, U32, U32, b"")]),
        (b"put 0 0 1 %d\r\n%b\r\n" % (big - 1, b"x" * (big - 1)), [c.Put(0, 0, 1, b"x" * 65_535)]),
        # too big: swallowed with two bytes more, whatever they are
        (b"put 0 0 1 %d\r\n%b\r\n" % (big, b"x" * big), [TOO_BIG]),
        (b"put 0 0 1 %d\r\n%b" % (big, b"x" * (big + 2)), [TOO_BIG]),
        (b"put 0 0 1 %d garbage\r\n%b\r\n" % (big, b"x" * big), [TOO_BIG]),
        (b"put 0 0 1 %dx\r\n%b\r\n" % (big, b"x" * big), [TOO_BIG]),
        # what stands in the place of CRLF is gone, and reading goes on behind it
        (b"put 0 0 1 3\r\nabcde", [NO_CRLF]),
        (b"put 0 0 1 3\r\nabc\n\r", [NO_CRLF]),
        (b"put 0 0 1 0\r\nabc\r\n", [NO_CRLF, UNKNOWN]),
    ]
    garbage = [b" ", b" x", b"x", b" 5", b"\t", b"\n", b".0", b" idp:k", b"-"]
    found += [(b"put 0 0 1 1" + more + b"\r\n", [COUNTED]) for more in garbage]
    # A put that is refused by its line has no body: what follows is the next line.
    found += [(b"put 0 0 1 1 x\r\na\r\n", [COUNTED, UNKNOWN])]
    found += [(b"put 0 0 1 x\r\na\r\n", [BAD, UNKNOWN])]
    wrong = [
        b"", b"0", b"0 0", b"0 0 1", b"0 0 1 ", b"a 0 1 1", b"0 a 1 1", b"0 0 a 1", b"0 0 1 a",
        b"-1 0 1 1", b"+1 0 1 1", b"0 -1 1 1", b"0 0 -1 1", b"0 0 1 -1", b"0 0 1 +1",
        b"4294967296 0 1 1", b"0 4294967296 1 1", b"0 0 4294967296 1", b"0 0 1 4294967296",
        b"0x 0 1 1", b"0\t0 1 1", b"0 0 1\t1", b"0 0 1\x001", b"0,0,1,1",
        b"99999999999999999999 0 0 0",
    ]  # fmt: skip
    found += [(b"put " + numbers + b"\r\n", [BAD]) for numbers in wrong]
    # A body that is short takes from the line behind it, one a byte too long leaves it its LF.
    wrong_length = [b"put 0 0 1 3\r\na\r\n", b"put 0 0 1 3\r\nabcd\r\n"]
    lost: list[Session] = [(raw + USED_LINE, [NO_CRLF, UNKNOWN]) for raw in wrong_length]
    return lost + [(raw + USED_LINE, [*expected, USED]) for raw, expected in found]


def long_lines() -> list[Session]:
    """Lines around beanstalkd's 224 bytes: it looks at so many at a time."""
    return [
        (b"x" * 222 + b"\r\n" + USED_LINE, [UNKNOWN, USED]),
        (b"use " + b"a" * 218 + b"\r\n" + USED_LINE, [BAD, USED]),
        # The CR of a line of 225 bytes is dropped; its end is that of the next line.
        (b"x" * 223 + b"\r\n" + USED_LINE + USED_LINE, [BAD, USED]),
        (b"x" * 224 + b"\r\n" + USED_LINE, [BAD, USED]),
        (b"x" * 500 + b"\r\n" + USED_LINE, [BAD, USED]),
        (b"x" * 447 + b"\r\n" + USED_LINE + USED_LINE, [BAD, USED]),
        (b"x" * 10_000 + b"\r\n" + USED_LINE, [BAD, USED]),
        (b"x\n" * 500 + b"\r\n" + USED_LINE, [BAD, USED]),
        # A CR without LF hides what follows, until 224 bytes are dropped.
        (b"stats\rx\r\n" + USED_LINE, []),
        (b"\r" + USED_LINE + USED_LINE * 20, [BAD] + [USED] * 6),
        (b"x\r" + b"y" * 222 + USED_LINE, [BAD]),
        (b"\r\r\n" + USED_LINE, []),
        (b"put 0 0 1 3\r\r\nabc\r\n" + USED_LINE, []),
        (b"list-tube-used\nlist-tube-used\r\n" + USED_LINE, [BAD, USED]),
        (b"delete 18446744073709551616" + b"\0" * 300 + b"\r\n" + USED_LINE, [BAD, USED]),
        (b"\r\n\r\n\r\n" + USED_LINE, [UNKNOWN, UNKNOWN, UNKNOWN, USED]),
        (b"quit\r\n" + USED_LINE, [c.Quit()]),
        (b"quitx\r\n" + USED_LINE, [c.Quit()]),
        (USED_LINE + b"list-tube-used\r", [USED]),
        (USED_LINE * 100, [USED] * 100),
    ]


SESSIONS = [*puts(), *long_lines()]
"""All that a connection sends, and what it says."""
