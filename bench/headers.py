"""Request headers as grpc-go writes them: HPACK with a dynamic table that every call may shift.

An etcd clientv3 call with a context deadline carries a `grpc-timeout` of its own. grpc-go writes
it as a literal *with* indexing, so each call adds an entry, the indices of all other dynamic
entries move by one, and after some 70 calls the path, the authority and the rest fall out of the
table and are written anew. No two header blocks of a connection need be alike, which defeats any
cache of whole blocks. `h2load` cannot do that; this encoder does.

Source: RFC 7541; golang.org/x/net/http2/hpack encode.go for what is indexed and when.
"""

from collections.abc import Iterator

from hpack.huffman import HuffmanEncoder
from hpack.huffman_constants import REQUEST_CODES, REQUEST_CODES_LENGTH
from hpack.table import HeaderTable

Field = tuple[bytes, bytes]

_STATIC_FIELDS = HeaderTable.STATIC_TABLE
_STATIC_COUNT = len(_STATIC_FIELDS)
_STATIC_NAMES = {name: i for i, (name, _) in enumerate(_STATIC_FIELDS, 1)}
_STATIC_INDEX = {(name, value): i for i, (name, value) in enumerate(_STATIC_FIELDS, 1)}
_ENTRY_OVERHEAD = 32
_GO_TABLE_BYTES = 4096


def integer(value: int, prefix_bits: int, flags: int) -> bytes:
    """An HPACK integer: value in a prefix of prefix_bits, flags above it (RFC 7541, 5.1)."""
    limit = (1 << prefix_bits) - 1
    if value < limit:
        return bytes((flags | value,))
    out = bytearray((flags | limit,))
    value -= limit
    while value >= 128:
        out.append(value % 128 + 128)
        value //= 128
    out.append(value)
    return bytes(out)


class GoEncoder:
    """An HPACK encoder that takes the decisions of Go's, for one connection.

    Args:
        table_bytes: the peer's SETTINGS_HEADER_TABLE_SIZE; Go uses at most 4,096 of it.

    `added` counts the entries ever added to the table: while it stands still, equal fields give
    equal blocks.
    """

    def __init__(self, table_bytes: int = _GO_TABLE_BYTES) -> None:
        self._size_max = min(table_bytes, _GO_TABLE_BYTES)
        self._resized = self._size_max != _GO_TABLE_BYTES
        self._size = 0
        # Entries are numbered as they come; the index on the wire counts back from the newest.
        self._fields: dict[int, Field] = {}
        self._by_field: dict[Field, int] = {}
        self._by_name: dict[bytes, int] = {}
        self.added = 0
        self._dropped = 0
        self._huffman = HuffmanEncoder(REQUEST_CODES, REQUEST_CODES_LENGTH)

    def encode(self, fields: list[Field]) -> bytes:
        """One header block; changes the table as the peer's decoder will change its own."""
        out = [self._field(*field) for field in fields]
        if self._resized:
            self._resized = False
            out.insert(0, integer(self._size_max, 5, 0x20))
        return b"".join(out)

    def _field(self, name: bytes, value: bytes) -> bytes:
        field = (name, value)
        if field in _STATIC_INDEX:
            return integer(_STATIC_INDEX[field], 7, 0x80)
        if field in self._by_field:
            return integer(self._wire_index(self._by_field[field]), 7, 0x80)
        index = _STATIC_NAMES.get(name, 0)
        if not index and name in self._by_name:
            index = self._wire_index(self._by_name[name])
        if len(name) + len(value) + _ENTRY_OVERHEAD <= self._size_max:
            head = integer(index, 6, 0x40)
            self._add(field)
        else:
            head = integer(index, 4, 0x00)
        return head + (b"" if index else self._string(name)) + self._string(value)

    def _wire_index(self, number: int) -> int:
        return _STATIC_COUNT + self.added - number

    def _add(self, field: Field) -> None:
        name, value = field
        self._fields[self.added] = field
        self._by_field[field] = self._by_name[name] = self.added
        self.added += 1
        self._size += len(name) + len(value) + _ENTRY_OVERHEAD
        while self._size > self._size_max:
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        number = self._dropped
        field = self._fields.pop(number)
        self._dropped += 1
        self._size -= len(field[0]) + len(field[1]) + _ENTRY_OVERHEAD
        if self._by_field.get(field) == number:
            del self._by_field[field]
        if self._by_name.get(field[0]) == number:
            del self._by_name[field[0]]

    def _string(self, text: bytes) -> bytes:
        packed: bytes = self._huffman.encode(text)
        if len(packed) < len(text):
            return integer(len(packed), 7, 0x80) + packed
        return integer(len(text), 7, 0x00) + text


def call_fields(path: str, authority: str, timeout: str | None = None) -> list[Field]:
    """The header fields of one call, in grpc-go's order."""
    fields = [
        (b":method", b"POST"),
        (b":scheme", b"http"),
        (b":path", path.encode()),
        (b":authority", authority.encode()),
        (b"content-type", b"application/grpc"),
        (b"user-agent", b"grpc-go/1.41.0"),
        (b"te", b"trailers"),
    ]
    if timeout is not None:
        fields.append((b"grpc-timeout", timeout.encode()))
    return fields


def fresh_timeouts() -> Iterator[str]:
    """What is left of 5 s when a call is written, in µs as grpc-go says it; no two are alike."""
    left_us = 4_999_990
    while left_us > 0:
        yield f"{left_us}u"
        left_us -= 7
