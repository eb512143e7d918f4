"""The inhabitants of a world of queues: queues beside their models, watches with windows."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from etcdq.actors.consumer.core import ConsumerCore
from etcdq.actors.consumer.messages import CancelWatch, Deliver, Offered, WatchGone, Written
from etcdq.actors.effect import Log, Stop, Tell
from etcdq.actors.message import Address
from etcdq.actors.queue import messages as m
from etcdq.actors.queue.context import Numbers, QueueContext
from etcdq.actors.queue.core import QueueCore
from tests.support.queue_model import QueueModel

if TYPE_CHECKING:
    from tests.simulation.queue_world import World

CREDIT = m.Credit(6, 60)
OVERHEAD_BYTES = 4


class PairedQueue:
    """A queue's core and its model, given the same messages; they must agree."""

    def __init__(self, name: bytes, context: QueueContext, numbers: Numbers) -> None:
        self.core = QueueCore(name, context)
        self.model = QueueModel(name, context.registry, 0, CREDIT)
        self.model.numbers = numbers

    def step(self, message: Any, now_s: float) -> list[Any]:
        seen = self.core.step(message, now_s)
        wanted = self.model.step(message, now_s)
        real = [effect for effect in seen if type(effect) is not Log]
        assert sorted(map(repr, real)) == sorted(map(repr, wanted)), message
        return seen

    def settle(self, now_s: float) -> list[Any]:
        seen = self.core.settle(now_s)
        if not self.model.exists:
            assert seen == [Stop()]
            return seen
        assert seen == self.model.settle(now_s)
        self.model.check(self.core.statistics(now_s))
        return seen

    def next_deadline_s(self) -> float:
        return self.core.next_deadline_s()

    def statistics(self) -> m.QueueStatistics:
        return self.core.statistics()


@dataclass(eq=False)
class Watch:
    """One watch of a client on a connection with a window, and the session's side of it."""

    world: World
    number: int
    queue: bytes
    consumer: str
    reads: float
    """Chance that the client reads, whenever it could."""
    acknowledges: float
    """Chance that it ever acknowledges what it got."""
    inbox: deque[Any] = field(default_factory=deque)
    output: deque[tuple[Deliver, int]] = field(default_factory=deque)
    window_bytes: int = 0
    written_of_first: int = 0
    groups: int = 0
    moved: bool = False
    over: bool = False

    def __post_init__(self) -> None:
        self.address = Address(self, self.number)
        self.handle = QueueHandle(self.world, self.queue)
        self.core = ConsumerCore(self.consumer, self.handle, self.address, 5.0, OVERHEAD_BYTES)

    def post(self, message: Any) -> None:
        self.inbox.append(message)

    def __repr__(self) -> str:
        return f"watch {self.number}"

    def hear(self, count: int) -> None:
        """Take up to `count` messages from the queue, then write and look."""
        random = self.world.random
        offered = False
        for _ in range(min(count, len(self.inbox))):
            message = self.inbox.popleft()
            if type(message) is m.Offer:
                # What the session thinks it can write; the socket may know better.
                room = self.window_bytes if random.random() < 0.9 else 1_000
                self.perform(self.core.step(Offered(message, room), self.world.now_s))
                offered = True
                if random.random() < 0.5:
                    self.flush()
            elif type(message) is m.Superseded:
                self.perform(self.core.step(message, self.world.now_s))
        if offered:
            self.write(always_look=True)

    def flush(self) -> None:
        """Write what the window has room for; the core is told at the next look."""
        while self.output and self.window_bytes:
            deliver, size = self.output[0]
            part = min(self.window_bytes, size - self.written_of_first)
            self.window_bytes -= part
            self.written_of_first += part
            self.moved = True
            if self.written_of_first == size:
                self.groups, self.moved, self.written_of_first = self.groups + 1, False, 0
                self.output.popleft()
                self.world.receive(self, deliver.deliveries)

    def write(self, *, always_look: bool = False) -> None:
        """Write, and tell the core."""
        self.flush()
        if self.groups or self.moved or always_look:
            written = Written(self.groups, self.moved)
            self.groups, self.moved = 0, False
            self.perform(self.core.step(written, self.world.now_s))

    def perform(self, effects: list[Any]) -> None:
        for effect in effects:
            if type(effect) is Tell:
                effect.handle.post(effect.message)
            elif type(effect) is Deliver:
                size = sum(
                    len(one.body) + len(one.tail) + OVERHEAD_BYTES for one in effect.deliveries
                )
                self.output.append((effect, size))
            else:
                assert type(effect) is CancelWatch
                self.close()

    def close(self) -> None:
        """Withdraw what is not written; what is half written ends with the stream."""
        self.output.clear()
        self.over = True

    def die(self) -> None:
        """The client cancels, or its connection ends."""
        self.close()
        self.perform(self.core.step(WatchGone(), self.world.now_s))


@dataclass(eq=False, frozen=True)
class QueueHandle:
    """A handle by name."""

    world: World
    name: bytes

    def post(self, message: Any) -> None:
        self.world.mailbox.append((self.name, message))


@dataclass
class Client:
    """Takes the answers of puts and acknowledgements."""

    world: World

    def post(self, message: Any) -> None:
        self.world.answered(message)

    def __repr__(self) -> str:
        return "client"


class Registry:
    """Takes the registry's messages and keeps the keys."""

    def __init__(self) -> None:
        self.keys: set[bytes] = set()

    def post(self, message: Any) -> None:
        if type(message).__name__ == "SetRegistry":
            self.keys.add(message.key)
        else:
            self.keys.remove(message.key)
