"""From a body to what is run: by the allow-list, and by nothing else."""

from typing import Any

import pytest

from etcdq.schedule.dispatch import DispatchError, resolve
from etcdq.schedule.file import parse_schedule
from etcdq.schedule.jobs import body

NOON = 1_780_315_200  # 2026-06-01 12:00 UTC


class Poller:
    """A class of an application."""

    made = 0

    def __init__(self) -> None:
        Poller.made += 1

    def perform(self, *args: Any) -> tuple[Any, ...]:
        """Return what it was called with."""
        return args


def tidy(*args: Any) -> tuple[Any, ...]:
    """Return what it was called with."""
    return args


ALLOWED = {"Jmap::Poller": Poller, "tidy": tidy}


@pytest.mark.parametrize(
    ("keys", "late"), [({"class": "Jmap::Poller"}, False), ({"task": "tidy"}, True)]
)
def test_what_a_scheduler_puts(keys: dict[str, str], late: bool) -> None:
    """The body of a slot is run with its arguments, and says its slot and whether it is late."""
    given = {"name": "poll", "every": "60s", "args": [1, {"a": []}], **keys}
    entry = parse_schedule({"entries": [given]}).entries[0]

    call = resolve(body(entry, NOON, late=late), ALLOWED)

    assert call.run() == (1, {"a": []})
    assert (call.name, call.slot, call.late) == (entry.target, "2026-06-01T12:00:00Z", late)


def test_a_new_instance_for_each_run() -> None:
    """A class keeps nothing from one run to the next."""
    before = Poller.made
    call = resolve(b'{"class": "Jmap::Poller"}', ALLOWED)

    assert (call.run(), call.run()) == ((), ())
    assert Poller.made == before + 2
    assert (call.args, call.slot, call.late) == ([], None, False)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (b"\xff", "the body is not JSON"),
        (b"{", "the body is not JSON"),
        (b"[]", "not one class and not one task"),
        (b"{}", "not one class and not one task"),
        (b'{"class": "Jmap::Poller", "task": "tidy"}', "not one class and not one task"),
        (b'{"task": 5}', "task is no text"),
        (b'{"task": ["tidy"]}', "task is no text"),
        (b'{"task": "tidy", "args": {"a": 1}}', "or its args no list"),
        (b'{"task": "os.system", "args": ["id"]}', "task 'os.system' is not allowed"),
        (b'{"task": "Jmap::Poller"}', "task 'Jmap::Poller' is not allowed"),
        (b'{"class": "tidy"}', "class 'tidy' is not allowed"),
        (b'{"class": "__class__"}', "class '__class__' is not allowed"),
    ],
)
def test_what_is_not_run(said: bytes, told: str) -> None:
    """What is no such body, or names what is not on the list, is told and not run."""
    with pytest.raises(DispatchError, match=told):
        resolve(said, ALLOWED)
