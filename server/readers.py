"""One task that reads the sockets of all sessions, and takes the actors' turns for what came.

A task of its own for every socket would be woken for every packet, and each wake-up costs more than
a call. So a session lends its socket for reading (`Readers.read`): all such sockets stand in one
epoll, and whatever came in the meantime is read, stepped and answered together. While packets come
quickly the epoll is looked at a few more times before we sleep (ADR 0008).

Trio shell.
"""

import os
import select
import time
from collections.abc import Callable
from typing import Final

import trio

from etcdq.actors import limits
from etcdq.actors.turns import Seat, Turns

_READABLE: Final = select.EPOLLIN


class _Intake:
    """One socket that is being read."""

    __slots__ = ("after", "error", "fileno", "over", "seat", "silent")

    def __init__(self, fileno: int, seat: Seat, after: Callable[[], bool]) -> None:
        self.fileno = fileno
        self.seat = seat
        self.after = after
        self.over = trio.Event()
        self.silent = False
        self.error: Exception | None = None


class Readers:
    """Reads for the sessions of a node.

    Args:
        turns: of the node's shells.
    """

    def __init__(self, turns: Turns) -> None:
        self.turns = turns
        self._epoll: select.epoll | None = None
        self._intakes: dict[int, _Intake] = {}

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Read until cancelled."""
        clock = time.perf_counter
        rest = 0
        with select.epoll() as self._epoll:
            task_status.started()
            while True:
                slept_s = clock()
                await trio.lowlevel.wait_readable(self._epoll.fileno())
                woken_s = clock()
                looks = 1
                if rest:
                    rest -= 1
                elif woken_s - slept_s < limits.QUICK_PEER_S:
                    looks = limits.LOOKS_MAX
                while ready := self._look(looks):
                    self._read(ready)
                    if clock() >= woken_s + limits.READ_TURN_S:
                        break
                else:
                    rest = limits.LOOKS_REST if looks > 1 else rest

    async def read(
        self, sock: trio.socket.SocketType, seat: Seat, after: Callable[[], bool]
    ) -> bool:
        """Take turns with whatever comes, until `after`, which is called after each packet, says
        that it is enough (True), or until the peer has ended (False).

        Raises:
            BrokenResourceError: the socket is.
            Exception: whatever `after` raised.
        """
        assert self._epoll is not None, "nobody reads yet"
        intake = _Intake(sock.fileno(), seat, after)
        self._epoll.register(intake.fileno, _READABLE)
        self._intakes[intake.fileno] = intake
        try:
            await intake.over.wait()
        finally:
            self._forget(intake)
        if intake.error is not None:
            raise intake.error
        return not intake.silent

    def _look(self, looks: int) -> list[tuple[int, int]]:
        """Return which sockets have something, after so many looks at most."""
        assert self._epoll is not None
        poll = self._epoll.poll
        for _ in range(looks):
            ready = poll(0, limits.READY_MAX)
            if ready:
                return ready
        return []

    def _read(self, ready: list[tuple[int, int]]) -> None:
        ends: list[tuple[Seat, bytes]] = []
        packets: list[tuple[Seat, bytes]] = []
        intakes: list[_Intake] = []
        for fileno, _ in ready:
            intake = self._intakes[fileno]
            try:
                data = os.read(fileno, limits.RECEIVE_BYTES)
            except BlockingIOError:
                continue
            except OSError as error:
                data = b""
                intake.error = trio.BrokenResourceError(str(error))
                intake.error.__cause__ = error
            if data:
                packets.append((intake.seat, data))
                intakes.append(intake)
            else:
                intake.silent = True
                ends.append((intake.seat, data))
                self._end(intake)
        # Who has ended gets nothing any more of what the others bring.
        self.turns.take(ends + packets if ends else packets)
        for intake in intakes:
            try:
                if not intake.after():
                    self._end(intake)
            except Exception as error:  # it is for the session's own task
                intake.error = error
                self._end(intake)

    def _end(self, intake: _Intake) -> None:
        self._forget(intake)
        intake.over.set()

    def _forget(self, intake: _Intake) -> None:
        if self._intakes.pop(intake.fileno, None) is not None:
            assert self._epoll is not None
            if not self._epoll.closed:
                self._epoll.unregister(intake.fileno)
