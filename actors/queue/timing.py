"""How long jobs wait in a queue, and how long workers take for them.

Averages are exponentially weighted (0.1 for each new sample). Jobs under 100 ms and above are kept
apart, because one average of both says nothing about either. Percentiles are of the last 1,000.
Source: tuber's statistics document.
"""

from collections import deque

from etcdq.actors import limits
from etcdq.actors.queue.messages import TimingStatistics


class Average:
    """An exponentially weighted average; the first sample is taken as it is. Its kinds take samples
    in, each by itself, since every job is one."""

    __slots__ = ("ewma_s", "samples")

    def __init__(self) -> None:
        self.ewma_s = 0.0
        self.samples = 0


class Spread(Average):
    """An average with the smallest and the largest sample."""

    __slots__ = ("max_s", "min_s")

    def __init__(self) -> None:
        super().__init__()
        self.min_s = 0.0
        self.max_s = 0.0

    def add(self, value_s: float) -> None:
        """Take a sample in."""
        samples = self.samples
        self.samples = samples + 1
        if not samples:
            self.ewma_s = self.min_s = self.max_s = value_s
            return
        self.ewma_s += limits.EWMA_WEIGHT * (value_s - self.ewma_s)
        if value_s < self.min_s:
            self.min_s = value_s
        elif value_s > self.max_s:
            self.max_s = value_s


class Recent(Average):
    """An average, and the last samples."""

    __slots__ = ("last",)

    def __init__(self) -> None:
        super().__init__()
        self.last: deque[float] = deque(maxlen=limits.TIMING_SAMPLES_MAX)

    def add(self, value_s: float) -> None:
        """Take a sample in."""
        self.samples += 1
        if self.samples == 1:
            self.ewma_s = value_s
        else:
            self.ewma_s += limits.EWMA_WEIGHT * (value_s - self.ewma_s)
        self.last.append(value_s)


class Timing:
    """The times of one queue."""

    __slots__ = ("_fast", "_slow", "processing", "queue")

    def __init__(self) -> None:
        self.processing = Spread()
        self.queue = Spread()
        self._fast = Recent()
        self._slow = Recent()

    def processed(self, value_s: float) -> None:
        """A reserved job was deleted after so long."""
        self.processing.add(value_s)
        (self._fast if value_s < limits.FAST_JOB_S else self._slow).add(value_s)

    def statistics(self) -> TimingStatistics:
        """Return a snapshot; percentiles are of slow jobs where there are any."""
        last = sorted(self._slow.last or self._fast.last)
        processing, queue = self.processing, self.queue
        return TimingStatistics(
            processing.ewma_s,
            processing.min_s,
            processing.max_s,
            processing.samples,
            self._fast.ewma_s,
            self._fast.samples,
            self._slow.ewma_s,
            self._slow.samples,
            _percentile(last, 50),
            _percentile(last, 95),
            _percentile(last, 99),
            queue.ewma_s,
            queue.min_s,
            queue.max_s,
            queue.samples,
        )


def _percentile(ordered: list[float], percent: int) -> float:
    """Return the nearest of the samples, half rounded up."""
    if not ordered:
        return 0.0
    return ordered[int(percent / 100 * (len(ordered) - 1) + 0.5)]
