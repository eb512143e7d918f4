"""Three worlds in which a node and its clients live, so that one transcript is told in each.

- `core`: sessions and stages stepped by hand under a manual clock; no Trio at all.
- `memory`: the node's shells and one session per memory stream, under the autojump clock.
- `tcp`: a node that listens on 127.0.0.1, in this process, under the autojump clock.

A transcript is an async function of a world. `settle` lets everything happen that can happen
now; `wait` lets time pass; `until` lets as much pass as it takes. In the core world none of them
ever suspends, which is how we know that no Trio is in there.
"""

import inspect
import uuid
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import wraps
from typing import Any

import pytest
import trio
import trio.testing

from etcdq.actors.effect import Publish, Tell
from etcdq.actors.mailbox import Mailbox
from etcdq.server.config import embedded_config
from etcdq.server.daemon import open_daemon
from etcdq.server.etcd.context import Context
from etcdq.server.etcd.session import Session
from etcdq.server.etcd.shell import serve_connection
from etcdq.server.node import Node
from tests.support.etcd_client import Client
from tests.support.etcd_peer import Peer

LIMIT_S = 3_600.0
"""How long `until` waits at most; the clock is a mock."""


class Link(ABC):
    """One connection, from outside: the client's end, and how it fails."""

    peer: Peer

    @abstractmethod
    def flush(self) -> None:
        """Send what the peer has to say, at the next `settle`."""

    @abstractmethod
    def cut(self) -> None:
        """Close the client's end, without a word."""

    @abstractmethod
    def stop_taking(self) -> None:
        """Let the socket take nothing from the server any more."""

    @abstractmethod
    def take_on(self) -> None:
        """Let the socket take again."""


class World(ABC):
    """A node, its clients, a clock that starts at 0."""

    kind = ""
    node: Node

    def __init__(self) -> None:
        self.log_lines: list[tuple[str, str, dict[str, Any]]] = []

    def log(self, level: str, event: str, fields: dict[str, Any]) -> None:
        """Take a log line of the node."""
        self.log_lines.append((level, event, fields))

    @property
    @abstractmethod
    def now_s(self) -> float:
        """What the clock says."""

    @property
    @abstractmethod
    def sessions(self) -> list[Session]:
        """Sessions that run, oldest first; none where they are out of reach."""

    @abstractmethod
    async def connect(self, **peer: Any) -> Client:
        """Open a connection; arguments as for `Peer`."""

    @abstractmethod
    async def settle(self) -> None:
        """Let everything happen that can happen now."""

    @abstractmethod
    async def wait(self, seconds: float) -> None:
        """Let time pass."""

    @abstractmethod
    async def until(self, predicate: Callable[[], Any]) -> None:
        """Let as much time pass as it takes."""

    async def until_now(self, predicate: Callable[[], Any], what: str) -> None:
        """Let everything happen; fail if `predicate` is not true then."""
        await self.settle()
        assert predicate(), f"{what} does not come at once"


# core -------------------------------------------------------------------------------------------


class CoreLink(Link):
    """A session and its client, joined by hand."""

    def __init__(self, world: "CoreWorld", peer: Peer) -> None:
        self.peer = peer
        self.mailbox: Mailbox[Any] = Mailbox()
        context = Context(world.node.door)
        self.session = Session(context, self.mailbox, uuid.uuid4(), "core", world.now_s)
        self.open = True
        self._written = 0
        self._backlog = b""
        self._taking = True

    def flush(self) -> None:
        """The next turn takes it from the peer."""

    def cut(self) -> None:
        """Nothing comes any more."""
        self.open = False

    def stop_taking(self) -> None:
        """The socket is full."""
        self._taking = False

    def take_on(self) -> None:
        """The socket has room."""
        self._taking = True

    def turn(self, now_s: float) -> bool:
        """Do what a shell would do; return whether anything happened."""
        data = self.peer.take()
        if data:
            self.session.receive(data, now_s)
        messages = self.mailbox.take()
        for message in list(messages):
            self.session.step(message, now_s)
        messages.clear()
        due = self.session.next_deadline_s() <= now_s
        self.session.settle(now_s)
        transport = self.session.transport
        said = False
        while transport.has_output:
            said = True
            self._backlog += transport.take_output()
        if self._taking and self._backlog:
            data, self._backlog = self._backlog, b""
            self._written += len(data)
            self.peer.feed(data)
            said = True
        self.session.written(self._written, bool(self._backlog), now_s)
        return bool(data) or said or due

    def is_over(self) -> bool:
        """Whether the server closes the connection now."""
        session = self.session
        return bool(session.aborted) or (session.finished and not self._backlog)


