"""Odd lines in the tuber dialect, as tuber's own parser takes them."""

from collections.abc import Callable

import pytest

from etcdq.actors.queue.messages import Tags
from etcdq.actors.worker.messages import ReserveMode
from etcdq.server.beanstalk import commands as c
from etcdq.server.beanstalk.reading import PutHead
from etcdq.server.beanstalk.tuber_lines import read_line
from tests.support.beanstalk_lines import (
    ALONE,
    BAD,
    BAD_NAMES,
    GOOD_NAMES,
    U32,
    U64,
    UNKNOWN,
    WITH_ID,
    WITH_NAME,
    name_of,
)  # fmt: skip

TUBER_ALONE = [*ALONE, c.PeekReserved(), c.Drain(), c.Undrain()]
TUBER_WITH_NAME = [c.StatsTube, c.StatsGroup, c.Use, c.Ignore, c.FlushTube]
SPACES = (b" ", b"  ", b"\t", b"\n", b"\v", b"\f", b"\r", b" \t ")


@pytest.mark.parametrize("command", WITH_ID)
def test_ids(command: Callable[[int], c.Command]) -> None:
    """An id may have white space around it, a `+`, and any number of zeros."""
    word = name_of(command)
    good = {b"1": 1, b"007": 7, b"+7": 7, b"%d" % U64: U64, b"0" * 5_000 + b"5": 5, b"0": 0}
    wrong = [
        b"", b" ", b"-1", b"-0", b"+", b"+ 1", b"++1", b"+-1", b"1 2", b"1x", b"x", b"1.0", b"0x1",
        b"1_0", b"1,0", b"\xb2", b"18446744073709551616", b"9" * 5_000, b"1\x1c", b"\xc2\xa01",
    ]  # fmt: skip
    for text, job_id in good.items():
        for line in (text, *(space + text + space for space in SPACES)):
            assert read_line(word + b" " + line) == command(job_id)
    assert {text: read_line(word + b" " + text) for text in wrong} == dict.fromkeys(wrong, BAD)
    for line in (word, word + b"\t1", word + b"1", word.upper() + b" 1"):
        assert read_line(line) == UNKNOWN


@pytest.mark.parametrize("command", [*WITH_NAME, *TUBER_WITH_NAME])
def test_names(command: Callable[[bytes], c.Command]) -> None:
    """A name has 1 to 200 bytes of beanstalkd's, no hyphen first, and nothing around it."""
    word = name_of(command)
    for name in GOOD_NAMES:
        assert read_line(word + b" " + name) == command(name)
    for name in BAD_NAMES:
        expected = c.Watch(b"a", 5) if (word, name) == (b"watch", b"a 5") else BAD
        assert read_line(word + b" " + name) == expected
    assert read_line(word) == UNKNOWN


@pytest.mark.parametrize("command", TUBER_ALONE)
def test_what_takes_nothing(command: c.Command) -> None:
    """Such a command is the whole line."""
    word = name_of(command)
    assert read_line(word) == command
    for line in (word + b" ", word + b"x", word + b" 5", word + b"\t", b" " + word, word.upper()):
        assert read_line(line) == UNKNOWN


@pytest.mark.parametrize("command", [c.ReserveWithTimeout, c.Kick])
def test_counts(command: Callable[[int], c.Command]) -> None:
    """Seconds and bounds are 32 bits, not signed."""
    word = name_of(command)
    for text, value in {b"0": 0, b" 5 ": 5, b"+5": 5, b"4294967295": U32}.items():
        assert read_line(word + b" " + text) == command(value)
    for text in (b"-1", b"4294967296", b"5x", b"", b"x", b"1 2"):
        assert read_line(word + b" " + text) == BAD
    assert read_line(word) == UNKNOWN


@pytest.mark.parametrize("end", [b"", b"\r", b"\r\r", b"\0", b"\0\0", b"\0\r"])
def test_ends_that_are_dropped(end: bytes) -> None:
    """CRs at the end of a line are no part of it, and no more are NULs before them."""
    assert read_line(b"delete 5" + end) == c.Delete(5)
    assert read_line(b"use foo" + end) == c.Use(b"foo")
    assert read_line(b"stats" + end) == c.Stats()


@pytest.mark.parametrize("line", [b"st\0ats", b"\0stats", b"use a\0b", b"put 0 0 10\x005", b"a\0b"])
def test_nul_inside(line: bytes) -> None:
    """A NUL inside a line is never right, whatever the command."""
    assert read_line(line) == BAD


