"""What the command lines of both dialects are made of: numbers, names, the first line of a put."""

from collections.abc import Callable

import msgspec

from etcdq.actors import limits
from etcdq.actors.queue.messages import Tags
from etcdq.server.beanstalk import replies
from etcdq.server.beanstalk.commands import Command, Refused

U32_MAX = 2**32 - 1
U64_MAX = 2**64 - 1
_U64_DIGITS = 20
DIGITS_SURE = 19
"""So many digits say no more than a u64 can."""

NAME_BYTES = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-+/;.$_()"
_HYPHEN = ord("-")

BAD_FORMAT = Refused(replies.BAD_FORMAT)
UNKNOWN_COMMAND = Refused(replies.UNKNOWN_COMMAND)


class PutHead(msgspec.Struct, frozen=True, gc=False):
    """The first line of a put. `garbage`: its numbers are right, but more follows them."""

    priority: int
    delay_s: int
    ttr_s: int
    body_bytes: int
    tags: Tags | None = None
    garbage: bool = False


Line = Command | Refused | PutHead
"""What one line says."""

Reader = Callable[[bytes], Line]
"""Reads what follows a command's name and one space, or a whole line without its end."""


def number(digits: bytes, maximum: int) -> int:
    """Return what decimal digits say; -1 for anything else, and for more than `maximum`."""
    if not digits.isdigit():
        return -1
    if len(digits) > _U64_DIGITS:
        # Both references take any number of zeros; int() is slow on many digits, or refuses.
        digits = digits.lstrip(b"0") or b"0"
        if len(digits) > _U64_DIGITS:
            return -1
    value = int(digits)
    return value if value <= maximum else -1


def is_name(text: bytes) -> bool:
    """Whether this may be the name of a tube, or a key."""
    return (
        0 < len(text) <= limits.QUEUE_NAME_BYTES_MAX
        and text[0] != _HYPHEN
        and not text.translate(None, NAME_BYTES)
    )


def named(command: Callable[[bytes], Command]) -> Reader:
    """Return the reader of a command that takes one name."""

    def read(rest: bytes) -> Line:
        return command(rest) if is_name(rest) else BAD_FORMAT

    return read
