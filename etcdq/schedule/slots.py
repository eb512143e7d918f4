"""The grid of slots: instants at which an entry runs, and which of them are due.

Instants are seconds since the epoch on the wall clock. Slots are whole seconds, and the same for
every scheduler: `Every` counts from the epoch, `Cron` from the calendar of its zone. What one
scheduler does is so known to all, by the slot's name alone.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from enum import Enum
from functools import cache
from itertools import islice, takewhile
from typing import Final
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError
from msgspec import Struct

LATE_S: Final = 10
"""A slot that is put later than this is flagged as late. A scheduler looks at the clock every few
seconds, so that a busy machine makes nothing late."""
CATCH_UP_MAX: Final = 100
"""`all` catches up with so many slots at most, the newest ones."""
MISSED_MAX: Final = 1_500
"""Missed slots of a cron line are counted one by one, up to here: more than a day of minutes."""
ALIASES: Final = {
    "@yearly": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_FIELDS: Final = 5
NEVER_S: Final = 253_370_764_800
"""The year 9999, where calendars end: no slot comes."""
_FIRST_WINDOW_S: Final = 120
_WINDOW_GROWTH: Final = 4


class CatchUp(Enum):
    """What becomes of slots that passed while nobody could put them."""

    ONE = "one"
    """The newest of them is put, late."""
    NONE = "none"
    ALL = "all"
    """Each is put, the newest `CATCH_UP_MAX` of them."""


class Every(Struct, frozen=True, gc=False):
    """A slot every so many seconds, counted from the epoch."""

    interval_s: int

    def __str__(self) -> str:
        return f"every {self.interval_s}s"

    def after(self, instant_s: float) -> int:
        """Return the first slot after an instant."""
        return (int(instant_s // self.interval_s) + 1) * self.interval_s

    def latest(self, instant_s: float) -> int:
        """Return the last slot that is not after an instant."""
        return int(instant_s // self.interval_s) * self.interval_s

    def count(self, after_s: float, until_s: float) -> int:
        """Return how many slots there are after one instant and not after the other."""
        return max(0, int(until_s // self.interval_s) - int(after_s // self.interval_s))


class Cron(Struct, frozen=True, gc=False):
    """A slot wherever a line of cron says, by the clock on a wall of its zone.

    As in Debian's cron: an hour that the zone skips runs at its end (02:30 at 03:00), one that it
    has twice runs the first time; lines whose minute or hour begins with a star go by real time.
    Made by `read_cron`.
    """

    line: str
    zone: str

    def __str__(self) -> str:
        return f"cron {self.line} {self.zone}"

    def after(self, instant_s: float) -> int:
        """Return the first slot after an instant; `NEVER_S` where there is none."""
        return next(self._slots(instant_s), NEVER_S)

    def latest(self, instant_s: float) -> int:
        """Return the last slot that is not after an instant; 0 where there is none."""
        window_s = _FIRST_WINDOW_S
        while True:
            start_s = max(0, instant_s - window_s)
            slot_s = self.after(start_s)
            if slot_s <= instant_s:
                break
            if start_s == 0:
                return 0
            window_s *= _WINDOW_GROWTH
        for later_s in takewhile(lambda each_s: each_s <= instant_s, self._slots(slot_s)):
            slot_s = later_s
        return slot_s

    def count(self, after_s: float, until_s: float) -> int:
        """Return how many slots there are after one instant and not after the other.

        `MISSED_MAX` stands for so many or more.
        """
        slots = takewhile(lambda slot_s: slot_s <= until_s, self._slots(after_s))
        return sum(1 for _ in islice(slots, MISSED_MAX))

    def _slots(self, instant_s: float) -> Iterator[int]:
        if instant_s >= NEVER_S:
            return
        start = datetime.fromtimestamp(int(instant_s // 1), find_zone(self.zone))
        for each in CronSim(self.line, start):
            slot_s = int(each.timestamp())
            # Within an hour that comes twice, cronsim begins with its first run.
            if slot_s > instant_s:
                yield slot_s


Timing = Every | Cron


class Due(Struct, frozen=True, gc=False):
    """What there is to do."""

    slots: tuple[int, ...]
    """To be put, oldest first."""
    missed: int
    """How many older ones have passed and are not to be put."""
    settled_s: float
    """Up to here nothing more is to be done about any slot."""


def read_cron(line: str, zone: str) -> Cron:
    """Return the timing of a line of cron, of five fields or one of `ALIASES`.

    Raises:
        ValueError: it is none, or no day is ever like that. The text says what is wrong.
    """
    text = ALIASES.get(line.strip(), line)
    if text.startswith("@"):
        raise ValueError(f"{line!r} is none of {', '.join(ALIASES)}")
    fields = text.split()
    if len(fields) != _FIELDS:
        raise ValueError(f"{line!r} has {len(fields)} fields, not {_FIELDS}")
    cron = Cron(" ".join(fields), zone)
    try:
        if cron.after(0) == NEVER_S:
            raise ValueError(f"{line!r}: no day is ever like that")
    except CronSimError as error:
        raise ValueError(f"{line!r}: {str(error).lower()}") from None
    return cron


@cache
def find_zone(name: str) -> tzinfo:
    """Return a time zone of the system's database.

    Raises:
        ValueError: there is none of this name.
    """
    if name == "UTC":
        return UTC  # there without a database
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, KeyError) as error:  # a folder, a path, an unknown name
        raise ValueError(f"no time zone {name!r} on this system") from error


def find_due(timing: Timing, seen_s: float, now_s: float, catch_up: CatchUp) -> Due:
    """Return what is due.

    Args:
        timing: the grid.
        seen_s: all slots up to here are settled. A clock that was set back is before it, and
            nothing is due until it has come there again.
        now_s: what the clock says.
        catch_up: what to do where several slots have passed, or one long ago.
    """
    newest_s = timing.latest(now_s)
    if newest_s <= seen_s:
        return Due((), 0, seen_s)
    if catch_up is CatchUp.ALL:
        slots: tuple[int, ...] = tuple(_newest(timing, seen_s, newest_s))
    elif catch_up is CatchUp.ONE or not is_late(newest_s, now_s):
        slots = (newest_s,)
    else:
        slots = ()
    settled_s = slots[0] - 1 if slots else newest_s
    return Due(slots, timing.count(seen_s, settled_s), settled_s)


def is_late(slot_s: int, now_s: float) -> bool:
    """Say whether a slot that is put now is late."""
    return now_s - slot_s > LATE_S


def forgotten_after_s(timing: Timing, slot_s: int, catch_up: CatchUp) -> int:
    """Return for how many seconds after it a slot may still be put, by whoever slept that long."""
    until_s = slot_s
    for _ in range(CATCH_UP_MAX if catch_up is CatchUp.ALL else 1):
        until_s = timing.after(until_s)
    return until_s - slot_s


def slot_text(slot_s: int) -> str:
    """Return a slot as people and jobs read it: 2026-03-29T01:00:00Z."""
    return (_EPOCH + timedelta(seconds=slot_s)).strftime("%Y-%m-%dT%H:%M:%SZ")


_EPOCH: Final = datetime(1970, 1, 1)


def _newest(timing: Timing, seen_s: float, newest_s: int) -> list[int]:
    """Return the newest slots after an instant, oldest first."""
    slots: list[int] = []
    slot_s = newest_s
    while slot_s > seen_s and len(slots) < CATCH_UP_MAX:
        slots.append(slot_s)
        slot_s = timing.latest(slot_s - 1)
    return slots[::-1]