def test_nothing_but_ends() -> None:
    """An empty line, however it is spelled, is no command; a CR before a NUL is none either."""
    lines = [b"", b"\r", b"\0", b"\0\0\r", b" ", b"\t\t", b"\xff\xfe", b"pu", b"delete", b"put"]
    lines += [b"stats\r\0", b"list-tube", b"put\t0 0 1 1", b"PUT 0 0 1 1"]
    assert [read_line(line) for line in lines] == [UNKNOWN] * len(lines)


def test_several() -> None:
    """The numbers of release, bury and pause-tube are parted by any white space."""
    good = {
        b"release 1 2 3": c.Release(1, 2, 3),
        b"release \t1  +2\v3 ": c.Release(1, 2, 3),
        b"release %d %d %d" % (U64, U32, U32): c.Release(U64, U32, U32),
        b"bury 1 2": c.Bury(1, 2),
        b"bury  01 \t2 ": c.Bury(1, 2),
        b"bury %d %d" % (U64, U32): c.Bury(U64, U32),
        b"pause-tube a 5": c.PauseTube(b"a", 5),
        b"pause-tube  a  +5 ": c.PauseTube(b"a", 5),
        b"pause-tube\ta 5": c.PauseTube(b"a", 5),
        b"pause-tubea 5": c.PauseTube(b"a", 5),
        b"pause-tube " + b"a" * 200 + b" 5": c.PauseTube(b"a" * 200, 5),
    }
    bad = [
        b"release ", b"release 1 2", b"release 1 2 3 4", b"release x 2 3", b"release 1 -2 3",
        b"release 18446744073709551616 2 3", b"release 1 4294967296 3", b"release 1 2 4294967296",
        b"bury ", b"bury 1", b"bury 1 2 3", b"bury 1 4294967296", b"bury -1 2", b"pause-tube",
        b"pause-tube ", b"pause-tube a", b"pause-tube a 5 6", b"pause-tube -a 5", b"pause-tube a x",
        b"pause-tube a 4294967296", b"pause-tube " + b"a" * 201 + b" 5", b"pause-tubea",
    ]  # fmt: skip
    assert {line: read_line(line) for line in good} == good
    assert {line: read_line(line) for line in bad} == dict.fromkeys(bad, BAD)
    assert read_line(b"release\t1 2 3") == read_line(b"bury\t1 2") == UNKNOWN


def test_weights() -> None:
    """A watched tube weighs 1 to 9,999, one space after its name."""
    good = {b"a": 1, b"a 1": 1, b"a 9999": 9_999, b"a 0007": 7, b"a +7": 7}
    bad = [
        b"a 0",
        b"a 10000",
        b"a -1",
        b"a x",
        b"a  5",
        b"a 5 ",
        b" a 5",
        b"a 5 6",
        b"a\t5",
        b"a 5\t",
    ]
    for text, weight in good.items():
        assert read_line(b"watch " + text) == c.Watch(b"a", weight)
    assert [read_line(b"watch " + text) for text in bad] == [BAD] * len(bad)
    assert read_line(b"watch " + b"a" * 200 + b" 5") == c.Watch(b"a" * 200, 5)
    assert read_line(b"watch " + b"a" * 201 + b" 5") == BAD


def test_modes() -> None:
    """A mode is one word exactly, and repeated in the answer; a wrong one counts as given."""
    words = {
        b"fifo": ReserveMode.FIFO,
        b"default": ReserveMode.FIFO,
        b"weighted": ReserveMode.WEIGHTED,
        b"weighted-fair": ReserveMode.WEIGHTED_FAIR,
    }
    for word, mode in words.items():
        assert read_line(b"reserve-mode " + word) == c.ReserveMode(mode, word)
    wrong = c.Refused(BAD.reply, counted="reserve-mode")
    for word in (b"", b" fifo", b"fifo ", b"FIFO", b"lifo", b"weighted fair"):
        assert read_line(b"reserve-mode " + word) == wrong
    assert read_line(b"reserve-mode") == UNKNOWN


def test_reserve_batch() -> None:
    """A batch has 1 to 1,000 jobs."""
    for text, count in {b"1": 1, b"1000": 1_000, b" +5 ": 5}.items():
        assert read_line(b"reserve-batch " + text) == c.ReserveBatch(count)
    for text in (b"0", b"1001", b"-1", b"abc", b"", b"5 5", b"99999999999999999999"):
        assert read_line(b"reserve-batch " + text) == BAD
    assert read_line(b"reserve-batch") == UNKNOWN


