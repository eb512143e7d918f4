"""YAML as beanstalkd and tuber write it: what follows `OK <bytes>` and precedes the last CRLF.

beanstalkd 1.12 quotes nothing but its version, unlike later ones; tuber quotes names of tubes and
groups. A tube name that looks like a number is one to a YAML parser: as with the reference.

Sources: beanstalkd prot.c STATS_FMT and do_list_tubes; tuber src/server.rs cmd_stats and others.
"""

import json
import math
import re
from collections.abc import Iterable

from etcdq.server.beanstalk.door import Dialect

Fields = list[tuple[str, int | str]]

TUBE_NAME = re.compile(r"[A-Za-z0-9+/;.$_()-]+")
PLAIN = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9 ._/+-]*[A-Za-z0-9._/+-])?")


def document(fields: Fields) -> bytes:
    """Return a map of fields, in their order."""
    return "".join(["---\n", *[f"{field}: {value}\n" for field, value in fields]]).encode()


def list_tubes(names: Iterable[bytes]) -> bytes:
    """Return the document of `list-tubes` and of `list-tubes-watched`: names in their order."""
    return b"---\n" + b"".join([b"- %b\n" % name for name in names])


def tube_name(tube: bytes, dialect: Dialect) -> str:
    """Return the name of a tube as the dialect writes it.

    Only the job of a queue that the etcd door made, and this door cannot name, has a name that
    needs escapes; it is quoted in both dialects.
    """
    name = tube.decode()
    return name if dialect == "beanstalkd" and TUBE_NAME.fullmatch(name) else quoted(name)


def quoted(text: str) -> str:
    """Return a text in quotes, escaped where it must be."""
    return json.dumps(text, ensure_ascii=False)


def plain(text: str) -> str:
    """Return a text without quotes, as the references write it, unless YAML would misread that."""
    return text if PLAIN.fullmatch(text) else quoted(text)


def seconds_left(time_s: float) -> int:
    """Return the whole seconds of a time that is left, as they are a moment later; 0 if over.

    The references read the clock anew for each document: a reservation of 10 s is never seen with
    10 s left. Pipelined commands share one look at our clock and must not show it either.
    """
    return max(0, math.ceil(time_s) - 1)


def six_digits(number: float) -> str:
    """Return a number with its millionths."""
    return f"{number:.6f}"
