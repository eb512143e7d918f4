"""`etcdq schedule`: put the jobs of a schedule file, slot by slot."""

import heapq
import signal
import sys
import time
from collections.abc import Iterator
from datetime import datetime
from functools import partial
from itertools import islice

import click
import trio

from etcdq import beanstalk
from etcdq.beanstalk.address import choose_address
from etcdq.cli.beanstalk import address_option
from etcdq.cli.client import run_told
from etcdq.schedule.agenda import Record
from etcdq.schedule.entry import Entry, Schedule
from etcdq.schedule.file import ScheduleError, read_schedule
from etcdq.schedule.scheduler import Scheduler
from etcdq.schedule.slots import NEVER_S, find_zone
from etcdq.schedule.state import load_state, save_state

EXIT_WRONG = 2


@click.command()
@click.argument("file")
@click.option("--check", is_flag=True, help="Say whether the file is right, and end.")
@click.option(
    "--next",
    "count",
    metavar="COUNT",
    type=click.IntRange(min=1),
    help="Print so many of the next runs, and end.",
)
@click.option(
    "--state",
    metavar="PATH",
    help="Where to keep what was put, for the next start.  [default: FILE.state]",
)
@address_option
def schedule(
    file: str, check: bool, count: int | None, state: str | None, address: str | None
) -> int:
    """Put the jobs of FILE, a YAML file, each time that they are due.

    SIGHUP reads the file again; one that is wrong changes nothing. SIGTERM or SIGINT ends it. A
    server that cannot be reached is waited for.

    Exit codes: 0 ended by a signal, or checked, or printed; 1 a fault of its own; 2 wrong usage,
    or a file that is not right.
    """
    try:
        given = read_schedule(file)
    except ScheduleError as error:
        for line in error.lines:
            _tell(line)
        return EXIT_WRONG
    if count is not None:
        for line in islice(upcoming(given, time.time()), count):
            click.echo(line)
        return 0
    if check:
        click.echo(f"{file}: {len(given.entries)} entries, all right")
        return 0
    run_told(_run, given, file, state or f"{file}.state", address)
    return 0


def upcoming(given: Schedule, now_s: float) -> Iterator[str]:
    """Give lines of the next runs of all entries, in their order: when, name, tube, what."""

    def slots(entry: Entry) -> Iterator[tuple[int, str, Entry]]:
        slot_s = entry.timing.after(now_s)
        while slot_s < NEVER_S:
            yield slot_s, entry.name, entry
            slot_s = entry.timing.after(slot_s)

    width = max((len(entry.name) for entry in given.entries), default=0)
    merged = heapq.merge(*map(slots, given.entries), key=lambda slot: slot[:2])
    for slot_s, name, entry in merged:
        when = datetime.fromtimestamp(slot_s, find_zone(entry.zone)).isoformat()
        yield f"{when}  {name:{width}}  {entry.tube}  {entry.kind} {entry.target}"


async def _run(given: Schedule, file: str, state: str, address: str | None) -> None:
    """Run a scheduler until a signal ends it."""
    choose_address(address)  # a wrong one is told before anything else is
    scheduler = Scheduler(
        given,
        partial(beanstalk.connect, address),
        _tell,
        records=_load(state),
        save=_Saver(state).save,
    )
    with trio.open_signal_receiver(signal.SIGHUP, signal.SIGINT, signal.SIGTERM) as signals:
        _tell(f"{len(given.entries)} entries of {file}")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(scheduler.run)
            async for number in signals:
                if number != signal.SIGHUP:
                    break
                _read_again(scheduler, file)
            nursery.cancel_scope.cancel()


def _read_again(scheduler: Scheduler, file: str) -> None:
    try:
        given = read_schedule(file)
    except ScheduleError as error:
        more = f" (and {len(error.lines) - 1} more)" if len(error.lines) > 1 else ""
        _tell(f"{error.lines[0]}{more}: the schedule stays as it was")
        return
    scheduler.replace(given)
    _tell(f"read again: {len(given.entries)} entries of {file}")


def _load(state: str) -> dict[str, Record]:
    try:
        return load_state(state)
    except (OSError, ValueError) as error:
        _tell(f"{state}: not read: {error}: slots before now are not caught up with")
        return {}


class _Saver:
    """Writes the state file; if that fails, says so once."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._has_failed = False

    def save(self, records: dict[str, Record]) -> None:
        try:
            save_state(self._path, records)
        except OSError as error:
            if not self._has_failed:
                _tell(
                    f"{self._path}: not written: {error.strerror}: after a restart nothing is"
                    " caught up with (--state says where to write)"
                )
            self._has_failed = True


def _tell(line: str) -> None:
    print(f"etcdq schedule: {line}", file=sys.stderr, flush=True)
