"""The scheduler: waits for slots, and puts their jobs.

It has one connection, made anew when it is lost. Time on the wall decides what is due; how long
to wait is measured by Trio's clock, and never for long at once, since the clock on the wall may be
set, and a host may sleep.
"""

import random
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Final, NoReturn

import trio

from etcdq.beanstalk import BuriedError, Client
from etcdq.errors import (
    ConnectionLostError,
    DeadlineExceededError,
    EtcdqError,
    NotConnectedError,
    RemoteProtocolError,
    RequestError,
)
from etcdq.schedule.agenda import Agenda, Note, Outcome, Record, Turn
from etcdq.schedule.desk import ANSWER_S, Desk
from etcdq.schedule.entry import Schedule
from etcdq.schedule.slots import slot_text

LOOK_S: Final = 5.0
"""The longest wait between two looks at the clock."""
BACKOFF_BASE_S: Final = 0.5
BACKOFF_CAP_S: Final = 10.0
_DOUBLINGS_MAX: Final = 10
_LOST: Final = (
    NotConnectedError,
    ConnectionLostError,
    DeadlineExceededError,
    RemoteProtocolError,
)

Connect = Callable[[], AbstractAsyncContextManager[Client]]
Save = Callable[[dict[str, Record]], None]


def _save_nothing(_records: dict[str, Record]) -> None:
    """Let what is known end with the scheduler."""


class Scheduler:
    """Puts the jobs of a schedule, until it is cancelled.

    Args:
        schedule: what to put.
        connect: gives a client of a new connection, or raises `NotConnectedError`.
        tell: is called with a line for people: what was put, what went wrong.
        records: what an earlier scheduler knew.
        save: is called with what this one knows, whenever that has changed.
        wall: the clock on the wall, seconds since the epoch.
        rng: where waits between attempts to connect are drawn from.
        answer_s: how long the server may take for an answer before it counts as lost.
    """

    def __init__(
        self,
        schedule: Schedule,
        connect: Connect,
        tell: Callable[[str], None],
        *,
        records: Mapping[str, Record] | None = None,
        save: Save = _save_nothing,
        wall: Callable[[], float] = time.time,
        rng: random.Random | None = None,
        answer_s: float = ANSWER_S,
    ) -> None:
        self._agenda = Agenda(schedule, wall(), records or {})
        self._connect = connect
        self._tell = tell
        self._save = save
        self._wall = wall
        self._rng = rng or random.Random()
        self._answer_s = answer_s
        self._wake = trio.Event()
        self._failures = 0
        self._said_plain = False
        self.is_connected = False
        """Whether the server answered when it was last asked."""
        self.counts: Counter[tuple[str, Outcome]] = Counter()
        """How often which outcome came of a slot, by name of the entry."""

    def replace(self, schedule: Schedule) -> None:
        """Go on with another schedule, from now on."""
        self._agenda.replace(schedule, self._wall())
        self._wake.set()

    async def run(self) -> NoReturn:
        """Put what is due.

        Raises:
            InvalidArgumentError: the address is none.
        """
        self._save(self._agenda.records())
        while True:
            began_s = trio.current_time()
            try:
                async with self._connect() as client:
                    await self._serve(client)
            except _LOST as error:
                if trio.current_time() - began_s > BACKOFF_CAP_S:
                    self._failures = 0
                await self._wait_away(error)

    async def _wait_away(self, error: EtcdqError) -> None:
        """Wait before the next attempt to connect; what is due meanwhile has failed."""
        if self.is_connected or not self._failures:
            self._tell(f"{error.text}: connecting again until it succeeds")
        self.is_connected = False
        bound_s = min(BACKOFF_CAP_S, BACKOFF_BASE_S * 2.0 ** min(self._failures, _DOUBLINGS_MAX))
        wait_s = self._rng.uniform(0.0, bound_s) if self._failures else 0.0
        self._failures += 1
        turns = self._look()
        for turn in turns:
            self._note(*self._agenda.fail(turn, self._wall(), error.text))
        await trio.sleep(wait_s)

    async def _serve(self, client: Client) -> None:
        """Put what is due on one connection, as long as it lasts.

        Raises:
            EtcdqError: it is lost.
        """
        desk = Desk(client, self._answer_s)
        with desk.answer_due():
            await desk.ask_for_tags()
        if not desk.knows_tags and not self._said_plain:
            self._said_plain = True
            self._tell(
                f"{client.address} knows no keys (idp, con): run no second scheduler, its jobs"
                " would be put twice"
            )
        if not self.is_connected:
            self._tell(f"connected to {client.address}")
        self.is_connected = True
        self._agenda.retry()
        while True:
            if not client.is_connected:
                raise NotConnectedError(f"the connection to {client.address} is lost")
            for turn in self._look():
                if not self._agenda.is_put_off(turn):
                    await self._do(desk, turn)
            await self._wait()

    def _look(self) -> list[Turn]:
        turns, notes = self._agenda.look(self._wall())
        self._note(*notes)
        if notes:
            self._save(self._agenda.records())
        return turns

    async def _wait(self) -> None:
        """Wait for the next slot, for another schedule, or for a while."""
        with trio.move_on_after(min(LOOK_S, max(0.0, self._agenda.next_s() - self._wall()))):
            await self._wake.wait()
        if self._wake.is_set():
            self._wake = trio.Event()
            self._save(self._agenda.records())

    async def _do(self, desk: Desk, turn: Turn) -> None:
        """Settle a slot, or take note that it failed.

        Raises:
            EtcdqError: the connection is not to be used any more.
        """
        entry = turn.entry
        try:
            with desk.answer_due():
                if await self._gives_way(desk, turn):
                    return
                note, run = await desk.put(turn)
        except (RequestError, BuriedError) as error:
            self._agenda.settle(turn)
            text = f"{entry.name}: {slot_text(turn.slot_s)} is refused: {error.text}"
            self._note(Note(text, entry.name, Outcome.REFUSED))
        except EtcdqError as error:
            self._note(*self._agenda.fail(turn, self._wall(), error.text))
            if isinstance(error, _LOST):
                raise
        else:
            self._failures = 0
            self._agenda.settle(turn, run)
            self._note(note)
        self._save(self._agenda.records())

    async def _gives_way(self, desk: Desk, turn: Turn) -> bool:
        """Look after earlier runs; say whether the slot was left out because of them."""
        runs = [] if desk.decides(turn.entry) else self._agenda.runs(turn.entry)
        if not runs:
            return False
        states = {run: await desk.find(turn.entry, run) for run in runs}
        notes = self._agenda.hold_back(turn, states)
        self._note(*notes)
        self._save(self._agenda.records())
        return any(note.outcome is Outcome.SKIPPED for note in notes)

    def _note(self, *notes: Note) -> None:
        for note in notes:
            if note.outcome is not None:
                self.counts[note.entry, note.outcome] += note.count
            self._tell(note.text)
