"""How a queue is named in keys: its name is a tube's, which may have a "/", spelled `%2F` there.

So no name has a `%2F` of its own: where a key has one, in upper or lower case, a "/" is meant.
Source: docs/semantics.md section 1.
"""

import re
from functools import lru_cache

from etcdq.actors import limits

_SLASH = b"%2F"
_ANY_SLASH = re.compile(rb"%2[Ff]")
_SPELLED_BYTES_MAX = limits.QUEUE_NAME_BYTES_MAX * len(_SLASH)


def spelled(name: bytes) -> bytes:
    """Return a queue's name as keys have it."""
    return name.replace(b"/", _SLASH)


def queue_name(segment: bytes) -> bytes | None:
    """Return the name of the queue that a segment of a key spells, None if it is no queue's.

    A name is UTF-8 of 1 to 200 bytes (of which a "/" is one) without control characters.
    """
    # Only what has a bounded size is looked up: the cache keeps what it was asked about.
    return _queue_name(segment) if 1 <= len(segment) <= _SPELLED_BYTES_MAX else None


@lru_cache(maxsize=4096)
def _queue_name(segment: bytes) -> bytes | None:
    if b"/" in segment:
        return None
    name = _ANY_SLASH.sub(b"/", segment) if b"%" in segment else segment
    if len(name) > limits.QUEUE_NAME_BYTES_MAX:
        return None
    try:
        text = name.decode()
    except UnicodeDecodeError:
        return None
    if any(ord(char) < 0x20 or 0x7F <= ord(char) <= 0x9F for char in text):
        return None
    return name
