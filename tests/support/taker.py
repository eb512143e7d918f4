"""One for whom a byte stream is read: it only notes what came."""

from collections.abc import Callable

from etcdq.actors.turns import Seat, SeatMailbox
from etcdq.server.readers import Readers


class Taker:
    """Takes packets until it has so many (0: as long as they come).

    Attributes:
        after: is called after each packet, and may raise.
    """

    def __init__(self, readers: Readers, enough: int = 0) -> None:
        self.got: list[bytes] = []
        self.enough = enough
        self.after: Callable[[], object] = lambda: None
        mailbox = SeatMailbox(readers.turns)
        self.ended = False
        self.seat = Seat(mailbox, self._receive, lambda _: None, self._end)

    def read_on(self) -> bool:
        """Say whether there is room for more."""
        self.after()
        return len(self.got) != self.enough

    def _receive(self, data: bytes, _now_s: float) -> None:
        assert not self.ended
        self.got.append(data)

    def _end(self, _now_s: float) -> None:
        assert not self.ended
        self.ended = True
