"""A session of the etcd door with actors that only listen: a test answers in their place."""

import uuid
from collections import defaultdict
from dataclasses import replace
from typing import Any

from etcdq.actors.effect import Reply
from etcdq.actors.message import Address
from etcdq.server.etcd.context import Context
from etcdq.server.etcd.door import Door, DoorSettings, Identity
from etcdq.server.etcd.session import Session
from tests.support.etcd_peer import Call, Peer

IDENTITY = Identity("node", 11, 12, "3.5.0", ("http://here",))


class Listener:
    """An actor's handle that keeps what is posted."""

    def __init__(self) -> None:
        self.heard: list[Any] = []

    def post(self, message: Any) -> None:
        """Keep it."""
        self.heard.append(message)

    def take(self) -> Any:
        """Return the one message that was posted since."""
        (message,) = self.heard
        self.heard.clear()
        return message


def a_door(**settings: Any) -> Door:
    """Return a door on listening actors; its revision is 7."""
    queues: dict[bytes, Listener] = defaultdict(Listener)
    return Door(
        identity=IDENTITY,
        board={"revision": 7},
        keys=Listener(),
        queue=queues.__getitem__,
        census=list,
        keys_statistics=lambda: None,
        settings=replace(DoorSettings(), **settings),
    )


class DoorHost:
    """One session, its client, and the actors behind it."""

    def __init__(self, *, window: int = 65_535, reading: bool = True, **settings: Any) -> None:
        self.door = a_door(**settings)
        self.keys: Any = self.door.keys
        self.inbox = Listener()
        self.now_s = 0.0
        self.session = Session(Context(self.door), self.inbox, uuid.UUID(int=1), "peer", 0.0)
        self.peer = Peer(window=window, reading=reading)
        self.written = 0
        self.backlog = b""
        self.socket_takes = True
        self.pump()

    def queue(self, name: bytes = b"jobs") -> Any:
        """Return a queue's listener."""
        return self.door.queue(name)

    def pump(self) -> None:
        """Carry bytes both ways until there are none."""
        session, transport = self.session, self.session.transport
        while True:
            data = self.peer.take()
            if data:
                session.receive(data, self.now_s)
            while transport.has_output:
                self.backlog += transport.take_output()
            if self.socket_takes and self.backlog:
                data, self.backlog = self.backlog, b""
                self.written += len(data)
                self.peer.feed(data)
            session.written(self.written, bool(self.backlog), self.now_s)
            if not data:
                return

    def at(self, now_s: float) -> None:
        """Let the clock be there."""
        self.now_s = now_s
        self.session.settle(now_s)
        self.pump()

    def tell(self, message: Any) -> None:
        """Let an actor say something to the session."""
        self.session.step(message, self.now_s)
        self.pump()

    def reply(self, to: Address, value: Any) -> None:
        """Let an actor answer."""
        assert to.handle is self.inbox
        self.tell(Reply(to, value))

    def call(self, path: str, request: Any, *headers: tuple[str, str]) -> Call:
        """Make a unary call."""
        call = self.peer.open(path, *headers)
        self.peer.send(call, request.SerializeToString(), end=True)
        self.pump()
        return call

    def send(self, call: Call, request: Any) -> None:
        """Send one message on a streaming call."""
        self.peer.send(call, request.SerializeToString(), end=False)
        self.pump()
