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
AFTER: Final = b"after"
FORMS: Final = {"single": 1, "batch": 3}
"""How many jobs a worker has together when its server fails."""
POINTS: Final = {
    "reserve": Message(b"reserve-with-timeout 1", is_held=False),
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

    tubes: Any = ()

    def __init__(self, tube: str, point: str, reached: trio.Event) -> None:
        super().__init__()
        self.tubes = (tube,)
        self.begun: list[bytes] = []
        self.finished: list[bytes] = []
        self.go_on = trio.Event()
        self._point = point
        self._reached = reached

    async def work(self, jobs: list[ReservedJob]) -> None:
        """Note the beginning and the end."""
        self.begun += [job.body for job in jobs]
        if self._point == "run":
            self._reached.set()
        if self._point in ("run", "touch"):
            await self.go_on.wait()
        self.finished += [job.body for job in jobs]


class Single(Noted):
    """Takes one job after the other."""

    async def process(self, job: ReservedJob) -> None:
        await self.work([job])


class Batch(Noted):
    """Takes what is there."""

    batch_size = 10

    async def process_batch(self, jobs: list[ReservedJob]) -> None:
        await self.work(jobs)


class Outcome(Struct, frozen=True):
    """What has come of one worker."""

    is_settled: bool
    """Whether it went on by itself, and left nothing on the server."""
    runs: list[int]
    """Of each job that was there before the fault."""
    begun: int
    """Runs of all jobs."""
    figures: ConsumerStatistics
    jobs_kept: bool
    """Whether the server still had, after the fault, what it had before."""


class Cell:
    """One worker, behind a trap of its own, with a tube of its own."""

    def __init__(self, nursery: trio.Nursery, server: MortalServer, form: str, point: str) -> None:
        self.name = form, point
        self.trap = Trap(nursery, server.address, POINTS[point])
        self.control = Control()
        self._tube = f"{form}-{point}"
        kind = Single if form == "single" else Batch
        self.consumer: Noted = kind(self._tube, point, self.trap.reached)
        count = 0 if point == "reserve" else FORMS[form]
        self._before = [b"before-%d" % number for number in range(count)]

    @property
    def figures(self) -> ConsumerStatistics:
        """What the worker has done."""
        return self.consumer.statistics()

    async def prepare(self, client: Client) -> None:
        """Put what it is to have in hand."""
        await self.put(client, *self._before)

    async def reach(self, nursery: trio.Nursery) -> None:
        """Begin to work; return at the point."""
        await self.trap.listen()
        place = Server(self.trap.endpoint, PATIENCE)
        nursery.start_soon(Slot(self.consumer, place, self.control, Soonest()).run)
        await self.trap.reached.wait()

    async def put(self, client: Client, *bodies: bytes) -> None:
        """Put jobs for it."""
        await client.use(self._tube)
        await client.put_many(bodies, ttr_s=TTR_S)

    async def is_settled(self, client: Client) -> bool:
        """Return whether nothing is left to be done, on either side."""
        figures, consumer = self.figures, self.consumer
        return (
            AFTER in consumer.finished
            and figures.done + figures.lost == len(consumer.begun)
            and await jobs_left(client, self._tube) == 0
        )

    def outcome(self, *, is_settled: bool, jobs_kept: bool) -> Outcome:
        """Return what has come of it."""
        begun = self.consumer.begun
        runs = [begun.count(body) for body in self._before]
        return Outcome(is_settled, runs, len(begun), self.figures, jobs_kept)


async def reach_points(cells: list[Cell], nursery: trio.Nursery) -> None:
    """Bring all to their points: those that come late first, for no message is held for long."""
    late = [cell for cell in cells if cell.name[1] == "touch"]
    for some in (late, [cell for cell in cells if cell not in late]):
        async with trio.open_nursery() as beginning:
            for cell in some:
                beginning.start_soon(cell.reach, nursery)


async def fail_workers(server: MortalServer, fault: str) -> dict[tuple[str, str], Outcome]:
    """Let a server fail in one way when there is a worker of each form at each point.

    Returns:
        What has come of each, by its form and point.
    """
    settled: set[tuple[str, str]] = set()
    with trio.move_on_after(LIMIT_S):
        async with trio.open_nursery() as nursery:
            cells = [Cell(nursery, server, form, point) for form in FORMS for point in POINTS]
            async with beanstalk.connect(server.address) as client:
                for cell in cells:
                    await cell.prepare(client)
            await reach_points(cells, nursery)
            await inflict(fault, server, [cell.trap for cell in cells])
            async with beanstalk.connect(server.address) as client:
                for cell in cells:
                    cell.consumer.go_on.set()
                    await cell.put(client, AFTER)
                while len(settled) < len(cells):
                    settled |= {c.name for c in cells if await c.is_settled(client)}
                    await trio.sleep(LOOK_S)
            nursery.cancel_scope.cancel()
    kept = is_kept(fault, server)
    return {c.name: c.outcome(is_settled=c.name in settled, jobs_kept=kept) for c in cells}


async def fail_everywhere(kind: str, folder: Path) -> dict[tuple[str, str, str], Outcome]:
    """Do it in all ways at once, with a server for each.

    Returns:
        What has come of each worker, by fault, form and point.
    """
    found: dict[tuple[str, str, str], Outcome] = {}

    async def fail(fault: str) -> None:
        server = await start_server(kind, folder / fault)
        with killing(server):
            outcomes = await fail_workers(server, fault)
        found.update({(fault, *name): outcome for name, outcome in outcomes.items()})

    async with trio.open_nursery() as nursery:
        for fault in FAULTS:
            nursery.start_soon(fail, fault)
    return found
