"""The one table from errors of the domain to what an etcd client is told: a code and a text.

Texts are the errors' own: where etcd has an exact one, the error is born with it, since whoever
raises it knows which of etcd's it is. An error of a kind that is not in the table is our bug: a
test walks the tree for gaps.

Source: etcd v3.5 api/v3rpc/rpctypes/error.go; codes of gRPC.
"""

from typing import Final

from etcdq.actors.errors import (
    DrainingError,
    EtcdqError,
    InvalidArgumentError,
    InvalidKeyError,
    NoSuchQueueError,
    OverLimitError,
    RequestTooLargeError,
)
from etcdq.actors.node.mvcc.errors import (
    CompactedError,
    FutureRevisionError,
    KeyNotFoundError,
    LeaseNotFoundError,
)

INVALID_ARGUMENT: Final = 3
NOT_FOUND: Final = 5
RESOURCE_EXHAUSTED: Final = 8
OUT_OF_RANGE: Final = 11
UNAVAILABLE: Final = 14

CODES: Final[dict[type[EtcdqError], int]] = {
    InvalidArgumentError: INVALID_ARGUMENT,
    InvalidKeyError: INVALID_ARGUMENT,
    RequestTooLargeError: INVALID_ARGUMENT,
    KeyNotFoundError: INVALID_ARGUMENT,
    NoSuchQueueError: NOT_FOUND,
    LeaseNotFoundError: NOT_FOUND,
    CompactedError: OUT_OF_RANGE,
    FutureRevisionError: OUT_OF_RANGE,
    OverLimitError: RESOURCE_EXHAUSTED,
    DrainingError: UNAVAILABLE,
}


def status_of(error: EtcdqError) -> tuple[int, str]:
    """Return the gRPC code and the text that answer a call which failed with `error`."""
    return CODES[type(error)], error.text
