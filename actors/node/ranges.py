"""Ranges of keys, as etcd gives them: [start, end), a single key, or all keys from one on.

`end` b"" is the single key `start`. Source: etcd v3.5 API, RangeRequest.range_end.
"""

from typing import Final

FROM_KEY: Final = b"\0"
"""As the end of a range: every key from its start on."""


def contains(start: bytes, end: bytes, key: bytes) -> bool:
    """Say whether `key` lies in the range."""
    if not end:
        return key == start
    return start <= key and (key < end or end == FROM_KEY)


def prefix_end(prefix: bytes) -> bytes:
    """Return the end of the range of all keys that begin with `prefix`."""
    stem = prefix.rstrip(b"\xff")
    if not stem:
        return FROM_KEY
    return stem[:-1] + bytes((stem[-1] + 1,))
