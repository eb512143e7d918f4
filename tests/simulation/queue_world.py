"""A small world of queues, consumers on connections, and producers, driven by one seed.

No Trio: every mailbox is a deque, and the seed decides who reads how much of his next, what a
connection can write, who stalls, dies, comes back under its UUID or never acknowledges. So all
crossings of messages happen that can happen. The cores are the real ones. Each queue's core runs
beside the dumb model, which says exactly what it must do; the world itself only knows what
clients see, and judges that: nothing lost, no index received twice, nothing again without a
kick, first hand-overs in order.
"""

from collections import deque
from random import Random
from typing import Any

from etcdq.actors.core import NEVER_S
from etcdq.actors.effect import Reply
from etcdq.actors.message import Address
from etcdq.actors.queue import messages as m
from etcdq.actors.queue.context import JobsBudget, Numbers, QueueContext
from etcdq.actors.stage import Stage
from tests.simulation.queue_parts import CREDIT, Client, PairedQueue, Registry, Watch

QUEUES = (b"alpha", b"beta")
CONSUMERS = ("c1", "c2", "c3")
FIRST = 1001


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
        self.plain: set[int] = set()
        """Indexes of jobs with neither priority nor delay that were not handed over yet."""
        self.last_plain = dict.fromkeys(QUEUES, 0)
        self.kicks = 0
        self.deleted = 0

    # what clients see -----------------------------------------------------------------------

    def receive(self, watch: Watch, deliveries: tuple[m.Delivery, ...]) -> None:
        """A client got a response."""
        assert not watch.over, "a response on a watch that is over"
        for one in deliveries:
            body = one.body.rstrip(b".")
            assert one.index not in self.received, "an index was received twice"
            self.received[one.index] = body
            seen = self.receptions.setdefault(body, [])
            assert not seen or one.index > seen[-1], "an older index after a newer one"
            seen.append(one.index)
            assert len(seen) <= 1 + self.kicks, "handed out again without a kick"
            if self.random.random() >= watch.acknowledges:
                continue
            times = self.random.choice((1, 1, 1, 2))
            for _ in range(times):
                to = Address(self.client, one.index)
                message = m.Acknowledge(to, one.index, one.tail)
                self.pending.append((watch.queue, message, body))

    def answered(self, reply: Reply) -> None:
        """A request was answered."""
        if type(reply.value) is m.Inserted:
            queue, body, plain = reply.to.tag
            self.living[body] = queue
            if plain:
                self.plain.add(reply.value.index)
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
        priority = self.random.choice((1024, 1024, 1024, 3))
        delay_s = self.random.choice((0.0, 0.0, 0.0, 0.5, 7.0))
        message = m.Put(
            Address(self.client, (queue, name, priority == 1024 and not delay_s)),
            key,
            key,
            body,
            priority=priority,
            delay_s=delay_s,
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
        publications: list[Any] = outcome.publications
        for effect in publications:
            if type(effect.message) is m.Offer:
                self.check_order(effect.handle.queue, effect.message)
            effect.handle.post(effect.message)

    def check_order(self, queue: bytes, offer: m.Offer) -> None:
        """First hand-overs rise; what went back to its place may come again."""
        for one in offer.deliveries:
            if one.index in self.plain:
                self.plain.remove(one.index)
                assert one.index > self.last_plain[queue], "handed over out of order"
                self.last_plain[queue] = one.index

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
