"""What a transcript can do in any world: open connections, let things happen, let time pass."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from etcdq.server.etcd.session import Session
from etcdq.server.node import Node
from tests.support.etcd_client import Client
from tests.support.etcd_peer import Peer

KERNEL_PAUSE_S = 0.001
"""Real time for the kernel to carry on what Trio cannot see: bytes between two of its sockets."""

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
    kernel_pauses_max = 0
    """How often a kernel between client and node is given time before nothing came."""

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
        for _ in range(self.kernel_pauses_max):
            if predicate():
                return
            time.sleep(KERNEL_PAUSE_S)  # noqa: ASYNC251  the mock clock must not move
            await self.settle()
        assert predicate(), f"{what} does not come at once"