class CoreWorld(World):
    """The cores, stepped by hand."""

    kind = "core"

    def __init__(self, settings: dict[str, Any]) -> None:
        super().__init__()
        self._now_s = 0.0
        self.node = Node(embedded_config(settings), ["http://core"], log=self.log)
        self._shells = (self.node._keys, self.node._queues)
        self._links: list[CoreLink] = []

    @property
    def now_s(self) -> float:
        """What the clock says."""
        return self._now_s

    @property
    def sessions(self) -> list[Session]:
        """Sessions that run."""
        return [link.session for link in self._links]

    async def connect(self, **peer: Any) -> Client:
        """Open a connection."""
        link = CoreLink(self, Peer(**peer))
        self._links.append(link)
        await self.settle()
        return Client(self, link)

    async def settle(self) -> None:
        """Turn until nothing happens."""
        for _ in range(10_000):
            # A list: every link has its turn, whatever the others did.
            happened = [self._turn(link) for link in list(self._links)]
            happened += [self._run(shell) for shell in self._shells]
            if not any(happened):
                return
        raise AssertionError("the world does not come to rest")

    async def wait(self, seconds: float) -> None:
        """Visit each deadline on the way."""
        await self.settle()
        end_s = self._now_s + seconds
        while (deadline_s := self._next_s()) <= end_s:
            self._now_s = max(self._now_s, deadline_s)
            await self.settle()
        self._now_s = end_s
        await self.settle()

    async def until(self, predicate: Callable[[], Any]) -> None:
        """Visit one deadline after the other."""
        await self.settle()
        while not predicate():
            deadline_s = self._next_s()
            assert deadline_s < LIMIT_S, "it never comes"
            self._now_s = max(self._now_s, deadline_s)
            await self.settle()

    def _next_s(self) -> float:
        sessions = [link.session.next_deadline_s() for link in self._links]
        stages = [shell.stage.next_deadline_s() for shell in self._shells]
        return min(sessions + stages)

    def _turn(self, link: CoreLink) -> bool:
        if link.open:
            happened = link.turn(self._now_s)
            if not link.is_over():
                return happened
            link.peer.feed(b"")
        link.session.end(self._now_s)
        self._links.remove(link)
        return True

    def _run(self, shell: Any) -> bool:
        batch = shell.mailbox.take()
        if not batch and shell.stage.next_deadline_s() > self._now_s:
            return False
        outcome = shell.stage.run(list(batch), self._now_s)
        batch.clear()
        for reply in outcome.replies:
            reply.to.handle.post(reply)
        for effect in outcome.publications:
            if isinstance(effect, Tell):
                effect.handle.post(effect.message)
            else:
                assert isinstance(effect, Publish)
                self.node.door.board[effect.topic] = effect.value
        for line in outcome.logs:
            self.log(line.level, line.event, line.fields)
        return True


# Trio -------------------------------------------------------------------------------------------


class TrioLink(Link):
    """A client over a stream: one task reads, one writes."""

    def __init__(self, world: "TrioWorld", stream: trio.abc.Stream, peer: Peer) -> None:
        self.peer = peer
        self._world = world
        self._stream = stream
        self._kick = trio.Event()
        self._taking = trio.Event()
        self._taking.set()
        self.scope = trio.CancelScope()

    def flush(self) -> None:
        """Wake the writer."""
        self._kick.set()

    def cut(self) -> None:
        """End both tasks; the stream is closed on the way out."""
        self.scope.cancel()

    def stop_taking(self) -> None:
        """Read no more, from the next arrival on."""
        self._taking = trio.Event()

    def take_on(self) -> None:
        """Read again."""
        self._taking.set()

    async def run(self) -> None:
        """Carry bytes until either side closes."""
        try:
            with self.scope:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(self._write)
                    await self._read()
                    nursery.cancel_scope.cancel()
        finally:
            await trio.aclose_forcefully(self._stream)

    async def _read(self) -> None:
        while True:
            await self._taking.wait()
            try:
                data = bytes(await self._stream.receive_some(65_536))
            except trio.BrokenResourceError:
                data = b""
            self.peer.feed(data)
            self._world.stir()
            if not data:
                return
            self.flush()

    async def _write(self) -> None:
        while True:
            self._kick = trio.Event()
            data = self.peer.take()
            if data:
                try:
                    await self._stream.send_all(data)
                except (trio.BrokenResourceError, trio.ClosedResourceError):
                    return
            else:
                await self._kick.wait()


