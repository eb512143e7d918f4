"""The two forms of YAML that beanstalk servers write: a flat mapping, and a list of names.

They are not read as YAML, which would make a number of the tube named 10 and False of one named
no. Source: beanstalkd doc/protocol.txt, "The stats command", "The list-tubes command".
"""

import re
from typing import Final

from etcdq.beanstalk.records import Figure, Statistics
from etcdq.errors import RemoteProtocolError

START: Final = "---"
SERVER_TEXTS: Final = frozenset({"id", "version", "hostname", "os", "platform", "draining", "name"})
"""Fields of `stats` that are text even where they look like a number."""
TUBE_TEXTS: Final = frozenset({"name"})
JOB_TEXTS: Final = frozenset(
    {"tube", "state", "idempotency-key", "group", "after-group", "concurrency-key"}
)
GROUP_TEXTS: Final = frozenset({"name"})

_NUMBER: Final = re.compile(r"-?[0-9]{1,20}(\.[0-9]{1,20})?", re.ASCII)


def read_statistics(body: bytes, texts: frozenset[str]) -> Statistics:
    """Read a document of one `name: value` a line.

    Args:
        body: of an OK reply.
        texts: fields whose values stay text; every other value is a number if it reads as one.

    Raises:
        RemoteProtocolError: it is no such document.
    """
    figures: dict[str, Figure] = {}
    for line in _lines(body):
        name, colon, value = line.partition(":")
        if not colon:
            raise RemoteProtocolError(f"a line of a statistics document is {line[:80]!r}")
        value = _unquoted(value.strip())
        figures[name] = value if name in texts else _figure(value)
    return Statistics(figures)


def read_names(body: bytes) -> list[str]:
    """Read a document of one `- name` a line.

    Raises:
        RemoteProtocolError: it is no such document.
    """
    names = []
    for line in _lines(body):
        if not line.startswith("- "):
            raise RemoteProtocolError(f"a line of a list of names is {line[:80]!r}")
        names.append(_unquoted(line[2:]))
    return names


def _lines(body: bytes) -> list[str]:
    lines = body.decode("utf-8", "replace").split("\n")
    if lines[0].rstrip("\r") != START:
        raise RemoteProtocolError(f"a document begins with {lines[0][:80]!r}")
    return [line for line in (each.rstrip("\r") for each in lines[1:]) if line]


def _unquoted(value: str) -> str:
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] == '"' else value


def _figure(value: str) -> Figure:
    if not _NUMBER.fullmatch(value):
        return value
    return float(value) if "." in value else int(value)
