"""The registered consumers of one queue: rank, credit, what each of them has in its hands.

A consumer is an identity, not a connection: a newer watch takes it over. Everything it was
offered and everything it has taken is in `held`. Of that, `offered` are those of an offer not
answered yet and `stalled` those whose bytes are not all written; the others are taken.

A consumer is open while it has a watch, no older watch of it is still leaving, nothing of it is
stalled, and it has credit for the next job. Open ones stand in a heap by rank. One that turns
out not to be open when its turn comes leaves the heap, and `wake` puts it back when something
about it changes. So finding the next one costs nothing per consumer that has no credit. Those
that lacked only bytes are noted as *short*: a smaller job at the head opens them again.
"""

import heapq
from collections.abc import Iterator

from etcdq.actors import limits
from etcdq.actors.message import Address
from etcdq.actors.queue.job import Job
from etcdq.actors.queue.messages import ConsumerStatistics, Credit, Delivery


class Consumer:
    """One registered consumer. `rank` is the order of registration, `since_s` its time."""

    __slots__ = (
        "credit",
        "held",
        "held_bytes",
        "identity",
        "leaving",
        "offered",
        "peer",
        "queued",
        "rank",
        "serving",
        "since_s",
        "stalled",
        "watch",
    )

    def __init__(self, identity: str, rank: int, since_s: float, watch: Address) -> None:
        self.identity = identity
        self.rank = rank
        self.since_s = since_s
        self.watch: Address | None = watch
        self.peer = ""
        self.credit = Credit()
        self.held: dict[int, Job] = {}
        self.held_bytes = 0
        self.serving: Address | None = None
        """The watch that `offered` and `stalled` were sent to."""
        self.offered: tuple[Delivery, ...] = ()
        self.stalled: dict[int, None] = {}
        self.leaving: list[Address] = []
        """Superseded watches that have not said `Ended` yet."""
        self.queued = False
        """Whether the heap of open consumers has it."""

    def is_free(self) -> bool:
        """Return whether it may be offered something, credit aside."""
        return self.watch is not None and not self.leaving and not self.stalled

    def has_credit(self, body_bytes: int) -> bool:
        """Return whether its credit covers one more message with a body of that size."""
        if not self.held:
            return True
        credit = self.credit
        if not self.has_turns():
            return False
        return not credit.body_bytes or self.held_bytes + body_bytes <= credit.body_bytes

    def has_turns(self) -> bool:
        """Return whether its credit covers one more message, whatever its size."""
        return not self.credit.messages or len(self.held) < self.credit.messages

    def is_waiting(self) -> bool:
        """Return whether it could take a job now, of one byte at least."""
        return self.is_free() and self.has_credit(1)

    def room(self) -> tuple[int, int]:
        """Return how many messages and bytes of bodies one offer to it may have now."""
        messages, body_bytes = limits.OFFER_MESSAGES_MAX, limits.OFFER_BYTES_MAX
        if self.credit.messages:
            messages = min(messages, self.credit.messages - len(self.held))
        if self.credit.body_bytes:
            body_bytes = min(body_bytes, self.credit.body_bytes - self.held_bytes)
        return messages, body_bytes

    def let_go(self, job: Job) -> None:
        """Take `job` out of its hands."""
        del self.held[job.index]
        self.held_bytes -= len(job.body)
        assert self.held_bytes >= 0, "a consumer let go of more bytes than it held"
        job.holder = None

    def not_taken(self) -> list[Job]:
        """Return what it was offered and has not taken, as far as it still exists."""
        indexes = [delivery.index for delivery in self.offered]
        indexes.extend(self.stalled)
        return [self.held[index] for index in indexes if index in self.held]

    def statistics(self, now_s: float) -> ConsumerStatistics:
        """Return a snapshot of it."""
        return ConsumerStatistics(
            consumer=self.identity,
            peer=self.peer,
            held_messages=len(self.held),
            held_bytes=self.held_bytes,
            credit=self.credit,
            since_s=now_s - self.since_s,
            stalled=bool(self.stalled),
        )


