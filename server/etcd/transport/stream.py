"""One HTTP/2 stream that needs an object: its windows, what waits to be sent, what has come.

A unary call that arrived whole and is not answered yet needs none: in the table of streams it is
None, its client has ended its side and its send window is the peer's initial one.
"""

from collections import deque

from etcdq.server.etcd.transport.head import Head
from etcdq.server.etcd.transport.message_reader import MessageReader


class Stream:
    """State of one call. `gone` is set when it left the table while queues may still hold it."""

    __slots__ = (
        "answered",
        "buffered",
        "content_bytes",
        "deadline_s",
        "framed",
        "gone",
        "head",
        "in_turn",
        "message",
        "moved_s",
        "offset",
        "queue",
        "queued",
        "reader",
        "remote_closed",
        "send_window",
        "stream_id",
        "told",
        "trailers",
        "uncredited",
    )

    def __init__(self, stream_id: int, head: Head | None, send_window: int) -> None:
        self.stream_id = stream_id
        self.head = head
        """None for a call that was complete when it got an object."""
        self.send_window = send_window
        self.uncredited = 0
        """DATA received since its client got credit for it last."""
        self.remote_closed = head is None
        self.told = head is None
        """Whether the session knows of the call."""
        self.answered = False
        """Whether response headers went out."""
        self.queue: deque[bytes] | None = None
        """Prefixed messages that wait for a window or a turn; None if there are none."""
        self.offset = 0
        """Bytes of the first of them that are framed already."""
        self.queued = 0
        self.framed = 0
        self.in_turn = False
        self.trailers: bytes | None = None
        """The block that ends the stream once the queue is empty."""
        self.moved_s = 0.0
        """When something of the queue moved last."""
        self.gone = False
        self.reader: MessageReader | None = None
        self.message: bytes | None = None
        """The message of a unary call whose client has not ended its side yet."""
        self.buffered = 0
        """Request bytes kept here: of an incomplete message, and of `message`."""
        self.content_bytes = 0
        self.deadline_s: float | None = None
