"""Workers whose server fails them at a point of their work, and what has come of it."""

from pathlib import Path
from typing import Any, Final

import trio
from msgspec import Struct

from etcdq import beanstalk
from etcdq.beanstalk import Client
from etcdq.worker import ConsumerStatistics, ReservedJob, TubeConsumer
from etcdq.worker.control import Control
from etcdq.worker.link import Patience, Server
from etcdq.worker.slot import Slot
from tests.support.mortal_server import MortalServer
from tests.support.trap import (
    FAULTS,
    LOOK_S,
    Message,
    Soonest,
    Trap,
    inflict,
    is_kept,
    jobs_left,
    killing,
    start_server,
)

TTR_S: Final = 4
LIMIT_S: Final = 60.0
PATIENCE: Final = Patience(answer_s=2.0, reserve_s=1)
BEFORE, AFTER = b"before", b"after"
POINTS: Final = {
    "reserve": Message(b"reserve-with-timeout", is_held=False),
    "answer": Message(b"RESERVED", to_server=False),
    "run": Message(b"no message"),
    "touch": Message(b"touch"),
    "delete": Message(b"delete"),
    "deleted": Message(b"DELETED", to_server=False),
}
"""The message that is on its way when the server fails. At "reserve" the server has it, and waits
for a job; at "run" a handler runs, and there is none."""


class Noted(TubeConsumer):
    """Notes what it does; at some points its handler waits for the fault."""

    def __init__(self, tube: str, point: str, reached: trio.Event) -> None:
        super().__init__()
        self.tubes: Any = (tube,)
        self.begun: list[bytes] = []
        self.finished: list[bytes] = []
        self.go_on = trio.Event()
        self._point = point
        self._reached = reached

    async def process(self, job: ReservedJob) -> None:
        self.begun.append(job.body)
        if self._point == "run":
            self._reached.set()
        if self._point in ("run", "touch"):
            await self.go_on.wait()
        self.finished.append(job.body)


class Outcome(Struct, frozen=True):
    """What has come of one worker."""

    is_settled: bool
    """Whether it went on by itself, and left nothing on the server."""
    runs: int
    """Of the job that was there before the fault."""
    begun: int
    """Runs of both jobs."""
    figures: ConsumerStatistics
    jobs_kept: bool
    """Whether the server still had, after the fault, what it had before."""


class Cell:
    """One worker, behind a trap of its own, with a tube of its own."""

    def __init__(self, nursery: trio.Nursery, server: MortalServer, point: str) -> None:
        self.point = point
        self.trap = Trap(nursery, server.address, POINTS[point])
        self.consumer = Noted(f"at-{point}", point, self.trap.reached)
        self.control = Control()

    @property
    def figures(self) -> ConsumerStatistics:
        """What the worker has done."""
        return self.consumer.statistics()

    async def reach(self, client: Client, nursery: trio.Nursery) -> None:
        """Begin to work; return at the point."""
        await self.trap.listen()
        if self.point != "reserve":
            await self.put(client, BEFORE)
        place = Server(self.trap.endpoint, PATIENCE)
        nursery.start_soon(Slot(self.consumer, place, self.control, Soonest()).run)
        await self.trap.reached.wait()

    async def put(self, client: Client, body: bytes) -> None:
        """Put a job for it."""
        await client.use(f"at-{self.point}")
        await client.put(body, ttr_s=TTR_S)

    async def is_settled(self, client: Client) -> bool:
        """Return whether nothing is left to be done, on either side."""
        figures, consumer = self.figures, self.consumer
        return (
            AFTER in consumer.finished
            and figures.done + figures.lost == len(consumer.begun)
            and await jobs_left(client, f"at-{self.point}") == 0
        )

    def outcome(self, *, is_settled: bool, jobs_kept: bool) -> Outcome:
        """Return what has come of it."""
        begun = self.consumer.begun
        return Outcome(is_settled, begun.count(BEFORE), len(begun), self.figures, jobs_kept)


async def fail_workers(server: MortalServer, fault: str) -> dict[str, Outcome]:
    """Let a server fail in one way when there is a worker at each point.

    Returns:
        What has come of each, by its point.
    """
    settled: set[str] = set()
    with trio.move_on_after(LIMIT_S):
        async with trio.open_nursery() as nursery:
            cells = [Cell(nursery, server, point) for point in POINTS]
            async with beanstalk.connect(server.address) as client:
                for cell in cells:
                    await cell.reach(client, nursery)
            await inflict(fault, server, [cell.trap for cell in cells])
            async with beanstalk.connect(server.address) as client:
                for cell in cells:
                    cell.consumer.go_on.set()
                    await cell.put(client, AFTER)
                while len(settled) < len(cells):
                    settled |= {c.point for c in cells if await c.is_settled(client)}
                    await trio.sleep(LOOK_S)
            nursery.cancel_scope.cancel()
    kept = is_kept(fault, server)
    return {c.point: c.outcome(is_settled=c.point in settled, jobs_kept=kept) for c in cells}


async def fail_everywhere(kind: str, folder: Path) -> dict[tuple[str, str], Outcome]:
    """Do it in all ways at once, with a server for each.

    Returns:
        What has come of each worker, by fault and point.
    """
    found: dict[tuple[str, str], Outcome] = {}

    async def fail(fault: str) -> None:
        server = await start_server(kind, folder / fault)
        with killing(server):
            outcomes = await fail_workers(server, fault)
        found.update({(fault, point): outcome for point, outcome in outcomes.items()})

    async with trio.open_nursery() as nursery:
        for fault in FAULTS:
            nursery.start_soon(fail, fault)
    return found
