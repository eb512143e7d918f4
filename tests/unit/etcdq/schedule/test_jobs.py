"""What is put for a slot: body, keys, and how the job is known again."""

import json

import pytest

from etcdq.beanstalk import commands
from etcdq.schedule.entry import Entry
from etcdq.schedule.file import parse_schedule
from etcdq.schedule.jobs import RunState, body, is_of_slot, options, slot_key, state_of

NOON = 1_780_315_200  # 2026-06-01 12:00 UTC


def entry(**keys: object) -> Entry:
    """Return an entry that says this."""
    given = {"name": "poll", "task": "run", "every": "60s", **keys}
    return parse_schedule({"entries": [given]}).entries[0]


def test_body() -> None:
    """A body says what to run, with which arguments, and for which slot."""
    one = entry(args=["ä", {"a": None}])

    assert body(one, NOON, late=False) == (
        '{"task":"run","args":["ä",{"a":null}],"slot":"2026-06-01T12:00:00Z"}'.encode()
    )
    late = json.loads(body(entry(task=None, **{"class": "Jmap::Poller"}), NOON, late=True))
    assert late == {
        "class": "Jmap::Poller",
        "args": [],
        "slot": "2026-06-01T12:00:00Z",
        "late": True,
    }


def test_key_of_a_slot() -> None:
    """The longest name has room for its slot, and the key is one that servers take."""
    assert slot_key(entry(), NOON) == "poll/20260601T120000Z"
    longest = entry(name="n" * 150, con=None)
    commands.put(b"", options(longest, NOON, tags=True))


@pytest.mark.parametrize(
    ("keys", "seconds"),
    [
        ({"every": "60s"}, 120),
        ({"every": "1h", "catch_up": "none"}, 3660),
        ({"every": "60s", "catch_up": "all"}, 6060),
        ({"every": None, "cron": "0 9 * * 1-5"}, 86_460),
        ({"every": 4_000_000_000, "catch_up": "all"}, commands.NUMBER_MAX),
    ],
)
def test_key_outlives_its_slot(keys: dict[str, object], seconds: int) -> None:
    """It is kept for longer than any scheduler may put the slot, and as servers can count."""
    monday_9 = NOON - 3 * 3600

    assert options(entry(**keys), monday_9, tags=True)["idp"].endswith(f":{seconds}")


def test_options_without_keys() -> None:
    """A server that knows no keys is not told any."""
    one = entry(priority=3, ttr=9, idp="a:5", con="b:2")

    assert options(one, NOON, tags=False) == {"priority": 3, "ttr_s": 9}
    assert options(one, NOON, tags=True) == {"priority": 3, "ttr_s": 9, "idp": "a:5", "con": "b:2"}


@pytest.mark.parametrize("other", [b"", b"\xff", b"[]", b"5", b"{}", b'{"slot": 5}'])
def test_other_jobs(other: bytes) -> None:
    """Only a body of the same slot is that of the run."""
    one = entry()

    assert is_of_slot(body(one, NOON, late=False), NOON)
    assert is_of_slot(body(one, NOON, late=True), NOON)
    assert not is_of_slot(body(one, NOON, late=False), NOON + 60)
    assert not is_of_slot(other, NOON)


def test_states() -> None:
    """The server's words for where a job is."""
    words = ["ready", "delayed", "reserved", "buried"]

    assert [state_of(word) for word in words] == [
        RunState.WAITING,
        RunState.WAITING,
        RunState.RUNNING,
        RunState.BURIED,
    ]
