"""What goes wrong below, translated into the errors of `etcdq.errors`."""

import asyncio

from grpclib.const import Status
from grpclib.exceptions import GRPCError, ProtocolError, StreamTerminatedError
from h2.exceptions import H2Error

from etcdq.errors import (
    ConflictError,
    ConnectionLostError,
    DeadlineExceededError,
    EtcdqError,
    InvalidArgumentError,
    NotFoundError,
    OutOfRangeError,
    OverLimitError,
    PermissionDeniedError,
    RemoteProtocolError,
    ServerUnavailableError,
    UnsupportedError,
)

_BY_STATUS: dict[Status, type[EtcdqError]] = {
    Status.CANCELLED: ConnectionLostError,
    Status.UNKNOWN: RemoteProtocolError,
    Status.INVALID_ARGUMENT: InvalidArgumentError,
    Status.DEADLINE_EXCEEDED: DeadlineExceededError,
    Status.NOT_FOUND: NotFoundError,
    Status.ALREADY_EXISTS: ConflictError,
    Status.PERMISSION_DENIED: PermissionDeniedError,
    Status.RESOURCE_EXHAUSTED: OverLimitError,
    Status.FAILED_PRECONDITION: ConflictError,
    Status.ABORTED: ConflictError,
    Status.OUT_OF_RANGE: OutOfRangeError,
    Status.UNIMPLEMENTED: UnsupportedError,
    Status.INTERNAL: RemoteProtocolError,
    Status.UNAVAILABLE: ServerUnavailableError,
    Status.DATA_LOSS: RemoteProtocolError,
    Status.UNAUTHENTICATED: PermissionDeniedError,
}

# A real etcd that was first to see the deadline answers UNKNOWN with Go's own text.
_GO_DEADLINE = "context deadline exceeded"


def from_status(status: Status, text: str | None) -> EtcdqError:
    """Return the error that a gRPC status other than OK means."""
    kind = _BY_STATUS[status]
    if status is Status.UNKNOWN and text and _GO_DEADLINE in text:
        kind = DeadlineExceededError
    return kind(text or status.name)


def translate(error: Exception, endpoint: object) -> EtcdqError | None:
    """Return what an exception of a running call means; None: it is none of a call's.

    Args:
        error: raised by grpclib or below it, after the connection was there.
        endpoint: whom the call went to, for the text.
    """
    match error:
        case EtcdqError():
            return error
        case GRPCError():
            return from_status(error.status, error.message)
        case asyncio.TimeoutError():
            return DeadlineExceededError(f"no answer from {endpoint} in time")
        case StreamTerminatedError() | H2Error() | OSError():
            return ConnectionLostError(f"lost {endpoint} while a call was running: {error}")
        case ProtocolError() | NotImplementedError():
            return RemoteProtocolError(f"{endpoint} broke the protocol: {error}")
        case _:
            return None
