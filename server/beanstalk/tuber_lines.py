"""Command lines as tuber reads them.

What takes no argument is the whole line; what takes one is parted from it by one space. Numbers may
have a `+`, and single ones white space around them; those of `put`, `release`, `bury`, `pause-tube`
and `delete-batch` are parted by white space of any kind. Names may have nothing around them. NULs
at the end of a line are dropped. Unlike tuber, a line that is no UTF-8 is answered, not a reason to
hang up, and white space is ASCII's. Source: tuber src/protocol.rs.
"""

from collections.abc import Callable

import msgspec

from etcdq.actors import limits
from etcdq.actors.queue.messages import Tags
from etcdq.actors.worker.messages import ReserveMode
from etcdq.server.beanstalk import commands, replies
from etcdq.server.beanstalk.commands import Command, Refused
from etcdq.server.beanstalk.reading import (
    BAD_FORMAT,
    DIGITS_SURE,
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

_BAD_MODE = Refused(replies.BAD_FORMAT, counted=commands.ReserveMode.name)


def read_line(line: bytes) -> Line:
    """Return what a line without its LF says."""
    line = line.rstrip(b"\r")
    if 0 in line:
        line = line.rstrip(b"\0")
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
    if line.startswith(b"pause-tube"):
        return _pause_tube(line.removeprefix(b"pause-tube"))
    return UNKNOWN_COMMAND


def _number(text: bytes, maximum: int) -> int:
    value = number(text, maximum)
    return number(text[1:], maximum) if value < 0 and text.startswith(b"+") else value


def _put(rest: bytes) -> Line:
    words = rest.split()
    if len(words) < 4:
        return BAD_FORMAT
    priority = _number(words[0], U32_MAX)
    delay_s = _number(words[1], U32_MAX)
    ttr_s = _number(words[2], U32_MAX)
    size = _number(words[3], U32_MAX)
    if min(priority, delay_s, ttr_s, size) < 0:
        return BAD_FORMAT
    if len(words) == 4:
        return PutHead(priority, delay_s, ttr_s or 1, size)
    tags = _tags(words[4:])
    return BAD_FORMAT if tags is None else PutHead(priority, delay_s, ttr_s or 1, size, tags)


def _tags(words: list[bytes]) -> Tags | None:
    """Return what the tags say, the last of each kind; None if one is wrong."""
    idp = grp = aft = con = b""
    idp_ttl_s = con_limit = 0
    for word in words:
        kind, key = word[:4], word[4:]
        more = 0
        if kind == b"idp:":
            key, more = _key_and_number(key, 0)
            idp, idp_ttl_s = key, more
        elif kind == b"con:":
            key, more = _key_and_number(key, 1)
            con, con_limit = key, more
            more = more or -1
        elif kind == b"grp:":
            grp = key
        elif kind == b"aft:":
            aft = key
        else:
            return None
        if more < 0 or not is_name(key):
            return None
    return Tags(idp, idp_ttl_s, grp, aft, con, con_limit)


def _key_and_number(value: bytes, default: int) -> tuple[bytes, int]:
    key, colon, text = value.rpartition(b":")
    return (key, _number(text, U32_MAX)) if colon else (value, default)


def _job(command: Callable[[int], Command]) -> Reader:
    def read(rest: bytes) -> Line:
        if rest.isdigit() and len(rest) <= DIGITS_SURE:
            return command(int(rest))
        job_id = _number(rest.strip(), U64_MAX)
        return command(job_id) if job_id >= 0 else BAD_FORMAT

    return read


def _count(command: Callable[[int], Command], maximum: int, minimum: int = 0) -> Reader:
    def read(rest: bytes) -> Line:
        value = _number(rest.strip(), maximum)
        return command(value) if value >= minimum else BAD_FORMAT

    return read


def _release(rest: bytes) -> Line:
    words = rest.split()
    if len(words) != 3:
        return BAD_FORMAT
    job_id = _number(words[0], U64_MAX)
    priority = _number(words[1], U32_MAX)
    delay_s = _number(words[2], U32_MAX)
    right = min(job_id, priority, delay_s) >= 0
    return commands.Release(job_id, priority, delay_s) if right else BAD_FORMAT


def _bury(rest: bytes) -> Line:
    words = rest.split()
    if len(words) != 2:
        return BAD_FORMAT
    job_id = _number(words[0], U64_MAX)
    priority = _number(words[1], U32_MAX)
    return commands.Bury(job_id, priority) if min(job_id, priority) >= 0 else BAD_FORMAT


def _delete_batch(rest: bytes) -> Line:
    words = rest.split()
    if not 0 < len(words) <= limits.BATCH_JOBS_MAX:
        return BAD_FORMAT
    if not b"".join(words).isdigit():
        job_ids = tuple([_number(word, U64_MAX) for word in words])
        return commands.DeleteBatch(job_ids) if min(job_ids) >= 0 else BAD_FORMAT
    try:
        # JSON makes numbers of digits several times faster than int().
        job_ids = _IDS.decode(b"[%b]" % b",".join(words))
    except msgspec.MsgspecError:  # zeros before an id, or too many digits
        job_ids = tuple([number(word, U64_MAX) for word in words])
    right = min(job_ids) >= 0 and max(job_ids) <= U64_MAX
    return commands.DeleteBatch(job_ids) if right else BAD_FORMAT


_IDS = msgspec.json.Decoder(tuple[int, ...])


def _watch(rest: bytes) -> Line:
    tube, space, text = rest.partition(b" ")
    weight = _number(text, limits.TUBE_WEIGHT_MAX) if space else 1
    return commands.Watch(tube, weight) if is_name(tube) and weight > 0 else BAD_FORMAT


def _reserve_mode(rest: bytes) -> Line:
    mode = _MODES.get(rest)
    return _BAD_MODE if mode is None else commands.ReserveMode(mode, rest)


_MODES = {mode.value.encode(): mode for mode in ReserveMode} | {b"default": ReserveMode.FIFO}


def _pause_tube(rest: bytes) -> Line:
    words = rest.split()
    if len(words) != 2 or not is_name(words[0]):
        return BAD_FORMAT
    pause_s = _number(words[1], U32_MAX)
    return commands.PauseTube(words[0], pause_s) if pause_s >= 0 else BAD_FORMAT


_WITH_ARGUMENTS: dict[bytes, Reader] = {
    b"put": _put,
    b"peek": _job(commands.Peek),
    b"reserve-batch": _count(commands.ReserveBatch, limits.BATCH_JOBS_MAX, 1),
    b"reserve-mode": _reserve_mode,
    b"reserve-with-timeout": _count(commands.ReserveWithTimeout, U32_MAX),
    b"reserve-job": _job(commands.ReserveJob),
    b"delete": _job(commands.Delete),
    b"delete-batch": _delete_batch,
    b"release": _release,
    b"bury": _bury,
    b"kick": _count(commands.Kick, U32_MAX),
    b"kick-job": _job(commands.KickJob),
    b"touch": _job(commands.Touch),
    b"stats-job": _job(commands.StatsJob),
    b"stats-tube": named(commands.StatsTube),
    b"stats-group": named(commands.StatsGroup),
    b"use": named(commands.Use),
    b"watch": _watch,
    b"ignore": named(commands.Ignore),
    b"pause-tube": _pause_tube,
    b"flush-tube": named(commands.FlushTube),
}

_ALONE: dict[bytes, Command] = {
    b"peek-ready": commands.PeekReady(),
    b"peek-delayed": commands.PeekDelayed(),
    b"peek-buried": commands.PeekBuried(),
    b"peek-reserved": commands.PeekReserved(),
    b"reserve": commands.Reserve(),
    b"stats": commands.Stats(),
    b"list-tubes-watched": commands.ListTubesWatched(),
    b"list-tube-used": commands.ListTubeUsed(),
    b"list-tubes": commands.ListTubes(),
    b"quit": commands.Quit(),
    b"drain": commands.Drain(),
    b"undrain": commands.Undrain(),
}
