"""Bytes to replies, in any segmentation."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from etcdq.beanstalk.records import Job
from etcdq.beanstalk.replies import BODY_BYTES_MAX, LINE_BYTES_MAX, Reply, ReplyReader
from etcdq.errors import RemoteProtocolError

CASES = [
    (b"INSERTED 5\r\n", Reply("INSERTED", ("5",))),
    (b"INSERTED 5 READY 10\r\n", Reply("INSERTED", ("5", "READY", "10"))),
    (b"DELETED\r\n", Reply("DELETED")),
    (b"TIMED_OUT\r\n", Reply("TIMED_OUT")),
    (b"USING " + b"t" * 200 + b"\r\n", Reply("USING", ("t" * 200,))),
    (b"RESERVED 7 5\r\nhello\r\n", Reply("RESERVED", ("7", "5"), jobs=(Job(7, b"hello"),))),
    (b"RESERVED 7 0\r\n\r\n", Reply("RESERVED", ("7", "0"), jobs=(Job(7, b""),))),
    (
        b"FOUND 18446744073709551615 4\r\n\r\n\0\xff\r\n",
        Reply("FOUND", ("18446744073709551615", "4"), jobs=(Job(2**64 - 1, b"\r\n\0\xff"),)),
    ),
    (b"OK 8\r\n---\n- a\n\r\n", Reply("OK", ("8",), b"---\n- a\n")),
    (b"RESERVED_BATCH 0\r\n", Reply("RESERVED_BATCH", ("0",))),
    (
        b"RESERVED_BATCH 2\r\nRESERVED 1 2\r\nab\r\nRESERVED 2 0\r\n\r\n",
        Reply("RESERVED_BATCH", ("2",), jobs=(Job(1, b"ab"), Job(2, b""))),
    ),
]


def read(*chunks: bytes) -> list[Reply]:
    """Return the replies that the chunks hold: read one by one, and all of a chunk at once."""
    single, bulk = ReplyReader(), ReplyReader()
    replies: list[Reply] = []
    in_bulk: list[Reply] = []
    for chunk in chunks:
        single.feed(chunk)
        while (reply := single.next_reply()) is not None:
            replies.append(reply)
        bulk.feed(chunk)
        bulk.read_into(in_bulk)
        assert in_bulk == replies
    return replies


@pytest.mark.parametrize(("data", "reply"), CASES)
def test_whole_bytewise_and_with_more(data: bytes, reply: Reply) -> None:
    """Each form of reply is read whole, byte by byte, and with another one behind it."""
    assert read(data) == [reply]
    assert read(*(data[place : place + 1] for place in range(len(data)))) == [reply]
    assert read(data + b"KICKED 3\r\nDEL") == [reply, Reply("KICKED", ("3",))]
    assert read(data[:-1]) == []


@given(
    cases=st.lists(st.sampled_from(CASES), max_size=6),
    cuts=st.lists(st.integers(0, 400), max_size=8),
)
def test_any_segmentation(cases: list[tuple[bytes, Reply]], cuts: list[int]) -> None:
    """However a stream of replies is cut, it is the same replies."""
    data = b"".join(data for data, _ in cases)
    places = [0, *sorted(cuts), len(data)]

    chunks = [data[a:b] for a, b in pairwise(places)]

    assert read(*chunks) == [reply for _, reply in cases]


@given(
    st.binary(max_size=200) | st.text("RESERVDFOUNK_BATCH 019\r\n-", max_size=80).map(str.encode)
)
def test_any_bytes(data: bytes) -> None:
    """Whatever comes is replies, or RemoteProtocolError, or needs more."""
    try:
        replies = read(data)
    except RemoteProtocolError:
        return
    assert all(reply.word.isupper() for reply in replies)


@pytest.mark.parametrize(
    "data",
    [
        b"HTTP/1.1 400 Bad Request\r\n",
        b"\r\n",
        b"inserted 5\r\n",
        b"\xff\xfe\r\n",
        b"x" * (LINE_BYTES_MAX + 2),
        b"RESERVED\r\n",
        b"RESERVED 1 x\r\n",
        b"RESERVED 1 -1\r\n",
        b"RESERVED 1 %d\r\n" % (BODY_BYTES_MAX + 1),
        b"RESERVED 1 2 3\r\nabc\r\n",
        b"RESERVED x 1\r\na\r\n",
        b"RESERVED 1 3\r\nabcd\r\n",
        b"FOUND 18446744073709551616 1\r\na\r\n",
        b"OK\r\n",
        "OK ²\r\n".encode(),
        b"RESERVED_BATCH\r\n",
        b"RESERVED_BATCH 1001\r\n",
        b"RESERVED_BATCH 2\r\nRESERVED 1 1\r\na\r\nDELETED\r\n",
        b"RESERVED_BATCH 1\r\nTIMED_OUT\r\n",
    ],
)
def test_no_reply(data: bytes) -> None:
    """What no beanstalk server says is told as such, whole and byte by byte."""
    with pytest.raises(RemoteProtocolError):
        read(data)
    with pytest.raises(RemoteProtocolError):
        read(*(data[place : place + 1] for place in range(len(data))))


def test_replies_before_a_fault_are_there() -> None:
    """What was answered before the fault was answered."""
    reader = ReplyReader()
    reader.feed(b"DELETED\r\n?\r\n")

    assert reader.next_reply() == Reply("DELETED")
    with pytest.raises(RemoteProtocolError):
        reader.next_reply()


def test_longest_line() -> None:
    """A line may be as long as the bound says."""
    word = "A" * LINE_BYTES_MAX
    data = word.encode() + b"\r\n"

    assert read(data[:-1], data[-1:]) == [Reply(word)]


def test_numbers_of_a_reply() -> None:
    """An argument that has to be a number is one, or the server is at fault."""
    reply = Reply("DELETED_BATCH", ("5", "x"))

    assert reply.number(0) == 5
    for place in (1, 2):
        with pytest.raises(RemoteProtocolError, match="DELETED_BATCH"):
            reply.number(place)
