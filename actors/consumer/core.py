"""One watch of a consumer: takes offers, tells the queue what was written, gives up after 5 s.

Theory of operation. An offer is cut in groups, each to be sent as one response: those that can
be written right now, and one more that cannot; the rest is declined. The session sends the
groups and reports by `Written` how many are out. The first report after an offer decides: what
is written is taken, what is not is stalled. From then on each report moves stalled jobs to
taken, and the time since the last progress is limited.

A watch ends once, with one `Ended`. It resolves an offer that the queue still has open: one the
watch was given and had not reported on, and also one that is still on its way here, which is
ignored when it comes. When a newer watch takes over between an offer and its report, the end
waits for that report, because only it tells what the peer has got.
"""

from collections.abc import Callable
from typing import Any, ClassVar

from etcdq.actors import limits
from etcdq.actors.consumer.messages import (
    CancelWatch,
    Deliver,
    Offered,
    WatchGone,
    Written,
)
from etcdq.actors.core import NEVER_S
from etcdq.actors.effect import Effect, Tell
from etcdq.actors.message import Address, Handle
from etcdq.actors.queue.messages import Accepted, Delivery, Ended, Message, Superseded, Taken


class WatchStatistics(Message, frozen=True, gc=False):
    """A snapshot of one watch: messages that are handed to the session and not written yet."""

    consumer: str
    unwritten: int
    ended: bool


class ConsumerCore:
    """One watch of one consumer.

    Args:
        consumer: the consumer's identity, as people read it in reasons.
        queue: the queue it is registered at.
        watch: this watch's address, as registered.
        accept_timeout_s: how long it may make no progress with a message.
        overhead_bytes: what an event takes on the wire beyond tail and body, at most.
    """

    __slots__ = (
        "_accept_timeout_s",
        "_consumer",
        "_declined",
        "_ended",
        "_groups",
        "_overhead_bytes",
        "_progress_s",
        "_queue",
        "_reporting",
        "_superseded",
        "_watch",
    )

    def __init__(
        self,
        consumer: str,
        queue: Handle,
        watch: Address,
        accept_timeout_s: float = limits.ACCEPT_TIMEOUT_S,
        overhead_bytes: int = limits.EVENT_OVERHEAD_BYTES,
    ) -> None:
        self._consumer = consumer
        self._queue = queue
        self._watch = watch
        self._accept_timeout_s = accept_timeout_s
        self._overhead_bytes = overhead_bytes
        self._groups: list[tuple[int, ...]] = []
        """Indexes of each group that is not written, oldest first: few, so no deque, which would be
        large for the many watches that have none."""
        self._declined: tuple[int, ...] = ()
        self._reporting = False
        """Whether the first report on an offer is still to come."""
        self._superseded = False
        self._ended = False
        self._progress_s = 0.0

    def step(self, message: Any, now_s: float) -> list[Effect]:
        """Take in what the queue or the session says."""
        if self._ended:
            return []
        return self._STEPS[type(message)](self, message, now_s)

    def settle(self, now_s: float) -> list[Effect]:
        """Give up if there was no progress for the accept timeout."""
        if now_s < self.next_deadline_s():
            return []
        timeout = f"{self._accept_timeout_s:g} s"
        reason = f"consumer {self._consumer} was dropped: no progress with a message for {timeout}"
        return self._end(CancelWatch(reason), dropped=True)

    def next_deadline_s(self) -> float:
        """Return when the accept timeout runs out."""
        if self._groups and not self._ended:
            return self._progress_s + self._accept_timeout_s
        return NEVER_S

    def statistics(self) -> WatchStatistics:
        """Return a snapshot."""
        return WatchStatistics(self._consumer, sum(map(len, self._groups)), self._ended)

    def _offered(self, message: Offered, now_s: float) -> list[Effect]:
        assert not self._groups, "nothing is offered while a message is unwritten"
        assert not self._reporting, "nothing is offered before the last offer is answered"
        assert message.offer.watch == self._watch, "the offer is another watch's"
        deliveries = message.offer.deliveries
        groups, used = self._cut(deliveries, message.room_bytes)
        if used < len(deliveries):
            groups.append(deliveries[used : used + 1])
            used += 1
        self._declined = tuple([delivery.index for delivery in deliveries[used:]])
        self._groups.extend([tuple([d.index for d in group]) for group in groups])
        self._reporting = True
        self._progress_s = now_s
        return [Deliver(group) for group in groups]

    def _cut(
        self, deliveries: tuple[Delivery, ...], room_bytes: int
    ) -> tuple[list[tuple[Delivery, ...]], int]:
        """Cut the deliveries that fit in `room_bytes` into groups; return them and their number."""
        overhead = self._overhead_bytes
        bytes_max = limits.RESPONSE_EVENTS_BYTES_MAX
        groups: list[tuple[Delivery, ...]] = []
        start = 0
        group_bytes = 0
        for position, delivery in enumerate(deliveries):
            size = len(delivery.body) + len(delivery.tail) + overhead
            if size > room_bytes:
                break
            room_bytes -= size
            if group_bytes and group_bytes + size > bytes_max:
                groups.append(deliveries[start:position])
                start, group_bytes = position, 0
            group_bytes += size
        else:
            position = len(deliveries)
        if position > start:
            groups.append(deliveries[start:position])
        return groups, position

    def _written(self, message: Written, now_s: float) -> list[Effect]:
        assert message.groups <= len(self._groups), "more was written than was delivered"
        taken = [index for group in self._groups[: message.groups] for index in group]
        del self._groups[: message.groups]
        if message.moved or taken:
            self._progress_s = now_s
        if self._superseded:
            return self._end(self._takeover(), taken=tuple(taken))
        if self._reporting:
            self._reporting = False
            stalled = tuple([index for group in self._groups for index in group])
            return [self._tell(Accepted(self._watch, tuple(taken), stalled, self._declined))]
        return [self._tell(Taken(self._watch, tuple(taken)))] if taken else []

    def _taken_over(self, message: Superseded, now_s: float) -> list[Effect]:
        if self._reporting:
            self._superseded = True
            return []
        return self._end(self._takeover())

    def _gone(self, message: WatchGone, now_s: float) -> list[Effect]:
        return self._end()

    def _takeover(self) -> CancelWatch:
        return CancelWatch(f"a newer watch of consumer {self._consumer} took over")

    def _end(
        self,
        cancel: CancelWatch | None = None,
        *,
        taken: tuple[int, ...] = (),
        dropped: bool = False,
    ) -> list[Effect]:
        self._ended = True
        self._groups.clear()
        ended = self._tell(Ended(self._watch, taken, dropped))
        return [ended] if cancel is None else [cancel, ended]

    def _tell(self, message: Message) -> Tell:
        return Tell(self._queue, message)

    _STEPS: ClassVar[dict[type, Callable[[Any, Any, float], list[Effect]]]] = {
        Offered: _offered,
        Written: _written,
        Superseded: _taken_over,
        WatchGone: _gone,
    }
