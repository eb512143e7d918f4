"""Runs what a schedule puts: bodies `{"class" or "task": name, "args": [...]}`.

A body names what is on the allow-list, and nothing else is ever looked up: not a module, not an
attribute. What is on it decides who may put into the tube can do.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from etcdq.errors import RequestError
from etcdq.schedule.entry import KINDS


class DispatchError(RequestError):
    """A body that cannot be run, and that no retry can mend."""


class Call(Struct, frozen=True):
    """What a body asks for."""

    name: str
    function: Callable[..., Any]
    args: list[Any]
    slot: str | None
    """The slot that it was put for, as 2026-03-29T01:00:00Z; None: a scheduler did not put it."""
    late: bool

    def run(self) -> Any:
        """Call it; what it returns may have to be awaited."""
        return self.function(*self.args)


def resolve(body: bytes, allowed: Mapping[str, Callable[..., Any]]) -> Call:
    """Return what a body asks for.

    Args:
        body: of the job.
        allowed: classes, whose `perform` is called on a new instance, and functions, by the names
            that bodies call them.

    Raises:
        DispatchError: it is no such body, or its name is not allowed.
    """
    try:
        said = json.loads(body)
    except ValueError:
        raise DispatchError("the body is not JSON") from None
    if not isinstance(said, dict) or len(said.keys() & KINDS) != 1:
        raise DispatchError("the body says not one class and not one task")
    (kind,) = said.keys() & KINDS
    name, args, slot = said[kind], said.get("args", []), said.get("slot")
    if not isinstance(name, str) or not isinstance(args, list):
        raise DispatchError(f"the body's {kind} is no text, or its args no list")
    found = allowed.get(name)
    if found is None or isinstance(found, type) != (kind == "class"):
        raise DispatchError(f"{kind} {name!r} is not allowed")
    function = _perform(found) if isinstance(found, type) else found
    known_slot = slot if isinstance(slot, str) else None
    return Call(name, function, args, known_slot, said.get("late") is True)


def _perform(made_of: type) -> Callable[..., Any]:
    def perform(*args: Any) -> Any:
        return made_of().perform(*args)

    return perform
