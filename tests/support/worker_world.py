"""Consumers that work on a node in this process, over wires that a test cuts or makes silent."""

import random
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import trio

from etcdq.beanstalk import Client, NotFoundError, Statistics
from etcdq.beanstalk.connection import open_connection
from etcdq.endpoint import Endpoint
from etcdq.errors import NotConnectedError
from etcdq.worker import ConsumerStatistics, ReservedJob, TubeConsumer
from etcdq.worker.control import Control
from etcdq.worker.link import Patience
from etcdq.worker.slot import Slot
from tests.support.beanstalk_world import BeanstalkWorld

HERE = Endpoint("memory", 11300)
LIMIT_S = 10_000.0


async def settle() -> None:
    """Let a moment pass on the mock clock: everybody has done what could be done by then."""
    await trio.sleep(0.01)


async def until(is_so: Callable[[], object], look_s: float = 1) -> None:
    """Look again and again, on the mock clock if there is one."""
    while not is_so():  # noqa: ASYNC110 - figures have no event
        await trio.sleep(look_s)


class Wire(trio.abc.Stream):
    """A worker's side of a connection."""

    def __init__(self, stream: trio.abc.Stream) -> None:
        self._stream = stream
        self.sent: list[bytes] = []
        """The lines that were sent."""
        self.is_silent = False
        """Whether nothing passes any more, either way, and nobody is told."""
        self.swallow: bytes | None = None
        """Commands that begin so are lost on the way."""
        self.cut_at: bytes | None = None
        """The connection is cut when a command that begins so is sent."""

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        """Pass bytes on."""
        lines = bytes(data).splitlines(keepends=True)
        self.sent += [line.rstrip() for line in lines]
        if self.swallow is not None:
            lines = [line for line in lines if not line.startswith(self.swallow)]
        await trio.lowlevel.checkpoint()
        if self.cut_at is not None and any(line.startswith(self.cut_at) for line in lines):
            await trio.aclose_forcefully(self._stream)
            raise trio.BrokenResourceError
        if lines and not self.is_silent:
            await self._stream.send_all(b"".join(lines))

    async def wait_send_all_might_not_block(self) -> None:
        """Never blocks."""
        await trio.lowlevel.checkpoint()

    async def receive_some(self, max_bytes: int | None = None) -> bytes | bytearray:
        """Receive."""
        data = await self._stream.receive_some(max_bytes)
        if self.is_silent:
            await trio.sleep_forever()
        return data

    async def aclose(self) -> None:
        """Close both directions."""
        await self._stream.aclose()


class Place:
    """A server that may be down; it notes when somebody dialed."""

    def __init__(self, world: BeanstalkWorld) -> None:
        self.world = world
        self.endpoint = HERE
        self.patience = Patience()
        self.is_down = False
        self.hangs = False
        """Whether it neither takes nor refuses connections."""
        self.wires: list[Wire] = []
        self.dialed_s: list[float] = []

    async def dial(self) -> trio.abc.Stream:
        """Return a wire to the node."""
        await trio.lowlevel.checkpoint()
        self.dialed_s.append(trio.current_time())
        if self.hangs:
            await trio.sleep_forever()
        if self.is_down:
            raise NotConnectedError("nobody is there")
        talk = await self.world.connect()
        self.wires.append(Wire(talk.stream))
        return self.wires[-1]

    async def cut(self) -> None:
        """Cut every wire."""
        for wire in self.wires:
            await trio.aclose_forcefully(wire)


class Working:
    """A consumer at work, and what a test does to it."""

    def __init__(self, consumer: TubeConsumer, place: Place, control: Control) -> None:
        self.consumer = consumer
        self.place = place
        self.control = control

    @property
    def figures(self) -> ConsumerStatistics:
        """What it has done."""
        return self.consumer.statistics()

    @property
    def wire(self) -> Wire:
        """Its newest connection."""
        return self.place.wires[-1]


@contextmanager
def working_in(
    nursery: trio.Nursery,
    world: BeanstalkWorld,
    consumer: TubeConsumer,
    *,
    connect_tries: int | None = None,
    place: Place | None = None,
) -> Iterator[Working]:
    """Let a consumer work in tasks of a nursery; stop it at the end."""
    place, control = place or Place(world), Control()
    for number in range(consumer.concurrency):
        rng = random.Random(number)
        slot = Slot(consumer, place, control, rng, connect_tries)
        nursery.start_soon(slot.run)
    yield Working(consumer, place, control)
    control.stop()


@asynccontextmanager
async def at_work(
    world: BeanstalkWorld, consumer: TubeConsumer, **options: Any
) -> AsyncIterator[Working]:
    """Let a consumer work; stop it at the end, and wait for it."""
    with trio.fail_after(LIMIT_S):
        async with trio.open_nursery() as nursery:
            with working_in(nursery, world, consumer, **options) as working:
                await settle()
                yield working


@asynccontextmanager
async def client_of(world: BeanstalkWorld) -> AsyncIterator[Client]:
    """Give a client of the node."""
    talk = await world.connect()
    async with open_connection(talk.stream, HERE) as connection:
        yield Client(connection)


async def job_of(client: Client, job_id: int) -> Statistics | None:
    """Return what the node says of a job; None: it is gone."""
    try:
        return await client.stats_job(job_id)
    except NotFoundError:
        return None


class Noting(TubeConsumer):
    """Notes what it is given."""

    tubes: Any = ("t",)
    retry_base_s = 10
    batch_size = 10

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[bytes] = []
        self.given_up: list[tuple[bytes, BaseException]] = []

    async def process(self, job: ReservedJob) -> None:
        self.seen.append(job.body)

    async def on_give_up(self, job: ReservedJob, error: BaseException) -> None:
        self.given_up.append((job.body, error))


class Failing(Noting):
    """Fails."""

    error: BaseException = ValueError("never")

    async def process(self, job: ReservedJob) -> None:
        await super().process(job)
        raise self.error


class Slow(Noting):
    """Takes a while."""

    seconds = 10.0

    async def process(self, job: ReservedJob) -> None:
        await super().process(job)
        await trio.sleep(self.seconds)


async def put(client: Client, *bodies: bytes, **options: Any) -> list[int]:
    """Put jobs into the tube; return their ids."""
    await client.use("t")
    return [(await client.put(body, **options)).job_id for body in bodies]
