"""A small world of queues, consumers on connections, and producers, driven by one seed.

No Trio: every mailbox is a deque, and the seed decides who reads how much of his next, what a
connection can write, who stalls, dies, comes back under its UUID or never acknowledges. So all
crossings of messages happen that can happen. The cores are the real ones. Each queue's core runs
beside the dumb model, which says exactly what it must do; the world itself only knows what
clients see, and judges that: nothing lost, no index received twice, nothing after its
acknowledgement.
"""

from collections import deque
from dataclasses import dataclass, field
from random import Random
from typing import Any

from etcdq.actors.consumer.core import ConsumerCore
from etcdq.actors.consumer.messages import CancelWatch, Deliver, Offered, WatchGone, Written
from etcdq.actors.core import NEVER_S
from etcdq.actors.effect import Log, Reply, Stop, Tell
from etcdq.actors.message import Address
from etcdq.actors.queue import messages as m
from etcdq.actors.queue.context import JobsBudget, Numbers, QueueContext
from etcdq.actors.queue.core import QueueCore
from etcdq.actors.stage import Stage
from tests.support.queue_model import QueueModel

QUEUES = (b"alpha", b"beta")
CONSUMERS = ("c1", "c2", "c3")
CREDIT = m.Credit(6, 60)
OVERHEAD_BYTES = 4
FIRST = 1001


class PairedQueue:
    """A queue's core and its model, given the same messages; they must agree."""

    def __init__(self, name: bytes, context: QueueContext, numbers: Numbers) -> None:
        self.core = QueueCore(name, context)
        self.model = QueueModel(name, context.registry, 0, CREDIT)
        self.model.numbers = numbers
        self.first_offered = 0

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

    world: "World"
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
        look = False
        for _ in range(min(count, len(self.inbox))):
            message = self.inbox.popleft()
            if type(message) is m.Offer:
                # What the session thinks it can write; the socket may know better.
                room = self.window_bytes if self.world.random.random() < 0.9 else 1_000
                self.perform(self.core.step(Offered(message, room), self.world.now_s))
                look = not self.over
            elif type(message) is m.Superseded:
                self.perform(self.core.step(message, self.world.now_s))
        if look:
            self.write(always_look=True)

    def write(self, *, always_look: bool = False) -> None:
        """Write what the window has room for, and tell the core."""
        groups, moved = 0, False
        while self.output and self.window_bytes:
            deliver, size = self.output[0]
            part = min(self.window_bytes, size - self.written_of_first)
            self.window_bytes -= part
            self.written_of_first += part
            moved = True
            if self.written_of_first == size:
                groups, moved, self.written_of_first = groups + 1, False, 0
                self.output.popleft()
                self.world.receive(self, deliver.deliveries)
        if groups or moved or always_look:
            self.perform(self.core.step(Written(groups, moved), self.world.now_s))

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

    world: "World"
    name: bytes

    def post(self, message: Any) -> None:
        self.world.mailbox.append((self.name, message))


@dataclass
class Client:
    """Takes the answers of puts and acknowledgements."""

    world: "World"

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


