"""Turns of a node's shells, taken for the sessions that have work for them.

A hand-over between tasks is most of what a single call costs. So whoever has read something for one
session, or for several, takes the shells' turns himself and brings the answers, before anybody else
runs; also to sessions that were told something in these turns, such as one whose reserve waits.

Trio shell.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import trio

from etcdq.actors import limits
from etcdq.actors.mailbox import Mailbox
from etcdq.actors.shell import Shell


class Turns:
    """The shells of a node, for sessions that post to them and wait for their answers.

    Args:
        shells: in the order in which their turns are taken: who tells others comes first.
    """

    def __init__(self, shells: Sequence[Shell]) -> None:
        self._shells = tuple(shells)
        self.seats: list[Seat] | None = None
        """While turns are taken: the sessions that will hear what they are told in them."""

    def take(self, packets: Iterable[tuple["Seat", bytes]]) -> None:
        """Let each session receive what was read for it (b"": its peer has ended), the shells take
        their turns, and every session hear what it was told. What a session raises is kept for its
        own task."""
        assert self.seats is None, "turns are taken inside of a turn"
        now_s = trio.current_time()
        seats = self.seats = []
        for shell in self._shells:
            shell.mailbox.hold()
        try:
            for seat, data in packets:
                seat.sit(seats)
                seat.receive_now(data, now_s)
            self._take(seats, now_s)
        finally:
            self.seats = None
            for shell in self._shells:
                shell.mailbox.release()
            for seat in seats:
                seat.mailbox.release()

    def _take(self, seats: list["Seat"], now_s: float) -> None:
        for _ in range(limits.TURNS_IN_PLACE_MAX):
            taken = False
            for shell in self._shells:
                if shell.mailbox.posted and shell.turn_in_place(now_s):
                    taken = True
            for seat in seats:
                if seat.mailbox.posted:
                    seat.hear_now(now_s)
            if not taken:
                return


class SeatMailbox(Mailbox[Any]):
    """A session's mailbox: what is posted to it while turns are taken is heard in them."""

    __slots__ = ("_turns", "seat")

    def __init__(self, turns: Turns) -> None:
        super().__init__()
        self._turns = turns
        self.seat: Seat | None = None

    def post(self, item: Any) -> None:
        """Append `item`; its session hears it soon."""
        self.posted.append(item)
        if self._held:
            return
        seats, seat = self._turns.seats, self.seat
        if seats is not None and seat is not None:
            seat.sit(seats)
        elif self._reader is not None:
            self.wake()


class Seat:
    """One session's place among those that take turns.

    Args:
        mailbox: the session's.
        receive: takes what was read, and the time; it may post to the shells.
        hear: takes everything out of `mailbox`, and may post again; is given the time.
        end: the peer has ended, at that time; it may post, too.
    """

    __slots__ = ("_end", "_error", "_hear", "_receive", "mailbox")

    def __init__(
        self,
        mailbox: SeatMailbox,
        receive: Callable[[bytes, float], None],
        hear: Callable[[float], None],
        end: Callable[[float], None],
    ) -> None:
        self.mailbox = mailbox
        mailbox.seat = self
        self._receive = receive
        self._hear = hear
        self._end = end
        self._error: Exception | None = None

    def sit(self, seats: list["Seat"]) -> None:
        """Take part in the turns that are being taken."""
        self.mailbox.hold()
        seats.append(self)

    def receive_now(self, data: bytes, now_s: float) -> None:
        """Let the session receive. What it raises is kept for its own task (`check`)."""
        try:
            if data:
                self._receive(data, now_s)
            else:
                self._end(now_s)
        except Exception as error:  # it must not end the turn of the others
            self._keep(error)

    def hear_now(self, now_s: float) -> None:
        """Let the session hear; otherwise as `receive_now`."""
        try:
            self._hear(now_s)
        except Exception as error:  # as above
            self._keep(error)

    def check(self) -> None:
        """Raise what the session raised in a turn; to be called in its own tasks.

        Raises:
            Exception: whatever that was.
        """
        error, self._error = self._error, None
        if error is not None:
            raise error

    def _keep(self, error: Exception) -> None:
        # What comes after the first one is its consequence; so would be what is made of more bytes.
        self._error = self._error or error
        self._receive = _drop
        self.mailbox.wake()


def _drop(data: bytes, now_s: float) -> None:
    """Receive for a session that has failed, until its own task ends it."""
