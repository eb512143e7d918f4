"""`etcdq schedule`: put the jobs of a schedule file, slot by slot."""

import heapq
import sys
import time
from collections.abc import Iterator
from datetime import datetime
from itertools import islice

import click

from etcdq.cli.beanstalk import address_option
from etcdq.cli.client import run_told
from etcdq.endpoint import Endpoint, read_authority
from etcdq.schedule.entry import Entry, Schedule
from etcdq.schedule.file import ScheduleError, read_schedule
from etcdq.schedule.process import Place, run_process
from etcdq.schedule.slots import NEVER_S, find_zone

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
@click.option(
    "--health",
    metavar="[HOST:]PORT",
    help="Answer probes there: /live, /ready and /metrics.  [default: nowhere]",
)
@address_option
def schedule(
    file: str,
    check: bool,
    count: int | None,
    state: str | None,
    health: str | None,
    address: str | None,
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
    place = Place(file, state or f"{file}.state", address, _endpoint(health))
    run_told(run_process, given, place, _tell)
    return 0


def _endpoint(health: str | None) -> Endpoint | None:
    if health is None:
        return None
    authority = f"127.0.0.1:{health}" if health.isdecimal() else health
    endpoint = read_authority(authority, 0)
    if endpoint is None:
        raise click.UsageError(f"--health {health!r} is not of the form PORT or HOST:PORT")
    return endpoint


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


def _tell(line: str) -> None:
    print(f"etcdq schedule: {line}", file=sys.stderr, flush=True)