class World:
    """Everything, stepped by `run`."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.now_s = 0.0
        self.mailbox: deque[tuple[bytes, Any]] = deque()
        self.registry = Registry()
        self.budget = JobsBudget()
        numbers = Numbers(FIRST)
        # The models count in step with the cores, each model at once after its core.
        model_numbers = Numbers(FIRST)
        self.context = QueueContext(
            b"node", self.registry, numbers, budget=self.budget, credit=CREDIT, idle_s=1e9
        )
        self.stage = Stage(lambda name: PairedQueue(name, self.context, model_numbers))
        self.client = Client(self)
        self.watches: list[Watch] = []
        self.pending: list[tuple[bytes, m.Acknowledge, bytes]] = []
        self.bodies = 0
        self.living: dict[bytes, bytes] = {}
        """Bodies that were put and not deleted, and their queue."""
        self.received: dict[int, bytes] = {}
        self.receptions: dict[bytes, list[int]] = {}
        self.gone: set[bytes] = set()
        """Bodies whose delete was answered with 1."""
        self.kicks = 0
        self.deleted = 0

    # what clients see -----------------------------------------------------------------------

    def receive(self, watch: Watch, deliveries: tuple[m.Delivery, ...]) -> None:
        """A client got a response."""
        for one in deliveries:
            body = one.body.rstrip(b".")
            assert one.index not in self.received, "an index was received twice"
            self.received[one.index] = body
            seen = self.receptions.setdefault(body, [])
            assert not seen or one.index > seen[-1], "an older index after a newer one"
            seen.append(one.index)
            assert len(seen) <= 1 + self.kicks, "handed out again without a kick"
            times = self.random.choice((1, 1, 1, 2)) if self.random.random() < (
                watch.acknowledges
            ) else 0  # fmt: skip
            for _ in range(times):
                to = Address(self.client, one.index)
                message = m.Acknowledge(to, one.index, one.tail)
                self.pending.append((watch.queue, message, body))

    def answered(self, reply: Reply) -> None:
        """A request was answered."""
        if type(reply.value) is m.Inserted:
            queue, body = reply.to.tag
            self.living[body] = queue
        elif type(reply.value) is m.Deleted:
            for job in reply.value.jobs:
                body = job.body.rstrip(b".")
                assert body not in self.gone, "deleted twice"
                self.gone.add(body)
                self.deleted += 1
                del self.living[body]
        elif type(reply.value) is m.Kicked:
            self.kicks += reply.value.count

    # what can happen ------------------------------------------------------------------------

    def put(self) -> None:
        """A producer puts a job of any size, priority or delay."""
        queue = self.random.choice(QUEUES)
        self.bodies += 1
        name = b"%d" % self.bodies
        body = name.ljust(self.random.choice((1, 5, 20, 90)), b".")
        key = self.random.choice((b"a", b"b", name))
        message = m.Put(
            Address(self.client, (queue, name)),
            key,
            key,
            body,
            priority=self.random.choice((1024, 1024, 1024, 3)),
            delay_s=self.random.choice((0.0, 0.0, 0.0, 0.5, 7.0)),
        )
        self.mailbox.append((queue, message))

    def watch(self) -> None:
        """A consumer comes, comes back, or takes over from itself."""
        watch = Watch(
            self,
            len(self.watches),
            self.random.choice(QUEUES),
            self.random.choice(CONSUMERS),
            reads=self.random.choice((0.0, 0.3, 1.0, 1.0)),
            acknowledges=self.random.choice((0.0, 0.5, 1.0, 1.0)),
        )
        self.begin(watch)

    def begin(self, watch: Watch) -> None:
        """Register a watch."""
        watch.window_bytes = self.random.choice((0, 30, 200))
        self.watches.append(watch)
        message = m.Register(Address(self.client, None), watch.address, watch.consumer)
        self.mailbox.append((watch.queue, message))

    def die(self) -> None:
        """A watch, or every watch of a third of the clients, is gone."""
        living = self.open_watches()
        for watch in self.random.sample(living, min(len(living), self.random.choice((1, 1, 2)))):
            watch.die()

    def acknowledge(self) -> None:
        """A client sends an acknowledgement, however late."""
        if self.pending:
            at = self.random.randrange(len(self.pending))
            queue, message, _ = self.pending.pop(at)
            self.mailbox.append((queue, message))

    def guess(self) -> None:
        """Somebody deletes a delivery key, waiting, held or of an earlier hand-over."""
        index = self.random.randrange(FIRST, FIRST + self.bodies + self.kicks + 1)
        tail = self.random.choice((b"a", b"b"))
        message = m.Acknowledge(Address(self.client, index), index, tail)
        self.mailbox.append((self.random.choice(QUEUES), message))

    def kick(self) -> None:
        """An operator returns buried jobs."""
        message = m.Kick(Address(self.client, None), self.random.choice((1, 10)))
        self.mailbox.append((self.random.choice(QUEUES), message))

    def pause(self) -> None:
        """An operator pauses a queue."""
        message = m.Pause(Address(self.client, None), self.random.choice((0.0, 2.0)))
        self.mailbox.append((self.random.choice(QUEUES), message))

    def purge(self) -> None:
        """Somebody deletes a producer key."""
        message = m.DeleteKey(Address(self.client, None), self.random.choice((b"a", b"b")))
        self.mailbox.append((self.random.choice(QUEUES), message))

    def read(self) -> None:
        """A client reads: its window opens."""
        for watch in self.open_watches():
            if self.random.random() < watch.reads:
                watch.window_bytes += self.random.choice((10, 100, 300))
                watch.write()

    def hear(self) -> None:
        """A session takes some of its messages."""
        for watch in self.watches:
            if watch.inbox and self.random.random() < 0.7:
                watch.hear(self.random.choice((1, 2, 9)))

    def dispatch(self) -> None:
        """The queues' shell takes some of its mailbox, settles, replies, tells."""
        count = min(len(self.mailbox), self.random.choice((1, 3, 100)))
        batch = [self.mailbox.popleft() for _ in range(count)]
        outcome = self.stage.run(batch, self.now_s)
        for reply in outcome.replies:
            reply.to.handle.post(reply)
        for effect in outcome.publications:
            effect.handle.post(effect.message)

    def wait(self) -> None:
        """Time passes, to the next deadline or less."""
        deadlines_s = [watch.core.next_deadline_s() for watch in self.watches]
        next_s = min([self.stage.next_deadline_s(), *deadlines_s])
        step_s = self.random.choice((0.1, 1.0, 6.0))
        self.now_s = min(self.now_s + step_s, next_s) if next_s < NEVER_S else self.now_s + step_s
        for watch in self.watches:
            watch.perform(watch.core.settle(self.now_s))
        if self.stage.next_deadline_s() <= self.now_s:
            self.dispatch()

    def open_watches(self) -> list[Watch]:
        """Return the watches that are not over."""
        return [watch for watch in self.watches if not watch.over]

    # the whole story ------------------------------------------------------------------------

    def run(self, steps: int) -> None:
        """Let `steps` things happen, then let everything come to its end, and judge."""
        happenings = [
            (self.put, 8), (self.watch, 3), (self.die, 1), (self.acknowledge, 6), (self.guess, 1),
            (self.kick, 1), (self.pause, 1), (self.purge, 1), (self.read, 6), (self.hear, 10),
            (self.dispatch, 12), (self.wait, 4),
        ]  # fmt: skip
        actions = [action for action, _ in happenings]
        weights = [weight for _, weight in happenings]
        for action in self.random.choices(actions, weights, k=steps):
            action()
        self.finish()
        self.judge()

    def quiesce(self) -> None:
        """Let everything that is under way arrive, until nothing is."""
        while self.mailbox or any(watch.inbox for watch in self.watches):
            while self.mailbox:
                self.dispatch()
            for watch in self.watches:
                watch.hear(len(watch.inbox))

    def finish(self) -> None:
        """Everyone leaves; what is left goes to good consumers, until the queues are empty."""
        for watch in self.open_watches():
            watch.die()
        self.quiesce()
        self.now_s += 100.0
        for queue in QUEUES:
            # A put first, so that the queue exists.
            self.mailbox.append((queue, m.Kick(Address(self.client, None), 1_000)))
            good = Watch(self, len(self.watches), queue, "last", reads=1.0, acknowledges=1.0)
            self.begin(good)
        self.dispatch_all()
        for _ in range(1_000):
            for watch in self.open_watches():
                watch.window_bytes = 10_000
                watch.write()
            self.acknowledge_all()
            self.dispatch_all()
            if not self.living:
                return
        raise AssertionError(f"never delivered: {sorted(self.living)}")

    def dispatch_all(self) -> None:
        """Let all messages arrive, and everything due happen."""
        self.mailbox.append((QUEUES[0], m.Kick(Address(self.client, None), 0)))
        self.quiesce()

    def acknowledge_all(self) -> None:
        """Send every acknowledgement that is pending."""
        for queue, message, _ in self.pending:
            self.mailbox.append((queue, message))
        self.pending.clear()

    def judge(self) -> None:
        """Nothing lost, nothing left, counters right."""
        self.quiesce()
        assert self.budget.used_bytes == 0
        assert len(self.gone) == self.deleted == self.bodies
        for queue in QUEUES:
            shown = self.stage.cores[queue].statistics()
            assert shown.puts_total == shown.acknowledged_total + shown.deleted_total
            assert (shown.ready, shown.reserved, shown.delayed, shown.buried) == (0, 0, 0, 0)
        for watch in self.open_watches():
            watch.die()
        self.quiesce()
        assert self.registry.keys == {b"/q/" + queue for queue in QUEUES}
