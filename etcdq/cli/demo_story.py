"""What happens in the demo, counted, and how it is told."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

import trio

from etcdq import QueueStatistics

RATE_WINDOW_S = 1.0


@dataclass
class Rate:
    """How often something happened, in all and within the last second."""

    count: int = 0
    _times_s: deque[float] = field(default_factory=deque)

    def note(self) -> None:
        """It happened now."""
        self.count += 1
        self._times_s.append(trio.current_time())

    def per_second(self) -> int:
        """Return how often it happened within the last second."""
        while self._times_s and self._times_s[0] < trio.current_time() - RATE_WINDOW_S:
            self._times_s.popleft()
        return len(self._times_s)


@dataclass
class Story:
    """The counts of the demo. Times are seconds since `begin`."""

    started_s: float = 0.0
    put: Rate = field(default_factory=Rate)
    acknowledged: dict[int, Rate] = field(
        default_factory=lambda: {number: Rate() for number in (1, 2, 3)}
    )
    stalled: trio.Event = field(default_factory=trio.Event)
    stalled_at_s: float | None = None
    dropped_at_s: float | None = None
    moved_on_to: list[int] = field(default_factory=list)  # who acknowledged what was consumer 1's
    statistics: QueueStatistics | None = None
    finished: trio.Event = field(default_factory=trio.Event)
    _keys_put: set[bytes] = field(default_factory=set)
    _keys_acknowledged: set[bytes] = field(default_factory=set)
    _keys_of_stalled: frozenset[bytes] = frozenset()

    @property
    def elapsed_s(self) -> float:
        """Seconds since the start."""
        return trio.current_time() - self.started_s

    # what happens -----------------------------------------------------------------------

    def begin(self) -> None:
        """Everybody is there: the clock starts."""
        self.started_s = trio.current_time()

    def note_put(self, key: bytes) -> None:
        """A producer's put was answered."""
        self._keys_put.add(key)
        self.put.note()

    def note_ack(self, consumer: int, key: bytes) -> None:
        """A consumer's acknowledgement deleted the message."""
        self._keys_acknowledged.add(key)
        self.acknowledged[consumer].note()
        if key in self._keys_of_stalled:
            self.moved_on_to.append(consumer)

    def note_stall(self) -> None:
        """Consumer 1 stops reading."""
        self.stalled_at_s = self.elapsed_s
        self.stalled.set()

    def note_held_by_stalled(self, keys: frozenset[bytes]) -> None:
        """What consumer 1 has in hand, and what is stuck on its way to it."""
        self._keys_of_stalled = keys

    def note_statistics(self, statistics: QueueStatistics, *, producing: bool) -> None:
        """The queue was looked at from outside; it may be ahead of what we have noted."""
        self.statistics = statistics
        if statistics.dropped_consumers_total and self.dropped_at_s is None:
            self.dropped_at_s = self.elapsed_s
        if not producing and self.adds_up:
            self.finished.set()

    # how it is told ---------------------------------------------------------------------

    @property
    def acknowledged_count(self) -> int:
        """Acknowledgements of all consumers."""
        return sum(rate.count for rate in self.acknowledged.values())

    @property
    def buried_count(self) -> int:
        """Messages that the dropped consumer held."""
        return self.statistics.summary.buried if self.statistics else 0

    @property
    def adds_up(self) -> bool:
        """Every message was acknowledged once, or is buried; and consumer 1 was dropped."""
        once = len(self._keys_acknowledged) == self.acknowledged_count
        known = self._keys_acknowledged <= self._keys_put
        total = self.put.count == self.acknowledged_count + self.buried_count
        return once and known and total and self.dropped_at_s is not None

    def state_of(self, consumer: int) -> str:
        """Return what a consumer does, in words."""
        if consumer != 1 or self.stalled_at_s is None:
            return "reads, works, acknowledges"
        if self.dropped_at_s is None:
            return f"stopped reading {self.elapsed_s - self.stalled_at_s:.1f} s ago"
        return f"dropped {self.dropped_at_s - self.stalled_at_s:.1f} s after it stopped"

    def rows(self) -> Iterator[tuple[str, str, str, str]]:
        """Give who, how many, how many per second, state."""
        yield "producers", str(self.put.count), str(self.put.per_second()), ""
        for number, rate in self.acknowledged.items():
            row = f"consumer {number}", str(rate.count), str(rate.per_second())
            yield *row, self.state_of(number)

    def headline(self) -> str:
        """Return what the queue says about itself."""
        if self.statistics is None:
            return ""
        counts = self.statistics.summary
        return (
            f"waiting {counts.ready}, held {counts.reserved}, buried {counts.buried},"
            f" consumers {counts.consumers}, dropped {self.statistics.dropped_consumers_total}"
        )

    def line(self) -> str:
        """Return everything in one line."""
        shares = ", ".join(
            f"consumer {number}: {rate.count} ({rate.per_second()}/s)"
            for number, rate in self.acknowledged.items()
        )
        return (
            f"{self.elapsed_s:3.0f} s  put {self.put.count} ({self.put.per_second()}/s), {shares};"
            f" {self.headline()}; consumer 1 {self.state_of(1)}"
        )

    def summary(self) -> str:
        """Return what happened, for the end."""
        shares = ", ".join(
            f"{rate.count} by consumer {number}" for number, rate in self.acknowledged.items()
        )
        lines = [
            "",
            f"{self.put.count} messages put, {self.acknowledged_count} acknowledged: {shares}.",
        ]
        if self.stalled_at_s is not None and self.dropped_at_s is not None:
            lines += [
                f"Consumer 1 stopped reading at {self.stalled_at_s:.1f} s and was dropped at"
                f" {self.dropped_at_s:.1f} s.",
                *(
                    f"A message that was stuck on its way to it moved on to consumer {number}."
                    for number in self.moved_on_to
                ),
                f"What it had taken and not acknowledged is buried: {self.buried_count}"
                " (`etcdq queue kick` would return it to the line).",
            ]
        sum_ = f"{self.acknowledged_count} acknowledged + {self.buried_count} buried"
        lines.append(
            f"{self.put.count} = {sum_}: nothing is lost."
            if self.adds_up
            else f"{self.put.count} put, {sum_}, dropped: {self.dropped_at_s is not None}."
        )
        return "\n".join(lines)
