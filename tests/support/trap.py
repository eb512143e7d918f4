"""A proxy that holds one message while the server behind it fails, in one of some ways."""

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

import trio
from msgspec import Struct

from etcdq.beanstalk import Client, NotFoundError
from tests.support.mortal_server import MortalServer
from tests.support.proxy import Proxy

LOOK_S: Final = 0.05
FAULTS: Final = ("killed", "restarted", "stopped", "silent", "reset")


class Message(Struct, frozen=True):
    """A message on its way."""

    word: bytes
    """How one of its lines begins."""
    to_server: bool = True
    is_held: bool = True
    """Whether it is still on its way when the server fails."""


class Trap(Proxy):
    """Holds the first message of a form on its way, until it is said what becomes of it."""

    def __init__(self, nursery: trio.Nursery, target: str, message: Message) -> None:
        super().__init__(nursery, target)
        self._message = message
        self._go_on = trio.Event()
        self._is_lost = False
        self.reached = trio.Event()

    async def look(self, number: int, data: bytes, *, to_server: bool) -> None:
        """Keep the first message that is the one."""
        message = self._message
        is_it = any(line.startswith(message.word) for line in data.splitlines())
        if self.reached.is_set() or to_server is not message.to_server or not is_it:
            return
        self.reached.set()
        if message.is_held:
            await self._go_on.wait()
            if self._is_lost:
                raise trio.BrokenResourceError

    def release(self, *, is_lost: bool) -> None:
        """Let the message go on, or be lost with its connection."""
        self._is_lost = is_lost
        self._go_on.set()


class Soonest(random.Random):
    """Draws near the lower bound: waits before the next attempt are short."""

    def uniform(self, a: float, b: float) -> float:
        return a + (b - a) / 20


async def inflict(fault: str, server: MortalServer, traps: Sequence[Trap]) -> None:
    """Let a server fail, and be there again when all clients have noticed that."""
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


def is_kept(fault: str, server: MortalServer) -> bool:
    """Return whether a server still has, after a fault, what it had before."""
    return server.keeps_jobs or fault not in ("killed", "restarted")


@contextmanager
def killing(server: MortalServer) -> Iterator[None]:
    """Kill a server at the end."""
    try:
        yield
    finally:
        server.kill()


async def start_server(kind: str, folder: Path) -> MortalServer:
    """Start a server that keeps its jobs in a new folder, if it can."""
    await trio.Path(folder).mkdir()
    return await trio.to_thread.run_sync(partial(MortalServer, kind, folder))


async def jobs_left(client: Client, tube: str) -> int:
    """Return how many jobs of a tube there are, in whatever state."""
    try:
        figures = await client.stats_tube(tube)
    except NotFoundError:
        return 0
    states = ("ready", "reserved", "delayed", "buried")
    return sum(figures.count(f"current-jobs-{state}") for state in states)
