"""The grid of slots, and what of it is due: daylight saving, downtime, a clock set back."""

from datetime import datetime
from functools import cache
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from etcdq.schedule.slots import (
    CATCH_UP_MAX,
    LATE_S,
    MISSED_MAX,
    NEVER_S,
    CatchUp,
    Cron,
    Due,
    Every,
    Timing,
    find_due,
    find_zone,
    forgotten_after_s,
    is_late,
    read_cron,
    slot_text,
)

BERLIN, NEW_YORK = "Europe/Berlin", "America/New_York"
HOUR, DAY = 3600, 86_400
NOON = 1_780_315_200  # 2026-06-01 12:00 UTC


def at(text: str, zone: str = "UTC", fold: int = 0) -> int:
    """Return the instant of a date and time in a zone."""
    return int(datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone), fold=fold).timestamp())


@cache
def runs(timing: Timing, start: int, end: int) -> tuple[int, ...]:
    """Return the slots after one instant and not after the other."""
    slots = []
    while (start := timing.after(start)) <= end:
        slots.append(start)
    return tuple(slots)


def local(slots: tuple[int, ...], zone: str) -> list[str]:
    """Return slots as the clocks of a zone show them."""
    return [datetime.fromtimestamp(slot, ZoneInfo(zone)).isoformat() for slot in slots]


def test_every_counts_from_the_epoch() -> None:
    """Schedulers that were started at different times have the same slots."""
    timing = Every(60)

    assert {timing.after(NOON + offset) for offset in (0, 0.001, 30, 59.999)} == {NOON + 60}
    assert {timing.latest(NOON + offset) for offset in (0, 0.001, 30, 59.999)} == {NOON}
    assert Every(7).latest(NOON) % 7 == 0


SPRING = [
    (BERLIN, "2026-03-28T12:00", "2026-03-30T12:00", "2026-03-29T03:00:00+02:00"),
    (NEW_YORK, "2026-03-07T12:00", "2026-03-09T12:00", "2026-03-08T03:00:00-04:00"),
]


@pytest.mark.parametrize(("zone", "start", "end", "run"), SPRING)
def test_skipped_hour_runs_at_its_end(zone: str, start: str, end: str, run: str) -> None:
    """02:30 of the day that has none is 03:00: once, not never."""
    slots = runs(read_cron("30 2 * * *", zone), at(start, zone), at(end, zone))

    first, second = local(slots, zone)
    assert first == run
    assert second[10:19] == "T02:30:00"


@pytest.mark.parametrize(
    ("zone", "start", "end", "run"),
    [
        (BERLIN, "2026-10-24T12:00", "2026-10-26T01:00", "2026-10-25T02:30:00+02:00"),
        (NEW_YORK, "2026-10-31T12:00", "2026-11-02T00:30", "2026-11-01T01:30:00-04:00"),
    ],
)
def test_doubled_hour_runs_once(zone: str, start: str, end: str, run: str) -> None:
    """The time that comes twice in a night runs the first time."""
    line = "30 2 * * *" if zone == BERLIN else "30 1 * * *"
    slots = runs(read_cron(line, zone), at(start, zone), at(end, zone))

    assert local(slots, zone) == [run]


def test_nothing_runs_again_in_the_second_of_two_hours() -> None:
    """Whenever one looks during the doubled hour, the next slot is that of the next day."""
    cron = read_cron("30 2 * * *", BERLIN)
    second_hour = at("2026-10-25T02:00", BERLIN, fold=1)

    for seconds in range(0, HOUR, 60):
        assert cron.after(second_hour + seconds) == at("2026-10-26T02:30", BERLIN)
        assert cron.latest(second_hour + seconds) == at("2026-10-25T02:30", BERLIN)


