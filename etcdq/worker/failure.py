"""What a failed run means for its job: once more, later, or never again. Without I/O.

How often a job was tried is read from its statistics, which the server keeps, so it does not
matter which worker had it. A run that failed is one release. A worker that vanished with its job
left a timeout, or a reservation that nothing ended. A worker that is stopped hands a job back by
a release and a kick at once (`link.py`), and a kick takes one try back: a stop is not a failed
try, and whoever kicks a job that was given up gives it one more.
"""

import random
import re
from functools import lru_cache
from typing import Final

from msgspec import Struct

from etcdq.errors import RemoteProtocolError

TRIES_MAX: Final = 5
RETRY_BASE_S: Final = 15
RETRY_CAP_S: Final = 3600
_DOUBLINGS_MAX: Final = 20

# The statistics of a job that was never tried before, in the form of beanstalkd and of tuber; any
# others are read line by line.
_FRESH: Final = re.compile(
    rb"---\nid: \d+\ntube: \"?([^\s\"]+)\"?\nstate: \w+\npri: (\d+)\nage: \d+\ndelay: \d+\n"
    rb"ttr: (\d+)\ntime-left: \d+\n(?:time-reserved: \d+\n)?file: \d+\n"
    rb"reserves: 1\ntimeouts: 0\nreleases: 0\nburies: 0\nkicks: 0\n"
).match


class PermanentError(Exception):
    """Raised by a handler: no retry can mend this, give the job up at once."""


class TriesUsedUpError(Exception):
    """A job was given up unrun: so many workers had vanished while they had it."""


class History(Struct, frozen=True, gc=False):
    """What the server knows of a job that was just reserved."""

    tube: str
    priority: int
    ttr_s: int
    tries: int
    """Before this reservation; ended by a failure or by the end of the worker."""
    vanished: int
    """Workers that held it and were not heard of any more."""


class DeadLetter(Struct, frozen=True, gc=False):
    """Given up jobs are put into this tube, then deleted."""

    tube: str


class Rules(Struct, frozen=True, gc=False):
    """When a consumer tries a job again."""

    tries_max: int = TRIES_MAX
    retry_base_s: int = RETRY_BASE_S
    """The bound of the first delay; it doubles with each try, up to `retry_cap_s`."""
    retry_cap_s: int = RETRY_CAP_S
    permanent: tuple[type[BaseException], ...] = ()
    """Errors that count as `PermanentError` does."""


def read_history(document: bytes) -> History:
    """Read the statistics of a job that is reserved.

    Each job is looked at before it runs, so this reads only what it needs, and fast.

    Args:
        document: of the reply to `stats-job`.

    Raises:
        RemoteProtocolError: a figure is none.
    """
    fresh = _FRESH(document)
    if fresh is not None:
        return _fresh_history(*fresh.groups())
    lines = (line.partition(b":") for line in document.split(b"\n"))
    figures = {name: value for name, _, value in lines}
    try:
        releases = int(figures.get(b"releases", 0))
        timeouts = int(figures.get(b"timeouts", 0))
        buries = int(figures.get(b"buries", 0))
        unended = int(figures.get(b"reserves", 0)) - 1 - releases - timeouts - buries
        vanished = timeouts + max(0, unended)
        return History(
            tube=figures.get(b"tube", b"").strip().strip(b'"').decode(),
            priority=int(figures[b"pri"]),
            ttr_s=max(1, int(figures[b"ttr"])),
            tries=max(0, releases + vanished - int(figures.get(b"kicks", 0))),
            vanished=vanished,
        )
    except (KeyError, ValueError) as error:
        text = f"statistics of a job that are none: {document[:200]!r}"
        raise RemoteProtocolError(text) from error


@lru_cache(maxsize=256)
def _fresh_history(tube: bytes, priority: bytes, ttr_s: bytes) -> History:
    """Jobs that were never tried have few different histories: they share them."""
    return History(tube.decode(), int(priority), max(1, int(ttr_s)), 0, 0)


def retry_delay_s(error: BaseException, tries: int, rules: Rules, rng: random.Random) -> int | None:
    """Return for how many seconds a job that failed is put off; None: it is to be given up.

    Args:
        error: how the run failed.
        tries: how many there were, this one included.
        rules: the consumer's.
        rng: where the jitter is drawn from: half of the delay.
    """
    if tries >= rules.tries_max or _is_permanent(error, (PermanentError, *rules.permanent)):
        return None
    bound_s = min(rules.retry_cap_s, rules.retry_base_s * 2 ** min(tries - 1, _DOUBLINGS_MAX))
    return max(1, round(rng.uniform(bound_s / 2, bound_s)))


def _is_permanent(error: BaseException, kinds: tuple[type[BaseException], ...]) -> bool:
    """Return whether no retry can mend an error; of a group, any of those in it."""
    if isinstance(error, BaseExceptionGroup):  # Trio's nurseries raise what happened in them so
        return error.subgroup(kinds) is not None
    return isinstance(error, kinds)
