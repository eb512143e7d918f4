"""Schedulers and workers around a node in this process, with a wall clock that may be set."""

import json
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import trio
import trio.testing
import yaml

from etcdq.beanstalk import Client, Statistics
from etcdq.beanstalk.connection import open_connection
from etcdq.endpoint import Endpoint
from etcdq.errors import NotConnectedError
from etcdq.schedule.agenda import Outcome, Record
from etcdq.schedule.file import parse_schedule
from etcdq.schedule.scheduler import Scheduler
from tests.support.beanstalk_world import BeanstalkWorld

HERE = Endpoint("here", 11300)
NOON = 1_780_315_200
"""2026-06-01 12:00 UTC."""
HOUR = 3600


def job(**keys: Any) -> str:
    """Return a schedule of one entry: `task: run`, and what is said here."""
    entry = {"name": "job", "task": "run", **keys}
    return yaml.safe_dump({"entries": [entry]})


class Wall:
    """A clock on the wall: it goes with Trio's, and may be set, or stand still."""

    def __init__(self, now_s: float = NOON) -> None:
        self._ahead_s = now_s - trio.current_time()
        self._stands_at_s: float | None = None

    def __call__(self) -> float:
        """Return what it shows."""
        if self._stands_at_s is not None:
            return self._stands_at_s
        return trio.current_time() + self._ahead_s

    def set(self, change_s: float) -> None:
        """Set it forward, or back."""
        self._ahead_s += change_s

    def stop(self) -> None:
        """Let it stand: who looks at it does nothing, like a process that is stopped."""
        self._stands_at_s = self()

    def go(self) -> None:
        """Let it show the time again."""
        self._stands_at_s = None


class Server:
    """Connections to the node of a world.

    Args:
        world: has the node.
        changes: to the door, for instance its dialect.
    """

    def __init__(self, world: BeanstalkWorld, **changes: Any) -> None:
        self.world = world
        self.changes = changes
        self.is_away = False
        """Nobody answers who connects."""
        self.is_silent = False
        """What is sent is lost, and no end of the connection is seen."""
        self.loses_answer_to: bytes | None = None
        """The next command that begins so arrives, but the connection ends before its answer."""
        self.attempts: list[float] = []

    def connect(self) -> AbstractAsyncContextManager[Client]:
        """Connect, as `etcdq.beanstalk.connect` does."""
        return self._connected()

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[Client]:
        self.attempts.append(trio.current_time())
        if self.is_away:
            await trio.lowlevel.checkpoint()
            raise NotConnectedError("cannot connect to here: nobody there")
        talk = await self.world.connect(**self.changes)
        async with open_connection(_Wire(talk.stream, self), HERE) as connection:
            yield Client(connection)

    async def figures(self, tube: str = "default") -> Statistics:
        """Return the statistics of a tube."""
        async with self.connect() as client:
            return await client.stats_tube(tube)


class _Wire(trio.abc.Stream):
    """A stream to a server that may fall silent."""

    def __init__(self, stream: trio.abc.Stream, server: Server) -> None:
        self._stream = stream
        self._server = server

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        if self._server.is_silent:
            await trio.lowlevel.checkpoint()
            return
        await self._stream.send_all(data)
        start = self._server.loses_answer_to
        if start is not None and start in bytes(data):
            self._server.loses_answer_to = None
            await trio.testing.wait_all_tasks_blocked()
            await trio.aclose_forcefully(self._stream)
            raise trio.BrokenResourceError

    async def wait_send_all_might_not_block(self) -> None:
        await self._stream.wait_send_all_might_not_block()

    async def receive_some(self, max_bytes: int | None = None) -> bytes | bytearray:
        loses = self._server.loses_answer_to
        data = await self._stream.receive_some(max_bytes)
        if loses is not None and self._server.loses_answer_to is None:
            await trio.sleep_forever()
        return data

    async def aclose(self) -> None:
        await self._stream.aclose()


class Party:
    """A scheduler that runs, with all that it said and kept.

    Args:
        server: where it puts.
        schedule: as YAML.
        wall: its clock.
        records: of an earlier one.
    """

    def __init__(
        self, server: Server, schedule: str, wall: Wall, records: dict[str, Record] | None = None
    ) -> None:
        self.lines: list[str] = []
        self.records: dict[str, Record] = {}
        self.scheduler = Scheduler(
            parse_schedule(yaml.safe_load(schedule)),
            server.connect,
            self.lines.append,
            records=records,
            save=self._save,
            wall=wall,
        )
        self._scope = trio.CancelScope()
        server.world.nursery.start_soon(self._run)

    def _save(self, records: dict[str, Record]) -> None:
        self.records = records

    async def _run(self) -> None:
        with self._scope:
            await self.scheduler.run()

    def end(self) -> None:
        """End it, as a signal does."""
        self._scope.cancel()

    def count(self, outcome: Outcome, entry: str = "job") -> int:
        """Return how often something came of a slot."""
        return self.scheduler.counts[entry, outcome]


class Worker:
    """Runs the jobs of a tube, each for so many seconds; keeps who ran when, and of which slot.

    Args:
        server: where the jobs are.
        takes_s: how long a run takes.
        tube: from which.
    """

    def __init__(self, server: Server, takes_s: float = 0.0, tube: str = "default") -> None:
        self.runs: list[tuple[float, float]] = []
        """Start and end of each run."""
        self.bodies: list[dict[str, Any]] = []
        self.takes_s = takes_s
        server.world.nursery.start_soon(self._run, server, tube)

    @property
    def slots(self) -> list[str]:
        """The slots that ran: hour, minute and second."""
        return [body["slot"][11:19] for body in self.bodies]

    async def _run(self, server: Server, tube: str) -> None:
        async with server.connect() as client:
            await client.watch(tube)
            while True:
                job = await client.reserve()
                started_s = trio.current_time()
                self.bodies.append(json.loads(job.body))
                await trio.sleep(self.takes_s)
                await client.delete(job.job_id)
                self.runs.append((started_s, trio.current_time()))


async def take_all(server: Server, tube: str = "default") -> list[dict[str, Any]]:
    """Reserve and delete what is ready in a tube, and return the bodies."""
    bodies = []
    async with server.connect() as client:
        await client.watch(tube)
        while True:
            try:
                taken = await client.reserve(0)
            except TimeoutError:
                return bodies
            bodies.append(json.loads(taken.body))
            await client.delete(taken.job_id)
