"""What the transport tells its session: calls, messages, ends. And what it counts."""

from collections.abc import Mapping
from typing import Protocol, TypeAlias

import msgspec

from etcdq.actors import limits


class MethodLike(Protocol):
    """A method of a service, as far as the transport must know it."""

    @property
    def streaming(self) -> bool:
        """Whether the client may send more than one message (client stream or both ways)."""
        ...


Methods: TypeAlias = Mapping[bytes, MethodLike]
"""Methods by their path, as in `/etcdserverpb.KV/Put`."""


class TransportLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The bounds an operator or a test may set; the rest are constants of `limits`."""

    message_bytes_max: int = limits.REQUEST_BYTES_MAX + limits.RECEIVE_OVERHEAD_BYTES
    streams_max: int = limits.STREAMS_MAX
    buffered_request_bytes_max: int = limits.BUFFERED_REQUEST_BYTES_MAX
    queued_answer_bytes_max: int = limits.QUEUED_ANSWER_BYTES_MAX


class Request(msgspec.Struct, frozen=True, gc=False):
    """A unary call is complete: one message, and the client has ended its side."""

    stream_id: int
    method: MethodLike
    deadline_s: float | None
    message: bytes


class StreamOpened(msgspec.Struct, frozen=True, gc=False):
    """A streaming call begins. `metadata`: the fields of its headers that begin with `etcdq-`."""

    stream_id: int
    method: MethodLike
    deadline_s: float | None
    metadata: tuple[tuple[bytes, bytes], ...] = ()


class StreamMessage(msgspec.Struct, frozen=True, gc=False):
    """A message on a streaming call."""

    stream_id: int
    message: bytes


class StreamHalfClosed(msgspec.Struct, frozen=True, gc=False):
    """The client will send no more messages on a streaming call; ours may go on."""

    stream_id: int


class StreamGone(msgspec.Struct, frozen=True, gc=False):
    """The peer reset a call, or the transport ended it: the session forgets it, unanswered."""

    stream_id: int


class StreamFailed(msgspec.Struct, frozen=True, gc=False):
    """A streaming call broke gRPC's rules: the session is to end it with this status."""

    stream_id: int
    code: int
    text: str


Event: TypeAlias = (
    Request | StreamOpened | StreamMessage | StreamHalfClosed | StreamGone | StreamFailed
)


class TransportStatistics(msgspec.Struct, frozen=True, kw_only=True):
    """Counts since the connection began, and what waits now."""

    bytes_received: int
    bytes_sent: int
    streams_opened: int
    streams_finished: int
    streams_open: int
    streams_refused: int
    resets_received: int
    resets_sent: int
    pings_received: int
    header_blocks_decoded: int
    queued_bytes: int
    buffered_request_bytes: int
