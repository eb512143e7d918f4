"""What a command line that runs a worker does: read its flags, and run one process or several.

`etcdq worker` and Django's `manage.py etcdq_worker` stand on it. Trio shell.
"""

import logging
import random
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import structlog
import trio
from msgspec import Struct

from etcdq.endpoint import Endpoint, read_authority
from etcdq.errors import InvalidArgumentError
from etcdq.worker import sentry
from etcdq.worker.consumer import TubeConsumer
from etcdq.worker.link import Server
from etcdq.worker.parent import Parent
from etcdq.worker.process import WorkerProcess

_UNITS: Final = {"s": 1, "m": 60, "h": 3600}


class Launch(Struct, frozen=True, kw_only=True):
    """How a worker is to run."""

    processes: int = 1
    grace_s: float = 30.0
    """How long what runs may take to end when the worker stops."""
    connect_tries: int | None = None
    """Give up after so many attempts to connect in a row; None: never."""
    health: Endpoint | None = None
    """Where probes are answered; each further process, one port higher. None: nowhere."""
    reload: bool = False
    """Begin anew when a Python file in the current folder changes."""
    child: bool = False
    """A parent holds the standard input."""

    def run(
        self,
        load: Callable[[], Sequence[TubeConsumer]],
        server: Server,
        command: Callable[[list[str]], list[str]],
    ) -> int:
        """Run until a signal; return the exit code.

        Args:
            load: returns the consumers, checked. A process that only looks after others, which
                may outlive the code that they run, does not load any.
            server: where they connect.
            command: returns the command of a child with these flags.

        Raises:
            InvalidArgumentError: from `load`, or of Sentry's address.
        """
        if self.processes > 1 or self.reload:
            watched = Path.cwd() if self.reload else None
            parent = Parent(
                lambda place: command(self.flags(place)),
                self.processes,
                self.grace_s,
                random.Random(),
                watched,
            )
            return trio.run(parent.run)
        consumers = load()  # first: it may set Sentry up in its own way
        sentry.begin()
        process = WorkerProcess(consumers, server, self.grace_s, self.connect_tries, self.health)

        async def run() -> int:
            return await process.run(parent=self.child)

        return trio.run(run)

    def flags(self, place: int) -> list[str]:
        """Return the flags of the child at a place, from 0."""
        flags = ["--child", "--grace", f"{self.grace_s}"]
        if self.health is not None:
            health = Endpoint(self.health.host, self.health.port + place)
            flags += ["--health", str(health)]
        if self.connect_tries is not None:
            flags += ["--connect-tries", str(self.connect_tries)]
        return flags


def read_seconds(text: str) -> float:
    """Read a time: 30, 30s, 5m or 1h.

    Raises:
        InvalidArgumentError: it is none.
    """
    unit = _UNITS.get(text[-1:])
    try:
        seconds = float(text[:-1] if unit else text) * (unit or 1)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise InvalidArgumentError(f"{text!r} is no time such as 30s, 5m or 1h")
    return seconds


def read_probe(text: str) -> Endpoint:
    """Read where probes are answered: PORT or HOST:PORT.

    Raises:
        InvalidArgumentError: it is neither.
    """
    endpoint = read_authority(f"127.0.0.1:{text}" if text.isdecimal() else text, 0)
    if endpoint is None:
        raise InvalidArgumentError(f"{text!r} is not of the form PORT or HOST:PORT")
    return endpoint


def set_up_logs() -> None:
    """Write a line for each event to the standard error; an application may have its own way."""
    if structlog.is_configured():
        return
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="ts"),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(default=str),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.WriteLoggerFactory(sys.stderr),
    )
