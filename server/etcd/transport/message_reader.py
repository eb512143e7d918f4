"""Length-prefixed gRPC messages out of the bytes of one stream, bounded before they are kept."""

import zlib
from struct import Struct
from typing import Final

from etcdq.actors.errors import RemoteProtocolError
from etcdq.server.etcd.transport import codes

PREFIX: Final = Struct(">BI")
"""Whether the message is compressed, and its length."""

_GZIP_WINDOW_BITS: Final = 31


class MessageError(RemoteProtocolError):
    """A message that cannot be had: this status is the answer of its call."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


class MessageReader:
    """Assembles the messages of one stream.

    Args:
        bytes_max: of a message, before and after decompression.
        gzip: whether the call announced gzip, so that a message may be compressed.
    """

    __slots__ = ("_buffer", "_bytes_max", "_gzip")

    def __init__(self, bytes_max: int, *, gzip: bool) -> None:
        self._buffer = bytearray()
        self._bytes_max = bytes_max
        self._gzip = gzip

    @property
    def buffered_bytes(self) -> int:
        """Bytes of a message that is not complete yet."""
        return len(self._buffer)

    def feed(self, data: bytes) -> list[bytes]:
        """Take bytes, return the messages they complete.

        Raises:
            MessageError: the prefix is malformed or over the limit, or gzip fails. The reader is
                of no further use.
        """
        buffer = self._buffer
        buffer += data
        messages: list[bytes] = []
        pos, end = 0, len(buffer)
        while end - pos >= PREFIX.size:
            compressed, size = PREFIX.unpack_from(buffer, pos)
            self._check(compressed, size)
            start = pos + PREFIX.size
            if end - start < size:
                break
            pos = start + size
            body = bytes(buffer[start:pos])
            messages.append(self._decompress(body) if compressed else body)
        del buffer[:pos]
        return messages

    def _check(self, compressed: int, size: int) -> None:
        if compressed > 1:
            text = f"grpc: received unexpected payload format {compressed}"
            raise MessageError(codes.INTERNAL, text)
        if compressed and not self._gzip:
            text = "grpc: compressed flag set with identity or empty encoding"
            raise MessageError(codes.INTERNAL, text)
        if size > self._bytes_max:
            text = f"grpc: received message larger than max ({size} vs. {self._bytes_max})"
            raise MessageError(codes.RESOURCE_EXHAUSTED, text)

    def _decompress(self, body: bytes) -> bytes:
        inflate = zlib.decompressobj(_GZIP_WINDOW_BITS)
        try:
            message = inflate.decompress(body, self._bytes_max + 1)
        except zlib.error as error:
            text = f"grpc: failed to decompress the received message: {error}"
            raise MessageError(codes.INTERNAL, text) from error
        if len(message) > self._bytes_max:
            text = (
                "grpc: received message after decompression larger than max "
                f"({len(message)} vs. {self._bytes_max})"
            )
            raise MessageError(codes.RESOURCE_EXHAUSTED, text)
        if not inflate.eof or inflate.unused_data:
            text = "grpc: failed to decompress the received message: not one whole gzip member"
            raise MessageError(codes.INTERNAL, text)
        return message