class TrioWorld(World):
    """A node and its clients as Trio tasks; a way to open a stream is given."""

    def __init__(
        self, kind: str, nursery: trio.Nursery, open_stream: Callable[[], Awaitable[Any]]
    ) -> None:
        super().__init__()
        self.kind = kind
        self.nursery = nursery
        self._open_stream = open_stream
        self._stirred = trio.Event()

    @property
    def now_s(self) -> float:
        """What the clock says."""
        return trio.current_time()

    @property
    def sessions(self) -> list[Session]:
        """They are out of reach."""
        return []

    async def connect(self, **peer: Any) -> Client:
        """Open a connection."""
        return await self.connect_over(await self._open_stream(), **peer)

    async def connect_over(self, stream: trio.abc.Stream, **peer: Any) -> Client:
        """Be the client on a stream."""
        link = TrioLink(self, stream, Peer(**peer))
        self.nursery.start_soon(link.run)
        await self.settle()
        return Client(self, link)

    async def settle(self) -> None:
        """Wait until every task waits for something outside, or for time."""
        await trio.testing.wait_all_tasks_blocked()

    async def wait(self, seconds: float) -> None:
        """Sleep, and let what is due then happen."""
        await self.settle()
        await trio.sleep(seconds)
        await self.settle()

    async def until(self, predicate: Callable[[], Any]) -> None:
        """Look at every arrival."""
        with trio.fail_after(LIMIT_S):
            await self.settle()
            while not predicate():
                self._stirred = trio.Event()
                await self._stirred.wait()
                await self.settle()

    def stir(self) -> None:
        """Something arrived at a client."""
        self._stirred.set()


@asynccontextmanager
async def memory_world(
    settings: dict[str, Any],
    pair: Callable[[], tuple[Any, Any]] = trio.testing.memory_stream_pair,
) -> AsyncIterator[TrioWorld]:
    """A node whose sessions run over memory streams; `world.drain` makes them end."""
    async with trio.open_nursery() as nursery:

        async def open_stream() -> trio.abc.Stream:
            ours, theirs = pair()
            nursery.start_soon(serve, theirs)
            return ours

        async def serve(stream: trio.abc.Stream) -> None:
            await serve_connection(stream, world.node.door, drain=drain, log=world.log)

        drain = trio.Event()
        world = TrioWorld("memory", nursery, open_stream)
        world.node = Node(embedded_config(settings), ["http://memory"], log=world.log)
        world.drain = drain  # type: ignore[attr-defined]
        await world.node.start(nursery)
        yield world
        nursery.cancel_scope.cancel()


@asynccontextmanager
async def tcp_world(settings: dict[str, Any]) -> AsyncIterator[TrioWorld]:
    """A node that listens on a port of its own."""
    lines: list[tuple[str, str, dict[str, Any]]] = []

    def log(level: str, event: str, fields: dict[str, Any]) -> None:
        lines.append((level, event, fields))

    config = embedded_config({"listen_client_urls": "http://127.0.0.1:0", **settings})
    async with open_daemon(config, log=log) as daemon, trio.open_nursery() as nursery:
        port = int(daemon.urls[0].rpartition(":")[2])

        async def open_stream() -> trio.abc.Stream:
            return await trio.open_tcp_stream("127.0.0.1", port)

        world = TrioWorld("tcp", nursery, open_stream)
        world.log_lines = lines
        world.node = daemon.node
        yield world
        nursery.cancel_scope.cancel()


# telling a transcript ---------------------------------------------------------------------------

Transcript = Callable[[World], Coroutine[Any, Any, None]]


def transcript(
    function: Transcript | None = None, /, *, worlds: str = "core memory tcp", **settings: Any
) -> Any:
    """Make a test of an async function of a world: it is run in each of the worlds named.

    Args:
        function: set when the decorator is used without brackets.
        worlds: the worlds, separated by blanks.
        settings: of the node, as an operator writes them.
    """
    if function is None:
        return lambda function: transcript(function, worlds=worlds, **settings)

    @wraps(function)
    def test(kind: str, **arguments: Any) -> None:
        def script(world: World) -> Coroutine[Any, Any, None]:
            return function(world, **arguments)

        if kind == "core":
            _tell_without_trio(script(CoreWorld(settings)))
        else:
            opened = {"memory": memory_world, "tcp": tcp_world}[kind]
            clock = trio.testing.MockClock(autojump_threshold=0)
            trio.run(_tell, opened(settings), script, clock=clock)

    signature = inspect.signature(function)
    kind = inspect.Parameter("kind", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    others = list(signature.parameters.values())[1:]
    test.__signature__ = inspect.Signature([kind, *others])  # type: ignore[attr-defined]
    return pytest.mark.parametrize("kind", worlds.split())(test)


def _tell_without_trio(script: Coroutine[Any, Any, None]) -> None:
    try:
        script.send(None)
    except StopIteration:
        return
    script.close()
    raise AssertionError("the core world waits for something outside of it")


async def _tell(opened: Any, script: Transcript) -> None:
    failure: BaseException | None = None
    async with opened as world:
        try:
            await script(world)
        except Exception as error:  # told outside of the nurseries, which would wrap it
            failure = error
    if failure is not None:
        raise failure
