"""A schedule as it is in memory. `file.py` makes it of the file."""

from enum import Enum
from typing import Any, Final, Literal

from msgspec import Struct

from etcdq.schedule.slots import CatchUp, Timing

KINDS: Final = frozenset({"class", "task"})
"""What an entry, and a body, may name: a class whose `perform` is called, or a function."""


class Overlap(Enum):
    """What becomes of a slot while an earlier run of its entry is not over."""

    SKIP = "skip"
    """It is not put."""
    COALESCE = "coalesce"
    """It is put, unless a run waits already."""
    QUEUE = "queue"
    """It is put, unless `queue_max` runs are there already."""


class Entry(Struct, frozen=True, kw_only=True):
    """A job that is put again and again."""

    name: str
    kind: Literal["class", "task"]
    target: str
    """Name of the class or task, as the worker's allow-list has it."""
    args: list[Any]
    tube: str
    timing: Timing
    zone: str
    """In which people are shown the slots."""
    priority: int
    ttr_s: int
    idp: str | None
    """An idempotency key instead of `overlap`: `KEY` or `KEY:SECONDS`."""
    con: str
    """`KEY` or `KEY:COUNT`: so many run at once."""
    overlap: Overlap
    queue_max: int
    catch_up: CatchUp


class Schedule(Struct, frozen=True):
    """All entries, in the order of the file."""

    entries: tuple[Entry, ...]
