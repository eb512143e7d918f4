"""Values of the schedule file: what is read, or a `ValueError` that says what would be right."""

import json
import re
from collections.abc import Callable
from typing import Any, Final

from etcdq.beanstalk import commands
from etcdq.errors import InvalidArgumentError
from etcdq.schedule.entry import Overlap
from etcdq.schedule.slots import CatchUp, Every, find_zone

NAME_MAX: Final = 150
"""So that a name and a slot fit in a key."""
_EVERY: Final = re.compile(r"([0-9]+)(s|m|h|d)")
_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


def text(value: Any) -> str:
    """Return a text of one line."""
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise ValueError(f"{value!r} is not a text")
    return value


def entry_name(value: Any) -> str:
    """Return the name of an entry: it becomes part of keys."""
    given = key("name")(value)
    if len(given) > NAME_MAX:
        raise ValueError(f"{len(given)} characters; {NAME_MAX} are the most")
    return given


def key(what: str) -> Callable[[Any], str]:
    """Return a reader of a name that beanstalk takes."""

    def read(value: Any) -> str:
        try:
            return commands.name(text(value), what)
        except InvalidArgumentError as error:
            raise ValueError(error.text.removeprefix(f"{what} ")) from None

    return read


def tag(word: str) -> Callable[[Any], str]:
    """Return a reader of `KEY` or `KEY:NUMBER`."""

    def read(value: Any) -> str:
        try:
            commands.put(b"", {word: text(value)})  # type: ignore[misc]
        except InvalidArgumentError as error:
            raise ValueError(error.text.removeprefix(f"{word} ")) from None
        return str(value)

    return read


def whole(least: int, most: int = commands.NUMBER_MAX) -> Callable[[Any], int]:
    """Return a reader of a whole number within bounds."""

    def read(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise ValueError(f"{value!r} is not a whole number from {least} to {most}")
        return value

    return read


def choice(kind: type[Overlap] | type[CatchUp]) -> Callable[[Any], Any]:
    """Return a reader of one word of an enumeration."""

    def read(value: Any) -> Any:
        for each in kind:
            if each.value == value:
                return each
        raise ValueError(f"{value!r} is none of {', '.join(each.value for each in kind)}")

    return read


def interval(value: Any) -> Every:
    """Return the grid of `60s`, `5m`, `2h`, `1d`, or of a number of seconds."""
    match = _EVERY.fullmatch(value) if isinstance(value, str) else None
    seconds = value if type(value) is int else int(match[1]) * _SECONDS[match[2]] if match else 0
    if not 1 <= seconds <= commands.NUMBER_MAX:
        raise ValueError(f"{value!r} is not an interval, as in 60s, 5m, 2h or 1d")
    return Every(seconds)


def zone(value: Any) -> str:
    """Return the name of a time zone."""
    find_zone(text(value))
    return str(value)


def args(value: Any) -> list[Any]:
    """Return a list of what JSON can say."""
    if not isinstance(value, list):
        raise ValueError(f"{value!r} is not a list")
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError) as error:
        text = str(error)
        raise ValueError(f"not JSON: {text[:1].lower()}{text[1:]} (dates need quotes)") from None
    return value