@pytest.mark.parametrize("zone", ["UTC", BERLIN, NEW_YORK, "Asia/Kolkata", "Australia/Lord_Howe"])
@pytest.mark.parametrize("line", ["17 * * * *", "@hourly"])
def test_sixty_days_of_hourly_slots(zone: str, line: str) -> None:
    """Across the change of the clocks in spring and in autumn, an hour lies between two slots."""
    for day in ("2026-02-15", "2026-09-15"):
        start = at(f"{day}T00:00")
        slots = runs(read_cron(line, zone), start, start + 60 * DAY)
        assert len(slots) in (1439, 1440, 1441)
        gaps = {later - slot for slot, later in pairwise(slots)}
        # One island changes its clocks by half an hour.
        island = {HOUR // 2, HOUR, 3 * HOUR // 2}
        assert gaps <= (island if zone == "Australia/Lord_Howe" else {HOUR})


@pytest.mark.parametrize("line", ["30 2 * * *", "0,30 1-3 * * *", "5 2,3 * * 0", "*/20 1-3 * * *"])
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_grid_is_one_grid(line: str, data: st.DataObject) -> None:
    """From wherever one looks, forwards or backwards, it is the same slots."""
    cron = read_cron(line, data.draw(st.sampled_from([BERLIN, NEW_YORK])))
    change = data.draw(st.sampled_from(["2026-03-08", "2026-03-29", "2026-10-25", "2026-11-01"]))
    start = at(f"{change}T00:00")
    slots = runs(cron, start - 8 * DAY, start + 8 * DAY)
    look = start + data.draw(st.integers(-6 * HOUR, 12 * HOUR))

    assert cron.after(look) == next(slot for slot in slots if slot > look)
    assert cron.latest(look) == next(slot for slot in reversed(slots) if slot <= look)
    assert cron.count(start - 8 * DAY, look) == sum(slot <= look for slot in slots)


def test_rare_days() -> None:
    """The 29th of February is found forwards and backwards."""
    cron = read_cron("0 0 29 2 *", "UTC")

    assert cron.latest(NOON) == at("2024-02-29T00:00")
    assert cron.after(NOON) == at("2028-02-29T00:00")
    assert cron.latest(0) == 0
    assert cron.after(NEVER_S) == NEVER_S


def test_downtime_of_an_hourly_job() -> None:
    """Down from 00:30 to 05:30: one run, of 05:00, and it is late; then the normal grid."""
    hourly, midnight = Every(HOUR), at("2026-06-02T00:00")
    seen, now = midnight + 0.5 * HOUR, midnight + 5.5 * HOUR

    due = find_due(hourly, seen, now, CatchUp.ONE)

    five = midnight + 5 * HOUR
    assert due == Due(slots=(five,), missed=4, settled_s=five - 1)
    assert is_late(five, now)
    assert find_due(hourly, five, now, CatchUp.ONE).slots == ()
    assert find_due(hourly, five, five + HOUR, CatchUp.ONE) == Due((five + HOUR,), 0, five + 3599)
    assert not is_late(five + HOUR, five + HOUR + 1)


def test_host_that_slept_through_a_daily_job() -> None:
    """Daily at 03:00, asleep from 02:00 to 07:00: it runs at 07:00, late."""
    daily = read_cron("0 3 * * *", BERLIN)
    seen, now = at("2026-06-02T02:00", BERLIN), at("2026-06-02T07:00", BERLIN)

    due = find_due(daily, seen, now, CatchUp.ONE)

    assert due.slots == (at("2026-06-02T03:00", BERLIN),)
    assert due.missed == 0
    assert is_late(due.slots[0], now)


def test_catching_up_with_none() -> None:
    """`none` leaves out what has passed, and counts it; what is hardly late is put all the same."""
    hourly = Every(HOUR)

    assert find_due(hourly, NOON, NOON + 5.5 * HOUR, CatchUp.NONE) == Due((), 5, NOON + 5 * HOUR)
    now = NOON + 5 * HOUR + LATE_S
    assert find_due(hourly, NOON, now, CatchUp.NONE).slots == (NOON + 5 * HOUR,)
    assert find_due(hourly, NOON, now, CatchUp.NONE).missed == 4


def test_catching_up_with_all() -> None:
    """`all` puts each, oldest first, up to a bound: of more, the newest."""
    hourly = Every(HOUR)

    few = find_due(hourly, NOON, NOON + 5.5 * HOUR, CatchUp.ALL)
    many = find_due(hourly, NOON, NOON + 1000 * HOUR, CatchUp.ALL)

    assert few.slots == tuple(NOON + hour * HOUR for hour in range(1, 6))
    assert few.missed == 0
    assert len(many.slots) == CATCH_UP_MAX
    assert (many.slots[-1], many.missed) == (NOON + 1000 * HOUR, 1000 - CATCH_UP_MAX)
    assert list(many.slots) == sorted(many.slots)


@pytest.mark.parametrize("catch_up", CatchUp)
@pytest.mark.parametrize("timing", [Every(60), Cron("* * * * *", BERLIN)])
def test_clock_set_back_runs_no_slot_again(timing: Timing, catch_up: CatchUp) -> None:
    """A clock that goes back ten minutes finds nothing due until it is where it was."""
    seen, slots = float(NOON), []
    clock = [NOON + s for s in range(0, 1200, 5)] + [NOON + s for s in range(600, 1800, 5)]

    for now in clock:
        due = find_due(timing, seen, now, catch_up)
        slots += due.slots
        seen = max(due.settled_s, *due.slots, seen)
        assert due.missed == 0

    assert slots == [NOON + minute * 60 for minute in range(1, 30)]


def test_counting_what_was_missed_has_an_end() -> None:
    """A clock that leaps by years costs no minute-by-minute count of them."""
    cron = read_cron("* * * * *", BERLIN)

    assert cron.count(NOON, NOON + 60 * DAY) == MISSED_MAX
    assert Every(1).count(NOON, NOON + 60 * DAY) == 60 * DAY


def test_how_long_a_slot_may_be_put_by_somebody() -> None:
    """Until the next slot comes; with `all`, until so many have come as one catches up with."""
    assert forgotten_after_s(Every(60), NOON, CatchUp.ONE) == 60
    assert forgotten_after_s(Every(60), NOON, CatchUp.ALL) == 60 * CATCH_UP_MAX
    nine = read_cron("* 9 * * *", "UTC")
    assert forgotten_after_s(nine, at("2026-06-01T09:59"), CatchUp.NONE) == 23 * HOUR + 60


@pytest.mark.parametrize("alias", ["@yearly", "@monthly", "@weekly", "@daily", "@hourly"])
def test_aliases(alias: str) -> None:
    """The five names of cron begin with the hour, the day, the week, the month, the year."""
    first = {"@yearly": "2027-01-01", "@monthly": "2026-07-01", "@weekly": "2026-06-07"}
    expected = {"@hourly": "2026-06-01T13:00", "@daily": "2026-06-02T00:00"}
    text = expected.get(alias) or f"{first[alias]}T00:00"

    assert read_cron(alias, "UTC").after(NOON) == at(text)


@pytest.mark.parametrize("name", ["", "../zone", "Europe", "Mars/Phobos", "/etc/passwd"])
def test_unknown_zone(name: str) -> None:
    """What is no zone is told, in whatever way it is none."""
    with pytest.raises(ValueError, match="no time zone"):
        find_zone(name)


def test_text_of_a_slot() -> None:
    """A slot is written in UTC, as a job and a key have it."""
    assert slot_text(at("2026-03-29T03:00", BERLIN)) == "2026-03-29T01:00:00Z"
    assert str(Every(90)) == "every 90s"
    assert str(read_cron("@daily", BERLIN)) == "cron 0 0 * * * Europe/Berlin"
