"""The metadata by which a Watch call asks for less credit than the node gives (rule 11).

`etcdq-credit: MESSAGES[,BYTES]`. What a consumer holds when it ends is buried, so one that takes a
few messages and leaves wants few in its hands. Source: docs/semantics.md section 2.
"""

from etcdq.actors.errors import InvalidArgumentError
from etcdq.actors.queue.messages import Credit

FIELD = b"etcdq-credit"
_DIGITS_MAX = 15


def asked_credit(metadata: tuple[tuple[bytes, bytes], ...], default: Credit) -> Credit:
    """Return the credit of the consumers of one call: what it asks for, at most the node's.

    Raises:
        InvalidArgumentError: the field is malformed.
    """
    value = dict(metadata).get(FIELD)
    if value is None:
        return default
    numbers = [_number(part, value) for part in value.split(b",")]
    if len(numbers) > 2:
        raise _malformed(value)
    messages = _least(numbers[0], default.messages)
    body_bytes = _least(numbers[1], default.body_bytes) if numbers[1:] else default.body_bytes
    return Credit(messages, body_bytes)


def _number(part: bytes, value: bytes) -> int:
    if not part.isdigit() or len(part) > _DIGITS_MAX or int(part) == 0:
        raise _malformed(value)
    return int(part)


def _least(asked: int, given: int) -> int:
    # 0 is no limit.
    return min(asked, given) if given else asked


def _malformed(value: bytes) -> InvalidArgumentError:
    shown = value[:32].decode("ascii", "backslashreplace")
    return InvalidArgumentError(
        f"etcdq: {FIELD.decode()} {shown!r}: it is MESSAGES or MESSAGES,BYTES, each 1 or more"
    )
