"""The body of a task's job."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from etcdq.django.envelope import Envelope, read, write
from etcdq.worker.failure import PermanentError

NOON = datetime(2026, 12, 1, 12, 0, 0, 123456, tzinfo=UTC)


def envelope(**fields: Any) -> Envelope:
    """Return one."""
    given = {
        "id": "x",
        "task": "shop.tasks.add",
        "args": [],
        "kwargs": {},
        "queue_name": "default",
        "priority": 0,
        "run_after": None,
        "enqueued_at": NOON,
    }
    return Envelope(**{**given, **fields})


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"args": [1, 2.5, None, True, "ä\n", [{"a": []}]], "kwargs": {"to": "x"}},
        {"args": [2**70, -(2**64), "\ud800", float("inf")]},
        {"priority": -100, "run_after": NOON.astimezone(timezone(timedelta(hours=2)))},
        {"run_after": NOON.replace(tzinfo=None), "enqueued_at": NOON.replace(tzinfo=None)},
    ],
)
def test_read_is_what_was_written(fields: dict[str, Any]) -> None:
    """Whatever JSON has words for, in Python's manner of speaking, and times with their zones."""
    assert read(write(envelope(**fields))) == envelope(**fields)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"nothing",
        b"\xff",
        b"[]",
        b"{}",
        b"[" * 100_000,
        write(envelope()).replace(b'"priority":0', b'"priority":"0"'),
        write(envelope()).replace(b"2026-12", b"2026-13"),
        write(envelope()).replace(b'"args":[]', b'"args":{}'),
    ],
)
def test_what_is_no_task(body: bytes) -> None:
    """No retry can mend it."""
    with pytest.raises(PermanentError, match="a job that is no task"):
        read(body)
