"""The schedule file: what it may say, and what is told of what is wrong."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from etcdq.schedule.entry import Entry, Overlap
from etcdq.schedule.file import ScheduleError, parse_schedule, read_schedule
from etcdq.schedule.slots import CatchUp, Cron, Every

ROOT = Path(__file__).parents[4]

FULL = """
timezone: Europe/Berlin
tube: spool.maintenance
entries:
  - name: poll
    class: Jmap::Poller
    args: [1, {deep: [true, null]}]
    every: 60s
    idp: jmap_poll:5
    con: jmap:2
    priority: 7
    ttr: 120
  - name: report
    task: reports.daily
    tube: reports
    cron: 17 2 * * *
    timezone: America/New_York
    overlap: queue
    queue_max: 3
    catch_up: none
  - {name: tidy, task: tidy, cron: "@daily"}
"""


def parse(text: str) -> tuple[Entry, ...]:
    """Return the entries of a schedule."""
    return parse_schedule(yaml.safe_load(text)).entries


def wrong(**keys: Any) -> list[str]:
    """Return what is told of an entry that would be right without these keys."""
    right = {"name": "poll", "task": "poll", "every": "60s"}
    with pytest.raises(ScheduleError) as caught:
        parse_schedule({"entries": [{**right, **keys}]})
    return caught.value.lines


def test_all_that_an_entry_may_say() -> None:
    """Each key comes to its place."""
    poll, report, tidy = parse(FULL)

    assert poll == Entry(
        name="poll",
        kind="class",
        target="Jmap::Poller",
        args=[1, {"deep": [True, None]}],
        tube="spool.maintenance",
        timing=Every(60),
        zone="Europe/Berlin",
        priority=7,
        ttr_s=120,
        idp="jmap_poll:5",
        con="jmap:2",
        overlap=Overlap.SKIP,
        queue_max=10,
        catch_up=CatchUp.ONE,
    )
    assert (report.kind, report.target, report.tube) == ("task", "reports.daily", "reports")
    assert report.timing == Cron("17 2 * * *", "America/New_York")
    assert (report.overlap, report.queue_max, report.catch_up) == (Overlap.QUEUE, 3, CatchUp.NONE)
    assert tidy.timing == Cron("0 0 * * *", "Europe/Berlin")


def test_defaults() -> None:
    """An entry needs a name, something to run, and when: the rest goes without saying."""
    (entry,) = parse("entries: [{name: poll, task: poll, every: 60s}]")

    assert (entry.tube, entry.zone, entry.args, entry.idp) == ("default", "UTC", [], None)
    assert (entry.priority, entry.ttr_s, entry.con) == (1024, 60, "schedule/poll")
    assert (entry.overlap, entry.catch_up) == (Overlap.SKIP, CatchUp.ONE)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("1s", 1), ("60s", 60), ("5m", 300), ("2h", 7200), ("1d", 86_400), (90, 90)],
)
def test_intervals(text: str | int, seconds: int) -> None:
    """A number and a unit, or a number of seconds."""
    schedule = parse_schedule({"entries": [{"name": "a", "task": "b", "every": text}]})

    assert schedule.entries[0].timing == Every(seconds)


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ({"name": None}, "entry 1: name: is needed"),
        ({"name": "a b"}, "entry 'a b': name: 'a b': a name has 1 to 200 of letters"),
        ({"name": "a" * 151}, f"entry '{'a' * 151}': name: 151 characters; 150 are the most"),
        ({"name": 5}, "entry 1: name: 5 is not a text"),
        ({"tsk": 1}, "entry 'poll': unknown key 'tsk'; known are name, class, task, args, tube"),
        ({"task": None}, "entry 'poll': class: exactly one of class and task is needed"),
        ({"class": "A"}, "entry 'poll': class: exactly one of class and task is needed"),
        ({"task": ["a"]}, "entry 'poll': task: ['a'] is not a text"),
        ({"args": "x"}, "entry 'poll': args: 'x' is not a list"),
        ({"args": [yaml.safe_load("2026-01-01")]}, "entry 'poll': args: not JSON: object of type"),
        ({"args": [float("nan")]}, "entry 'poll': args: not JSON: out of range"),
        ({"tube": "-a"}, "entry 'poll': tube: '-a': a name has"),
        ({"every": None}, "entry 'poll': every: exactly one of every and cron is needed"),
        ({"cron": "@daily"}, "entry 'poll': every: exactly one of every and cron is needed"),
        ({"every": "0s"}, "entry 'poll': every: '0s' is not an interval, as in 60s, 5m"),
        ({"every": "soon"}, "entry 'poll': every: 'soon' is not an interval"),
        ({"every": True}, "entry 'poll': every: True is not an interval"),
        ({"every": 4294967296}, "entry 'poll': every: 4294967296 is not an interval"),
        ({"every": None, "cron": "* * *"}, "entry 'poll': cron: '* * *' has 3 fields, not 5"),
        ({"every": None, "cron": "61 * * * *"}, "entry 'poll': cron: '61 * * * *': bad minute"),
        ({"every": None, "cron": "0 0 30 2 *"}, "entry 'poll': cron: '0 0 30 2 *': bad day"),
        ({"every": None, "cron": "@reboot"}, "entry 'poll': cron: '@reboot' is none of @yearly"),
        ({"timezone": "Mars/Phobos"}, "entry 'poll': timezone: no time zone 'Mars/Phobos'"),
        ({"priority": -1}, "entry 'poll': priority: -1 is not a whole number from 0 to"),
        ({"priority": True}, "entry 'poll': priority: True is not a whole number"),
        ({"ttr": 0}, "entry 'poll': ttr: 0 is not a whole number from 1 to"),
        ({"ttr": "60"}, "entry 'poll': ttr: '60' is not a whole number"),
        ({"idp": "a:b"}, "entry 'poll': idp: 'a:b' is not KEY or KEY:NUMBER"),
        ({"con": "a:0"}, "entry 'poll': con: 'a:0' would let no job run"),
        ({"overlap": "drop"}, "entry 'poll': overlap: 'drop' is none of skip, coalesce, queue"),
        ({"idp": "a", "overlap": "skip"}, "entry 'poll': overlap: not beside idp"),
        ({"queue_max": 5}, "entry 'poll': queue_max: only beside overlap: queue"),
        ({"overlap": "queue", "queue_max": 0}, "entry 'poll': queue_max: 0 is not a whole"),
        ({"catch_up": "two"}, "entry 'poll': catch_up: 'two' is none of one, none, all"),
    ],
)
def test_wrong_value(keys: dict[str, Any], told: str) -> None:
    """What is wrong is one line that names the entry and the key."""
    (line,) = wrong(**keys)

    assert line.startswith(told)
    assert "\n" not in line


def test_all_that_is_wrong_is_told() -> None:
    """Who corrects a file need not try again for each mistake."""
    with pytest.raises(ScheduleError) as caught:
        parse(
            "{zone: UTC, timezone: X, entries: ["
            "{name: a, task: a, every: 1, ttr: x, tube: -}, 5,"
            "{name: b, task: b, every: 1}, {name: b, task: b, every: 1}]}"
        )

    keys = [line.partition(" is")[0].partition(";")[0] for line in caught.value.lines]
    assert keys == [
        "unknown key 'zone'",
        "timezone: no time zone 'X' on this system",
        "entry 'a': tube: '-': a name has 1 to 200 of letters, digits and -+/",
        "entry 'a': ttr: 'x'",
        "entry 2: not a mapping, as in `name: poll`",
        "entry 'b': name: 2 entries have it",
    ]


@pytest.mark.parametrize("content", ["", "[]", "entries:", "entries: {}", "5"])
def test_no_schedule_at_all(content: str) -> None:
    """A file without a list of entries is told what one looks like."""
    with pytest.raises(ScheduleError, match="entries: a list is needed"):
        parse(content)


def test_reading_a_file(tmp_path: Path) -> None:
    """A file is read as UTF-8."""
    path = tmp_path / "schedule.yml"
    path.write_text("entries: [{name: a, task: ä, every: 60}]", encoding="utf-8")

    assert read_schedule(str(path)).entries[0].target == "ä"


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"entries: [{name: a, task: a, cron: @daily}]", r"not YAML: .* needs quotes"),
        (b"entries: [{name: a, task: a, cron: * 1 * * *}]", r"not YAML: .* needs quotes"),
        (b"\xff\xfe\xfd", "not YAML: "),
        (
            b"entries: [{name: a, task: a, every: 1, name: b}]",
            "not YAML: the key 'name' is there 2",
        ),
        (b"entries: []\nentries: []", "not YAML: the key 'entries' is there 2 times .* line 1"),
        (b"entries: [{name: a, task: a, every: 0}]", "entry 'a': every: 0 is not an interval"),
        (None, "cannot be read: No such file"),
    ],
)
def test_file_that_is_not_right(tmp_path: Path, content: bytes | None, told: str) -> None:
    """The line begins with the path."""
    path = tmp_path / "schedule.yml"
    if content is not None:
        path.write_bytes(content)

    with pytest.raises(ScheduleError, match=f"^{path}: {told}") as caught:
        read_schedule(str(path))

    assert len(caught.value.lines) == 1
    assert "\n" not in str(caught.value)


def test_the_example() -> None:
    """The example is right, and has what the documentation says of it."""
    schedule = read_schedule(str(ROOT / "examples/schedule.yml"))

    assert [entry.name for entry in schedule.entries] == ["poll", "reindex", "greeting", "invoices"]


def test_the_documentation() -> None:
    """The file in the documentation is right, and every key of an entry is in its table."""
    text = (ROOT / "docs/schedule.md").read_text(encoding="utf-8")
    block = re.search(r"```yaml\n(.*?)```", text, re.DOTALL)
    assert block is not None
    assert [entry.name for entry in parse(block[1])] == ["poll", "report"]
    (told,) = wrong(nothing=1)
    for key in told.partition("known are ")[2].split(", "):
        assert f"`{key}`" in text