def test_delete_batch() -> None:
    """1 to 1,000 ids, one wrong one spoils all, doubled ones are as they came."""
    good: dict[bytes, tuple[int, ...]] = {
        b"42": (42,),
        b"5 5": (5, 5),
        b" \t1\v2  3 ": (1, 2, 3),
        b"007 1": (7, 1),
        b"+7 1": (7, 1),
        b"0": (0,),
        b"%d 1" % U64: (U64, 1),
        b"1 " + b"0" * 100 + b"2": (1, 2),
        b" ".join([b"%d" % U64] * 1_000): (U64,) * 1_000,
        b" ".join([b"%d" % n for n in range(1_000)]): tuple(range(1_000)),
    }
    bad = [
        b"", b" ", b"abc", b"1 x", b"-1", b"-0", b"1 -0", b"1,2", b"1.0", b"1e3", b"[1]", b"true",
        b"18446744073709551616", b"1 18446744073709551616", b"9" * 5_000, b"+", b"+1 +", b"1_0",
        b" ".join([b"1"] * 1_001),
    ]  # fmt: skip
    for text, job_ids in good.items():
        assert read_line(b"delete-batch " + text) == c.DeleteBatch(job_ids)
    assert [read_line(b"delete-batch " + text) for text in bad] == [BAD] * len(bad)
    assert read_line(b"delete-batch") == UNKNOWN


KEY = b"k" * 200


@pytest.mark.parametrize(
    ("more", "tags"),
    [
        (b"", None),
        (b" ", None),
        (b" idp:k", Tags(idp=b"k")),
        (b" idp:k:60", Tags(idp=b"k", idp_ttl_s=60)),
        (b" idp:k:0", Tags(idp=b"k")),
        (b" idp:k:+60", Tags(idp=b"k", idp_ttl_s=60)),
        (b" idp:k:4294967295", Tags(idp=b"k", idp_ttl_s=U32)),
        (b" con:k", Tags(con=b"k", con_limit=1)),
        (b" con:k:5", Tags(con=b"k", con_limit=5)),
        (b" grp:g", Tags(grp=b"g")),
        (b" aft:g", Tags(aft=b"g")),
        (b" con:c\tidp:i  aft:a grp:g", Tags(b"i", 0, b"g", b"a", b"c", 1)),
        (b" idp:a:5 idp:b con:a:5 con:b", Tags(idp=b"b", con=b"b", con_limit=1)),
        (
            b" idp:%b grp:%b aft:%b con:%b" % (KEY, KEY, KEY, KEY),
            Tags(KEY, 0, KEY, KEY, KEY, 1),
        ),
    ],
)  # fmt: skip
def test_tags(more: bytes, tags: Tags | None) -> None:
    """A put's tags come in any order, the last of each kind counts."""
    assert read_line(b"put 1 2 3 4" + more) == PutHead(1, 2, 3, 4, tags)


@pytest.mark.parametrize(
    "more",
    [
        b" foo:bar", b" idp", b" idp:", b" idp:-k", b" idp:k:", b" idp:k:abc", b" idp:k:-1",
        b" idp:a:b:1", b" idp::1", b" idp:k:4294967296", b" idp: k", b" idp:has space", b" IDP:k",
        b" con:", b" con:k:0", b" con:k:00", b" con:k:x", b" con:k:4294967296", b" con::1",
        b" con:k:-1", b" grp:", b" grp:-g", b" grp:g:1", b" aft:", b" aft:a b", b" aft:g:1",
        b" grp:" + KEY + b"k", b" idp:" + KEY + b"k", b" con:k:1 con:k:0", b" x", b" 5", b" :",
        b" grp:g grp:", b" idp:\xc3\xa9",
    ],
)  # fmt: skip
def test_wrong_tags(more: bytes) -> None:
    """An unknown tag, a wrong key or number, also of a tag that is said again, refuses the put."""
    assert read_line(b"put 1 2 3 4" + more) == BAD


def test_puts() -> None:
    """A put has four numbers of 32 bits, parted by any white space; 0 to run in is 1."""
    good = {
        b"put 0 0 0 0": PutHead(0, 0, 1, 0),
        b"put  \t1 +2 \v3 04": PutHead(1, 2, 3, 4),
        b"put %d %d %d %d" % (U32, U32, U32, U32): PutHead(U32, U32, U32, U32),
    }
    bad = [
        b"put ", b"put 1 2 3", b"put a 2 3 4", b"put 1 a 3 4", b"put 1 2 a 4", b"put 1 2 3 a",
        b"put -1 2 3 4", b"put 1 2 3 -4", b"put 4294967296 2 3 4", b"put 1 2 3 4294967296",
        b"put 1 2 3 4x", b"put 1 2 3 +", b"put 1,2,3,4", b"put \xe2\x80\x8b 0 0 5",
    ]  # fmt: skip
    assert {line: read_line(line) for line in good} == good
    assert {line: read_line(line) for line in bad} == dict.fromkeys(bad, BAD)
