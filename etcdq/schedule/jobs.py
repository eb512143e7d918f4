"""What the scheduler puts for a slot, and how it is known again.

The body is `{"class": ..., "args": [...], "slot": "2026-03-29T01:00:00Z"}`, or "task" for "class",
with `"late": true` for a slot that is caught up with.

The tags do what several schedulers need: the idempotency key is that of the slot, and outlives the
instant until which anybody may put it; the concurrency key lets one run of an entry go on at a
time, whoever put it.
"""

import json
from enum import Enum
from typing import Any, Final

from etcdq.beanstalk.commands import NUMBER_MAX, PutOptions
from etcdq.schedule.entry import Entry
from etcdq.schedule.slots import forgotten_after_s, slot_text

KEY_MARGIN_S: Final = 60
"""By which clocks of schedulers may differ, and the key of a slot outlives it."""


class RunState(Enum):
    """Where a job that was put is now."""

    WAITING = "waiting"
    RUNNING = "running"
    BURIED = "buried"
    GONE = "gone"


_STATES: Final = {
    "ready": RunState.WAITING,
    "delayed": RunState.WAITING,
    "reserved": RunState.RUNNING,
    "buried": RunState.BURIED,
}


def body(entry: Entry, slot_s: int, *, late: bool) -> bytes:
    """Return the body of the job of a slot."""
    said: dict[str, Any] = {entry.kind: entry.target, "args": entry.args, "slot": slot_text(slot_s)}
    if late:
        said["late"] = True
    return json.dumps(said, ensure_ascii=False, separators=(",", ":")).encode()


def slot_key(entry: Entry, slot_s: int) -> str:
    """Return the key that only one job has: poll/20260329T010000Z."""
    return f"{entry.name}/{slot_text(slot_s).replace('-', '').replace(':', '')}"


def options(entry: Entry, slot_s: int, *, tags: bool) -> PutOptions:
    """Return the rest of what is put.

    Args:
        entry: whose slot it is.
        slot_s: the slot.
        tags: whether the server knows keys.
    """
    given: PutOptions = {"priority": entry.priority, "ttr_s": entry.ttr_s}
    if tags:
        ttl_s = forgotten_after_s(entry.timing, slot_s, entry.catch_up) + KEY_MARGIN_S
        own = f"{slot_key(entry, slot_s)}:{min(ttl_s, NUMBER_MAX)}"
        given["idp"] = own if entry.idp is None else entry.idp
        given["con"] = entry.con
    return given


def is_of_slot(job_body: bytes, slot_s: int) -> bool:
    """Say whether a job was put for a slot: after a restart of the server, ids begin anew."""
    try:
        said = json.loads(job_body)
    except ValueError:
        return False
    return isinstance(said, dict) and said.get("slot") == slot_text(slot_s)


def state_of(word: str) -> RunState:
    """Return the state that a server names."""
    return _STATES.get(word, RunState.WAITING)
