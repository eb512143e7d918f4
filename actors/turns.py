"""Turns of a node's shells, taken by the sessions that have work for them.

A hand-over between tasks is most of what a single call costs. So a session that has read something
takes the shells' turns itself, and hears the answers, before anybody else runs. Where several
sessions have read something at the same time that would be a turn for each; then they only post,
and one task takes one turn for all of them and brings them their answers.

Trio shell.
"""

from collections.abc import Callable, Sequence
from typing import Any

import trio

from etcdq.actors import limits
from etcdq.actors.mailbox import Mailbox
from etcdq.actors.shell import Shell


class Turns:
    """The shells of a node, for sessions that post to them and wait for their answers.

    What others have posted meanwhile takes part; what is for other sessions wakes their tasks.

    Args:
        shells: in the order in which their turns are taken: who tells others comes first.
    """

    def __init__(self, shells: Sequence[Shell]) -> None:
        self._shells = tuple(shells)
        self._count = 0
        """Of sessions that had something, to see whether others came between."""
        self._gathered: list[Seat] = []
        self._waker = trio.Event()
        self._runs = False

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Take the turns of sessions that were gathered, until cancelled."""
        self._runs = True
        task_status.started()
        while True:
            await self._waker.wait()
            self._waker = trio.Event()
            gathered, self._gathered = self._gathered, []
            self._take(gathered, trio.current_time())

    def take(self, seat: "Seat", data: bytes) -> None:
        """Let a session receive, its shells take their turns, and the session hear them: now, or,
        if other sessions are busy as well (and `run` runs), together with them in a moment."""
        alone = not self._runs or (seat.last == self._count and not self._gathered)
        self._count += 1
        seat.last = self._count
        seat.alone = alone
        seat.mailbox.hold()
        for shell in self._shells:
            shell.mailbox.hold()
        now_s = trio.current_time()
        try:
            seat.receive(data, now_s)
        except BaseException:
            self._release([seat])
            raise
        if alone:
            self._take([seat], now_s)
            seat.check()
        else:
            self._gathered.append(seat)
            self._waker.set()

    def _take(self, seats: list["Seat"], now_s: float) -> None:
        shells = self._shells
        try:
            for _ in range(limits.TURNS_IN_PLACE_MAX):
                taken = False
                for shell in shells:
                    if shell.mailbox.posted and shell.turn_in_place(now_s):
                        taken = True
                for seat in seats:
                    if seat.mailbox.posted:
                        seat.hear_now(now_s)
                if not taken:
                    break
        finally:
            self._release(seats)

    def _release(self, seats: list["Seat"]) -> None:
        for shell in self._shells:
            shell.mailbox.release()
        for seat in seats:
            seat.mailbox.release()


class Seat:
    """One session's place among those that take turns.

    Args:
        mailbox: the session's.
        receive: takes what was read, and the time; it may post to the shells.
        hear: takes everything out of `mailbox`, and may post again; is given the time.

    Attributes:
        alone: whether nobody else had anything between its last two packets.
    """

    __slots__ = ("_error", "_hear", "alone", "last", "mailbox", "receive")

    def __init__(
        self,
        mailbox: Mailbox[Any],
        receive: Callable[[bytes, float], None],
        hear: Callable[[float], None],
    ) -> None:
        self.mailbox = mailbox
        self.receive = receive
        self.alone = False
        self.last = 0
        self._hear = hear
        self._error: Exception | None = None

    def hear_now(self, now_s: float) -> None:
        """Let the session hear. What it raises is kept for its own task (`check`)."""
        try:
            self._hear(now_s)
        except Exception as error:  # it must not end the turn of the others
            self._error = error
            self.mailbox.wake()

    def check(self) -> None:
        """Raise what the session raised while it heard; to be called in its own tasks.

        Raises:
            Exception: whatever that was.
        """
        error, self._error = self._error, None
        if error is not None:
            raise error
