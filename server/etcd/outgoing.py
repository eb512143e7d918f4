"""What one watch has sent on its stream and the socket has not yet taken whole."""

from typing import Final

from etcdq.server.etcd.transport.grpc import Transport

NOT_FRAMED: Final = -1
NEVER: Final = 1 << 62
"""A place that no stream and no output comes to."""


class Sent:
    """One response: its place in the stream, and in the output once all of it is framed."""

    __slots__ = ("end", "output_end", "start")

    def __init__(self, start: int, end: int) -> None:
        self.start = start
        self.end = end
        self.output_end = NOT_FRAMED


class Outgoing:
    """The unwritten responses of one watch, oldest first.

    A response is written when its bytes are framed within the peer's window and the socket has
    taken the output up to there: only then has the peer been given it.
    """

    __slots__ = ("_framed", "_mark", "_reach", "_stream_id", "_transport", "sent")

    def __init__(self, transport: Transport, stream_id: int) -> None:
        self._transport = transport
        self._stream_id = stream_id
        self.sent: list[Sent] = []  # few: a deque would be large for the many that have none
        self._framed = 0
        self._mark = 0
        """Where the output ended when the last of our bytes were framed."""
        self._reach = 0
        """How far up to there the socket has come."""

    def send(self, message: bytes) -> None:
        """Send a response and keep an eye on it. On a stream that is gone it is never written."""
        end = self._transport.send_message(self._stream_id, message) or NEVER
        self.sent.append(Sent(end - len(message) - 5, end))

    def look(self, written_position: int) -> tuple[int, bool]:
        """Say how many responses were written since the last look, and whether the next one moved.

        Args:
            written_position: bytes of the connection's output that the socket has taken.
        """
        transport = self._transport
        framed = transport.framed(self._stream_id)
        written = 0
        sent = self.sent
        while sent:
            first = sent[0]
            if first.output_end == NOT_FRAMED:
                if first.end > framed:
                    break
                first.output_end = transport.output_position
            if first.output_end > written_position:
                break
            del sent[0]
            written += 1
        return written, bool(sent) and self._moves(framed, written_position)

    def _moves(self, framed: int, written_position: int) -> bool:
        # By a window that let more of it be framed, or by a socket that takes what is framed:
        # not by one that takes only what other streams have framed since.
        moved = framed > max(self.sent[0].start, self._framed)
        if moved:
            self._mark = self._transport.output_position
        self._framed = framed
        reach = min(written_position, self._mark)
        moved = moved or reach > self._reach
        self._reach = max(self._reach, reach)
        return moved

    def withdraw(self) -> list[tuple[int, int]] | None:
        """Take back every unwritten response.

        Returns:
            The stream ranges taken back (what others sent behind them moves up), newest first;
            None if a byte of one has left already, so that only a reset can stop it.
        """
        transport = self._transport
        gone: list[tuple[int, int]] = []
        while self.sent:
            last = self.sent[-1]
            if not transport.withdraw(self._stream_id, last.end):
                return None
            gone.append((last.start, last.end))
            self.sent.pop()
        return gone

    def move_up(self, ranges: list[tuple[int, int]]) -> None:
        """Others took back these ranges of the stream: what stands behind moved up."""
        for start, end in ranges:
            for one in self.sent:
                if one.start >= end:
                    one.start -= end - start
                    one.end -= end - start

    @property
    def is_framed(self) -> bool:
        """Whether the oldest unwritten response is framed whole and waits for the socket."""
        return bool(self.sent) and self.sent[0].end <= self._transport.framed(self._stream_id)
