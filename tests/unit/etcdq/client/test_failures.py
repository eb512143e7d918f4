"""Foreign failures and what they are called here."""

import pytest
from grpclib.const import Status
from grpclib.exceptions import GRPCError, ProtocolError, StreamTerminatedError
from h2.exceptions import StreamClosedError

import etcdq
from etcdq.client.failures import from_status, translate


@pytest.mark.parametrize("status", [status for status in Status if status is not Status.OK])
def test_every_status_has_an_error(status: Status) -> None:
    """Each gRPC status has a leaf of ours, with the server's text or else the status's name."""
    error = from_status(status, "etcdserver: no")

    assert isinstance(error, etcdq.EtcdqError)
    assert error.text == "etcdserver: no"
    assert from_status(status, None).text == status.name


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (Status.INVALID_ARGUMENT, etcdq.InvalidArgumentError),
        (Status.NOT_FOUND, etcdq.NotFoundError),
        (Status.UNIMPLEMENTED, etcdq.UnsupportedError),
        (Status.OUT_OF_RANGE, etcdq.OutOfRangeError),
        (Status.RESOURCE_EXHAUSTED, etcdq.OverLimitError),
        (Status.UNAVAILABLE, etcdq.ServerUnavailableError),
        (Status.DEADLINE_EXCEEDED, etcdq.DeadlineExceededError),
        (Status.UNAUTHENTICATED, etcdq.PermissionDeniedError),
        (Status.INTERNAL, etcdq.RemoteProtocolError),
    ],
)
def test_status(status: Status, kind: type[Exception]) -> None:
    """The statuses that etcd and etcdq use."""
    assert type(from_status(status, "x")) is kind


def test_deadline_as_etcd_says_it() -> None:
    """An etcd that saw the deadline first answers UNKNOWN with Go's text: a deadline too."""
    error = from_status(Status.UNKNOWN, "context deadline exceeded")

    assert type(error) is etcdq.DeadlineExceededError
    assert type(from_status(Status.UNKNOWN, "else")) is etcdq.RemoteProtocolError


@pytest.mark.parametrize(
    ("foreign", "kind"),
    [
        (GRPCError(Status.NOT_FOUND, "x"), etcdq.NotFoundError),
        (TimeoutError("Deadline exceeded"), etcdq.DeadlineExceededError),
        (StreamTerminatedError("Connection lost"), etcdq.ConnectionLostError),
        (ConnectionResetError("peer"), etcdq.ConnectionLostError),
        (StreamClosedError(3), etcdq.ConnectionLostError),
        (ProtocolError("x"), etcdq.RemoteProtocolError),
        (NotImplementedError("Compression not implemented"), etcdq.RemoteProtocolError),
    ],
)
def test_translate(foreign: Exception, kind: type[Exception]) -> None:
    """grpclib's, h2's and the system's exceptions."""
    assert type(translate(foreign, "h:1")) is kind


def test_ours_stay_and_bugs_pass() -> None:
    """An error of ours is not wrapped again, and a bug is not dressed up as a network failure."""
    ours = etcdq.NotConnectedError("x")

    assert translate(ours, "h:1") is ours
    assert translate(KeyError("x"), "h:1") is None
