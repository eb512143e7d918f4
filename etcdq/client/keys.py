"""How keys and queue keys are spelled. Source: docs/semantics.md section 2."""

import re
from dataclasses import dataclass
from uuid import UUID

from etcdq.errors import InvalidArgumentError

QUEUE_PREFIX = b"/q/"
NAME_BYTES_MAX = 200
_SLASH = re.compile("%2[Ff]")
"""How the "/" of a tube's name is spelled: one byte of that name."""


def as_bytes(value: str | bytes) -> bytes:
    """Return text as UTF-8, bytes as they are."""
    return value.encode() if isinstance(value, str) else bytes(value)


def prefix_end(prefix: bytes) -> bytes:
    """Return the end of the range of all keys that begin with `prefix`; b"\\0": no end."""
    stem = prefix.rstrip(b"\xff")
    return stem[:-1] + bytes((stem[-1] + 1,)) if stem else b"\0"


def range_of(key: bytes, range_end: bytes | None, *, prefix: bool) -> tuple[bytes, bytes]:
    """Return key and range_end as etcd wants them; an empty key with `prefix` means all keys.

    Raises:
        InvalidArgumentError: both a range_end and prefix.
    """
    if not prefix:
        return key, range_end or b""
    if range_end is not None:
        raise InvalidArgumentError("give range_end or prefix, not both")
    return key or b"\0", prefix_end(key)


@dataclass(frozen=True, slots=True)
class QueueKeys:
    """The keys of one queue.

    Raises:
        InvalidArgumentError: `name` is not UTF-8 of 1 to 200 bytes without control characters
            and "/". A tube whose name has a "/" is named with %2F in its place.
    """

    name: str

    def __post_init__(self) -> None:
        size = len(_SLASH.sub("/", self.name).encode())
        if not 1 <= size <= NAME_BYTES_MAX:
            raise InvalidArgumentError(f"a queue's name has 1 to 200 bytes, not {size}")
        if "/" in self.name or any(ord(c) < 0x20 or 0x7F <= ord(c) <= 0x9F for c in self.name):
            raise InvalidArgumentError(f"queue name {self.name!r} has a '/' or control characters")

    @property
    def lead(self) -> bytes:
        """What all keys of the queue begin with."""
        return QUEUE_PREFIX + self.name.encode() + b"/"

    def producer(self, key: bytes) -> bytes:
        """Return the key to put under; `key` is one segment."""
        if not key or b"/" in key:
            raise InvalidArgumentError(f"a message's key is one segment without '/', not {key!r}")
        return self.lead + b"p/" + key

    def consumer(self, consumer: UUID) -> bytes:
        """Return the key to watch."""
        return self.lead + b"c/" + str(consumer).encode()


def split_delivery(delivery_key: bytes) -> tuple[int, bytes]:
    """Return index and producer key of a delivery key, in its short or its long form.

    Raises:
        ValueError: it is none.
    """
    _, index, key = delivery_key.rsplit(b"/", 2)
    return int(index), key
