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
    NoSuchJobError,
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
from etcdq.server.etcd.transport import codes

CODES: Final[dict[type[EtcdqError], int]] = {
    InvalidArgumentError: codes.INVALID_ARGUMENT,
    InvalidKeyError: codes.INVALID_ARGUMENT,
    RequestTooLargeError: codes.INVALID_ARGUMENT,
    KeyNotFoundError: codes.INVALID_ARGUMENT,
    NoSuchQueueError: codes.NOT_FOUND,
    NoSuchJobError: codes.NOT_FOUND,
    LeaseNotFoundError: codes.NOT_FOUND,
    CompactedError: codes.OUT_OF_RANGE,
    FutureRevisionError: codes.OUT_OF_RANGE,
    OverLimitError: codes.RESOURCE_EXHAUSTED,
    DrainingError: codes.UNAVAILABLE,
}


def status_of(error: EtcdqError) -> tuple[int, str]:
    """Return the gRPC code and the text that answer a call which failed with `error`."""
    return CODES[type(error)], error.text
