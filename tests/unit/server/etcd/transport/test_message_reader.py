"""Messages out of bytes: any pieces, any prefix, gzip and its bombs."""

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from etcdq.server.etcd.transport.message_reader import MessageError, MessageReader
from tests.support.raw_http2 import prefixed


def reader(*, gzipped: bool = False) -> MessageReader:
    """A reader of messages up to 1,000 bytes."""
    return MessageReader(1_000, gzip=gzipped)


@given(st.lists(st.binary(max_size=50), max_size=6), st.integers(1, 9))
def test_any_pieces(messages: list[bytes], size: int) -> None:
    """Whole or in pieces: the same messages, and nothing is left over."""
    body = b"".join(map(prefixed, messages))
    assert reader().feed(body) == messages
    pieces = reader()
    got = [one for at in range(0, len(body), size) for one in pieces.feed(body[at : at + size])]
    assert got == messages
    assert pieces.buffered_bytes == 0


def test_message_at_the_limit_and_one_over() -> None:
    """The limit is inclusive, and one more is refused by its prefix alone."""
    assert reader().feed(prefixed(b"x" * 1_000)) == [b"x" * 1_000]
    with pytest.raises(MessageError) as failed:
        reader().feed(prefixed(b"x" * 1_001)[:5])
    assert failed.value.code == 8
    assert failed.value.text == "grpc: received message larger than max (1001 vs. 1000)"


def test_prefix_of_4_gib() -> None:
    """A length of 4 GiB is refused, and nothing of it is kept."""
    with pytest.raises(MessageError) as failed:
        reader().feed(b"\0\xff\xff\xff\xff")
    assert failed.value.code == 8


@pytest.mark.parametrize("flag", [2, 0x80, 255])
def test_flag_that_is_neither_0_nor_1(flag: int) -> None:
    """Another flag byte is INTERNAL."""
    with pytest.raises(MessageError) as failed:
        reader(gzipped=True).feed(prefixed(b"x", flag))
    assert failed.value.code == 13


def test_compressed_without_encoding() -> None:
    """The flag without grpc-encoding is INTERNAL."""
    with pytest.raises(MessageError) as failed:
        reader().feed(prefixed(gzip.compress(b"x"), 1))
    assert failed.value.code == 13


def test_gzip_and_plain_may_alternate() -> None:
    """With grpc-encoding gzip each message says whether it is compressed."""
    body = prefixed(gzip.compress(b"hello"), 1) + prefixed(b"plain")
    assert reader(gzipped=True).feed(body) == [b"hello", b"plain"]


def test_gzip_bomb_is_cut_at_the_limit() -> None:
    """What would unpack to more than the limit is RESOURCE_EXHAUSTED."""
    bomb = gzip.compress(b"\0" * 500_000)
    assert len(bomb) < 1_000
    with pytest.raises(MessageError) as failed:
        reader(gzipped=True).feed(prefixed(bomb, 1))
    assert failed.value.code == 8
    at_limit = gzip.compress(b"\0" * 1_000)
    assert reader(gzipped=True).feed(prefixed(at_limit, 1)) == [b"\0" * 1_000]


@pytest.mark.parametrize(
    "body",
    [b"", b"no gzip", gzip.compress(b"x" * 50)[:-3], gzip.compress(b"x") + b"tail"],
    ids=["empty", "rubbish", "cut", "trailing"],
)
def test_broken_gzip(body: bytes) -> None:
    """What is not one whole gzip member is INTERNAL."""
    with pytest.raises(MessageError) as failed:
        reader(gzipped=True).feed(prefixed(body, 1))
    assert failed.value.code == 13
