"""Header blocks (RFC 7541): decoding what peers send, and our constant answers.

The `hpack` library's own decoder takes 13 to 33 microseconds for a block of a gRPC call, so the
loop is ours, on that library's static table and Huffman code.

A block means the same fields again only while the dynamic table stands still, so results are
cached until the next addition to the table or assignment of its size. Equal length of the table
is not enough: an addition that evicts leaves it unchanged.

Our own blocks are literals without indexing: they touch no peer's table and so are constants.
"""

from collections import deque
from collections.abc import Callable
from functools import lru_cache
from typing import Final, Generic, TypeVar

from hpack.exceptions import HPACKError
from hpack.huffman_constants import REQUEST_CODES, REQUEST_CODES_LENGTH
from hpack.huffman_table import decode_huffman
from hpack.table import HeaderTable

from etcdq.actors import limits
from etcdq.actors.errors import RemoteProtocolError

Field = tuple[bytes, bytes]
Result = TypeVar("Result")

_STATIC: Final[tuple[Field, ...]] = ((b"", b""), *HeaderTable.STATIC_TABLE)
_STATIC_COUNT: Final = len(HeaderTable.STATIC_TABLE)
_FIRST_DYNAMIC: Final = 0x80 + _STATIC_COUNT + 1
"""The byte of an indexed field that names the newest entry of the dynamic table."""
_INTEGER_BYTES_MAX: Final = 5
_ENTRY_OVERHEAD_BYTES: Final = 32
_HUFFMAN_SHORT_BYTES: Final = 32
_LOOK_AHEAD_BITS: Final = 12
_ALL_ONES: Final = (1 << _LOOK_AHEAD_BITS) - 1

TABLE_SIZE_ZERO: Final = b"\x20"
"""A size update to 0: owed at the start of a block once a peer lowers our encoder's table."""


class HpackError(RemoteProtocolError):
    """A block that cannot be decoded: the table is lost, the connection ends."""


class HeaderDecoder(Generic[Result]):
    """Decodes the blocks of one connection, in their order, and remembers what they meant.

    Args:
        interpret: makes the remembered result of a request's fields; may raise.
    """

    __slots__ = ("_entries", "_interpret", "_table_bytes", "_table_bytes_max", "cache")

    def __init__(self, interpret: Callable[[list[Field]], Result]) -> None:
        self._interpret = interpret
        self._entries: deque[Field] = deque()
        """The dynamic table, newest first."""
        self._table_bytes = 0
        self._table_bytes_max = limits.HEADER_TABLE_BYTES_MAX
        self.cache: dict[bytes, Result] = {}

    def read(self, block: bytes) -> Result:
        """Decode a block that is not in `cache`, interpret its fields, remember the result.

        Raises:
            HpackError: the block is malformed.
        """
        changed, fields = self._decode(block)
        result = self._interpret(fields)
        if not changed and len(block) <= limits.BLOCK_CACHE_BLOCK_BYTES:
            if len(self.cache) >= limits.BLOCK_CACHE_ENTRIES:
                self.cache.clear()
            self.cache[block] = result
        return result

    def decode(self, block: bytes) -> list[Field]:
        """Decode a block into its fields in order, with whatever it does to the table.

        Raises:
            HpackError: the block is malformed.
        """
        return self._decode(block)[1]

    def _decode(self, block: bytes) -> tuple[bool, list[Field]]:
        fields: list[Field] = []
        add = fields.append
        entries = self._entries
        changed = False
        pos, end = 0, len(block)
        try:
            while pos < end:
                byte = block[pos]
                pos += 1
                if byte >= _FIRST_DYNAMIC:  # an indexed field of the dynamic table
                    index = byte - _FIRST_DYNAMIC
                    if byte == 0xFF:
                        index, pos = _integer(block, pos, index)
                    add(entries[index])
                elif byte > 0x80:  # of the static table
                    add(_STATIC[byte & 0x7F])
                elif byte == 0x80:
                    raise HpackError("header field index 0")
                elif byte & 0xE0 == 0x20:
                    pos = self._resize(block, pos, byte & 0x1F, late=bool(fields))
                    changed = True
                else:  # a literal, with indexing (01), without (0000) or never (0001)
                    prefix = 0x3F if byte >= 0x40 else 0x0F
                    index = byte & prefix
                    if index == prefix:
                        index, pos = _integer(block, pos, index)
                    if index == 0:
                        name, pos = _string(block, pos)
                    elif index <= _STATIC_COUNT:
                        name = _STATIC[index][0]
                    else:
                        name = entries[index - 1 - _STATIC_COUNT][0]
                    value, pos = _string(block, pos)
                    add((name, value))
                    if byte >= 0x40:
                        entries.appendleft((name, value))
                        self._table_bytes += len(name) + len(value) + _ENTRY_OVERHEAD_BYTES
                        if self._table_bytes > self._table_bytes_max:
                            self._evict()
                        changed = True
        except IndexError:
            raise HpackError("header block cut short, or an index beyond the table") from None
        except HPACKError as error:
            raise HpackError(str(error)) from error
        finally:
            if changed:
                self.cache.clear()
        return changed, fields

    def _resize(self, block: bytes, pos: int, size: int, *, late: bool) -> int:
        if size == 0x1F:
            size, pos = _integer(block, pos, size)
        if late:
            raise HpackError("table size update after a header field")
        if size > limits.HEADER_TABLE_BYTES_MAX:
            raise HpackError("table size update over the size we allow")
        self._table_bytes_max = size
        self._evict()
        return pos

    def _evict(self) -> None:
        """Drop the oldest entries until the table fits; one that never can empties it."""
        while self._table_bytes > self._table_bytes_max:
            name, value = self._entries.pop()
            self._table_bytes -= len(name) + len(value) + _ENTRY_OVERHEAD_BYTES


