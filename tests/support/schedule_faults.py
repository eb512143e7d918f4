"""Schedulers whose server fails them at a point of their work, and what has come of it."""

import json
from contextlib import suppress
from datetime import datetime
from operator import lt
from pathlib import Path
from typing import Final

import trio
from msgspec import Struct

from etcdq import beanstalk
from etcdq.beanstalk import Client, TimedOutError
from etcdq.schedule.agenda import Outcome as SlotOutcome
from etcdq.schedule.file import parse_schedule
from etcdq.schedule.scheduler import Scheduler
from tests.support.mortal_server import MortalServer
from tests.support.trap import (
    FAULTS,
    LOOK_S,
    Message,
    Soonest,
    Trap,
    inflict,
    is_kept,
    killing,
    start_server,
)

LIMIT_S: Final = 60.0
ANSWER_S: Final = 2.0
MORE: Final = 2
"""Slots that are to be put after the fault."""
POINTS: Final = {
    "slot": Message(b"INSERTED", to_server=False, is_held=False),
    "put": Message(b"put "),
    "inserted": Message(b"INSERTED", to_server=False),
}
"""The message that is on its way when the server fails. At "slot" a job was just put, and the next
one is waited for."""


class Outcome(Struct, frozen=True):
    """What has come of one scheduler."""

    is_settled: bool
    """Whether it went on by itself."""
    slots: list[float]
    """Of the jobs that are there in the end, in the order in which they came."""
    told: dict[str, int]
    """What it counted, by outcome of a slot."""
    jobs_kept: bool
    """Whether the server still had, after the fault, what it had before."""

    @property
    def again(self) -> int:
        """How many jobs there are for slots that have one."""
        return len(self.slots) - len(set(self.slots))

    @property
    def left_out(self) -> int:
        """How many slots between the first and the last one have none."""
        return int(max(self.slots) - min(self.slots)) + 1 - len(set(self.slots))


class Cell:
    """One scheduler, behind a trap of its own, with a tube of its own."""

    def __init__(self, nursery: trio.Nursery, server: MortalServer, point: str) -> None:
        self.point = point
        self.tube = f"at-{point}"
        self.trap = Trap(nursery, server.address, POINTS[point])
        entry = {"name": "poll", "task": "poll", "every": "1s", "tube": self.tube}
        schedule = parse_schedule({"entries": [{**entry, "overlap": "queue", "queue_max": 1000}]})
        self.scheduler = Scheduler(
            schedule,
            lambda: beanstalk.connect(self.trap.endpoint),
            print,
            rng=Soonest(),
            answer_s=ANSWER_S,
        )

    async def reach(self, nursery: trio.Nursery) -> None:
        """Begin to put; return at the point."""
        await self.trap.listen()
        nursery.start_soon(self.scheduler.run)
        await self.trap.reached.wait()

    @property
    def count(self) -> int:
        """How many slots have their job."""
        has_one = (SlotOutcome.PUT, SlotOutcome.LATE, SlotOutcome.DUPLICATE)
        return sum(self.scheduler.counts["poll", outcome] for outcome in has_one)

    def outcome(self, slots: list[float], *, is_settled: bool, jobs_kept: bool) -> Outcome:
        """Return what has come of it."""
        told = {outcome.value: n for (_, outcome), n in self.scheduler.counts.items()}
        return Outcome(is_settled, slots, told, jobs_kept)


async def take(client: Client, tube: str) -> list[float]:
    """Take all jobs of a tube; return their slots."""
    slots = []
    await client.watch(tube)
    with suppress(TimedOutError):
        while True:
            job = await client.reserve(0)
            slots.append(datetime.fromisoformat(json.loads(job.body)["slot"]).timestamp())
            await client.delete(job.job_id)
    await client.ignore(tube)
    return slots


async def fail_schedulers(server: MortalServer, fault: str) -> dict[str, Outcome]:
    """Let a server fail in one way when there is a scheduler at each point.

    Returns:
        What has come of each, by its point.
    """
    is_settled = False
    with trio.move_on_after(LIMIT_S):
        async with trio.open_nursery() as nursery:
            cells = [Cell(nursery, server, point) for point in POINTS]
            for cell in cells:
                await cell.reach(nursery)
            await inflict(fault, server, [cell.trap for cell in cells])
            wanted = [cell.count + MORE for cell in cells]
            while any(map(lt, (cell.count for cell in cells), wanted)):  # noqa: ASYNC110 - figures
                await trio.sleep(LOOK_S)
            is_settled = True
            nursery.cancel_scope.cancel()
    async with beanstalk.connect(server.address) as client:
        slots = {cell.point: await take(client, cell.tube) for cell in cells}
    kept = is_kept(fault, server)
    return {
        cell.point: cell.outcome(slots[cell.point], is_settled=is_settled, jobs_kept=kept)
        for cell in cells
    }


async def fail_everywhere(kind: str, folder: Path) -> dict[tuple[str, str], Outcome]:
    """Do it in all ways at once, with a server for each.

    Returns:
        What has come of each scheduler, by fault and point.
    """
    found: dict[tuple[str, str], Outcome] = {}

    async def fail(fault: str) -> None:
        server = await start_server(kind, folder / fault)
        with killing(server):
            outcomes = await fail_schedulers(server, fault)
        found.update({(fault, point): outcome for point, outcome in outcomes.items()})

    async with trio.open_nursery() as nursery:
        for fault in FAULTS:
            nursery.start_soon(fail, fault)
    return found
