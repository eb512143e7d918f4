"""What is to be put now, what was settled, and what became of it. Without I/O.

The agenda knows of each entry up to where its slots are settled, and which of its jobs may still
be there. Each of its methods that finds something worth telling returns notes of it.
"""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Final

from msgspec import Struct

from etcdq.schedule.entry import Entry, Overlap, Schedule
from etcdq.schedule.jobs import RunState
from etcdq.schedule.slots import MISSED_MAX, find_due, is_late, slot_text

RETRY_S: Final = 10
"""After a put that failed, and may succeed later, the entry waits so long, or for its next slot."""
BACK_MAX_S: Final = 86_400
"""A clock that was set back farther was wrong before: its slots may come again."""
BACK_TOLD_S: Final = 5
_HELD: Final = (RunState.WAITING, RunState.RUNNING)


class Outcome(Enum):
    """What became of a slot. All are counted, by entry."""

    PUT = "put"
    LATE = "late"
    """Put long after its time."""
    DUPLICATE = "duplicate"
    """The server has, or had, the job of another scheduler for it."""
    SKIPPED = "skipped"
    """An earlier run is not over."""
    MISSED = "missed"
    """It passed while nobody could put it, and is not caught up with."""
    FAILED = "failed"
    """It could not be put, and is tried again until the next one comes."""
    REFUSED = "refused"
    """The server does not take it."""


class Note(Struct, frozen=True, gc=False):
    """Something that is told in a line, and counted."""

    text: str
    entry: str = ""
    outcome: Outcome | None = None
    count: int = 1


class Run(Struct, frozen=True, gc=False):
    """A job that was put for a slot."""

    job_id: int
    slot_s: int


class Record(Struct, frozen=True):
    """What has to be known of an entry after a restart."""

    timing: str
    seen_s: float
    runs: list[Run]


class Turn(Struct, frozen=True):
    """A slot that is to be put now."""

    entry: Entry
    slot_s: int
    late: bool


class _Line:
    """An entry, and how far it is."""

    __slots__ = ("entry", "failed_slot_s", "is_failing", "runs", "seen_s", "wake_s")

    def __init__(self, entry: Entry, seen_s: float, runs: Sequence[Run]) -> None:
        self.entry = entry
        self.seen_s = seen_s
        self.runs = list(runs)
        self.is_failing = False
        self.failed_slot_s: int | None = None
        self.wake_s: float = 0.0
        self.see(seen_s)

    def see(self, seen_s: float) -> None:
        """All slots up to here are settled: the next one is due when it comes."""
        self.seen_s = seen_s
        self.wake_s = self.entry.timing.after(seen_s)