def _integer(block: bytes, pos: int, number: int) -> tuple[int, int]:
    """The rest of an integer whose prefix is full: (value, position behind it)."""
    shift = 0
    for at in range(pos, pos + _INTEGER_BYTES_MAX):
        byte = block[at]
        number += (byte & 0x7F) << shift
        if byte < 0x80:
            return number, at + 1
        shift += 7
    raise HpackError("integer too long")


def _string(block: bytes, pos: int) -> tuple[bytes, int]:
    """A string literal: (its bytes, position behind it)."""
    head = block[pos]
    pos += 1
    size = head & 0x7F
    if size == 0x7F:
        size, pos = _integer(block, pos, size)
    end = pos + size
    if end > len(block):
        raise HpackError("string literal cut short")
    if head & 0x80:
        return _huffman(block[pos:end]), end
    return block[pos:end], end


def _codes() -> list[tuple[bytes, int]]:
    """By the next 12 bits of a Huffman string: the one or two characters they begin with, and
    the bits of their codes; none and 0 where the code is longer."""
    table = [(b"", 0)] * (1 << _LOOK_AHEAD_BITS)

    def fill(characters: bytes, code: int, bits: int) -> None:
        rest = _LOOK_AHEAD_BITS - bits
        table[code << rest : (code + 1) << rest] = [(characters, bits)] * (1 << rest)

    coded = zip(range(256), REQUEST_CODES, REQUEST_CODES_LENGTH, strict=False)  # EOS is left out
    short = [(bytes((one,)), code, bits) for one, code, bits in coded if bits <= _LOOK_AHEAD_BITS]
    for one in short:
        fill(*one)
    for first, code, bits in short:
        for second, code_behind, bits_behind in short:
            if bits + bits_behind <= _LOOK_AHEAD_BITS:
                fill(first + second, code << bits_behind | code_behind, bits + bits_behind)
    return table


_CODES: Final = _codes()


def _huffman(raw: bytes) -> bytes:
    """Decode a Huffman string."""
    return _short_huffman(raw) if len(raw) <= _HUFFMAN_SHORT_BYTES else decode_huffman(raw)


@lru_cache(maxsize=limits.SHORT_STRINGS_MAX)
def _short_huffman(raw: bytes) -> bytes:
    # Mostly what is left of a client's timeout: new in every call, yet of a few hundred values.
    # Common characters go two a look-up; the rest and all errors the library's way.
    text = b""
    left = len(raw) * 8
    number = int.from_bytes(raw, "big") << _LOOK_AHEAD_BITS | _ALL_ONES
    while left > 0:
        ahead = number >> left & _ALL_ONES
        characters, bits = _CODES[ahead]
        if not bits or bits > left:
            if ahead == _ALL_ONES and left < 8:
                return text  # padding
            return decode_huffman(raw)
        text += characters
        left -= bits
    return text


def literal_block(fields: list[Field]) -> bytes:
    """Encode fields as literals without indexing (and `:status 200` by its static index)."""
    block = bytearray()
    for name, value in fields:
        if (name, value) == (b":status", b"200"):
            block.append(0x88)
            continue
        block += b"\0" + _length(name) + name + _length(value) + value
    return bytes(block)


def _length(text: bytes) -> bytes:
    """The length of a plain string literal as an integer with a 7-bit prefix."""
    size = len(text)
    if size < 0x7F:
        return bytes((size,))
    size -= 0x7F
    out = bytearray(b"\x7f")
    while size >= 0x80:
        out.append(size & 0x7F | 0x80)
        size >>= 7
    out.append(size)
    return bytes(out)
