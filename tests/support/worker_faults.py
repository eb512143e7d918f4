"""Workers whose server fails them at a point of their work, and what has come of it."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

import trio
from msgspec import Struct

from etcdq import beanstalk
from etcdq.beanstalk import Client, NotFoundError
from etcdq.worker import ConsumerStatistics, ReservedJob, TubeConsumer
from etcdq.worker.control import Control
from etcdq.worker.link import Patience, Server
from etcdq.worker.slot import Slot
from tests.support.mortal_server import MortalServer
from tests.support.proxy import Proxy

TTR_S: Final = 4
LIMIT_S: Final = 60.0
LOOK_S: Final = 0.05
PATIENCE: Final = Patience(answer_s=2.0, reserve_s=1)
BEFORE, AFTER = b"before", b"after"
FAULTS: Final = ("killed", "restarted", "stopped", "silent", "reset")
POINTS: Final = {
    "reserve": (b"reserve-with-timeout", True),
    "answer": (b"RESERVED", False),
    "run": (b"no message", True),
    "touch": (b"touch", True),
    "delete": (b"delete", True),
    "deleted": (b"DELETED", False),
}
"""The message that is on its way when the server fails, and whether it goes to the server. At
"reserve" the server has it already; at "run" a handler runs, and there is none."""


class Trap(Proxy):
    """Holds the message of a point on its way, until it is said what becomes of it."""

    def __init__(self, nursery: trio.Nursery, target: str, point: str) -> None:
        super().__init__(nursery, target)
        self._word, self._to_server = POINTS[point]
        self._is_kept = point != "reserve"
        self._go_on = trio.Event()
        self._is_lost = False
        self.reached = trio.Event()

    async def look(self, number: int, data: bytes, *, to_server: bool) -> None:
        """Keep the first message that is the one."""
        is_it = any(line.startswith(self._word) for line in data.splitlines())
        if self.reached.is_set() or to_server is not self._to_server or not is_it:
            return
        self.reached.set()
        if self._is_kept:
            await self._go_on.wait()
            if self._is_lost:
                raise trio.BrokenResourceError

    def release(self, *, is_lost: bool) -> None:
        """Let the message go on, or be lost with its connection."""
        self._is_lost = is_lost
        self._go_on.set()


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


class Soonest(random.Random):
    """Draws near the lower bound: waits before the next attempt are short."""

    def uniform(self, a: float, b: float) -> float:
        return a + (b - a) / 20


class Cell:
    """One worker, behind a trap of its own, with a tube of its own."""

    def __init__(self, nursery: trio.Nursery, server: MortalServer, point: str) -> None:
        self.point = point
        self.trap = Trap(nursery, server.address, point)
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


async def jobs_left(client: Client, tube: str) -> int:
    """Return how many jobs of a tube there are, in whatever state."""
    try:
        figures = await client.stats_tube(tube)
    except NotFoundError:
        return 0
    states = ("ready", "reserved", "delayed", "buried")
    return sum(figures.count(f"current-jobs-{state}") for state in states)


async def inflict(fault: str, server: MortalServer, cells: list[Cell]) -> None:
    """Let a server fail, and be there again when all workers have noticed that."""
    traps = [cell.trap for cell in cells]
    if fault == "stopped":
        server.stop()
    elif fault in ("killed", "restarted"):
        end = server.kill if fault == "killed" else server.terminate
        await trio.to_thread.run_sync(end)
    for trap in traps:
        if fault == "silent":
            trap.hold()
        elif fault == "reset":
            await trap.cut(reset=True)
        trap.release(is_lost=fault not in ("stopped", "silent"))
    if fault in ("killed", "restarted"):
        await trio.to_thread.run_sync(server.start)
    while any(trap.connections < 2 for trap in traps):  # noqa: ASYNC110 - a figure has no event
        await trio.sleep(LOOK_S)
    if fault == "stopped":
        server.go_on()
    if fault == "silent" and server.kind == "beanstalkd":
        # 1.12 may forget that a reservation runs out while others connect and leave: it needs to
        # hear at last that its peer is gone.
        for trap in traps:
            await trap.cut(only_held=True)


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
            await inflict(fault, server, cells)
            async with beanstalk.connect(server.address) as client:
                for cell in cells:
                    cell.consumer.go_on.set()
                    await cell.put(client, AFTER)
                while len(settled) < len(cells):
                    settled |= {c.point for c in cells if await c.is_settled(client)}
                    await trio.sleep(LOOK_S)
            nursery.cancel_scope.cancel()
    kept = server.keeps_jobs or fault not in ("killed", "restarted")
    return {c.point: c.outcome(is_settled=c.point in settled, jobs_kept=kept) for c in cells}


async def fail_everywhere(kind: str, folder: Path) -> dict[tuple[str, str], Outcome]:
    """Do it in all ways at once, with a server for each.

    Returns:
        What has come of each worker, by fault and point.
    """
    found: dict[tuple[str, str], Outcome] = {}

    async def fail(fault: str) -> None:
        place = folder / fault
        place.mkdir()
        server = await trio.to_thread.run_sync(partial(MortalServer, kind, place))
        with killing(server):
            outcomes = await fail_workers(server, fault)
        found.update({(fault, point): outcome for point, outcome in outcomes.items()})

    async with trio.open_nursery() as nursery:
        for fault in FAULTS:
            nursery.start_soon(fail, fault)
    return found


@contextmanager
def killing(server: MortalServer) -> Iterator[None]:
    """Kill a server at the end."""
    try:
        yield
    finally:
        server.kill()
