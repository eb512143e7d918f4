"""A scheduler as a process of its own: signals, its file, its state, its probes."""

import signal
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial

import trio
from msgspec import Struct

from etcdq import beanstalk
from etcdq.beanstalk.address import choose_address
from etcdq.endpoint import Endpoint
from etcdq.errors import InvalidArgumentError
from etcdq.health import HealthServer, Pulse, open_health
from etcdq.schedule.agenda import Outcome, Record
from etcdq.schedule.entry import Schedule
from etcdq.schedule.file import ScheduleError, read_schedule
from etcdq.schedule.scheduler import Scheduler
from etcdq.schedule.state import load_state, save_state

Tell = Callable[[str], None]


class Place(Struct, frozen=True):
    """Where a process finds what it needs."""

    file: str
    """The schedule."""
    state: str
    """What was put, for the next start."""
    address: str | None
    """The server, as for `etcdq.beanstalk.connect`."""
    health: Endpoint | None = None
    """Where probes are answered; None: nowhere."""


class SchedulerStatus:
    """What probes are told; see `etcdq.health.Status`.

    Args:
        scheduler: that runs.
        pulse: of its loop.
    """

    kind = "scheduler"
    tasks_down: tuple[str, ...] = ()
    """None ever is: a scheduler that fails ends its process."""
    jobs_running = 0
    is_accepting = True

    def __init__(self, scheduler: Scheduler, pulse: Pulse) -> None:
        self._scheduler = scheduler
        self._pulse = pulse

    @property
    def beat_s(self) -> float:
        """When the loop last turned."""
        return self._pulse.beat_s

    @property
    def is_connected(self) -> bool:
        """Whether the server answered when it was last asked."""
        return self._scheduler.is_connected

    @property
    def counts(self) -> Mapping[str, int]:
        """What became of slots, of all entries together; 0 of what has not happened yet."""
        sums: Counter[str] = Counter({outcome.value: 0 for outcome in Outcome})
        for (_, outcome), count in tuple(self._scheduler.counts.items()):
            sums[outcome.value] += count
        return sums


async def run_process(given: Schedule, place: Place, tell: Tell) -> None:
    """Run a scheduler until SIGTERM or SIGINT; SIGHUP reads its file again.

    Raises:
        InvalidArgumentError: the address is none, or probes cannot be answered where they shall.
    """
    choose_address(place.address)  # a wrong one is told before anything else is
    connect = partial(beanstalk.connect, place.address)
    saver = _Saver(place.state, tell)
    scheduler = Scheduler(given, connect, tell, records=_load(place.state, tell), save=saver.save)
    pulse = Pulse()
    with ExitStack() as stack:
        health: HealthServer | None = None
        if place.health is not None:
            status = SchedulerStatus(scheduler, pulse)
            try:
                opened = open_health(status, place.health.port, host=place.health.host)
                health = stack.enter_context(opened)
            except OSError as error:
                text = f"cannot answer probes on {place.health}: {error.strerror}"
                raise InvalidArgumentError(text) from error
            tell(f"answers probes on http://{health.address}")
        signals = stack.enter_context(
            trio.open_signal_receiver(signal.SIGHUP, signal.SIGINT, signal.SIGTERM)
        )
        tell(f"{len(given.entries)} entries of {place.file}")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(scheduler.run)
            if health is not None:
                nursery.start_soon(pulse.run, health.check)
            async for number in signals:
                if number != signal.SIGHUP:
                    break
                _read_again(scheduler, place.file, tell)
            nursery.cancel_scope.cancel()


def _read_again(scheduler: Scheduler, file: str, tell: Tell) -> None:
    try:
        given = read_schedule(file)
    except ScheduleError as error:
        more = f" (and {len(error.lines) - 1} more)" if len(error.lines) > 1 else ""
        tell(f"{error.lines[0]}{more}: the schedule stays as it was")
        return
    scheduler.replace(given)
    tell(f"read again: {len(given.entries)} entries of {file}")


def _load(state: str, tell: Tell) -> dict[str, Record]:
    try:
        return load_state(state)
    except (OSError, ValueError) as error:
        tell(f"{state}: not read: {error}: slots before now are not caught up with")
        return {}


class _Saver:
    """Writes the state file; if that fails, says so once."""

    def __init__(self, path: str, tell: Tell) -> None:
        self._path = path
        self._tell = tell
        self._has_failed = False

    def save(self, records: dict[str, Record]) -> None:
        try:
            save_state(self._path, records)
        except OSError as error:
            if not self._has_failed:
                self._tell(
                    f"{self._path}: not written: {error.strerror}: after a restart nothing is"
                    " caught up with (--state says where to write)"
                )
            self._has_failed = True
