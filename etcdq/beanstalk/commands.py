"""Commands to bytes: what is asked is checked here, before a byte of it is sent.

A value that could not be read would not only be refused: the body of a put with a line that the
server does not read is read as commands. Source: beanstalkd doc/protocol.txt; tuber's README for
the tags, the batches and the weight.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final, TypedDict

from etcdq.beanstalk.replies import BATCH_MAX, BODY_BYTES_MAX
from etcdq.errors import InvalidArgumentError

NUMBER_MAX: Final = 2**32 - 1
"""Priorities and seconds are 32 bits wide."""
ID_MAX: Final = 2**64 - 1
WEIGHT_MAX: Final = 9999
PRIORITY: Final = 1024
"""Of a put that says none: the most urgent one that does not count as urgent."""
TTR_S: Final = 60
TAGS: Final = ("idp", "grp", "aft", "con")
_WITH_NUMBER: Final = frozenset({"idp", "con"})

_NAME: Final = re.compile(r"[A-Za-z0-9+/;.$_()][-A-Za-z0-9+/;.$_()]{0,199}")


class PutOptions(TypedDict, total=False):
    """What a put may say of its job. The last four are tuber's tags."""

    priority: int
    """0 to 4294967295, the smallest leaves first; below 1024 is urgent. By default 1024."""
    delay_s: int
    """Whole seconds until it is ready. By default 0."""
    ttr_s: int
    """Whole seconds a worker has for it; the server makes 0 one second. By default 60."""
    idp: str
    """`KEY` or `KEY:SECONDS`: while a job of the tube has the key, and so long after its deletion,
    a put answers with that job."""
    grp: str
    """The group it belongs to."""
    aft: str
    """The group whose jobs have to be deleted before it is ready."""
    con: str
    """`KEY` or `KEY:COUNT`: so many jobs with this key are reserved at a time, by default 1."""


def name(text: str, what: str = "tube") -> str:
    """Return a name as it is.

    Raises:
        InvalidArgumentError: beanstalk has no such names.
    """
    if not _NAME.fullmatch(text):
        raise InvalidArgumentError(
            f"{what} {text!r}: a name has 1 to 200 of letters, digits and -+/;.$_(), no - first"
        )
    return text


def whole(value: int, what: str, *, at_least: int = 0, at_most: int = NUMBER_MAX) -> int:
    """Return a whole number as it is.

    Raises:
        InvalidArgumentError: it is out of bounds, or not whole.
    """
    if not isinstance(value, int) or not at_least <= value <= at_most:
        raise InvalidArgumentError(
            f"{what} {value!r} is not a whole number from {at_least} to {at_most}"
        )
    return value


def job_id(value: int) -> int:
    """Return a job id as it is.

    Raises:
        InvalidArgumentError: no job has it.
    """
    return whole(value, "job id", at_most=ID_MAX)


def put(body: bytes, options: PutOptions) -> bytes:
    """Return a put with its body.

    Raises:
        InvalidArgumentError: a value out of bounds, or a tag of another form.
    """
    if len(body) > BODY_BYTES_MAX:
        raise InvalidArgumentError(f"a body of {len(body)} bytes: no server takes it")
    head = (
        f"put {whole(options.get('priority', PRIORITY), 'priority')}"
        f" {whole(options.get('delay_s', 0), 'delay')} {whole(options.get('ttr_s', TTR_S), 'ttr')}"
        f" {len(body)}{_tags(options)}\r\n"
    )
    return b"%b%b\r\n" % (head.encode(), body)


def _tags(options: PutOptions) -> str:
    texts: Mapping[str, object] = options
    return "".join(f" {tag}:{_tag(tag, str(texts[tag]))}" for tag in TAGS if tag in texts)


def _tag(tag: str, value: str) -> str:
    key, colon, number = value.rpartition(":") if tag in _WITH_NUMBER else (value, "", "")
    if not colon:
        return name(value, tag)
    if not (number.isascii() and number.isdigit()) or int(number) > NUMBER_MAX:
        raise InvalidArgumentError(f"{tag} {value!r} is not KEY or KEY:NUMBER")
    if tag == "con" and int(number) == 0:
        raise InvalidArgumentError(f"con {value!r} would let no job run")
    return f"{name(key, tag)}:{number}"


def watch(tube: str, weight: int | None) -> bytes:
    """Return a watch, with a weight in the dialect of tuber."""
    if weight is None:
        return line("watch", name(tube))
    return line("watch", name(tube), whole(weight, "weight", at_least=1, at_most=WEIGHT_MAX))


def reserve(timeout_s: int | None) -> bytes:
    """Return a reserve that waits for so many whole seconds; None: for ever."""
    if timeout_s is None:
        return b"reserve\r\n"
    return line("reserve-with-timeout", whole(timeout_s, "timeout"))


def delete_batch(ids: Sequence[int]) -> bytes:
    """Return a delete of several jobs at once."""
    if not 1 <= len(ids) <= BATCH_MAX:
        raise InvalidArgumentError(f"a batch has 1 to {BATCH_MAX} jobs, not {len(ids)}")
    return line("delete-batch", *(job_id(each) for each in ids))


def line(*words: str | int) -> bytes:
    """Return a command of one line. The words are checked already."""
    return " ".join(map(str, words)).encode() + b"\r\n"