class Roster:
    """All registered consumers of a queue, by identity and by watch.

    Attributes:
        by_identity: to be looked at only.
    """

    __slots__ = ("_by_watch", "_open", "_ranks", "_short", "_short_bytes", "by_identity")

    def __init__(self) -> None:
        self.by_identity: dict[str, Consumer] = {}
        self._by_watch: dict[Address, Consumer] = {}
        self._open: list[tuple[int, Consumer]] = []
        self._short: dict[Consumer, None] = {}
        self._short_bytes = 0
        """The largest body that one of them had no room for."""
        self._ranks = 0

    def __len__(self) -> int:
        return len(self.by_identity)

    def __iter__(self) -> Iterator[Consumer]:
        """Iterate in order of rank."""
        return iter(self.by_identity.values())

    def get(self, identity: str) -> Consumer | None:
        """Return the consumer of that identity."""
        return self.by_identity.get(identity)

    def of_watch(self, watch: Address) -> Consumer | None:
        """Return whose watch it is, None for a watch that is over."""
        return self._by_watch.get(watch)

    def add(self, identity: str, watch: Address, now_s: float) -> Consumer:
        """Register a new consumer, last in rank."""
        assert identity not in self.by_identity, "a consumer is registered once"
        self._ranks += 1
        consumer = Consumer(identity, self._ranks, now_s, watch)
        self.by_identity[identity] = consumer
        self._add_watch(consumer, watch)
        return consumer

    def take_over(self, consumer: Consumer, watch: Address) -> Address | None:
        """Make `watch` the consumer's watch; return the one to be told that it is superseded."""
        superseded = consumer.watch
        if superseded is not None:
            consumer.leaving.append(superseded)
        consumer.watch = watch
        self._add_watch(consumer, watch)
        return superseded

    def end_watch(self, consumer: Consumer, watch: Address) -> None:
        """Forget one of the consumer's watches."""
        del self._by_watch[watch]
        if consumer.watch == watch:
            consumer.watch = None
        else:
            consumer.leaving.remove(watch)
        if consumer.serving == watch:
            consumer.serving = None
            consumer.offered = ()
            consumer.stalled = {}

    def remove(self, consumer: Consumer) -> None:
        """Forget a consumer whose last watch is over and whose hands are empty."""
        assert consumer.watch is None, "it still has a watch"
        assert not consumer.leaving, "it still has an older watch"
        assert not consumer.held, "it still holds jobs"
        del self.by_identity[consumer.identity]
        self._short.pop(consumer, None)
        if len(self._open) > 2 * len(self.by_identity) + limits.OPEN_DEAD_MIN:
            self._sweep()

    def wake(self, consumer: Consumer) -> None:
        """Take note that something about `consumer` changed that may have opened it."""
        if not consumer.queued and consumer.is_free():
            consumer.queued = True
            heapq.heappush(self._open, (consumer.rank, consumer))

    def first_open(self, body_bytes: int) -> Consumer | None:
        """Return the first by rank that takes a body of that size now."""
        if body_bytes < self._short_bytes:
            self._reopen()
        waiting = self._open
        while waiting:
            consumer = waiting[0][1]
            if consumer.is_free():
                if consumer.has_credit(body_bytes):
                    return consumer
                if consumer.has_turns():
                    self._short[consumer] = None
                    self._short_bytes = max(self._short_bytes, body_bytes)
            heapq.heappop(waiting)
            consumer.queued = False
        return None

    def _reopen(self) -> None:
        short, self._short = self._short, {}
        self._short_bytes = 0
        for consumer in short:
            self.wake(consumer)

    def _sweep(self) -> None:
        # Who left without its turn coming lies in the heap still, and each is there once.
        registered = self.by_identity
        self._open = [
            entry for entry in self._open if registered.get(entry[1].identity) is entry[1]
        ]
        heapq.heapify(self._open)

    def _add_watch(self, consumer: Consumer, watch: Address) -> None:
        assert watch not in self._by_watch, "an address names one watch for ever"
        self._by_watch[watch] = consumer
        self.wake(consumer)
