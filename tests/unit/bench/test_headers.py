"""The HPACK encoder that takes grpc-go's decisions, read by a decoder nobody here wrote."""

from itertools import islice

import pytest
from hpack import Decoder

from bench.headers import GoEncoder, call_fields, fresh_timeouts

PATH = "/etcdserverpb.KV/Put"
AUTHORITY = "127.0.0.1:2379"


def decoded(decoder: Decoder, block: bytes) -> list[tuple[bytes, bytes]]:
    """The fields of a block, as plain pairs."""
    return [(name, value) for name, value in decoder.decode(block, raw=True)]


@pytest.mark.parametrize("table_bytes", [4096, 65_536, 200, 64, 0])
def test_a_decoder_follows_through_many_calls(table_bytes: int) -> None:
    """Whatever table the peer allows: 500 calls, entries falling out, are decoded as meant."""
    encoder, decoder = GoEncoder(table_bytes), Decoder()
    decoder.max_allowed_table_size = max(table_bytes, 4096)
    for timeout in islice(fresh_timeouts(), 500):
        fields = call_fields(PATH, AUTHORITY, timeout)
        assert decoded(decoder, encoder.encode(fields)) == fields
    assert decoder.header_table._current_size <= min(table_bytes, 4096)


def test_no_two_blocks_with_fresh_timeouts_are_alike() -> None:
    """The load that defeats a cache of header blocks does defeat it."""
    encoder = GoEncoder()
    blocks = [
        encoder.encode(call_fields(PATH, AUTHORITY, t)) for t in islice(fresh_timeouts(), 500)
    ]
    assert len(set(blocks)) == 500


def test_constant_headers_become_one_block() -> None:
    """Without a timeout every call after the first is the same few indices."""
    encoder = GoEncoder()
    first, second, third = (encoder.encode(call_fields(PATH, AUTHORITY)) for _ in range(3))
    assert len(second) == 7
    assert second == third != first
    assert encoder.added == 5


def test_a_field_larger_than_the_table_is_not_indexed() -> None:
    """It would empty the table for nothing."""
    encoder, decoder = GoEncoder(), Decoder()
    field = (b"x-large", b"\x7f" * 4_096)
    assert decoded(decoder, encoder.encode([field])) == [field]
    assert encoder.added == 0


def test_two_different_timeouts_shift_what_came_before() -> None:
    """The path is one entry further back after each call."""
    encoder = GoEncoder()
    blocks = [encoder.encode(call_fields(PATH, AUTHORITY, t)) for t in ("1S", "2S", "3S")]
    path_index = [block[2] & 0x7F for block in blocks[1:]]
    assert path_index == [path_index[0], path_index[0] + 1]
