"""The body of a task's job: which function, with which arguments, as JSON. Without Django."""

import json
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct

from etcdq.worker.failure import PermanentError


class Envelope(Struct, frozen=True, kw_only=True):
    """What a worker has to know of a task that was enqueued."""

    id: str
    """Of the result."""
    task: str
    """Where the task is found: module, dot, name."""
    args: list[Any]
    kwargs: dict[str, Any]
    queue_name: str
    priority: int
    run_after: datetime | None
    enqueued_at: datetime


def write(envelope: Envelope) -> bytes:
    """Return the body.

    Raises:
        TypeError, ValueError: an argument that JSON has no words for.
    """
    # Python's own JSON keeps what others lose: whole numbers of any size, and lone surrogates.
    values = {**msgspec.structs.asdict(envelope), "enqueued_at": envelope.enqueued_at.isoformat()}
    if envelope.run_after is not None:
        values["run_after"] = envelope.run_after.isoformat()
    return json.dumps(values, separators=(",", ":")).encode()


def read(body: bytes) -> Envelope:
    """Read a body.

    Raises:
        PermanentError: nobody has enqueued a task by it.
    """
    try:
        return msgspec.convert(json.loads(body), Envelope)
    except (ValueError, RecursionError) as error:  # msgspec.ValidationError is a ValueError
        raise PermanentError(f"a job that is no task: {error}: {body[:100]!r}") from error
