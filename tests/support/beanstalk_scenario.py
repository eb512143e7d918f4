"""What clients of other people do to a beanstalk server: steps of [CONNECTION, COMMAND, ...].

The ids are those of a fresh server. Nothing hangs on who is faster: where time decides, a whole
second lies between.
"""

from collections.abc import Iterator
from itertools import chain
from typing import Any

BODY_BYTES_MAX = 65535
UNKNOWN_ID = 999_999

Step = tuple[Any, ...]
"""The name of a connection, a command in beanstalkd's words, and what goes with it."""

PUT_AND_LOOK: list[Step] = [
    ("A", "list-tube-used"),
    ("A", "use", "work"),
    ("A", "list-tube-used"),
    ("A", "use", "-bad"),
    ("A", "put", "three", 3, 0, 60),
    ("A", "put", "one", 1, 0, 60),
    ("A", "put", "two", 2000, 0, 60),
    ("A", "put", "later: ä€\r\n", 5, 10, 60),
    ("A", "put", "four", 4096, 0, 60),
    *(("A", "peek", job_id) for job_id in (2, 4, 5, UNKNOWN_ID)),
    ("A", "peek-ready"),
    ("A", "peek-delayed"),
    ("A", "peek-buried"),
    *(("A", "stats-job", job_id) for job_id in (1, 4, UNKNOWN_ID)),
    ("A", "stats-tube", "work"),
    ("A", "stats-tube", "nothing"),
]

WATCH: list[Step] = [
    ("A", "list-tubes"),
    ("A", "list-tubes-watched"),
    ("A", "ignore", "default"),
    ("A", "watch", "work"),
    ("A", "watch", "other"),
    ("A", "watch", "other"),
    ("A", "ignore", "default"),
    ("A", "ignore", "nothing"),
    ("A", "list-tubes-watched"),
    ("A", "list-tubes"),
    ("A", "watch", "-bad"),
    ("A", "watch", "x" * 200),
    ("A", "watch", "x" * 201),
    ("A", "ignore", "x" * 200),
]

WORK: list[Step] = [
    ("A", "reserve-with-timeout", 5),
    ("A", "stats-job", 2),
    ("A", "touch", 2),
    ("A", "bury", 2, 7),
    ("A", "touch", 2),
    ("A", "release", 2, 0, 0),
    ("A", "bury", 2, 7),
    ("A", "reserve-with-timeout", 0),
    ("A", "release", 1, 9, 10),
    ("A", "peek-delayed"),
    ("A", "peek-buried"),
    ("A", "reserve-job", 2),
    ("A", "delete", 2),
    ("A", "delete", 2),
    ("A", "kick", 10),
    ("A", "kick", 10),
    ("A", "kick-job", 1),
    ("A", "kick-job", UNKNOWN_ID),
    ("A", "reserve-job", 4),
    ("A", "reserve-job", 4),
    ("A", "bury", 4, 3),
    ("A", "kick-job", 4),
    ("A", "reserve-with-timeout", 0),
    ("A", "bury", 4, 3),
    ("A", "peek-buried"),
    ("A", "kick-job", 4),
    ("A", "stats-tube", "work"),
]

SHARE: list[Step] = [
    # What B holds A cannot touch; it is back once B is gone.
    ("A", "use", "shared"),
    ("A", "put", "held", 0, 0, 60),
    ("B", "watch", "shared"),
    ("B", "reserve"),
    ("B", "reserve-with-timeout", 0),
    ("A", "delete", 6),
    ("A", "release", 6, 0, 0),
    ("A", "bury", 6, 0),
    ("A", "touch", 6),
    ("A", "reserve-job", 6),
    ("A", "stats-job", 6),
    ("B", "close"),
    ("A", "watch", "shared"),
    ("A", "ignore", "work"),
    ("A", "reserve-with-timeout", 5),
    ("A", "delete", 6),
]

WAIT: list[Step] = [
    # C's job runs out while A waits for a pause to end, and then for a delay.
    ("C", "use", "brief"),
    ("C", "watch", "brief"),
    ("C", "put", "brief", 0, 0, 1),
    ("C", "reserve-with-timeout", 5),
    ("C", "reserve-with-timeout", 5),
    ("A", "watch", "work"),
    ("A", "pause-tube", "nothing", 1),
    ("A", "pause-tube", "work", 1),
    ("A", "reserve-with-timeout", 0),
    ("A", "stats-tube", "work"),
    *chain.from_iterable(
        (("A", "reserve-with-timeout", seconds), ("A", "delete", job_id))
        for seconds, job_id in ((5, 4), (0, 1), (0, 3), (0, 5))
    ),
    ("A", "put", "soon", 2, 0, 60),
    ("A", "reserve-with-timeout", 5),
    ("A", "release", 8, 2, 1),
    ("A", "put", "sooner", 2, 1, 60),
    ("A", "reserve-with-timeout", 0),
    ("A", "reserve-with-timeout", 5),
    ("A", "delete", 8),
    ("A", "reserve-with-timeout", 5),
    ("A", "delete", 9),
    ("A", "reserve-with-timeout", 1),
    # beanstalkd may forget that a job has run out until its holder speaks.
    ("C", "list-tubes"),
    ("C", "stats-job", 7),
    ("C", "touch", 7),
    ("C", "delete", 7),
    ("A", "put", "short", 0, 0, 2),
    ("A", "reserve-with-timeout", 5),
    ("A", "reserve-with-timeout", 5),
    ("A", "touch", 10),
    ("A", "delete", 10),
]

BOUNDS: list[Step] = [
    ("A", "put", "x" * BODY_BYTES_MAX, 0, 0, 60),
    ("A", "put", "x" * (BODY_BYTES_MAX + 1), 0, 0, 60),
    ("A", "peek-ready"),
    ("A", "delete", 11),
    ("A", "stats"),
    ("A", "drain"),
]


def scenario() -> Iterator[Step]:
    """Return all steps, in order."""
    return chain(PUT_AND_LOOK, WATCH, WORK, SHARE, WAIT, BOUNDS)
