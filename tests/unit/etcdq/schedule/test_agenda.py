"""What is due, settled, failed, and held back: a scheduler without a server and without a clock."""

from typing import Any

import pytest

from etcdq.schedule.agenda import (
    BACK_MAX_S,
    RETRY_S,
    Agenda,
    Outcome,
    Record,
    Run,
    Turn,
    overlaps,
)
from etcdq.schedule.entry import Entry, Schedule
from etcdq.schedule.file import parse_schedule
from etcdq.schedule.jobs import RunState

NOON = 1_780_315_200  # 2026-06-01 12:00 UTC
WAITING, RUNNING, BURIED, GONE = RunState


def schedule(*entries: dict[str, Any]) -> Schedule:
    """Return a schedule of entries that say this."""
    right = {"task": "run", "every": "60s"}
    return parse_schedule({"entries": [{"name": "poll", **right, **keys} for keys in entries]})


def entry(**keys: Any) -> Entry:
    """Return an entry that says this."""
    return schedule(keys).entries[0]


def agenda(*entries: dict[str, Any], now_s: float = NOON) -> Agenda:
    """Return an agenda that begins now."""
    return Agenda(schedule(*(entries or ({},))), now_s, {})


def slots(turns: list[Turn]) -> list[tuple[str, int]]:
    """Return entry and second after noon of each turn."""
    return [(turn.entry.name, turn.slot_s - NOON) for turn in turns]


def test_a_new_entry_begins_with_its_next_slot() -> None:
    """What passed before the scheduler was there was not its affair."""
    one = agenda(now_s=NOON + 30)

    assert one.next_s() == NOON + 60
    assert one.look(NOON + 59.9) == ([], [])
    (turns, notes) = one.look(NOON + 60.5)
    assert (slots(turns), notes) == ([("poll", 60)], [])
    assert not turns[0].late


def test_settled_is_settled() -> None:
    """A turn is there until it is settled, and not after."""
    one = agenda()
    (turn,) = one.look(NOON + 60)[0]

    assert one.look(NOON + 61)[0] == [turn]
    one.settle(turn)
    assert one.look(NOON + 62) == ([], [])
    assert one.next_s() == NOON + 120


def test_turns_come_in_the_order_of_their_slots() -> None:
    """Of several entries the older slot is first."""
    one = agenda({"name": "a", "every": "60s"}, {"name": "b", "every": "7s", "catch_up": "all"})

    turns, _ = one.look(NOON + 61)

    assert [slot for _, slot in slots(turns)] == sorted(slot for _, slot in slots(turns))
    assert len(turns) == 10
    assert ("a", 60) in slots(turns)


def test_a_failed_slot_comes_again() -> None:
    """It is told once, tried again after a while, and gives way to the next one."""
    one = agenda()
    (turn,) = one.look(NOON + 60)[0]

    (note,) = one.fail(turn, NOON + 60, "away")
    assert note.text == "poll: 2026-06-01T12:01:00Z is not put yet: away"
    assert (note.outcome, note.count) == (Outcome.FAILED, 1)
    assert one.is_put_off(turn)
    assert one.look(NOON + 60 + RETRY_S - 0.1)[0] == []
    assert one.next_s() == NOON + 60 + RETRY_S
    (again,) = one.look(NOON + 60 + RETRY_S)[0]
    assert again.slot_s == turn.slot_s
    assert not one.is_put_off(again)
    assert one.fail(again, NOON + 119, "away") == []
    assert one.next_s() == NOON + 120
    turns, (missed,) = one.look(NOON + 120)
    assert slots(turns) == [("poll", 120)]
    assert (missed.outcome, missed.count) == (Outcome.MISSED, 1)
    assert one.fail(turns[0], NOON + 121, "away") != []


def test_a_miss_is_counted_once() -> None:
    """However often a slot is tried, the ones that it took the place of are counted once."""
    one = agenda()
    missed = 0
    for now_s in range(NOON + 600, NOON + 659, 2):
        turns, notes = one.look(now_s)
        missed += sum(note.count for note in notes)
        for turn in turns:
            one.fail(turn, now_s, "away")

    assert missed == 9


def test_the_server_is_there_again() -> None:
    """What failed while it was away is due at once."""
    one = agenda()
    (turn,) = one.look(NOON + 60)[0]
    one.fail(turn, NOON + 60, "away")

    one.retry()

    assert one.look(NOON + 61)[0] == [turn]


def test_clock_set_back_while_a_slot_fails() -> None:
    """The wait for the next try is not as long as the clock was set back."""
    one = agenda({"every": "1h"})
    (turn,) = one.look(NOON + 3600)[0]
    one.fail(turn, NOON + 3600, "away")

    _, (note,) = one.look(NOON + 1800)

    assert "set back by 1800 s" in note.text
    assert one.next_s() == NOON + 1800 + RETRY_S