class Agenda:
    """Which slots are due.

    Args:
        schedule: the entries.
        now_s: what the wall clock says. An entry that is new begins now.
        records: of earlier, by name of the entry.
    """

    def __init__(self, schedule: Schedule, now_s: float, records: Mapping[str, Record]) -> None:
        self._lines: dict[str, _Line] = {}
        self._looked_s = now_s
        self._replace(schedule, now_s, records)

    def replace(self, schedule: Schedule, now_s: float) -> None:
        """Go on with other entries. Whose times have changed begins now."""
        self._replace(schedule, now_s, self.records())

    def _replace(self, schedule: Schedule, now_s: float, records: Mapping[str, Record]) -> None:
        lines = {}
        for entry in schedule.entries:
            record = records.get(entry.name)
            is_same = record is not None and record.timing == str(entry.timing)
            seen_s = record.seen_s if record is not None and is_same else now_s
            lines[entry.name] = _Line(entry, seen_s, record.runs if record is not None else ())
        self._lines = lines

    def records(self) -> dict[str, Record]:
        """Return what has to be known after a restart."""
        return {
            name: Record(str(line.entry.timing), line.seen_s, list(line.runs))
            for name, line in self._lines.items()
        }

    def next_s(self) -> float:
        """Return when to look again, if the clock is not set meanwhile."""
        return min((line.wake_s for line in self._lines.values()), default=float("inf"))

    def look(self, now_s: float) -> tuple[list[Turn], list[Note]]:
        """Return what is to be put, and what was missed.

        A turn that is neither settled nor said to have failed is returned again.
        """
        notes = self._heed_clock(now_s)
        turns = []
        for line in self._lines.values():
            if line.is_failing:
                line.wake_s = min(line.wake_s, now_s + RETRY_S)
            if now_s < line.wake_s:
                continue
            entry, since_s = line.entry, line.seen_s
            due = find_due(entry.timing, since_s, now_s, entry.catch_up)
            line.see(due.settled_s)
            line.is_failing = False
            if due.missed:
                notes.append(_missed(entry, due.missed, since_s))
            turns += [Turn(entry, slot_s, is_late(slot_s, now_s)) for slot_s in due.slots]
        return sorted(turns, key=lambda turn: turn.slot_s), notes

    def _heed_clock(self, now_s: float) -> list[Note]:
        notes = []
        back_s = self._looked_s - now_s
        if back_s > BACK_TOLD_S:
            text = f"the clock was set back by {back_s:.0f} s: slots that were settled stay settled"
            notes.append(Note(text))
        self._looked_s = now_s
        for line in self._lines.values():
            if line.seen_s > now_s + BACK_MAX_S:
                text = f"{line.entry.name}: the clock is before {slot_text(int(line.seen_s))}"
                notes.append(Note(f"{text}, where it was: begins anew"))
                line.see(now_s)
        return notes

    def is_put_off(self, turn: Turn) -> bool:
        """Say whether an older slot of the entry has failed since: the order is kept."""
        line = self._lines.get(turn.entry.name)
        return line is None or line.is_failing

    def settle(self, turn: Turn, run: Run | None = None) -> None:
        """There is nothing more to do about a slot.

        Args:
            turn: the slot.
            run: the job that it has, if it has one.
        """
        line = self._lines.get(turn.entry.name)
        if line is not None:
            line.see(max(line.seen_s, turn.slot_s))
            if run is not None and run not in line.runs:
                line.runs.append(run)

    def fail(self, turn: Turn, now_s: float, why: str) -> list[Note]:
        """The slot is due again in a while, unless a newer one takes its place.

        Returns:
            A note, the first time that this slot fails.
        """
        entry, line = turn.entry, self._lines.get(turn.entry.name)
        if line is None:
            return []
        line.is_failing = True
        line.wake_s = min(entry.timing.after(now_s), now_s + RETRY_S)
        if line.failed_slot_s == turn.slot_s:
            return []
        line.failed_slot_s = turn.slot_s
        text = f"{entry.name}: {slot_text(turn.slot_s)} is not put yet: {why}"
        return [Note(text, entry.name, Outcome.FAILED)]

    def retry(self) -> None:
        """What failed is due: the server is there again."""
        for line in self._lines.values():
            if line.is_failing:
                line.wake_s = line.seen_s

    def runs(self, entry: Entry) -> list[Run]:
        """Return the jobs of an entry that may still be there, as many as matter."""
        line = self._lines.get(entry.name)
        if line is None or (entry.overlap is Overlap.QUEUE and len(line.runs) < entry.queue_max):
            return []
        return list(line.runs)

    def hold_back(self, turn: Turn, states: Mapping[Run, RunState]) -> list[Note]:
        """Take note of where earlier runs are; a slot that has to give way to them is settled.

        Returns:
            Notes; one says SKIPPED if the slot has to give way.
        """
        entry, line = turn.entry, self._lines.get(turn.entry.name)
        if line is None:
            return []
        notes = [
            Note(f"{entry.name}: job {run.job_id} is buried, and holds nothing back")
            for run, state in states.items()
            if state is RunState.BURIED
        ]
        line.runs = [run for run in line.runs if states.get(run, RunState.WAITING) in _HELD]
        if overlaps(entry, list(states.values())):
            self.settle(turn)
            there = ", ".join(str(run.job_id) for run in line.runs)
            text = f"{entry.name}: {slot_text(turn.slot_s)} is skipped, job {there} is not over"
            notes.append(Note(text, entry.name, Outcome.SKIPPED))
        return notes


def overlaps(entry: Entry, states: Sequence[RunState]) -> bool:
    """Say whether a slot is left out because of earlier runs."""
    waiting, running = states.count(RunState.WAITING), states.count(RunState.RUNNING)
    if entry.overlap is Overlap.SKIP:
        return waiting + running > 0
    if entry.overlap is Overlap.COALESCE:
        return waiting > 0
    return waiting + running >= entry.queue_max


def _missed(entry: Entry, count: int, since_s: float) -> Note:
    many = f"{count} or more" if count == MISSED_MAX else str(count)
    text = f"{entry.name}: {many} missed since {slot_text(int(since_s))}"
    return Note(text, entry.name, Outcome.MISSED, count)
