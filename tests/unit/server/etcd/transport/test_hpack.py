"""Header blocks against the `hpack` library, and the rules of the cache."""

import pytest
from hpack import Decoder, Encoder
from hpack.exceptions import HPACKError
from hypothesis import given, settings
from hypothesis import strategies as st

from etcdq.actors import limits
from etcdq.server.etcd.transport.hpack import (
    TABLE_SIZE_ZERO,
    Field,
    HeaderDecoder,
    HpackError,
    literal_block,
)

CALL: list[Field] = [(b":method", b"POST"), (b":path", b"/a/b"), (b"te", b"trailers")]

texts = st.binary(max_size=60) | st.text("0123456789numSMH/abcxyz-", max_size=40).map(str.encode)
field_lists = st.lists(st.tuples(texts.filter(bool), texts), max_size=8)


def decoder() -> HeaderDecoder[tuple[Field, ...]]:
    """A decoder that remembers the fields themselves."""
    return HeaderDecoder(tuple)


@settings(deadline=None)
@given(st.lists(st.tuples(field_lists, st.booleans(), st.integers(0, 6)), max_size=8))
def test_same_fields_as_the_library(blocks: list[tuple[list[Field], bool, int]]) -> None:
    """Block after block, coded or plain, with table sizes that change: the library's fields."""
    encoder, ours, theirs = Encoder(), decoder(), Decoder()
    for fields, coded, size in blocks:
        encoder.header_table_size = [0, 33, 64, 100, 300, 1_000, 4_096][size]
        block = bytes(encoder.encode(fields, huffman=coded))
        expected = [(bytes(name), bytes(value)) for name, value in theirs.decode(block, raw=True)]
        assert ours.decode(block) == expected == fields


@settings(deadline=None, max_examples=300)
@given(st.lists(st.binary(max_size=60), max_size=4))
def test_any_bytes_decode_as_the_library_or_raise(blocks: list[bytes]) -> None:
    """Of arbitrary bytes, what we take the library takes with the same meaning."""
    ours, theirs = decoder(), Decoder(max_header_list_size=1_000_000)
    for block in blocks:
        try:
            fields = ours.decode(block)
        except HpackError:
            return
        try:
            expected = theirs.decode(block, raw=True)
        except HPACKError:
            return  # stricter than we on the length of integers
        assert fields == [(bytes(name), bytes(value)) for name, value in expected]


def test_block_is_remembered() -> None:
    """A block that changes nothing is read once."""
    reader = decoder()
    block = bytes(Encoder().encode(CALL, huffman=False)[:1])
    assert reader.read(block) == ((b":method", b"POST"),)
    assert reader.cache == {block: ((b":method", b"POST"),)}


def test_block_that_adds_is_not_remembered_and_clears() -> None:
    """An addition to the table makes every remembered block mean something else."""
    reader = decoder()
    reader.read(b"\x83")
    reader.read(b"\x40\x01a\x01b")
    assert reader.cache == {}


def test_cache_is_dropped_when_an_addition_evicts() -> None:
    """The table's length stands still when an addition evicts; its meaning does not."""
    reader = decoder()
    value = b"x" * 4_000
    reader.decode(b"\x40\x01a" + b"\x7f" + bytes((0xA1, 0x1E)) + value)
    assert reader.read(b"\xbe") == ((b"a", value),)
    reader.decode(b"\x40\x01b" + b"\x7f" + bytes((0xA1, 0x1E)) + value)
    assert reader.read(b"\xbe") == ((b"b", value),)


def test_size_update_clears_the_cache() -> None:
    """A table size update forgets remembered blocks, also one to the size it had."""
    reader = decoder()
    reader.read(b"\x83")
    reader.decode(b"\x3f\xe1\x1f")
    assert reader.cache == {}


def test_cache_is_bounded() -> None:
    """No more blocks are remembered than the limit, and no long ones."""
    reader = decoder()
    for number in range(limits.BLOCK_CACHE_ENTRIES + 5):
        reader.read(literal_block([(b"n", b"%d" % number)]))
        assert len(reader.cache) <= limits.BLOCK_CACHE_ENTRIES
    reader.cache.clear()
    reader.read(literal_block([(b"n", b"x" * limits.BLOCK_CACHE_BLOCK_BYTES)]))
    assert reader.cache == {}


def test_entry_larger_than_the_table_empties_it() -> None:
    """An entry that can never fit leaves an empty table (RFC 7541 section 4.4)."""
    reader = decoder()
    reader.decode(b"\x20" + b"\x40\x01a\x01b")
    with pytest.raises(HpackError):
        reader.decode(b"\xbe")


@pytest.mark.parametrize(
    "block",
    [b"\x80", b"\xbe", b"\xff\xff\xff\xff\xff\xff\xff\x01", b"\x40", b"\x40\x05ab", b"\x83\x20"],
    ids=["index-0", "beyond", "endless-integer", "no-name", "cut-string", "late-size-update"],
)
def test_malformed_block_raises(block: bytes) -> None:
    """A malformed block raises HpackError and nothing else."""
    with pytest.raises(HpackError):
        decoder().decode(block)


@given(field_lists)
def test_literal_block_decodes_and_leaves_the_table(fields: list[Field]) -> None:
    """Our own blocks mean their fields and touch no table."""
    theirs = Decoder()
    decoded = theirs.decode(literal_block(fields), raw=True)
    assert [(bytes(name), bytes(value)) for name, value in decoded] == fields
    assert len(theirs.header_table.dynamic_entries) == 0


def test_literal_block_with_long_strings() -> None:
    """Lengths of 127 and more take an integer of several bytes."""
    for size in (126, 127, 128, 254, 255, 16_000):
        fields = [(b"a" * size, b"b" * size)]
        assert decoder().decode(literal_block(fields)) == fields


def test_table_size_zero_is_an_update() -> None:
    """The prefix we owe after a lowered table size is a size update to 0."""
    theirs = Decoder()
    theirs.max_allowed_table_size = 0
    theirs.decode(TABLE_SIZE_ZERO + literal_block([(b"a", b"b")]))
    assert theirs.header_table.maxsize == 0
