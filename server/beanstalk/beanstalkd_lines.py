"""Command lines as beanstalkd 1.12 reads them.

Its commands are prefixes: what takes no argument may not be longer (BAD_FORMAT), except `quit`;
what takes one needs the space before it. Numbers may have spaces before them, and nothing but the
next one after. It is kept to where that is odd, save for `reserve-with-timeout`, whose number it
does not check at all: here it is checked as all others. Source: beanstalkd prot.c, `which_cmd` and
`dispatch_cmd`.
"""

from collections.abc import Callable

from etcdq.server.beanstalk import commands, replies
from etcdq.server.beanstalk.commands import Command, Refused
from etcdq.server.beanstalk.reading import (
    BAD_FORMAT,
    DIGITS_SURE,
    NAME_BYTES,
    U32_MAX,
    U64_MAX,
    UNKNOWN_COMMAND,
    Line,
    PutHead,
    Reader,
    is_name,
    named,
    number,
)

_DIGITS = b"0123456789"
_C_SPACES = b" \t\n\v\f\r"
_BAD_PAUSE = Refused(replies.BAD_FORMAT, counted=commands.PauseTube.name)


def read_line(line: bytes) -> Line:
    """Return what a line without its CRLF says."""
    if 0 in line:
        return BAD_FORMAT
    word, space, rest = line.partition(b" ")
    if space:
        reader = _WITH_ARGUMENTS.get(word)
        if reader is not None:
            return reader(rest)
    else:
        command = _ALONE.get(line)
        if command is not None:
            return command
    if line.startswith(b"quit"):
        return _ALONE[b"quit"]
    if line.startswith(b"pause-tube"):
        return _pause_tube(line.removeprefix(b"pause-tube"))
    return BAD_FORMAT if line.startswith(_PREFIXES) else UNKNOWN_COMMAND


def _put(rest: bytes) -> Line:
    words = rest.split(b" ")
    if len(words) == 4 and rest.replace(b" ", b"").isdigit():
        priority, delay, ttr, size = words
        garbage = False
    else:
        filled = [word for word in words if word]
        if len(filled) < 4:
            return BAD_FORMAT
        priority, delay, ttr, last = filled[:4]
        size = _leading(last, _DIGITS)
        garbage = size != last or len(filled) > 4 or rest.endswith(b" ")
    head = PutHead(
        number(priority, U32_MAX),
        number(delay, U32_MAX),
        number(ttr, U32_MAX) or 1,
        number(size, U32_MAX),
        None,
        garbage,
    )
    right = min(head.priority, head.delay_s, head.ttr_s, head.body_bytes) >= 0
    return head if right else BAD_FORMAT


def _leading(text: bytes, allowed: bytes) -> bytes:
    return text[: len(text) - len(text.lstrip(allowed))]


def _job(command: Callable[[int], Command]) -> Reader:
    def read(rest: bytes) -> Line:
        if rest.isdigit() and len(rest) <= DIGITS_SURE:
            return command(int(rest))
        job_id = number(rest.lstrip(b" "), U64_MAX)
        return command(job_id) if job_id >= 0 else BAD_FORMAT

    return read


def _numbers(rest: bytes) -> list[bytes]:
    return [] if rest.endswith(b" ") else [word for word in rest.split(b" ") if word]


def _release(rest: bytes) -> Line:
    words = _numbers(rest)
    if len(words) != 3:
        return BAD_FORMAT
    job_id = number(words[0], U64_MAX)
    priority = number(words[1], U32_MAX)
    delay_s = number(words[2], U32_MAX)
    right = min(job_id, priority, delay_s) >= 0
    return commands.Release(job_id, priority, delay_s) if right else BAD_FORMAT


def _bury(rest: bytes) -> Line:
    words = _numbers(rest)
    if len(words) != 2:
        return BAD_FORMAT
    job_id = number(words[0], U64_MAX)
    priority = number(words[1], U32_MAX)
    return commands.Bury(job_id, priority) if min(job_id, priority) >= 0 else BAD_FORMAT


def _reserve_with_timeout(rest: bytes) -> Line:
    timeout_s = number(rest.lstrip(b" "), U32_MAX)
    return commands.ReserveWithTimeout(timeout_s) if timeout_s >= 0 else BAD_FORMAT


def _kick(rest: bytes) -> Line:
    # Read by C's strtoul: white space and a sign before, anything after; then cut to 32 bits.
    text = rest.lstrip(_C_SPACES)
    negative = text.startswith(b"-")
    digits = _leading(text[1:] if text.startswith((b"-", b"+")) else text, _DIGITS)
    bound = number(digits, U64_MAX)
    if bound < 0:
        return BAD_FORMAT
    return commands.Kick((-bound if negative else bound) & U32_MAX)


def _pause_tube(rest: bytes) -> Line:
    text = rest.lstrip(b" ")
    tube = _leading(text, NAME_BYTES)
    pause_s = number(text[len(tube) :].lstrip(b" "), U32_MAX)
    if not tube or pause_s < 0:
        return BAD_FORMAT
    # It counts before the name is looked at.
    return commands.PauseTube(tube, pause_s) if is_name(tube) else _BAD_PAUSE


_WITH_ARGUMENTS: dict[bytes, Reader] = {
    b"put": _put,
    b"peek": _job(commands.Peek),
    b"reserve-with-timeout": _reserve_with_timeout,
    b"reserve-job": _job(commands.ReserveJob),
    b"delete": _job(commands.Delete),
    b"release": _release,
    b"bury": _bury,
    b"kick": _kick,
    b"kick-job": _job(commands.KickJob),
    b"touch": _job(commands.Touch),
    b"stats-job": _job(commands.StatsJob),
    b"stats-tube": named(commands.StatsTube),
    b"use": named(commands.Use),
    b"watch": named(commands.Watch),
    b"ignore": named(commands.Ignore),
    b"pause-tube": _pause_tube,
}

_ALONE: dict[bytes, Command] = {
    b"peek-ready": commands.PeekReady(),
    b"peek-delayed": commands.PeekDelayed(),
    b"peek-buried": commands.PeekBuried(),
    b"reserve": commands.Reserve(),
    b"stats": commands.Stats(),
    b"list-tubes-watched": commands.ListTubesWatched(),
    b"list-tube-used": commands.ListTubeUsed(),
    b"list-tubes": commands.ListTubes(),
    b"quit": commands.Quit(),
}
_PREFIXES = tuple(_ALONE)
