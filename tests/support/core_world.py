"""The world without Trio: sessions and stages stepped by hand under a manual clock."""

import uuid
from collections.abc import Callable
from typing import Any

from etcdq.actors.effect import Publish, Tell
from etcdq.actors.mailbox import Mailbox
from etcdq.server.config import embedded_config
from etcdq.server.etcd.context import Context
from etcdq.server.etcd.session import Session
from etcdq.server.node import Node
from tests.support.etcd_client import Client
from tests.support.etcd_peer import Peer
from tests.support.world import LIMIT_S, Link, World


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