def test_clock_that_was_far_ahead() -> None:
    """What was settled in a future that was wrong binds nobody; a step of a day does."""
    far = agenda(now_s=NOON + BACK_MAX_S + 61)
    near = agenda(now_s=NOON + BACK_MAX_S - 61)

    _, notes = far.look(NOON)
    near.look(NOON)

    assert [note.text for note in notes][1:] == [
        "poll: the clock is before 2026-06-02T12:01:01Z, where it was: begins anew"
    ]
    assert far.next_s() == NOON + 60
    assert near.next_s() == NOON + BACK_MAX_S - 60


@pytest.mark.parametrize(
    ("overlap", "states", "expected"),
    [
        ("skip", [], False),
        ("skip", [GONE, BURIED], False),
        ("skip", [WAITING], True),
        ("skip", [GONE, RUNNING], True),
        ("coalesce", [RUNNING, BURIED], False),
        ("coalesce", [RUNNING, WAITING], True),
        ("queue", [RUNNING, WAITING, BURIED], False),
        ("queue", [RUNNING, WAITING, WAITING], True),
    ],
)
def test_overlap(overlap: str, states: list[RunState], expected: bool) -> None:
    """What each policy leaves out, by where earlier runs are."""
    one = entry(overlap=overlap, **({"queue_max": 3} if overlap == "queue" else {}))

    assert overlaps(one, states) is expected


def test_runs_are_forgotten_when_they_are_gone() -> None:
    """What is over is not asked for again; a buried run is told once."""
    one = agenda({"overlap": "coalesce"})
    (turn,) = one.look(NOON + 60)[0]
    one.settle(turn, Run(1, turn.slot_s))
    one.settle(turn, Run(1, turn.slot_s))
    (turn,) = one.look(NOON + 120)[0]
    one.settle(turn, Run(2, turn.slot_s))
    (turn,) = one.look(NOON + 180)[0]
    runs = one.runs(turn.entry)
    assert [run.job_id for run in runs] == [1, 2]

    notes = one.hold_back(turn, dict(zip(runs, [BURIED, RUNNING], strict=True)))

    assert [note.text for note in notes] == ["poll: job 1 is buried, and holds nothing back"]
    assert one.runs(turn.entry) == [runs[1]]
    (note,) = one.hold_back(turn, {runs[1]: WAITING})
    assert note.text == "poll: 2026-06-01T12:03:00Z is skipped, job 2 is not over"
    assert one.look(NOON + 181)[0] == [], "a slot that is left out is settled"


def test_queue_asks_for_nothing_while_there_is_room() -> None:
    """Earlier runs matter when there are as many as there may be."""
    one = agenda({"overlap": "queue", "queue_max": 2})
    for number in (1, 2):
        (turn,) = one.look(NOON + 60 * number)[0]
        assert one.runs(turn.entry) == []
        one.settle(turn, Run(number, turn.slot_s))

    assert len(one.runs(turn.entry)) == 2


def test_records_carry_an_entry_over_a_restart() -> None:
    """An entry goes on where it was; one whose times have changed begins now; runs stay."""
    first = agenda({"name": "same"}, {"name": "other"}, {"name": "gone"})
    for turn in first.look(NOON + 60)[0]:
        first.settle(turn, Run(7, turn.slot_s))
    records = first.records()
    assert records["same"] == Record("every 60s", NOON + 60, [Run(7, NOON + 60)])

    second = Agenda(
        schedule({"name": "same"}, {"name": "other", "every": "30s"}, {"name": "new"}),
        NOON + 290,
        records,
    )

    turns, notes = second.look(NOON + 290)
    assert slots(turns) == [("same", 240)]
    assert turns[0].late
    assert [note.count for note in notes] == [2]
    assert second.records()["other"].seen_s == NOON + 290
    assert second.records()["other"].runs == [Run(7, NOON + 60)]
    assert "gone" not in second.records()


def test_turns_of_an_entry_that_is_gone() -> None:
    """A schedule that is replaced while its slots are put forgets them."""
    one = agenda()
    (turn,) = one.look(NOON + 60)[0]

    one.replace(schedule({"name": "other"}), NOON + 60)

    assert one.is_put_off(turn)
    assert one.fail(turn, NOON + 61, "away") == []
    one.settle(turn)
    assert one.runs(turn.entry) == []
    assert one.hold_back(turn, {Run(1, NOON): WAITING}) == []
    assert set(one.records()) == {"other"}


def test_many_misses_are_told_as_many() -> None:
    """A count that was cut short says so."""
    one = agenda({"every": None, "cron": "* * * * *"})

    _, (note,) = one.look(NOON + 10 * 86_400)

    assert note.text == "poll: 1500 or more missed since 2026-06-01T12:00:00Z"
