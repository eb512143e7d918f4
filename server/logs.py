"""Log lines in etcd's own JSON keys, or as text for people.

structlog is imported with the first line: it costs a tenth of a second that a start has no use
for.
"""

import sys
from collections.abc import MutableMapping
from functools import cache
from types import FrameType
from typing import Any, TextIO

from etcdq.actors.shell import WriteLog

_LEVELS = ("debug", "info", "warn", "error")
_OWN_FILES = (__file__, "/structlog/")
_FIRST_KEYS = ("level", "ts", "caller", "msg")

Event = MutableMapping[str, Any]


def open_log(style: str, level: str, stream: TextIO | None) -> WriteLog:
    """Return a function that writes one line per call.

    Args:
        style: `text` or `json` (one object a line: level, ts in UTC, caller, msg, fields).
        level: debug, info, warn or error: what is below is not written.
        stream: a line that cannot be written to it is lost, the node goes on. None is a stream
            that was closed before Python started.
    """
    threshold = _LEVELS.index(level)

    @cache
    def logger() -> Any:
        return _structlog(style, stream)

    def write(level: str, event: str, fields: dict[str, Any]) -> None:
        level = "warn" if level == "warning" else level
        if _LEVELS.index(level) >= threshold:
            getattr(logger(), level)(event, **fields)

    return write


def _structlog(style: str, stream: TextIO | None) -> Any:
    import structlog

    render: Any
    render = structlog.processors.JSONRenderer(default=_plain) if style == "json" else _as_text
    return structlog.wrap_logger(
        _Lines(stream),
        processors=[
            _add_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="ts"),
            _add_caller,
            structlog.processors.format_exc_info,
            structlog.processors.EventRenamer("msg"),
            _order,
            render,
        ],
        wrapper_class=structlog.BoundLogger,
        cache_logger_on_first_use=True,
    )


class _Lines:
    """Where structlog hands the finished line: one write per line, whatever the level."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream

    def msg(self, line: str) -> None:
        if self._stream is None:
            return
        try:
            self._stream.write(line + "\n")
            self._stream.flush()
        except (OSError, ValueError):
            pass  # a closed terminal or a full disk must not take the queues down

    debug = info = warn = error = msg


def _add_level(_: Any, method: str, event: Event) -> Event:
    event["level"] = method
    return event


def _add_caller(_: Any, __: str, event: Event) -> Event:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and any(own in frame.f_code.co_filename for own in _OWN_FILES):
        frame = frame.f_back
    if frame is not None:
        path = "/".join(frame.f_code.co_filename.split("/")[-2:])
        event["caller"] = f"{path}:{frame.f_lineno}"
    return event


def _order(_: Any, __: str, event: Event) -> Event:
    rest = {key: value for key, value in event.items() if key not in _FIRST_KEYS}
    return {**{key: event[key] for key in _FIRST_KEYS if key in event}, **rest}


def _as_text(_: Any, __: str, event: Event) -> str:
    fields = dict(event)
    level, ts, _caller, msg = (fields.pop(key, "") for key in _FIRST_KEYS)
    trace = fields.pop("exception", "")
    shown = "".join(f" {key}={_shown(value)}" for key, value in fields.items())
    return f"{ts} {level.upper():5} {msg}{shown}" + (f"\n{trace}" if trace else "")


def _shown(value: Any) -> str:
    text = str(_plain(value)) if not isinstance(value, str) else value
    return text if text.isprintable() and " " not in text and text else repr(text)


def _plain(value: Any) -> Any:
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)
